//===- CasesTest.cpp - worked cases of training on the ds ops --------------===//
// Named after the cases they show: AW decay and AdamW, LR schedules, CL clipping, GA loss and
// labels. Right values are exact numbers worked out by hand, or equality to the bit.
#include "Table/OpTable.h"
#include "TinyRun.h"
#include "dsc/Reference/GradientCheck.h"
#include "dsc/Runtime/Data/BatchStream.h"
#include "dsc/Runtime/Data/Npy.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>

using namespace mlir;
using namespace dsc;
using namespace dsc::test;
using reference::Interpreter;
using reference::Outcome;
using reference::Tensor;

//===-- AW: decay and AdamW --===//

namespace {
struct Adam {
  double weight, m, v;
};
} // namespace

/// One update of a single weight through ds.adam_update.
static Adam adamStep(Adam state, double gradient, double updates, bool decoupled,
                     double rate = 1e-3, double decay = 0.01) {
  MLIRContext context;
  context.loadDialect<ds::DSDialect, func::FuncDialect>();
  optable::OpCase c{.label = "",
                    .operands = {"1xf32", "1xf32", "1xf32", "1xf32", "f64", "f64", "f64", "f64",
                                 "f64", "f64", "f64"},
                    .results = {"1xf32", "1xf32", "1xf32"},
                    .text = "ds.adam_update $0, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10" +
                            std::string(decoupled ? " {decoupled}" : "") +
                            " : (#0, #1, #2, #3, #4, #5, #6, #7, #8, #9, #10) -> (@0, @1, @2)"};
  auto module = optable::parseCase(context, c);
  EXPECT_TRUE(module);
  Interpreter interpreter(*module);
  auto one = [](double value) { return Tensor{{1}, {value}}; };
  auto outcome = interpreter.run(
      "case", {one(state.weight), one(gradient), one(state.m), one(state.v), Tensor::scalar(1),
               Tensor::scalar(rate), Tensor::scalar(0.9), Tensor::scalar(0.999),
               Tensor::scalar(1e-8), Tensor::scalar(updates), Tensor::scalar(decay)});
  EXPECT_TRUE(succeeded(outcome));
  return {outcome->results[0].item(), outcome->results[1].item(), outcome->results[2].item()};
}

// Decay is multiplied by the learning rate.
TEST(Cases, AW01_DecayIsTimesTheLearningRate) {
  EXPECT_NEAR(adamStep({1, 0, 0}, 0.1, 0, true).weight, 0.9989900001, 1e-13);
}

// Adam without decoupling adds the decay to the gradient.
TEST(Cases, AW02_CoupledDecayGoesThroughTheGradient) {
  EXPECT_NEAR(adamStep({1, 0, 0}, 0.1, 0, false).weight, 0.9990000001, 5e-11);
}

// Bias correction uses powers of beta, from t = 1 on.
TEST(Cases, AW03_BiasCorrection) {
  Adam first = adamStep({1, 0, 0}, 0.1, 0, true);
  Adam second = adamStep(first, -0.2, 1, true);
  EXPECT_NEAR(second.weight, 0.9993461137, 1e-10);
  EXPECT_NEAR(second.m / (1 - 0.9 * 0.9), -0.0578947, 1e-7);
  EXPECT_NEAR(second.v / (1 - 0.999 * 0.999), 0.0250075, 1e-7);
}

/// Gradients of everything are zero: the head and the last norm are.
static void silence(TinyRun &run) {
  for (const char *name : {"lm_head.weight", "ln_f.weight", "ln_f.bias"})
    run.fill(name, 0);
}

static Spec untied() {
  Spec spec = tinySpec();
  spec.model.tiedHead = false;
  return spec;
}

// Only matrices and embeddings decay; gains and biases keep every bit.
TEST(Cases, AW05_OnlyMatricesDecay) {
  Spec spec = untied();
  spec.train.lr = 1e-3;
  spec.train.weightDecay = 0.01;
  TinyRun run(spec);
  ASSERT_TRUE(run.ok());
  silence(run);
  run.fill("h.0.attn.c_attn.bias", 0.25);
  auto before = run.state();
  auto outcome = run.step();
  ASSERT_TRUE(succeeded(outcome));
  EXPECT_EQ(outcome->reports["grad_norm"].item(), 0);
  int matrices = 0, vectors = 0;
  for (auto variable : run.module->getOps<ds::VariableOp>()) {
    if (variable.getRole() != ds::Role::Parameter)
      continue;
    std::string name = variable.getSymName().str();
    bool matrix = reference::shapeOf(variable.getType()).size() >= 2;
    ++(matrix ? matrices : vectors);
    for (size_t i = 0; i < before[name].size(); ++i) {
      if (matrix)
        ASSERT_NEAR(run[name][i], before[name][i] * 0.99999, 1e-15) << name;
      else
        ASSERT_EQ(run[name][i], before[name][i]) << name;
    }
  }
  EXPECT_EQ(matrices, 7); // wte, wpe, c_attn, c_proj, c_fc, c_proj, lm_head
  EXPECT_EQ(vectors, 10);
}

// The configured decay reaches the optimizer.
TEST(Cases, AW07_DecayReachesTheOptimizer) {
  Spec spec = tinySpec();
  TinyRun without(spec);
  spec.train.weightDecay = 0.1;
  TinyRun with(spec);
  ASSERT_TRUE(without.ok() && with.ok());
  ASSERT_TRUE(succeeded(without.step()));
  ASSERT_TRUE(succeeded(with.step()));
  EXPECT_NE(without["wte.weight"], with["wte.weight"]);
  EXPECT_EQ(without["ln_f.weight"], with["ln_f.weight"]);
  EXPECT_EQ(with.interpreter->hyperparameters.at("train.optimizer.params.weight_decay"), 0.1);
}

