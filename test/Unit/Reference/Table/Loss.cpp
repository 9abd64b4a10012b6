//===- Loss.cpp - test rows of Ops/Loss.td ---------------------------------===//
#include "OpTable.h"
#include <algorithm>
#include <cmath>

using namespace dsc::optable;

static Tensors crossEntropyExpected(const Tensors &in) {
  const Tensor &logits = in[0], &labels = in[1];
  Tensor losses = Tensor::filled(labels.shape, 0), lse = losses;
  for (int64_t i = 0; i < labels.count(); ++i) {
    double sum = 0;
    for (int64_t v = 0; v < logits.columns(); ++v)
      sum += std::exp(logits.row(i)[v]);
    lse[i] = std::log(sum);
    if (labels[i] == -100)
      continue;
    // - sum_v target[v] log p[v]
    double smoothing = in.size() > 2 ? in[2].item() : 0;
    for (int64_t v = 0; v < logits.columns(); ++v) {
      double target = smoothing / static_cast<double>(logits.columns());
      if (static_cast<double>(v) == labels[i])
        target += 1 - smoothing;
      if (target > 0)
        losses[i] -= target * std::log(std::exp(logits.row(i)[v]) / sum);
    }
  }
  return {losses, lse};
}

/// The last operand, weights, times what the others give.
static Tensors weightedExpected(const Tensors &in, Tensors (*plain)(const Tensors &)) {
  Tensors results = plain({in.begin(), in.end() - 1});
  int64_t each = results[0].count() / in.back().count();
  for (int64_t i = 0; i < results[0].count(); ++i)
    results[0][i] *= in.back()[i / each];
  return results;
}

static Tensors crossEntropyGradExpected(const Tensors &in) {
  Tensor result = in[0];
  for (int64_t i = 0; i < result.count(); ++i) {
    int64_t row = i / result.columns(), v = i % result.columns();
    double counted = in[1][row] == -100 ? 0 : in[3].item();
    double smoothing = in.size() > 4 ? in[4].item() : 0;
    double uniform = 1 / static_cast<double>(result.columns());
    double target = (in[1][row] == v ? 1 - smoothing : 0) + smoothing * uniform;
    result[i] = counted * (std::exp(in[0][i]) / std::exp(in[2][row]) - target);
  }
  return {result};
}

/// Rows [start, start + rows) of an input whose leading dimensions are folded.
static OpCase sliceCase(const std::string &input, const std::string &result, int64_t start) {
  return {.label = input + "_from_" + std::to_string(start),
          .operands = {input},
          .results = {result},
          .text = "ds.slice_rows $0 {start = " + std::to_string(start) + " : i64} : (#0) -> @0"};
}

