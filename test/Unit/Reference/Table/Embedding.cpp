//===- Embedding.cpp - test rows of Ops/Embedding.td -----------------------===//
#include "OpTable.h"

using namespace dsc::optable;

std::vector<OpRow> dsc::optable::embeddingRows() {
  OpRow embedding{"ds.embedding", {}}, grad{"ds.embedding_grad", {}},
      position{"ds.position_grad", {}};
  struct Sizes {
    std::string batch, length, vocabulary, width, positions;
  };
  for (Sizes s : {Sizes{"1", "1", "7", "1", "1"}, Sizes{"3", "17", "131", "60", "17"},
                  Sizes{"2", "7", "13", "131", "16"}}) {
    std::string size = s.batch + "x" + s.length + "x" + s.width;
    std::string ids = s.batch + "x" + s.length + "xi32",
                table = s.vocabulary + "x" + s.width + "xf32";
    std::string positions = s.positions + "x" + s.width + "xf32", rows = size + "xf32";
    Fill fill{.low = 0, .high = std::stod(s.vocabulary)};
    auto lookUp = [](const Tensors &in) -> Tensors {
      Tensor result = Tensor::filled({in[0].shape[0], in[0].shape[1], in[1].columns()}, 0);
      for (int64_t i = 0; i < result.count(); ++i) {
        int64_t token = i / in[1].columns(), c = i % in[1].columns();
        result[i] = in[1].row(static_cast<int64_t>(in[0][token]))[c];
        if (in.size() > 3)
          result[i] += in[3][token] < 0 ? 0 : in[2].row(static_cast<int64_t>(in[3][token]))[c];
        else if (in.size() > 2)
          result[i] += in[2].row(token % in[0].columns())[c];
      }
      return {result};
    };
    embedding.cases.push_back({.label = size,
                               .operands = {ids, table},
                               .results = {rows},
                               .text = "ds.embedding $0, $1 : #0, #1 -> @0",
                               .fills = {{0, fill}},
                               .expected = lookUp,
                               .roundings = 1});
    embedding.cases.push_back(
        {.label = "positions_" + size,
         .operands = {ids, table, positions},
         .results = {rows},
         .text = "ds.embedding $0, $1 positions $2 : #0, #1 positions #2 -> @0",
         .fills = {{0, fill}},
         .expected = lookUp,
         .roundings = 1});
    // Positions over the whole table, one in four of them padding.
    Fill places{.low = 0, .high = std::stod(s.positions), .uncounted = 4};
    embedding.cases.push_back(
        {.label = "places_" + size,
         .operands = {ids, table, positions, ids},
         .results = {rows},
         .text = "ds.embedding $0, $1 positions $2 at $3 : #0, #1 positions #2 at #3 -> @0",
         .fills = {{0, fill}, {3, places}},
         .expected = lookUp,
         .roundings = 1});
    // Every row of the table looks for its tokens: the other way round than the reference.
    auto gather = [](const Tensors &in, int64_t vocabulary) {
      Tensor result = Tensor::filled({vocabulary, in[0].columns()}, 0);
      if (in.size() > 2)
        result = in[2];
      for (int64_t v = 0; v < vocabulary; ++v)
        for (int64_t c = 0; c < in[0].columns(); ++c)
          for (int64_t i = 0; i < in[1].count(); ++i)
            result.row(v)[c] += in[1][i] == v ? in[0].row(i)[c] : 0;
      return result;
    };
    int64_t vocabulary = std::stol(s.vocabulary);
    auto expected = [gather, vocabulary](const Tensors &in) -> Tensors {
      return {gather(in, vocabulary)};
    };
    double terms = std::stod(s.batch) * std::stod(s.length);
    grad.cases.push_back({.label = size,
                          .operands = {rows, ids},
                          .results = {table},
                          .text = "ds.embedding_grad $0, $1 : #0, #1 -> @0",
                          .fills = {{1, fill}},
                          .expected = expected,
                          .roundings = terms});
    Fill some{.low = 0, .high = std::stod(s.vocabulary), .uncounted = 3};
    grad.cases.push_back({.label = "negative_" + size,
                          .operands = {rows, ids},
                          .results = {table},
                          .text = "ds.embedding_grad $0, $1 : #0, #1 -> @0",
                          .fills = {{1, some}},
                          .expected = expected,
                          .roundings = terms});
    grad.cases.push_back({.label = "init_" + size,
                          .operands = {rows, ids, table},
                          .results = {table},
                          .text = "ds.embedding_grad $0, $1 init $2 : #0, #1 init #2 -> @0",
                          .fills = {{1, fill}},
                          .expected = expected,
                          .roundings = terms + 1});
    int64_t count = std::stol(s.positions);
    position.cases.push_back({.label = size,
                              .operands = {rows},
                              .results = {positions},
                              .text = "ds.position_grad $0 : (#0) -> @0",
                              .expected = [count](const Tensors &in) -> Tensors {
                                int64_t length = in[0].shape[1], width = in[0].columns();
                                Tensor result = Tensor::filled({count, width}, 0);
                                for (int64_t t = 0; t < length; ++t)
                                  for (int64_t c = 0; c < width; ++c)
                                    for (int64_t b = 0; b < in[0].shape[0]; ++b)
                                      result.row(t)[c] += in[0][(b * length + t) * width + c];
                                return {result};
                              },
                              .roundings = terms});
  }
  return {embedding, grad, position};
}