// Decay uses the scheduled rate: at rate 0 nothing moves.
TEST(Cases, AW09_NothingMovesAtRateZero) {
  for (OptimizerKind kind : {OptimizerKind::AdamW, OptimizerKind::Sgd}) {
    Spec spec = tinySpec();
    spec.train.optimizer = kind;
    spec.train.weightDecay = 0.1;
    spec.train.schedule = ScheduleKind::Linear;
    spec.train.totalSteps = 1;
    TinyRun run(spec);
    ASSERT_TRUE(run.ok());
    ASSERT_TRUE(succeeded(run.step()));
    auto before = run.state();
    auto outcome = run.step(); // past the schedule's end, where the floor is 0
    ASSERT_TRUE(succeeded(outcome));
    EXPECT_EQ(outcome->reports["learning_rate"].item(), 0);
    for (auto variable : run.module->getOps<ds::VariableOp>())
      if (variable.getRole() == ds::Role::Parameter)
        EXPECT_EQ(run[variable.getSymName().str()], before[variable.getSymName().str()]);
  }
}

/// A run with the transformer's matrices frozen, and decay.
static Spec frozenSpec() {
  Spec spec = tinySpec();
  spec.train.weightDecay = 0.1;
  spec.train.groups = {{"*.mlp.*", {}, {}, true}, {"wte.*", {}, {}, true}};
  return spec;
}

// Frozen parameters keep their bits, decay or not, under every optimizer.
TEST(Cases, AW06_FrozenParametersDoNotDecay) {
  for (OptimizerKind kind : {OptimizerKind::AdamW, OptimizerKind::Sgd, OptimizerKind::Lion,
                             OptimizerKind::Lamb, OptimizerKind::Adafactor}) {
    Spec spec = frozenSpec();
    spec.train.optimizer = kind;
    spec.train.schedule = ScheduleKind::Constant;
    TinyRun run(spec);
    ASSERT_TRUE(run.ok());
    auto before = run.state();
    for (int step = 0; step < 100; ++step)
      ASSERT_TRUE(succeeded(run.step()));
    int frozen = 0;
    for (auto variable : run.module->getOps<ds::VariableOp>()) {
      std::string name = variable.getSymName().str();
      bool matched = name.find(".mlp.") != std::string::npos || name == "wte.weight";
      if (variable.getRole() != ds::Role::Parameter) {
        EXPECT_FALSE(matched) << name << " is state of a frozen parameter";
        continue;
      }
      EXPECT_EQ(variable.getFrozen(), matched) << name;
      EXPECT_EQ(run[name] == before[name], matched) << name;
      frozen += matched;
    }
    EXPECT_EQ(frozen, 5);
  }
}

//===-- optimizers whose step is worked out by hand --===//

/// Values after one step of a run whose only trained parameter is ln_f.weight, with all of its
/// state.
static std::map<std::string, std::vector<double>> oneStep(Spec spec, const char *name,
                                                          std::vector<double> &gradient) {
  spec.train.groups = {{name, {}, {}, false}, {"*", {}, {}, true}};
  TinyRun run(spec);
  EXPECT_TRUE(run.ok());
  auto outcome = run.step();
  EXPECT_TRUE(succeeded(outcome));
  gradient = outcome->reports[std::string("grad:") + name].values;
  return run.state();
}

// LAMB: the step has the length of the weights times the rate, as long as the ratio stays within
// its limits. The first direction is g / |g| an element.
TEST(Optimizers, LambScalesByTheTrustRatio) {
  Spec spec = tinySpec();
  spec.train.optimizer = OptimizerKind::Lamb;
  spec.train.lr = 0.01;
  spec.train.eps = 1e-30;
  std::vector<double> gradient;
  for (double limit : {10.0, 0.5}) {
    spec.train.mostTrust = limit;
    auto after = oneStep(spec, "ln_f.weight", gradient);
    // 12 weights of 1 and a direction of 12 ones: the ratio is 1 unless it is limited.
    for (size_t i = 0; i < gradient.size(); ++i)
      EXPECT_NEAR(after["ln_f.weight"][i],
                  1 - 0.01 * std::min(1.0, limit) * (gradient[i] > 0 ? 1 : -1), 1e-12);
  }
  // Zero weights have no length: the ratio is 1, and they move.
  auto after = oneStep(spec, "ln_f.bias", gradient);
  for (size_t i = 0; i < gradient.size(); ++i)
    EXPECT_NEAR(after["ln_f.bias"][i], 0.01 * (gradient[i] > 0 ? -1 : 1), 1e-12);
}

