//===- LossScaleTest.cpp - the loss scale over many sequences --------------===//
// ds.loss_scale_update against an independent model of DeepSpeed's scaler: 100,000 random sequences
// of overflows, under random settings, through the interpreter and through the compiled kernel.
#include "../../Support/LossScaleModel.h"
#include "KernelRun.h"
#include "dsc/Dialect/DS/DS.h"
#include "dsc/Reference/Interpreter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "gtest/gtest.h"
#include <limits>
#include <random>

using namespace mlir;
using namespace dsc;
using namespace dsc::optable;

static constexpr int operandCount = 11, sequences = 100000;

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
  double used = 0, good = 0, floored = 0, scale, overflowShare;

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
    scale = start;
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

/// Runs every sequence for `steps` steps; `update` gets the operands and returns the next state.
static void
runAll(bool consecutive, int steps,
       const std::function<std::array<double, 4>(const std::array<double, 11> &)> &update) {
  int64_t fell = 0, grew = 0, atCap = 0, atFloor = 0;
  for (int n = 0; n < sequences / 2; ++n) {
    Sequence s(static_cast<uint64_t>(n), consecutive);
    for (int step = 0; step < steps; ++step) {
      bool empty = s.random() % 16 == 0, overflow = s.overflows();
      auto [loss, norm] = s.values(overflow);
      auto next = update({empty ? 0.0 : 7.0, loss, norm, s.scale, s.good, s.used, s.floored,
                          static_cast<double>(s.model.window),
                          static_cast<double>(s.model.hysteresis), s.model.floor, s.model.cap});
      double before = s.model.scale;
      if (!empty)
        s.model.after(overflow);
      ASSERT_EQ(next[0], s.model.scale) << "sequence " << n << " step " << step;
      ASSERT_EQ(next[2], static_cast<double>(s.model.hysteresis - s.model.left))
          << "sequence " << n << " step " << step;
      fell += s.model.scale < before;
      grew += s.model.scale > before;
      atCap += s.model.scale == s.model.cap;
      atFloor += s.model.scale == s.model.floor;
      s.scale = next[0], s.good = next[1], s.used = next[2], s.floored = next[3];
    }
  }
  for (int64_t seen : {fell, grew, atCap, atFloor})
    EXPECT_GT(seen, 1000);
}

TEST(LossScale, HistoriesEqualDeepSpeedsInTheInterpreter) {
  for (bool consecutive : {false, true}) {
    MLIRContext context;
    context.loadDialect<ds::DSDialect, func::FuncDialect>();
    auto module = parseCase(context, updateCase(consecutive));
    ASSERT_TRUE(module);
    reference::Interpreter interpreter(*module);
    runAll(consecutive, 12, [&](const std::array<double, 11> &operands) {
      std::vector<Tensor> tensors;
      for (double value : operands)
        tensors.push_back(Tensor::scalar(value));
      auto outcome = interpreter.run("case", std::move(tensors));
      std::array<double, 4> next{};
      for (int i = 0; i < 4; ++i)
        next[i] = outcome->results[i].item();
      return next;
    });
  }
}

TEST(LossScale, HistoriesEqualDeepSpeedsInTheKernel) {
  for (bool consecutive : {false, true}) {
    MLIRContext context;
    context.loadDialect<ds::DSDialect, func::FuncDialect>();
    auto module = parseCase(context, updateCase(consecutive));
    ASSERT_TRUE(module);
    for (const Target &target : allTargets()) {
      if (!hostSupports(target))
        continue;
      auto runner = KernelRunner::create(opOf(*module), target);
      ASSERT_TRUE(succeeded(runner));
      std::vector<KernelMemory> memory;
      std::vector<void *> arguments;
      for (int64_t bytes : (*runner)->argumentBytes()) {
        memory.emplace_back(bytes);
        arguments.push_back(memory.back().data());
      }
      runAll(consecutive, 30, [&](const std::array<double, 11> &operands) {
        for (size_t i = 0; i < operands.size(); ++i)
          *memory[i].as<double>() = operands[i];
        (*runner)->run(arguments);
        std::array<double, 4> next{};
        for (int i = 0; i < 4; ++i)
          next[i] = *memory[static_cast<size_t>((*runner)->resultArguments()[i])].as<double>();
        return next;
      });
    }
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
