//===- Scalar.cpp - test rows of Ops/Scalar.td -----------------------------===//
// All of these compute in f64 in kernels too, so they are held to f64 roundings.
#include "OpTable.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

using namespace dsc::optable;

/// The schedules through sin^2 and interpolation.
static double rateExpected(const Tensors &in, const std::string &schedule, bool linearWarmup) {
  double t = in[0].item(), peak = in[1].item(), floor = in[2].item();
  double warmup = in[3].item(), total = in[4].item(), extra = in.size() > 5 ? in[5].item() : 0;
  auto falling = [](double done) { return std::pow(std::sin(std::numbers::pi / 2 * done), 2); };
  if (schedule.starts_with("warmup_")) {
    double risen = linearWarmup ? t / warmup : std::log1p(t) / std::log(warmup);
    double gone = t < total ? (t - warmup) / (total - warmup) : 1;
    if (schedule == "warmup_cosine_lr") {
      double done = std::min(1.0, (t + 1 - warmup) / (total - warmup));
      return t < warmup ? peak * risen + peak * extra * (1 - risen)
                        : peak * (1 - falling(done) * (1 - floor));
    }
    double share = t < warmup ? risen : schedule == "warmup_lr" ? 1 : 1 - gone;
    return peak * share + floor * (1 - share);
  }
  if (warmup > t)
    return (t + 1) * peak / warmup;
  if (schedule == "constant")
    return peak;
  if (schedule == "inverse_sqrt")
    return std::max(floor, peak * std::pow(1 + (t - warmup) / extra, -0.5));
  double start = schedule == "wsd" ? total - extra : warmup;
  double done = std::clamp((t - start) / (total - start), 0.0, 1.0);
  if (schedule == "cosine")
    done = falling(done);
  return peak * (1 - done) + floor * done;
}

/// Each way through the state machine: operands count, loss, norm, scale, good, used, floored,
/// window, hysteresis, floor, cap and the four results.
static void addLossScaleCases(OpRow &row) {
  constexpr double inf = std::numeric_limits<double>::infinity(),
                   nan = std::numeric_limits<double>::quiet_NaN();
  struct Case {
    const char *label;
    std::vector<double> in, out;
    bool consecutive = false;
  };
  const Case cases[] = {
      {"good", {5, 2, 1, 64, 3, 1, 0, 10, 2, 1, 1024}, {64, 4, 1, 0}},
      {"good_consecutive", {5, 2, 1, 64, 3, 1, 2, 10, 2, 1, 1024}, {64, 4, 0, 0}, true},
      {"grows", {5, 2, 1, 64, 9, 1, 0, 10, 2, 1, 1024}, {128, 10, 0, 0}},
      {"grows_again", {5, 2, 1, 64, 19, 0, 0, 10, 2, 1, 1024}, {128, 20, 0, 0}},
      {"capped", {5, 2, 1, 1024, 9, 0, 0, 10, 2, 1, 1024}, {1024, 10, 0, 0}},
      {"window_of_one", {5, 2, 1, 64, 0, 0, 0, 1, 1, 1, 1024}, {128, 1, 0, 0}},
      {"overflow_is_tolerated", {5, 2, inf, 64, 7, 0, 0, 10, 2, 1, 1024}, {64, 0, 1, 0}},
      {"overflow_halves", {5, 2, inf, 64, 7, 1, 0, 10, 2, 1, 1024}, {32, 0, 1, 0}},
      {"nan_halves", {5, 2, nan, 64, 7, 0, 0, 10, 1, 1, 1024}, {32, 0, 0, 0}},
      {"loss_overflows", {5, inf, 1, 64, 7, 0, 0, 10, 1, 1, 1024}, {32, 0, 0, 0}},
      {"reaches_floor", {5, 2, inf, 1.5, 7, 0, 0, 10, 1, 1, 1024}, {1, 0, 0, 0}},
      {"at_floor", {5, 2, inf, 1, 0, 0, 3, 10, 1, 1, 1024}, {1, 0, 0, 4}},
      {"floor_below_one", {5, 2, inf, 1, 0, 0, 0, 10, 1, 0.03125, 1024}, {0.5, 0, 0, 0}},
      {"empty", {0, 0, 0, 64, 9, 1, 2, 10, 2, 1, 1024}, {64, 9, 1, 2}},
  };
  for (const Case &c : cases) {
    OpCase out{};
    out.label = c.label;
    out.operands = std::vector<std::string>(11, "f64");
    out.results = std::vector<std::string>(4, "f64");
    std::string operands, types, results;
    for (int i = 0; i < 11; ++i) {
      std::string separator = i ? ", " : "";
      operands += separator + "$" + std::to_string(i);
      types += separator + "#" + std::to_string(i);
      out.fills[static_cast<unsigned>(i)] = {.exactly = {c.in[static_cast<size_t>(i)]}};
    }
    out.text = "ds.loss_scale_update " + operands + (c.consecutive ? " {consecutive}" : "") +
               " : (" + types + ") -> (@0, @1, @2, @3)";
    out.expected = [wanted = c.out](const Tensors &) -> Tensors {
      Tensors result;
      for (double value : wanted)
        result.push_back(Tensor::scalar(value));
      return result;
    };
    out.roundings = 0;
    row.cases.push_back(out);
  }
}