// Adafactor, first update: the moments are the squares themselves, so a vector goes by the sign,
// and a matrix by g / sqrt(row mean * column mean / mean); the step is the rate times the
// variable's root mean square, and a direction that is longer than `d` is cut to it.
TEST(Optimizers, AdafactorStepsRelativeToTheVariable) {
  Spec spec = tinySpec();
  spec.train.optimizer = OptimizerKind::Adafactor;
  spec.train.lr = 0.01;
  spec.train.eps = 1e-15;
  std::vector<double> gradient;
  auto after = oneStep(spec, "ln_f.weight", gradient);
  for (size_t i = 0; i < gradient.size(); ++i) // 12 weights of 1
    EXPECT_NEAR(after["ln_f.weight"][i], 1 - 0.01 * (gradient[i] > 0 ? 1 : -1), 1e-12);
  after = oneStep(spec, "ln_f.bias", gradient); // of 0: as large as eps2
  for (size_t i = 0; i < gradient.size(); ++i)
    EXPECT_NEAR(after["ln_f.bias"][i], 1e-5 * (gradient[i] > 0 ? -1 : 1), 1e-15);

  TinyRun untrained(spec);
  ASSERT_TRUE(untrained.ok());
  auto before = untrained.state();
  after = oneStep(spec, "wpe.weight", gradient);
  const std::vector<double> &start = before["wpe.weight"], &moved = after["wpe.weight"];
  size_t columns = after["adafactor.column.wpe.weight"].size(), rows = start.size() / columns;
  ASSERT_EQ(after["adafactor.row.wpe.weight"].size(), rows);
  std::vector<double> ofRow(rows), ofColumn(columns);
  double all = 0, size = 0, length = 0;
  for (size_t i = 0; i < start.size(); ++i) {
    ofRow[i / columns] += gradient[i] * gradient[i] / static_cast<double>(columns);
    ofColumn[i % columns] += gradient[i] * gradient[i] / static_cast<double>(rows);
    all += gradient[i] * gradient[i] / static_cast<double>(start.size());
    size += start[i] * start[i] / static_cast<double>(start.size());
  }
  auto direction = [&](size_t i) {
    return gradient[i] /
           std::sqrt(std::max(ofRow[i / columns] * ofColumn[i % columns] / all, 1e-30));
  };
  for (size_t i = 0; i < start.size(); ++i)
    length += std::pow(direction(i), 2) / static_cast<double>(start.size());
  double step = 0.01 * std::sqrt(size) / std::max(1.0, std::sqrt(length));
  for (size_t i = 0; i < start.size(); ++i)
    EXPECT_NEAR(moved[i], start[i] - step * direction(i), 1e-12) << i;
}

// Lion: one rate an element, in the direction against the gradient; the moment follows with beta2.
TEST(Optimizers, LionStepsByTheSign) {
  Spec spec = tinySpec();
  spec.train.optimizer = OptimizerKind::Lion;
  spec.train.lr = 0.01;
  spec.train.beta2 = 0.99;
  std::vector<double> gradient;
  auto after = oneStep(spec, "ln_f.weight", gradient);
  for (size_t i = 0; i < gradient.size(); ++i) {
    EXPECT_NEAR(after["ln_f.weight"][i], 1 - 0.01 * (gradient[i] > 0 ? 1 : -1), 1e-15);
    EXPECT_NEAR(after["lion.m.ln_f.weight"][i], 0.01 * gradient[i], 1e-15);
  }
}

// A group has its own rate and its own decay, whatever the shape of its members.
TEST(Optimizers, GroupsHaveTheirOwnRateAndDecay) {
  Spec spec = tinySpec();
  spec.train.optimizer = OptimizerKind::Sgd;
  spec.train.decoupledDecay = false;
  spec.train.lr = 0.5;
  spec.train.weightDecay = 0.25;
  TinyRun plain(spec);
  spec.train.groups = {{"ln_f.weight", 0.125, 0.5, false},
                       {"*.c_fc.weight", {}, 0.0, false},
                       {"wpe.*", 0.0, {}, false}};
  TinyRun grouped(spec);
  ASSERT_TRUE(plain.ok() && grouped.ok());
  auto before = plain.state();
  auto outcome = plain.step();
  ASSERT_TRUE(succeeded(outcome));
  ASSERT_TRUE(succeeded(grouped.step()));
  auto gradient = [&](const char *name) {
    return outcome->reports[std::string("grad:") + name].values;
  };
  for (size_t i = 0; i < 12; ++i)
    EXPECT_NEAR(grouped["ln_f.weight"][i], 1 - 0.0625 * (gradient("ln_f.weight")[i] + 0.5), 1e-15);
  auto inner = gradient("h.0.mlp.c_fc.weight");
  for (size_t i = 0; i < inner.size(); ++i)
    EXPECT_NEAR(grouped["h.0.mlp.c_fc.weight"][i],
                before["h.0.mlp.c_fc.weight"][i] - 0.5 * inner[i], 1e-15);
  EXPECT_EQ(grouped["wpe.weight"], before["wpe.weight"]);
  EXPECT_EQ(grouped["wte.weight"], plain["wte.weight"]);
}

//===-- LR: schedules --===//

static double rateAt(const std::string &schedule, double t, double warmup, double total,
                     double peak = 1, double floor = 0, std::optional<double> extra = {}) {
  MLIRContext context;
  context.loadDialect<ds::DSDialect, func::FuncDialect>();
  // "warmup_lr {linear_warmup}": attributes follow the operands.
  std::string name = schedule.substr(0, schedule.find(' ')),
              attributes = schedule.substr(name.size());
  optable::OpCase c{.label = "",
                    .operands = {"f64", "f64", "f64", "f64", "f64", "f64"},
                    .results = {"f64"},
                    .text = "ds.learning_rate " + name + " $0, $1, $2, $3, $4" +
                            (extra ? ", $5" : "") + attributes};
  auto module = optable::parseCase(context, c);
  EXPECT_TRUE(module);
  Interpreter interpreter(*module);
  auto outcome = interpreter.run(
      "case", {Tensor::scalar(t), Tensor::scalar(peak), Tensor::scalar(floor),
               Tensor::scalar(warmup), Tensor::scalar(total), Tensor::scalar(extra.value_or(0))});
  EXPECT_TRUE(succeeded(outcome));
  return outcome->results[0].item();
}

/// A schedule and what its last operand is in the tests below.
struct NamedSchedule {
  const char *name;
  std::optional<double> extra = {};
};
static const NamedSchedule ourSchedules[] = {
    {"constant"}, {"linear"}, {"cosine"}, {"inverse_sqrt", 5}, {"wsd", 4}};

