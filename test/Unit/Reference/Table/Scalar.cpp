//===- Scalar.cpp - test rows of Ops/Scalar.td -----------------------------===//
// All of these compute in f64 in kernels too, so they are held to f64 roundings.
#include "OpTable.h"
#include <cmath>
#include <numbers>

using namespace dsc::optable;

/// The schedules through sin^2 and interpolation.
static double rateExpected(const Tensors &in, const std::string &schedule) {
  double t = in[0].item(), peak = in[1].item(), floor = in[2].item();
  double warmup = in[3].item(), total = in[4].item();
  if (warmup > t)
    return (t + 1) * peak / warmup;
  if (schedule == "constant")
    return peak;
  double done = total > t ? (t - warmup) / (total - warmup) : 1;
  if (schedule == "cosine")
    done = std::pow(std::sin(std::numbers::pi / 2 * done), 2);
  return peak * (1 - done) + floor * done;
}

std::vector<OpRow> dsc::optable::scalarRows() {
  OpRow squares{"ds.square_sum", {}}, norm{"ds.global_norm", {}}, clip{"ds.clip_factor", {}};
  OpRow rate{"ds.learning_rate", {}}, increment{"ds.increment", {}};
  auto scalar = [](double value) { return Fill{.exactly = {value}}; };
  for (auto [shape, blocks] : {std::pair<std::string, std::string>{"1", "1"},
                               {"7", "1"},
                               {"1024", "1"},
                               {"1025", "2"},
                               {"17x131", "3"},
                               {"9x1031", "10"}})
    squares.cases.push_back({.label = shape,
                             .operands = {shape + "xf32"},
                             .results = {blocks + "xf64"},
                             .text = "ds.square_sum $0 : (#0) -> @0",
                             .expected = [](const Tensors &in) -> Tensors {
                               int64_t count = in[0].count();
                               Tensor result = Tensor::filled({(count + 1023) / 1024}, 0);
                               for (int64_t i = count - 1; i >= 0; --i)
                                 result[i >> 10] += std::pow(in[0][i], 2);
                               return {result};
                             },
                             .roundings = 0});
  auto root = [](const Tensors &in) -> Tensors {
    double sum = 0;
    for (const Tensor &operand : in)
      for (double value : operand.values)
        sum += value;
    return {Tensor::scalar(std::sqrt(sum))};
  };
  Fill positive{.low = 0, .high = 900};
  norm.cases = {{.label = "one",
                 .operands = {"1xf64"},
                 .results = {"f64"},
                 .text = "ds.global_norm $0 : (#0) -> @0",
                 .fills = {{0, positive}},
                 .expected = root,
                 .roundings = 0},
                {.label = "three",
                 .operands = {"1xf64", "7xf64", "131xf64"},
                 .results = {"f64"},
                 .text = "ds.global_norm $0, $1, $2 : (#0, #1, #2) -> @0",
                 .fills = {{0, positive}, {1, positive}, {2, positive}},
                 .expected = root,
                 .roundings = 0}};
  struct Clip {
    const char *label;
    double norm, limit, factor;
  };
  for (Clip c : {Clip{"above", 4, 1, 0.25}, Clip{"below", 0.5, 1, 1}, Clip{"no_limit", 7, 0, 1},
                 Clip{"zero_norm", 0, 1, 1}, Clip{"equal", 3, 3, 1}})
    clip.cases.push_back(
        {.label = c.label,
         .operands = {"f64", "f64"},
         .results = {"f64"},
         .text = "ds.clip_factor $0, $1 : (#0, #1) -> @0",
         .fills = {{0, scalar(c.norm)}, {1, scalar(c.limit)}},
         .expected = [c](const Tensors &) -> Tensors { return {Tensor::scalar(c.factor)}; },
         .roundings = 0});
  for (std::string schedule : {"constant", "linear", "cosine"})
    for (double updates : {0.0, 1.0, 2.0, 6.0, 9.0, 10.0, 1000.0})
      rate.cases.push_back({.label = schedule + "_" + std::to_string(static_cast<int>(updates)),
                            .operands = {"f64", "f64", "f64", "f64", "f64"},
                            .results = {"f64"},
                            .text = "ds.learning_rate " + schedule + " $0, $1, $2, $3, $4",
                            .fills = {{0, scalar(updates)},
                                      {1, scalar(3)},
                                      {2, scalar(0.5)},
                                      {3, scalar(2)},
                                      {4, scalar(10)}},
                            .expected = [schedule](const Tensors &in) -> Tensors {
                              return {Tensor::scalar(rateExpected(in, schedule))};
                            },
                            .roundings = 0});
  for (double value : {0.0, 41.0})
    increment.cases.push_back(
        {.label = std::to_string(static_cast<int>(value)),
         .operands = {"f64"},
         .results = {"f64"},
         .text = "ds.increment $0 : (#0) -> @0",
         .fills = {{0, scalar(value)}},
         .expected = [value](const Tensors &) -> Tensors { return {Tensor::scalar(value + 1)}; },
         .roundings = 0});
  return {squares, norm, clip, rate, increment};
}