std::vector<OpRow> dsc::optable::scalarRows() {
  OpRow squares{"ds.square_sum", {}}, norm{"ds.global_norm", {}}, clip{"ds.clip_factor", {}};
  OpRow rate{"ds.learning_rate", {}}, increment{"ds.increment", {}};
  OpRow zeros{"ds.zeros", {}}, unscale{"ds.unscale", {}}, scale{"ds.loss_scale_update", {}};
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
  struct Choice {
    std::string schedule;
    std::vector<double> extra = {};
    bool linearWarmup = false;
  };
  for (const Choice &c :
       {Choice{"constant"}, Choice{"linear"}, Choice{"cosine"}, Choice{"inverse_sqrt", {5}},
        Choice{"wsd", {3}}, Choice{"warmup_lr"}, Choice{"warmup_lr", {}, true},
        Choice{"warmup_decay_lr"}, Choice{"warmup_cosine_lr", {0.125}},
        Choice{"warmup_cosine_lr", {0.125}, true}})
    for (double updates : {0.0, 1.0, 2.0, 6.0, 9.0, 10.0, 1000.0}) {
      OpCase rated{.label = c.schedule + (c.linearWarmup ? "_linear_" : "_") +
                            std::to_string(static_cast<int>(updates)),
                   .operands = {"f64", "f64", "f64", "f64", "f64"},
                   .results = {"f64"},
                   .text = "ds.learning_rate " + c.schedule + " $0, $1, $2, $3, $4" +
                           (c.extra.empty() ? "" : ", $5") +
                           (c.linearWarmup ? " {linear_warmup}" : ""),
                   .fills = {{0, scalar(updates)},
                             {1, scalar(3e-4)},
                             {2, scalar(1e-5)},
                             {3, scalar(3)},
                             {4, scalar(10)}},
                   .expected = [c](const Tensors &in) -> Tensors {
                     return {Tensor::scalar(rateExpected(in, c.schedule, c.linearWarmup))};
                   },
                   .roundings = 0};
      if (!c.extra.empty()) {
        rated.operands.push_back("f64");
        rated.fills[5] = scalar(c.extra[0]);
      }
      rate.cases.push_back(std::move(rated));
    }
  for (double value : {0.0, 41.0})
    increment.cases.push_back(
        {.label = std::to_string(static_cast<int>(value)),
         .operands = {"f64"},
         .results = {"f64"},
         .text = "ds.increment $0 : (#0) -> @0",
         .fills = {{0, scalar(value)}},
         .expected = [value](const Tensors &) -> Tensors { return {Tensor::scalar(value + 1)}; },
         .roundings = 0});
  OpRow scaleRate{"ds.scale_rate", {}}, trust{"ds.trust_ratio", {}};
  scaleRate.cases.push_back(
      {.label = "of_a_group",
       .operands = {"f64", "f64"},
       .results = {"f64"},
       .text = "ds.scale_rate $0, $1 : (#0, #1) -> @0",
       .fills = {{0, scalar(3e-4)}, {1, scalar(0.25)}},
       .expected = [](const Tensors &) -> Tensors { return {Tensor::scalar(7.5e-5)}; },
       .roundings = 0});
  struct Trust {
    const char *label;
    double weight, direction, ratio;
  };
  for (Trust c :
       {Trust{"inside", 6, 4, 1.5}, Trust{"most", 400, 4, 10}, Trust{"least", 1, 400, 0.01},
        Trust{"no_weight", 0, 4, 1}, Trust{"no_direction", 6, 0, 1}})
    trust.cases.push_back(
        {.label = c.label,
         .operands = {"f64", "f64", "f64", "f64"},
         .results = {"f64"},
         .text = "ds.trust_ratio $0, $1, $2, $3 : (#0, #1, #2, #3) -> @0",
         .fills =
             {{0, scalar(c.weight)}, {1, scalar(c.direction)}, {2, scalar(0.01)}, {3, scalar(10)}},
         .expected = [c](const Tensors &) -> Tensors { return {Tensor::scalar(c.ratio)}; },
         .roundings = 0});
  OpRow power{"ds.update_power", {}}, step{"ds.adafactor_factor", {}};
  for (double exponent : {-0.8, -0.5, -1.0, 0.0, -10.0})
    for (double updates : {0.0, 1.0, 6.0, 999.0, 123456789.0})
      power.cases.push_back({.label = std::to_string(static_cast<int>(-10 * exponent)) +
                                      "_tenths_after_" +
                                      std::to_string(static_cast<int64_t>(updates)),
                             .operands = {"f64", "f64"},
                             .results = {"f64"},
                             .text = "ds.update_power $0, $1 : (#0, #1) -> @0",
                             .fills = {{0, scalar(updates)}, {1, scalar(exponent)}},
                             .expected = [=](const Tensors &) -> Tensors {
                               return {Tensor::scalar(std::pow(1 / (updates + 1), -exponent))};
                             },
                             .roundings = 0});
  struct Step {
    const char *label;
    double rate, weight, direction, updates, factor;
  };
  for (Step c : {Step{"relative", 0.01, 8, 2, 0, 4}, Step{"small", 0.01, 1e-4, 2, 0, 1e-3},
                 Step{"late", 0.5, 8, 2, 15, 2}, Step{"clipped", 0.01, 8, 12, 0, 2},
                 Step{"rate_0", 0, 8, 2, 3, 4}, Step{"no_direction", 0.01, 8, 0, 3, 4}})
    step.cases.push_back(
        {.label = c.label,
         .operands = {"f64", "f64", "f64", "f64", "f64", "f64"},
         .results = {"f64"},
         .text = "ds.adafactor_factor $0, $1, $2, $3, $4, $5 {elements = 4 : i64} : "
                 "(#0, #1, #2, #3, #4, #5) -> @0",
         .fills = {{0, scalar(c.rate)},
                   {1, scalar(c.weight)},
                   {2, scalar(c.direction)},
                   {3, scalar(c.updates)},
                   {4, scalar(1e-3)},
                   {5, scalar(3)}},
         .expected = [c](const Tensors &) -> Tensors { return {Tensor::scalar(c.factor)}; },
         .roundings = 0});
  increment.cases.push_back(
      {.label = "step_8",
       .operands = {"f64"},
       .results = {"f64"},
       .text = "ds.increment $0 {step = 8.0 : f64} : (#0) -> @0",
       .fills = {{0, scalar(40)}},
       .expected = [](const Tensors &) -> Tensors { return {Tensor::scalar(48)}; },
       .roundings = 0});
  increment.cases.push_back(
      {.label = "by",
       .operands = {"f64", "f64"},
       .results = {"f64"},
       .text = "ds.increment $0, $1 : (#0, #1) -> @0",
       .fills = {{0, scalar(3.25)}, {1, scalar(-1.5)}},
       .expected = [](const Tensors &) -> Tensors { return {Tensor::scalar(1.75)}; },
       .roundings = 0});
  using Shape = std::vector<int64_t>;
  for (const auto &[type, shape] : {std::pair<std::string, Shape>{"f64", {}},
                                    {"1xf32", {1}},
                                    {"7xf32", {7}},
                                    {"17x131xf32", {17, 131}},
                                    {"3x5xf64", {3, 5}}})
    zeros.cases.push_back({.label = type,
                           .operands = {},
                           .results = {type},
                           .text = "ds.zeros : () -> @0",
                           .expected = [shape = shape](const Tensors &) -> Tensors {
                             return {Tensor::filled(shape, 0)};
                           },
                           .roundings = 0});
  unscale.cases = {
      {.label = "power_of_two",
       .operands = {"f64", "f64"},
       .results = {"f64"},
       .text = "ds.unscale $0, $1 : (#0, #1) -> @0",
       .fills = {{0, scalar(3)}, {1, scalar(65536)}},
       .expected = [](const Tensors &) -> Tensors { return {Tensor::scalar(std::ldexp(3, -16))}; },
       .roundings = 0}};
  addLossScaleCases(scale);
  return {squares, norm,  clip,    rate,  increment, scaleRate,
          trust,   zeros, unscale, scale, power,     step};
}