// Warm-up is (t + 1) / W: the first update moves.
TEST(Cases, LR01_WarmUpStartsAboveZero) {
  const double trace[] = {0.5, 1, 1, .961940, .853553, .691342, .5, .308658, .146447, .038060};
  for (int t = 0; t < 10; ++t)
    EXPECT_NEAR(rateAt("cosine", t, 2, 10), trace[t], 5e-7) << t;
  for (auto [name, extra] : ourSchedules)
    for (int t = 0; t < 2; ++t)
      EXPECT_EQ(rateAt(name, t, 2, 10, 1, 0, extra), trace[t]) << name << t;
}

// DeepSpeed's schedules, replayed from its own formulas for W = 4, T = 10: its warm-up is
// logarithmic unless told otherwise, starts at the least rate and has reached the peak at update W
// - 1 (linear: W).
TEST(Cases, LR01_DeepSpeedFormulas) {
  const double logarithmic[] = {0.1, 0.55, 0.813233, 1}, straight[] = {0.1, 0.325, 0.55, 0.775};
  const double decay[] = {1, 0.85, 0.7, 0.55, 0.4, 0.25, 0.1, 0.1};
  const double cosine[] = {0.936362, 0.7625, 0.525, 0.2875, 0.113638, 0.05, 0.05, 0.05};
  for (bool linear : {false, true})
    for (int t = 0; t < 12; ++t) {
      std::string attribute = linear ? " {linear_warmup}" : "";
      double rising = linear ? straight[t % 4] : logarithmic[t % 4];
      EXPECT_NEAR(rateAt("warmup_lr" + attribute, t, 4, 10, 1, 0.1), t < 4 ? rising : 1, 5e-7);
      EXPECT_NEAR(rateAt("warmup_decay_lr" + attribute, t, 4, 10, 1, 0.1),
                  t < 4 ? rising : decay[t - 4], 5e-7)
          << t;
      EXPECT_NEAR(rateAt("warmup_cosine_lr" + attribute, t, 4, 10, 1, 0.05, 0.1),
                  t < 4 ? rising : cosine[t - 4], 5e-7)
          << t;
    }
}

/// Rate of DeepSpeed's schedulers after `iteration` batches, from their source
/// (deepspeed/runtime/lr_schedules.py) in its own terms: gamma, the share of the way from the least
/// to the greatest rate, or a ratio of the optimizer's rate.
static double deepSpeedRate(const std::string &type, bool linear, int iteration, int warmup,
                            int total, double most, double least, double start) {
  int steps = std::max(2, warmup);
  double gamma =
      linear ? static_cast<double>(iteration) / steps : std::log1p(iteration) / std::log(steps);
  bool rising = iteration < steps;
  if (type == "warmup_cosine_lr") {
    if (rising)
      return most * (start + gamma * (1 - start));
    double progress = std::min(1.0, (iteration - steps + 1.0) / std::max(1, total - steps));
    return most * std::max(0.0, least + (1 - least) * (1 + std::cos(M_PI * progress)) / 2);
  }
  if (!rising)
    gamma = type == "warmup_lr"
                ? 1
                : std::max(0.0,
                           (total - iteration) / std::max(1.0, static_cast<double>(total - steps)));
  return least + (most - least) * gamma;
}

// DeepSpeed's schedules over lengths long and short, warm-ups of none and beyond the end among
// them.
TEST(Cases, LR01_DeepSpeedSchedulesAgree) {
  for (std::string type : {"warmup_lr", "warmup_decay_lr", "warmup_cosine_lr"})
    for (bool linear : {false, true})
      for (auto [warmup, total] :
           {std::pair(0, 9), {1, 9}, {2, 9}, {5, 9}, {8, 9}, {9, 9}, {12, 9}, {1000, 5000}})
        for (int t :
             {0, 1, 2, 4, 5, 7, 8, 9, 11, 12, 13, 700, 999, 1000, 3000, 4998, 4999, 5000, 9000}) {
          std::optional<double> start;
          if (type == "warmup_cosine_lr")
            start = 0.1;
          double wanted = deepSpeedRate(type, linear, t, warmup, total, 3, 0.05, 0.1);
          EXPECT_NEAR(
              rateAt(type + (linear ? " {linear_warmup}" : ""), t, warmup, total, 3, 0.05, start),
              wanted, 1e-12)
              << type << " " << linear << " " << warmup << " " << total << " " << t;
        }
}

// 1 / sqrt(t) from where warm-up ends; constant and then a line.
TEST(Cases, LR01_InverseSquareRootAndStableDecay) {
  for (int t = 2; t < 200; ++t)
    EXPECT_DOUBLE_EQ(rateAt("inverse_sqrt", t, 2, 10, 1, 0.25, 5),
                     std::max(0.25, std::sqrt(5.0 / (t + 3))));
  const double wsd[] = {0.5, 1, 1, 1, 1, 1, 1, 0.775, 0.55, 0.325, 0.1, 0.1};
  for (int t = 0; t < 12; ++t)
    EXPECT_NEAR(rateAt("wsd", t, 2, 10, 1, 0.1, 4), wsd[t], 1e-15) << t;
}

