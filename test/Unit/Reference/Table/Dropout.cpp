//===- Dropout.cpp - test rows of Ops/Dropout.td ---------------------------===//
#include "OpTable.h"
#include "dsc/Support/Philox.h"
#include <cmath>

using namespace dsc::optable;

/// A key with words above 2^31.
static const Fill keyFill{.exactly = {3000000001.0, 7, 4294967295.0, 12, 2166136261.0}};

/// The words of whole counters first, then their elements.
static Tensors dropoutExpected(const Tensors &in, double p) {
  Tensor result = in[0];
  int64_t samples = in[0].shape[0], elements = result.count() / samples;
  auto word = [&](int64_t i) { return static_cast<uint32_t>(in[1][i]); };
  for (int64_t sample = 0; sample < samples; ++sample)
    for (int64_t group = 0; 4 * group < elements; ++group) {
      auto words = dsc::philox(word(0) | uint64_t(word(1)) << 32,
                               uint64_t(uint32_t(word(2) + sample)) << 32 |
                                   uint32_t(group + (in[1].count() > 5 ? word(5) : 0)),
                               uint64_t(word(4)) << 32 | word(3));
      for (int64_t i = 0; i < 4 && 4 * group + i < elements; ++i) {
        double &x = result[sample * elements + 4 * group + i];
        x = words[i] < p * 4294967296.0 || p == 1 ? 0 : x / (1 - p);
      }
    }
  return {result};
}

std::vector<OpRow> dsc::optable::dropoutRows() {
  OpRow key{"ds.random_key", {}}, dropout{"ds.dropout", {}};
  auto scalar = [](double value) { return Fill{.exactly = {value}}; };
  key.cases.push_back(
      {.label = "of_a_path",
       .operands = {"f64", "f64", "f64", "f64"},
       .results = {"5xf64"},
       .text = "ds.random_key $0, $1, $2, $3 {path = \"a\"} : (#0, #1, #2, #3) -> @0",
       .fills = {{0, scalar(4294967295)}, {1, scalar(1)}, {2, scalar(40)}, {3, scalar(41)}},
       // FNV-1a of "a" is af63dc4c8601ec8c.
       .expected = [](const Tensors &) -> Tensors {
         return {Tensor({5}, {4294967295, 1, 40, 41, 0x8601ec8c})};
       },
       .roundings = 0});
  for (std::string shape : {"1", "7x3", "3x17x60", "2x131", "2x5x1031", "1x4096", "3x5000"})
    for (double p : {0.0, 0.1, 0.5, 1.0}) {
      std::string type = shape + "xf32", text = std::to_string(p);
      dropout.cases.push_back(
          {.label = shape + "_p" + std::to_string(int(p * 10)),
           .operands = {type, "5xf64"},
           .results = {type},
           .text = "ds.dropout $0, $1 {p = " + text + " : f64} : (#0, #1) -> @0",
           .fills = {{1, keyFill}},
           .expected = [p](const Tensors &in) { return dropoutExpected(in, p); },
           .roundings = 2});
    }
  dropout.cases.push_back(
      {.label = "part_3x5000",
       .operands = {"3x5000xf32", "6xf64"},
       .results = {"3x5000xf32"},
       .text = "ds.dropout $0, $1 {p = 0.3 : f64} : (#0, #1) -> @0",
       .fills = {{1, {.exactly = {3000000001.0, 7, 4294967295.0, 12, 2166136261.0, 1250}}}},
       .expected = [](const Tensors &in) { return dropoutExpected(in, 0.3); },
       .roundings = 2});
  return {key, dropout};
}
