//===- LossScaleTest.cpp - the loss scale over many sequences --------------===//
// ds.loss_scale_update against an independent model of DeepSpeed's scaler: 100,000 random sequences
// of overflows, under random settings, through the interpreter and through the compiled kernel.
#include "../../Support/LossScaleModel.h"
#include "KernelRun.h"
#include "dsc/Dialect/DS/DS.h"
#include "dsc/Reference/Interpreter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <limits>
#include <random>

using namespace mlir;
using namespace dsc;
using namespace dsc::optable;

static constexpr int operandCount = 11, sequences = 100000, steps = 20;

static OpCase updateCase(bool consecutive) {
  OpCase update{.label = "",
                .operands = std::vector<std::string>(operandCount, "f64"),
                .results = {"f64", "f64", "f64", "f64"},
                .text = ""};
  std::string operands, types;
  for (int i = 0; i < operandCount; ++i) {
    operands += (i ? ", $" : "$") + std::to_string(i);
    types += (i ? ", #" : "#") + std::to_string(i);
  }
  update.text = "ds.loss_scale_update " + operands + (consecutive ? " {consecutive}" : "") +
                " : (" + types + ") -> (@0, @1, @2, @3)";
  return update;
}

namespace {
/// What a sequence is drawn from, and where it stands.
struct Sequence {
  std::mt19937_64 random;
  test::LossScaleModel model;
  double overflowShare;

  explicit Sequence(uint64_t seed, bool consecutive) : random(seed), model() {
    auto pick = [&](int64_t low, int64_t high) {
      return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
    };
    double floor = std::ldexp(1, static_cast<int>(pick(-8, 3)));
    double cap = floor * std::ldexp(1, static_cast<int>(pick(0, 30)));
    double start = std::clamp(std::ldexp(1, static_cast<int>(pick(-8, 32))), floor, cap);
    int64_t hysteresis = pick(1, 4);
    model = {.scale = start,
             .window = pick(1, 7),
             .hysteresis = hysteresis,
             .floor = floor,
             .cap = cap,
             .consecutive = consecutive,
             .left = hysteresis};
    overflowShare = std::array{0.02, 0.2, 0.5, 0.9}[random() % 4];
  }

  bool overflows() { return static_cast<double>(random() >> 11) * 0x1p-53 < overflowShare; }
  /// Loss and norm of a step: one of them, or both, is not finite after an overflow.
  std::pair<double, double> values(bool overflow) {
    constexpr double inf = std::numeric_limits<double>::infinity();
    if (!overflow)
      return {1, 2};
    switch (random() % 4) {
    case 0:
      return {1, inf};
    case 1:
      return {-inf, 2};
    case 2:
      return {std::nan(""), std::nan("")};
    default:
      return {1, std::nan("")};
    }
  }
};
} // namespace

/// Runs every sequence. `history` gets the scale that it starts with, the settings, and count, loss
/// and norm of each step; it returns scale and used hysteresis after each.
using Step = std::array<double, 3>;
using State = std::pair<double, double>;
static void runAll(bool consecutive,
                   const std::function<std::vector<State>(double, const std::array<double, 4> &,
                                                          const std::vector<Step> &)> &history) {
  int64_t fell = 0, grew = 0, atCap = 0, atFloor = 0;
  std::vector<Step> given(steps);
  for (int n = 0; n < sequences / 2; ++n) {
    Sequence s(static_cast<uint64_t>(n), consecutive);
    std::vector<State> wanted;
    double start = s.model.scale;
    for (Step &step : given) {
      bool empty = s.random() % 16 == 0, overflow = s.overflows();
      auto [loss, norm] = s.values(overflow);
      step = {empty ? 0.0 : 7.0, loss, norm};
      double before = s.model.scale;
      if (!empty)
        s.model.after(overflow);
      wanted.push_back({s.model.scale, static_cast<double>(s.model.hysteresis - s.model.left)});
      fell += s.model.scale < before;
      grew += s.model.scale > before;
      atCap += s.model.scale == s.model.cap;
      atFloor += s.model.scale == s.model.floor;
    }
    ASSERT_EQ(history(start,
                      {static_cast<double>(s.model.window), static_cast<double>(s.model.hysteresis),
                       s.model.floor, s.model.cap},
                      given),
              wanted)
        << "sequence " << n;
  }
  for (int64_t seen : {fell, grew, atCap, atFloor})
    EXPECT_GT(seen, 1000);
}