// A schedule of one update, and one that is warm-up only, end at the peak.
TEST(Cases, LR02_ShortSchedules) {
  for (auto [schedule, extra] : ourSchedules) {
    if (extra)
      extra = std::string(schedule) == "wsd" ? 0 : 5; // no room for a decay
    EXPECT_EQ(rateAt(schedule, 0, 0, 1, 1, 0, extra), 1) << schedule;
    EXPECT_EQ(rateAt(schedule, 3, 4, 4, 1, 0, extra), 1) << schedule;
    EXPECT_EQ(rateAt(schedule, 0, 1, 1, 1, 0, extra), 1) << schedule;
  }
  // DeepSpeed's warm-up has at least two updates, and never divides by the length of a decay of
  // none.
  for (double warmup : {0.0, 1.0, 2.0, 4.0})
    for (double t : {0.0, 1.0, 2.0, 3.0, 4.0, 5.0}) {
      double total = std::max(1.0, warmup);
      for (const char *schedule : {"warmup_lr", "warmup_decay_lr"}) {
        double rate = rateAt(schedule, t, warmup, total, 1, 0.1);
        EXPECT_TRUE(rate >= 0.1 && rate <= 1) << schedule << warmup << t;
      }
      double rate = rateAt("warmup_cosine_lr", t, warmup, total, 1, 0.1, 0);
      EXPECT_TRUE(rate >= 0 && rate <= 1) << warmup << t;
    }
  EXPECT_EQ(rateAt("warmup_cosine_lr", 3, 4, 4, 1, 0.1, 0), 1);
}

// After the end the rate is the floor, and it never leaves [floor, peak].
TEST(Cases, LR04_StaysAtTheFloor) {
  const NamedSchedule ending[] = {
      {"linear"}, {"cosine"}, {"wsd", 4}, {"warmup_decay_lr"}, {"warmup_cosine_lr", 0.1}};
  for (auto [schedule, extra] : ending)
    for (double t : {10.0, 12.0, 1000.0})
      EXPECT_EQ(rateAt(schedule, t, 2, 10, 1, 0.1, extra), 0.1) << schedule << t;
  const NamedSchedule all[] = {{"linear"},
                               {"cosine"},
                               {"wsd", 4},
                               {"inverse_sqrt", 5},
                               {"warmup_decay_lr"},
                               {"warmup_lr"},
                               {"warmup_cosine_lr", 0.1}};
  for (auto [schedule, extra] : all)
    for (int t = 2; t < 1000; t += t < 20 ? 1 : 97) {
      double rate = rateAt(schedule, t, 2, 10, 1, 0.1, extra);
      ASSERT_TRUE(rate >= 0.1 && rate <= 1) << schedule << t;
    }
}

// The cosine runs over T - W: no jump where warm-up ends.
TEST(Cases, LR05_CosineStartsWhereWarmUpEnds) {
  EXPECT_EQ(rateAt("cosine", 2, 2, 10), 1);
  EXPECT_EQ(rateAt("linear", 2, 2, 10), 1);
  EXPECT_EQ(rateAt("inverse_sqrt", 2, 2, 10, 1, 0, 5), 1);
  EXPECT_EQ(rateAt("wsd", 2, 2, 10, 1, 0, 4), 1);
  EXPECT_EQ(rateAt("warmup_lr", 4, 4, 10), 1);
  EXPECT_EQ(rateAt("warmup_decay_lr", 4, 4, 10), 1);
  // DeepSpeed's cosine is one update further: its warm-up ends at update W - 1.
  EXPECT_EQ(rateAt("warmup_cosine_lr", 3, 4, 10, 1, 0, 0), 1);
}

// The schedule that the spec asks for is the one that the step follows.
TEST(Cases, LR01_TheStepFollowsTheSchedule) {
  Spec spec = tinySpec();
  spec.train.lr = spec.train.warmupMaxLr = 1;
  spec.train.minLr = spec.train.warmupMinLr = spec.train.cosMinRatio = 0.125;
  spec.train.timescale = 5;
  spec.train.decaySteps = 7;
  spec.train.warmupMinRatio = 0.25;
  spec.train.warmupSteps = 2;
  struct Choice {
    ScheduleKind kind;
    const char *name;
    std::optional<double> extra = {};
  };
  const Choice choices[] = {{ScheduleKind::Cosine, "cosine"},
                            {ScheduleKind::InverseSqrt, "inverse_sqrt", 5},
                            {ScheduleKind::Wsd, "wsd", 7},
                            {ScheduleKind::WarmupLR, "warmup_lr"},
                            {ScheduleKind::WarmupDecayLR, "warmup_decay_lr"},
                            {ScheduleKind::WarmupCosineLR, "warmup_cosine_lr", 0.25}};
  for (auto [kind, name, extra] : choices) {
    spec.train.schedule = kind;
    TinyRun run(spec);
    ASSERT_TRUE(run.ok());
    for (int t = 0; t < 5; ++t) {
      auto outcome = run.step();
      ASSERT_TRUE(succeeded(outcome));
      EXPECT_EQ(outcome->reports["learning_rate"].item(), rateAt(name, t, 2, 10, 1, 0.125, extra))
          << name;
    }
  }
}

//===-- DR: dropout --===//

/// Losses of some steps.
static std::vector<double> lossesOf(TinyRun &run, int steps) {
  std::vector<double> losses;
  for (int i = 0; i < steps; ++i) {
    auto outcome = run.step();
    EXPECT_TRUE(succeeded(outcome));
    losses.push_back(outcome->reports["loss"].item());
  }
  return losses;
}

static Spec droppingSpec(double p) {
  Spec spec = tinySpec();
  spec.model.embeddingDropout = spec.model.attentionDropout = spec.model.residualDropout = p;
  return spec;
}