std::vector<OpRow> dsc::optable::lossRows() {
  OpRow entropy{"ds.cross_entropy", {}}, grad{"ds.cross_entropy_grad", {}}, count{"ds.count", {}};
  OpRow weights{"ds.label_weights", {}};
  OpRow seed{"ds.loss_seed", {}}, mean{"ds.token_mean", {}};
  OpRow slice{"ds.slice_rows", {}}, concat{"ds.concat_rows", {}};
  struct Sizes {
    std::string leading, vocabulary;
  };
  for (const Sizes &s : {Sizes{"1", "7"}, Sizes{"7", "16"}, Sizes{"2x7", "17"},
                         Sizes{"3x37", "131"}, Sizes{"5", "1031"}}) {
    std::string logits = s.leading + "x" + s.vocabulary + "xf32", row = s.leading + "xf32";
    std::string ids = s.leading + "xi32", label = s.leading + "x" + s.vocabulary;
    double vocabulary = std::stod(s.vocabulary);
    Fill labels{.low = 0, .high = vocabulary, .uncounted = 4};
    entropy.cases.push_back({.label = label,
                             .operands = {logits, ids},
                             .results = {row, row},
                             .text = "ds.cross_entropy $0, $1 : (#0, #1) -> (@0, @1)",
                             .fills = {{0, {.low = -4, .high = 4}}, {1, labels}},
                             .expected = crossEntropyExpected,
                             .roundings = vocabulary + 8,
                             .magnitude = 12});
    entropy.cases.push_back(
        {.label = "smoothed_" + label,
         .operands = {logits, ids, "f64"},
         .results = {row, row},
         .text = "ds.cross_entropy $0, $1, $2 : (#0, #1, #2) -> (@0, @1)",
         .fills = {{0, {.low = -4, .high = 4}}, {1, labels}, {2, {.exactly = {0.1}}}},
         .expected = crossEntropyExpected,
         .roundings = vocabulary + 8,
         .magnitude = 12});
    Fill factors{.low = 0.125, .high = 1};
    entropy.cases.push_back(
        {.label = "weighted_" + label,
         .operands = {logits, ids, row},
         .results = {row, row},
         .text = "ds.cross_entropy $0, $1 weights $2 : (#0, #1, #2) -> (@0, @1)",
         .fills = {{0, {.low = -4, .high = 4}}, {1, labels}, {2, factors}},
         .expected = [](const Tensors &in) -> Tensors {
           return weightedExpected(in, crossEntropyExpected);
         },
         .roundings = vocabulary + 9,
         .magnitude = 12});
    grad.cases.push_back(
        {.label = "weighted_" + label,
         .operands = {logits, ids, row, "f64", "f64", row},
         .results = {logits},
         .text = "ds.cross_entropy_grad $0, $1, $2, $3, $4 weights $5 : (#0, #1, #2, #3, #4, #5) "
                 "-> @0",
         .fills = {{0, {.low = -4, .high = 4}},
                   {1, labels},
                   {2, {.low = std::log(vocabulary) + 2, .high = std::log(vocabulary) + 3}},
                   {3, {.exactly = {0.0625}}},
                   {4, {.exactly = {0.1}}},
                   {5, factors}},
         .expected = [](const Tensors &in) -> Tensors {
           return weightedExpected(in, crossEntropyGradExpected);
         },
         .roundings = 17});
    grad.cases.push_back(
        {.label = "smoothed_" + label,
         .operands = {logits, ids, row, "f64", "f64"},
         .results = {logits},
         .text = "ds.cross_entropy_grad $0, $1, $2, $3, $4 : (#0, #1, #2, #3, #4) -> @0",
         .fills = {{0, {.low = -4, .high = 4}},
                   {1, labels},
                   {2, {.low = std::log(vocabulary) + 2, .high = std::log(vocabulary) + 3}},
                   {3, {.exactly = {0.0625}}},
                   {4, {.exactly = {0.1}}}},
         .expected = crossEntropyGradExpected,
         .roundings = 16});
    grad.cases.push_back(
        {.label = label,
         .operands = {logits, ids, row, "f64"},
         .results = {logits},
         .text = "ds.cross_entropy_grad $0, $1, $2, $3 : (#0, #1, #2, #3) -> @0",
         .fills = {{0, {.low = -4, .high = 4}},
                   {1, labels},
                   {2, {.low = std::log(vocabulary) + 2, .high = std::log(vocabulary) + 3}},
                   {3, {.exactly = {0.0625}}}},
         .expected = crossEntropyGradExpected,
         .roundings = 16});
  }
  // Rank 3 of 4 with 131 classes in places for 33: the last is padding. -1 is a class elsewhere.
  grad.cases.push_back(
      {.label = "part_of_131",
       .operands = {"2x3x33xf32", "2x3xi32", "2x3xf32", "f64", "f64", "f64"},
       .results = {"2x3x33xf32"},
       .text = "ds.cross_entropy_grad $0, $1, $2, $3, $4 part $5 {classes = 131 : i64} "
               ": (#0, #1, #2, #3, #4, #5) -> @0",
       .fills = {{0, {.low = -4, .high = 4}},
                 {1, {.exactly = {3, -100, -1, 31, -1, 0}}},
                 {2, {.low = 7, .high = 8}},
                 {3, {.exactly = {0.0625}}},
                 {4, {.exactly = {0.1}}},
                 {5, {.exactly = {3}}}},
       .expected = [](const Tensors &in) -> Tensors {
         Tensor result = in[0];
         for (int64_t i = 0; i < result.count(); ++i) {
           int64_t row = i / 33, v = i % 33;
           double target = (in[1][row] == v ? 0.9 : 0) + 0.1 / 131;
           result[i] = v == 32 || in[1][row] == -100
                           ? 0
                           : 0.0625 * (std::exp(in[0][i] - in[2][row]) - target);
         }
         return {result};
       },
       .roundings = 16});
  for (std::string ids : {"1", "7", "3x37", "5x131"})
    count.cases.push_back({.label = ids,
                           .operands = {ids + "xi32"},
                           .results = {"f64"},
                           .text = "ds.count $0 : (#0) -> @0",
                           .fills = {{0, {.low = 0, .high = 9, .uncounted = 3}}},
                           .expected = [](const Tensors &in) -> Tensors {
                             int64_t counted = in[0].count();
                             for (double label : in[0].values)
                               counted -= label < 0;
                             return {Tensor::scalar(static_cast<double>(counted))};
                           },
                           .roundings = 0});
  for (std::string ids : {"7", "3x37", "2x3x5", "9x131"}) {
    Fill labels{.low = 0, .high = 9, .uncounted = 2};
    if (ids == "2x3x5") // samples with all, some and no counted labels
      labels = {.exactly = {1,    2, 3,    4,    5,    -100, -100, -100, -100, -100,
                            -100, 0, -100, 1,    -100, -100, -100, -100, -100, -100,
                            6,    7, 8,    -100, 9,    0,    -100, -100, -100, -100}};
    count.cases.push_back({.label = "samples_" + ids,
                           .operands = {ids + "xi32"},
                           .results = {"f64"},
                           .text = "ds.count $0 {samples} : (#0) -> @0",
                           .fills = {{0, labels}},
                           .expected = [](const Tensors &in) -> Tensors {
                             double samples = 0;
                             for (int64_t row = 0; row < in[0].rows(); ++row)
                               samples += *std::max_element(in[0].row(row),
                                                            in[0].row(row) + in[0].columns()) >= 0;
                             return {Tensor::scalar(samples)};
                           },
                           .roundings = 0});
    weights.cases.push_back({.label = ids,
                             .operands = {ids + "xi32"},
                             .results = {ids + "xf32"},
                             .text = "ds.label_weights $0 : (#0) -> @0",
                             .fills = {{0, labels}},
                             .expected = [](const Tensors &in) -> Tensors {
                               Tensor result = in[0];
                               for (int64_t row = 0; row < in[0].rows(); ++row) {
                                 double counted = 0;
                                 for (int64_t i = 0; i < in[0].columns(); ++i)
                                   counted += in[0].row(row)[i] >= 0;
                                 for (int64_t i = 0; i < in[0].columns(); ++i)
                                   result.row(row)[i] =
                                       in[0].row(row)[i] >= 0 ? std::pow(counted, -1) : 0;
                               }
                               return {result};
                             },
                             .roundings = 1});
  }
  for (double counted : {0.0, 1.0, 37.0})
    seed.cases.push_back({.label = std::to_string(static_cast<int>(counted)),
                          .operands = {"f64"},
                          .results = {"f64"},
                          .text = "ds.loss_seed $0 : (#0) -> @0",
                          .fills = {{0, {.exactly = {counted}}}},
                          .expected = [](const Tensors &in) -> Tensors {
                            double c = in[0].item();
                            return {Tensor::scalar(c > 0 ? std::pow(c, -1) : 0)};
                          },
                          .roundings = 0});
  seed.cases.push_back(
      {.label = "scaled",
       .operands = {"f64", "f64"},
       .results = {"f64"},
       .text = "ds.loss_seed $0, $1 : (#0, #1) -> @0",
       .fills = {{0, {.exactly = {37}}}, {1, {.exactly = {65536}}}},
       .expected = [](const Tensors &) -> Tensors { return {Tensor::scalar(65536.0 / 37)}; },
       .roundings = 0});
  for (std::string losses : {"1", "7", "3x37", "5x131"})
    for (double counted : {0.0, 24.0})
      mean.cases.push_back({.label = losses + "_" + std::to_string(static_cast<int>(counted)),
                            .operands = {losses + "xf32", "f64"},
                            .results = {"f64"},
                            .text = "ds.token_mean $0, $1 : (#0, #1) -> @0",
                            .fills = {{0, {.low = 0, .high = 5}}, {1, {.exactly = {counted}}}},
                            .expected = [](const Tensors &in) -> Tensors {
                              double sum = 0;
                              for (double loss : in[0].values)
                                sum += in[1].item() == 0 ? 0 : loss / in[1].item();
                              return {Tensor::scalar(sum)};
                            },
                            .roundings = 0});
  // Rows are the elements of the result behind its first dimension.
  slice.cases = {sliceCase("3x7x17xf32", "5x17xf32", 4), sliceCase("9x5xf32", "9x5xf32", 0),
                 sliceCase("3x7xi32", "6xi32", 15)};
  for (OpCase &c : slice.cases) {
    int64_t start = std::stol(c.text.substr(c.text.find("start = ") + 8));
    int64_t rows = std::stol(c.results[0]);
    c.roundings = 0;
    c.expected = [start, rows](const Tensors &in) -> Tensors {
      bool matrix = in[0].shape.back() != 7;
      int64_t width = matrix ? in[0].columns() : 1;
      Tensor result = matrix ? Tensor::filled({rows, width}, 0) : Tensor::filled({rows}, 0);
      for (int64_t i = 0; i < rows * width; ++i)
        result[i] = in[0][start * width + i];
      return {result};
    };
  }
  concat.cases = {{.label = "two",
                   .operands = {"5x17xf32", "2x17xf32"},
                   .results = {"7x17xf32"},
                   .text = "ds.concat_rows $0, $1 : (#0, #1) -> @0"},
                  {.label = "three_folded",
                   .operands = {"3xf32", "1xf32", "10xf32"},
                   .results = {"2x7xf32"},
                   .text = "ds.concat_rows $0, $1, $2 : (#0, #1, #2) -> @0"}};
  for (OpCase &c : concat.cases) {
    std::vector<int64_t> shape =
        c.label == "two" ? std::vector<int64_t>{7, 17} : std::vector<int64_t>{2, 7};
    c.roundings = 0;
    c.expected = [shape](const Tensors &in) -> Tensors {
      Tensor result{shape, {}};
      for (const Tensor &part : in)
        result.values.insert(result.values.end(), part.values.begin(), part.values.end());
      return {result};
    };
  }
  return {entropy, grad, count, weights, seed, mean, slice, concat};
}