/// A whole sequence as one function: settings, the scale, then count, loss and norm of each step.
static std::string sequenceText(bool consecutive) {
  auto scalars = [](size_t count) {
    std::string text;
    for (size_t i = 0; i < count; ++i)
      text += i ? ", tensor<f64>" : "tensor<f64>";
    return text;
  };
  std::string text =
      "func.func @case(%w: tensor<f64>, %h: tensor<f64>, %f: tensor<f64>, %c: tensor<f64>, "
      "%s0: tensor<f64>";
  for (int i = 0; i < steps; ++i)
    for (const char *name : {"%count", "%loss", "%norm"})
      text += ", " + (name + std::to_string(i)) + ": tensor<f64>";
  text += ") -> (" + scalars(2 * steps) + ") {\n";
  for (const char *name : {"%g0", "%u0", "%z0"})
    text += std::string(name) + " = ds.zeros : () -> tensor<f64>\n";
  std::string returned;
  for (int i = 0; i < steps; ++i) {
    std::string now = std::to_string(i), next = std::to_string(i + 1);
    text += "%s" + next + ", %g" + next + ", %u" + next + ", %z" + next +
            " = ds.loss_scale_update %count" + now + ", %loss" + now + ", %norm" + now + ", %s" +
            now + ", %g" + now + ", %u" + now + ", %z" + now + ", %w, %h, %f, %c" +
            (consecutive ? " {consecutive}" : "") + " : (" + scalars(operandCount) + ") -> (" +
            scalars(4) + ")\n";
    returned += (i ? ", %s" : "%s") + next + ", %u" + next;
  }
  return text + "return " + returned + " : " + scalars(2 * steps) + "\n}\n";
}

TEST(LossScale, HistoriesEqualDeepSpeedsInTheInterpreter) {
  for (bool consecutive : {false, true}) {
    MLIRContext context;
    context.loadDialect<ds::DSDialect, func::FuncDialect>();
    auto module = parseSourceString<ModuleOp>(sequenceText(consecutive), &context);
    ASSERT_TRUE(module);
    reference::Interpreter interpreter(*module);
    runAll(consecutive, [&](double start, const std::array<double, 4> &settings,
                            const std::vector<Step> &given) {
      std::vector<Tensor> operands;
      for (double value : settings)
        operands.push_back(Tensor::scalar(value));
      operands.push_back(Tensor::scalar(start));
      for (const Step &step : given)
        for (double value : step)
          operands.push_back(Tensor::scalar(value));
      auto outcome = interpreter.run("case", std::move(operands));
      std::vector<State> states;
      for (size_t i = 0; i < given.size(); ++i)
        states.push_back({outcome->results[2 * i].item(), outcome->results[2 * i + 1].item()});
      return states;
    });
  }
}

TEST(LossScale, HistoriesEqualDeepSpeedsInTheKernel) {
  const Target *best = nullptr;
  for (const Target &target : allTargets())
    if (hostSupports(target))
      best = &target;
  for (bool consecutive : {false, true}) {
    MLIRContext context;
    context.loadDialect<ds::DSDialect, func::FuncDialect>();
    auto module = parseCase(context, updateCase(consecutive));
    ASSERT_TRUE(module && best);
    auto runner = KernelRunner::create(opOf(*module), *best);
    ASSERT_TRUE(succeeded(runner));
    std::vector<KernelMemory> memory;
    std::vector<void *> arguments;
    for (int64_t bytes : (*runner)->argumentBytes()) {
      memory.emplace_back(bytes);
      arguments.push_back(memory.back().data());
    }
    auto put = [&](size_t argument, double value) { *memory[argument].as<double>() = value; };
    runAll(consecutive, [&](double start, const std::array<double, 4> &settings,
                            const std::vector<Step> &given) {
      for (size_t i = 0; i < 4; ++i) {
        put(3 + i, i == 0 ? start : 0);
        put(7 + i, settings[i]);
      }
      std::vector<State> states;
      for (const Step &step : given) {
        for (size_t i = 0; i < 3; ++i)
          put(i, step[i]);
        (*runner)->run(arguments);
        double next[4];
        for (size_t i = 0; i < 4; ++i)
          next[i] = *memory[static_cast<size_t>((*runner)->resultArguments()[i])].as<double>();
        for (size_t i = 0; i < 4; ++i)
          put(3 + i, next[i]);
        states.push_back({next[0], next[2]});
      }
      return states;
    });
  }
}

// MP-01: growth in every step stops at the cap; nothing that is not finite is ever stored.
TEST(LossScale, MP_01_GrowthEndsAtAFiniteCap) {
  MLIRContext context;
  context.loadDialect<ds::DSDialect, func::FuncDialect>();
  auto module = parseCase(context, updateCase(false));
  reference::Interpreter interpreter(*module);
  double scale = 65536, good = 0;
  for (int step = 1; step <= 300; ++step) {
    auto outcome = interpreter.run(
        "case", {Tensor::scalar(7), Tensor::scalar(1), Tensor::scalar(1e-30), Tensor::scalar(scale),
                 Tensor::scalar(good), Tensor::scalar(0), Tensor::scalar(0), Tensor::scalar(1),
                 Tensor::scalar(2), Tensor::scalar(1), Tensor::scalar(0x1p32)});
    ASSERT_TRUE(succeeded(outcome));
    scale = outcome->results[0].item();
    good = outcome->results[1].item();
    ASSERT_EQ(scale, std::ldexp(1, std::min(32, 16 + step)));
  }
}