// Every step draws other masks; a seed gives the same ones again, another seed others. Evaluation
// drops nothing.
TEST(Cases, DR07_MasksFollowSeedAndStep) {
  Spec spec = droppingSpec(0.5);
  spec.train.lr = 1e-12; // the masks alone change the loss
  TinyRun first(spec), again(spec), plain(tinySpec());
  spec.train.seed = 1234 + (uint64_t{1} << 32);
  TinyRun other(spec);
  ASSERT_TRUE(first.ok() && again.ok() && other.ok() && plain.ok());
  std::vector<double> losses = lossesOf(first, 4);
  EXPECT_EQ(lossesOf(again, 4), losses);
  EXPECT_NE(lossesOf(other, 4), losses);
  EXPECT_GT(std::abs(losses[0] - losses[1]), 1e-6);
  EXPECT_GT(std::abs(losses[1] - losses[2]), 1e-6);
  EXPECT_EQ(first["steps"], std::vector<double>{4});

  TinyRun untrained(spec);
  Tensor tokens({2, 5}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}),
      labels({2, 5}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  auto evaluate = [&](TinyRun &run) {
    return run.interpreter->run("evaluate", {tokens, labels})->reports["loss"].item();
  };
  EXPECT_EQ(evaluate(untrained), evaluate(plain));
}

// A run that starts with the variables of a step continues as if it had never stopped: the step is
// the whole state of the generator.
TEST(Cases, DR07_TheStepIsAllTheStateThereIs) {
  Spec spec = droppingSpec(0.1);
  TinyRun straight(spec), resumed(spec);
  lossesOf(straight, 3);
  for (const auto &[name, values] : straight.state())
    resumed.set(name, *straight.interpreter->variables.at(name));
  EXPECT_EQ(lossesOf(straight, 3), lossesOf(resumed, 3));
  EXPECT_EQ(straight.state(), resumed.state());
}

// Without dropout there is neither mask nor counter; with p = 1 what is dropped is 0 and nothing
// divides by 0: the residual stream is 0, every logit is 0, the loss is that of a uniform guess.
TEST(Cases, DR07_NoneAndAll) {
  TinyRun none(droppingSpec(0));
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none.interpreter->variables.count("steps"), 0u);
  EXPECT_EQ(lossesOf(none, 2).size(), 2u);
  TinyRun all(droppingSpec(1));
  ASSERT_TRUE(all.ok());
  EXPECT_NEAR(lossesOf(all, 1)[0], std::log(13), 1e-12);
}

// A skipped step draws its masks and counts, and nothing else changes.
TEST(Cases, MP09_ASkippedStepLeavesNothingBehind) {
  TinyRun run(droppingSpec(0.5));
  ASSERT_TRUE(run.ok());
  lossesOf(run, 1);
  auto before = run.state();
  auto outcome = run.step(std::vector<double>(10, -100));
  ASSERT_TRUE(succeeded(outcome));
  EXPECT_EQ(outcome->end, Outcome::End::Empty);
  for (const auto &[name, values] : run.state())
    EXPECT_EQ(values == before[name], name != "steps") << name;
  EXPECT_EQ(run["steps"], std::vector<double>{2});
}

// The gradient is zero exactly where the output was dropped.
TEST(Cases, DR06_ForwardAndBackwardDrawOneMask) {
  MLIRContext context;
  context.loadDialect<ds::DSDialect, func::FuncDialect>();
  for (const char *shape : {"2x16", "2x32", "3x37"}) {
    std::string type = std::string(shape) + "xf32";
    optable::OpCase c{.label = "",
                      .operands = {type, "5xf64"},
                      .results = {type},
                      .text = "ds.dropout $0, $1 {p = 0.5 : f64} : (#0, #1) -> @0"};
    auto module = optable::parseCase(context, c);
    ASSERT_TRUE(module);
    Tensor x =
        Tensor::filled(reference::shapeOf(optable::opOf(*module)->getResult(0).getType()), 1);
    Tensor key({5}, {1, 2, 3, 4, 5});
    Interpreter interpreter(*module);
    auto forward = interpreter.run("case", {x, key});
    ASSERT_TRUE(succeeded(forward));
    // The backward of a sum: a gradient of ones through the op that dropout builds.
    auto error = reference::checkGradient(optable::opOf(*module), {x, key}, {.elements = 200});
    ASSERT_TRUE(succeeded(error));
    EXPECT_LE(error->relative, 1e-9);
    int kept = 0;
    for (double y : forward->results[0].values)
      kept += y != 0;
    EXPECT_GT(kept, 0);
    EXPECT_LT(kept, x.count());
  }
}

//===-- LS: label smoothing --===//

static double smoothedLoss(const std::vector<double> &logits, double smoothing) {
  MLIRContext context;
  context.loadDialect<ds::DSDialect, func::FuncDialect>();
  std::string row = "1x" + std::to_string(logits.size()) + "xf32";
  optable::OpCase c{.label = "",
                    .operands = {row, "1xi32", "f64"},
                    .results = {"1xf32", "1xf32"},
                    .text = "ds.cross_entropy $0, $1, $2 : (#0, #1, #2) -> (@0, @1)"};
  auto module = optable::parseCase(context, c);
  EXPECT_TRUE(module);
  Interpreter interpreter(*module);
  auto outcome = interpreter.run("case", {Tensor({1, static_cast<int64_t>(logits.size())}, logits),
                                          Tensor({1}, {0}), Tensor::scalar(smoothing)});
  EXPECT_TRUE(succeeded(outcome));
  return outcome->results[0][0];
}

// The mass goes to all K classes, the right one among them: its target is 1 - s + s / K.
TEST(Cases, LS03_SmoothingOverAllClasses) {
  EXPECT_NEAR(smoothedLoss({2, 0, 0, 0}, 0.1), 0.490753, 5e-7);
}

// Classes whose probability underflows have a finite logarithm.
TEST(Cases, LS04_UnderflowedClasses) { EXPECT_EQ(smoothedLoss({1000, 0, 0, 0}, 0.1), 75); }

// Training is smoothed, evaluation is not.
TEST(Cases, LS03_EvaluationIsWithoutSmoothing) {
  Spec spec = tinySpec();
  TinyRun plain(spec);
  spec.labelSmoothing = 0.1;
  TinyRun smoothed(spec);
  ASSERT_TRUE(plain.ok() && smoothed.ok());
  Tensor tokens({2, 5}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}),
      labels({2, 5}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  auto evaluate = [&](TinyRun &run) {
    return run.interpreter->run("evaluate", {tokens, labels})->reports["loss"].item();
  };
  EXPECT_EQ(evaluate(plain), evaluate(smoothed));
  double a = plain.step()->reports["loss"].item(), b = smoothed.step()->reports["loss"].item();
  EXPECT_NE(a, b);
}

//===-- CL: clipping --===//

// Frozen parameters have no part in the norm: it is the norm of the gradients that exist.
TEST(Cases, CL08_FrozenParametersAreNotInTheNorm) {
  TinyRun run(frozenSpec());
  ASSERT_TRUE(run.ok());
  auto outcome = run.step();
  ASSERT_TRUE(succeeded(outcome));
  double sum = 0;
  int gradients = 0;
  for (const auto &[name, tensor] : outcome->reports)
    if (name.rfind("grad:", 0) == 0) {
      EXPECT_EQ(name.find(".mlp."), std::string::npos) << name;
      ++gradients;
      for (double g : tensor.values)
        sum += g * g;
    }
  EXPECT_EQ(gradients, 11);
  EXPECT_NEAR(outcome->reports["grad_norm"].item(), std::sqrt(sum), 1e-14);
}

// By value: no element moves a weight by more than the rate times the limit; the norm is what it
// was.
TEST(Cases, CL07_ClippingByValue) {
  Spec spec = tinySpec();
  spec.train.optimizer = OptimizerKind::Sgd;
  spec.train.lr = 1;
  TinyRun plain(spec);
  spec.train.gradientClippingValue = 1e-3;
  TinyRun clipped(spec);
  ASSERT_TRUE(plain.ok() && clipped.ok());
  auto before = plain.state();
  auto a = plain.step(), b = clipped.step();
  ASSERT_TRUE(succeeded(a) && succeeded(b));
  EXPECT_EQ(a->reports["grad_norm"].item(), b->reports["grad_norm"].item());
  int limited = 0;
  for (auto variable : plain.module->getOps<ds::VariableOp>()) {
    std::string name = variable.getSymName().str();
    if (variable.getRole() != ds::Role::Parameter)
      continue;
    const std::vector<double> &g = a->reports["grad:" + name].values;
    for (size_t i = 0; i < g.size(); ++i) {
      EXPECT_NEAR(clipped[name][i], before[name][i] - std::clamp(g[i], -1e-3, 1e-3), 1e-15);
      limited += std::abs(g[i]) > 1e-3;
    }
  }
  EXPECT_GT(limited, 10);
}

// A zero gradient is not divided by its norm.
TEST(Cases, CL07_ZeroGradientStaysZero) {
  Spec spec = untied();
  spec.train.gradientClipping = 1;
  TinyRun run(spec);
  ASSERT_TRUE(run.ok());
  silence(run);
  auto before = run.state();
  auto outcome = run.step();
  ASSERT_TRUE(succeeded(outcome));
  EXPECT_EQ(outcome->end, Outcome::End::Finished);
  EXPECT_EQ(outcome->reports["grad_norm"].item(), 0);
  EXPECT_EQ(run["wte.weight"], before["wte.weight"]);
}

// A norm or loss that is not finite ends the step before anything changes.
TEST(Cases, CL06_NotFiniteChangesNothing) {
  for (double bad :
       {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    TinyRun run(tinySpec());
    ASSERT_TRUE(run.ok());
    Tensor table = *run.interpreter->variables["wpe.weight"];
    table[0] = bad;
    run.set("wpe.weight", table);
    auto moments = run["adam.m.wte.weight"], weights = run["wte.weight"];
    auto outcome = run.step();
    ASSERT_TRUE(succeeded(outcome));
    EXPECT_EQ(outcome->end, Outcome::End::Numeric);
    EXPECT_EQ(outcome->firstNonFinite, "variable wpe.weight");
    EXPECT_EQ(run["wte.weight"], weights);
    EXPECT_EQ(run["adam.m.wte.weight"], moments);
    EXPECT_EQ(run["updates"][0], 0);
  }
}

//===-- GA: loss and labels --===//

// A window without counted labels is reported and not applied.
TEST(Cases, GA11_NothingCounted) {
  Spec spec = tinySpec();
  spec.train.weightDecay = 0.1;
  TinyRun run(spec);
  ASSERT_TRUE(run.ok());
  ASSERT_TRUE(succeeded(run.step()));
  auto before = run.state();
  auto outcome = run.step(std::vector<double>(10, -100));
  ASSERT_TRUE(succeeded(outcome));
  EXPECT_EQ(outcome->end, Outcome::End::Empty);
  EXPECT_EQ(outcome->reports["loss"].item(), 0);
  EXPECT_EQ(outcome->reports["tokens"].item(), 0);
  EXPECT_TRUE(outcome->firstNonFinite.empty()) << outcome->firstNonFinite;
  EXPECT_EQ(run.state(), before);
  auto after = run.step();
  ASSERT_TRUE(succeeded(after));
  EXPECT_EQ(run["updates"][0], 2);
}

/// The diagnostic of a step on these labels.
/// Gradients of one window of four samples with 4, 1, 3 and 2 counted tokens.
static std::map<std::string, std::vector<double>> gradientsInParts(int64_t micro,
                                                                   LossReduction reduction) {
  Spec spec = tinySpec();
  spec.train.batch = 4;
  spec.train.microBatch = micro;
  spec.train.lossReduction = reduction;
  TinyRun run(spec);
  Tensor tokens = Tensor::filled({4, 5}, 0), labels = Tensor::filled({4, 5}, -100);
  const int64_t counted[] = {4, 1, 3, 2};
  for (int64_t i = 0; i < 20; ++i) {
    tokens[i] = static_cast<double>(i * i % 13);
    if (i % 5 < counted[i / 5])
      labels[i] = static_cast<double>(7 * i % 13);
  }
  std::map<std::string, std::vector<double>> gradients;
  auto outcome = run.interpreter->runStep(tokens, labels);
  EXPECT_TRUE(succeeded(outcome));
  EXPECT_EQ(outcome->reports["tokens"].item(), 10);
  for (const auto &[name, value] : outcome->reports)
    if (name.starts_with("grad:"))
      gradients[name] = value.values;
  return gradients;
}

// Micro-batches of 1, 2 and 4 give one gradient, whichever mean the spec names; the two means
// differ.
TEST(Cases, GA16_TheGradientDoesNotDependOnTheMicroBatch) {
  std::vector<std::map<std::string, std::vector<double>>> whole;
  for (LossReduction reduction : {LossReduction::Token, LossReduction::Sample}) {
    whole.push_back(gradientsInParts(4, reduction));
    for (int64_t micro : {1, 2}) {
      auto parts = gradientsInParts(micro, reduction);
      ASSERT_EQ(parts.size(), whole.back().size());
      for (const auto &[name, values] : whole.back())
        for (size_t i = 0; i < values.size(); ++i)
          ASSERT_NEAR(parts[name][i], values[i], 1e-14) << name << ", micro-batches of " << micro;
    }
  }
  double apart = 0;
  for (const auto &[name, values] : whole[0])
    for (size_t i = 0; i < values.size(); ++i)
      apart = std::max(apart, std::abs(values[i] - whole[1][name][i]));
  EXPECT_GT(apart, 1e-3);
}

static std::string labelError(double label) {
  TinyRun run(tinySpec());
  std::string message;
  ScopedDiagnosticHandler handler(&run.context, [&](Diagnostic &d) { message += d.str(); });
  std::vector<double> labels(10, -100);
  labels[7] = label;
  bool bad = failed(run.step(labels));
  return bad ? message : "";
}

// Labels out of range fail with their place; the uncounted one does not.
TEST(Cases, GA12_LabelsOutOfRange) {
  for (double label : {-4.0, 13.0, 2147483648.0})
    EXPECT_NE(labelError(label).find("of sample 1, position 2"), std::string::npos)
        << label << ": " << labelError(label);
  EXPECT_EQ(labelError(-100), "");
  EXPECT_EQ(labelError(12), "");
}

// Labels are the next token of the same row: shifted once, never across rows.
TEST(Cases, GA14_LabelsAreShiftedOnce) {
  std::filesystem::path folder = testing::TempDir();
  std::string path = folder / "GA14.npy";
  const int32_t ids[] = {5, 6, 7, 1, 2, 3};
  ASSERT_TRUE(writeNpy(path, NpyType::Int32, {1, 2, 3}, ids).ok());
  DataConfig config;
  config.train = {{path, DataFormat::Replay, ""}};
  config.batch = 2;
  config.seq = 2;
  config.vocabulary = 13;
  auto stream = BatchStream::open(config);
  ASSERT_TRUE(stream.ok()) << stream.status().message();
  int32_t tokens[4], labels[4];
  int64_t counted = 0;
  ASSERT_TRUE((*stream)->next(tokens, labels, counted).ok());
  EXPECT_EQ(counted, 4);
  EXPECT_EQ(std::vector<int32_t>(tokens, tokens + 4), (std::vector<int32_t>{5, 6, 1, 2}));
  EXPECT_EQ(std::vector<int32_t>(labels, labels + 4), (std::vector<int32_t>{6, 7, 2, 3}));

  // A model that is sure of "the token plus one" loses nothing.
  MLIRContext context;
  context.loadDialect<ds::DSDialect, func::FuncDialect>();
  auto module = parseSourceString<ModuleOp>(R"(
    func.func @loss(%logits: tensor<2x2x13xf32>, %labels: tensor<2x2xi32>) -> tensor<f64> {
      %losses, %lse = ds.cross_entropy %logits, %labels
        : (tensor<2x2x13xf32>, tensor<2x2xi32>) -> (tensor<2x2xf32>, tensor<2x2xf32>)
      %count = ds.count %labels : (tensor<2x2xi32>) -> tensor<f64>
      %mean = ds.token_mean %losses, %count : (tensor<2x2xf32>, tensor<f64>) -> tensor<f64>
      return %mean : tensor<f64>
    })",
                                            &context);
  ASSERT_TRUE(module);
  Tensor logits = Tensor::filled({2, 2, 13}, 0);
  for (int i = 0; i < 4; ++i)
    logits.row(i)[tokens[i] + 1] = 100;
  auto outcome = Interpreter(*module).run(
      "loss", {logits, Tensor{{2, 2}, std::vector<double>(labels, labels + 4)}});
  ASSERT_TRUE(succeeded(outcome));
  EXPECT_LT(outcome->results[0].item(), 1e-12);
}
