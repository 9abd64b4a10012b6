//===- PrecisionCasesTest.cpp - worked cases of mixed precision ------------===//
// Each on the generated kernels of every instruction set that this CPU runs and on the reference,
// whose results must be the numbers worked out by hand. MP-15, MP-17 and MP-18 are in
// test/Unit/Codegen/HalfTest.cpp, as they are about conversions alone.
#include "KernelRun.h"
#include "dsc/Dialect/DS/DS.h"
#include "dsc/Reference/Interpreter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace dsc;
using namespace dsc::optable;

/// Hands the results of the op of `opCase` on `operands`, from the reference and from the kernel of
/// each target, to `check`.
static void runEverywhere(const OpCase &opCase, const Tensors &operands,
                          const std::function<void(const Tensors &)> &check) {
  MLIRContext context;
  context.loadDialect<ds::DSDialect, func::FuncDialect>();
  OwningOpRef<ModuleOp> module = parseCase(context, opCase);
  ASSERT_TRUE(module);
  Operation *op = opOf(*module);
  auto outcome = reference::Interpreter(*module).run("case", operands);
  ASSERT_TRUE(succeeded(outcome));
  {
    SCOPED_TRACE("reference");
    check(outcome->results);
  }
  for (const Target &target : allTargets()) {
    SCOPED_TRACE(target.name);
    auto runner = KernelRunner::create(op, target);
    ASSERT_TRUE(succeeded(runner));
    if (!hostSupports(target))
      continue;
    Results bytes = runKernel(**runner, op, operands, 1);
    Tensors results = outcome->results;
    for (size_t r = 0; r < results.size(); ++r) {
      auto type = cast<RankedTensorType>(op->getResult(r).getType());
      for (int64_t i = 0; i < results[r].count(); ++i)
        results[r][i] = load(bytes[r], i, type.getElementType());
    }
    check(results);
  }
}

static Tensor filled(std::vector<int64_t> shape, double value) {
  return Tensor::filled(std::move(shape), value);
}

// Ten updates of -1e-4 move an f32 master from 1 to 0.999, and the copy in f16 with it; a master in
// f16 would stay at 1, as half its last place there is 2.44e-4.
TEST(PrecisionCases, MP_10_TheMasterMovesAndItsCopyFollows) {
  OpCase update{.label = "",
                .operands = {"1xf32", "1xf32", "1xf32", "f64", "f64", "f64"},
                .results = {"1xf32", "1xf32", "1xf16"},
                .text = "ds.sgd_update $0, $1, $2, $3, $4, $5 : (#0, #1, #2, #3, #4, #5) -> "
                        "(@0, @1, @2)"};
  double weight = 1;
  Tensors last;
  for (int step = 0; step < 10; ++step) {
    runEverywhere(update,
                  {filled({1}, weight), filled({1}, 1), filled({1}, 0), Tensor::scalar(1),
                   Tensor::scalar(1e-4), Tensor::scalar(0)},
                  [&](const Tensors &results) {
                    if (!last.empty() && step == 9)
                      EXPECT_EQ(results[2][0], 0.99902343750);
                    last = results;
                  });
    weight = last[0][0]; // of the last target: f32
  }
  EXPECT_NEAR(weight, 0.999, 10 * 0x1p-24);
  EXPECT_EQ(last[2][0], 0.99902343750);
  EXPECT_EQ(roundToHalf(1 - 1e-4), 1);
}

// Statistics in f16 would overflow: 500^2 is beyond 65504.
TEST(PrecisionCases, MP_11_NormsOfLargeRowsAreTakenInF32) {
  for (int64_t width : {2, 8, 34, 300}) {
    std::string row = std::to_string(width);
    OpCase norm{.label = "",
                .operands = {"1x" + row + "xf16", row + "xf32", row + "xf32"},
                .results = {"1x" + row + "xf16", "1xf32", "1xf32"},
                .text = "ds.layer_norm $0, $1, $2 {eps = 1.0e-5 : f64} : (#0, #1, #2) -> "
                        "(@0, @1, @2)"};
    Tensor input = filled({1, width}, 1000);
    for (int64_t i = 1; i < width; i += 2)
      input[i] = 2000;
    runEverywhere(norm, {input, filled({width}, 1), filled({width}, 0)},
                  [&](const Tensors &results) {
                    for (int64_t i = 0; i < width; ++i)
                      ASSERT_EQ(results[0][i], i % 2 ? 1 : -1) << "element " << i;
                    EXPECT_EQ(results[1][0], 1500);
                  });
  }
}

static OpCase attentionCase(const std::string &type) {
  return {.label = "",
          .operands = {"1x3x12x" + type},
          .results = {"1x3x4x" + type, "1x1x3xf32"},
          .text = "ds.attention $0 {heads = 1 : i64, scale = 1.0 : f64} : (#0) -> (@0, @1)"};
}

/// Queries all `query`, keys 0 but `last` at the last position, values 1, 2 and `lastValue`.
static Tensor qkvOf(double query, double last, double lastValue) {
  Tensor qkv = filled({1, 3, 12}, 0);
  for (int64_t t = 0; t < 3; ++t)
    for (int64_t c = 0; c < 4; ++c) {
      qkv[t * 12 + c] = query;
      qkv[t * 12 + 4 + c] = t == 2 ? last : 0;
      qkv[t * 12 + 8 + c] = t == 2 ? lastValue : t + 1;
    }
  return qkv;
}

/// Expects that the first two positions see nothing of the third.
static void expectMasked(const Tensors &results) {
  for (int64_t c = 0; c < 4; ++c) {
    EXPECT_EQ(results[0][c], 1);
    EXPECT_EQ(results[0][4 + c], 1.5);
  }
  for (double value : results[0].values)
    EXPECT_TRUE(std::isfinite(value));
  for (double value : results[1].values)
    EXPECT_TRUE(std::isfinite(value));
}

// The mask is a choice, not a constant: values of a masked position as large as f16 holds change
// nothing, and no constant in the code is beyond what its type holds.
TEST(PrecisionCases, MP_13_NoMaskConstantLeavesTheRangeOfF16) {
  for (std::string type : {"f16", "bf16"})
    runEverywhere(attentionCase(type), {qkvOf(0, 0, 65504)}, expectMasked);

  MLIRContext context;
  context.loadDialect<ds::DSDialect, func::FuncDialect>();
  for (std::string type : {"f16", "bf16"})
    for (const Target &target : allTargets()) {
      OwningOpRef<ModuleOp> module = parseCase(context, attentionCase(type)),
                            kernels = ModuleOp::create(UnknownLoc::get(&context));
      ASSERT_TRUE(succeeded(generateKernel(*kernels, "kernel", opOf(*module), {1, 2}, target)));
      int constants = 0;
      kernels->walk([&](arith::ConstantOp constant) {
        ++constants;
        Attribute value = constant.getValue();
        if (auto splat = dyn_cast<SplatElementsAttr>(value))
          value = splat.getSplatValue<Attribute>();
        if (auto number = dyn_cast<FloatAttr>(value); number && !number.getType().isF32())
          EXPECT_LE(std::abs(number.getValueAsDouble()), 65504);
      });
      EXPECT_GT(constants, 0);
    }
}

// A score of 20000 would beat an additive mask of -10000.
TEST(PrecisionCases, MP_14_LargeScoresOfMaskedPositionsCountNothing) {
  for (std::string type : {"f32", "f16", "bf16"})
    runEverywhere(attentionCase(type), {qkvOf(50, 100, 7)}, [](const Tensors &results) {
      expectMasked(results);
      EXPECT_EQ(results[0][8], 7); // the last position sees it, and nothing else
      EXPECT_EQ(results[1][2], 20000);
    });
}

// Sums of two-byte operands are f32: in f16 ones add up to 2048 and no further.
TEST(PrecisionCases, MP_19_SumsOfHalvesAreTakenInF32) {
  const int64_t n = 4096;
  std::string count = std::to_string(n);
  auto each = [&](double expected) {
    return [=](const Tensors &results) {
      for (double value : results[0].values)
        ASSERT_EQ(value, expected);
    };
  };
  for (std::string type : {"f16", "bf16"}) {
    runEverywhere({.label = "",
                   .operands = {count + "x3x" + type},
                   .results = {"3xf32"},
                   .text = "ds.bias_grad $0 : #0 -> @0"},
                  {filled({n, 3}, 1)}, each(4096));
    runEverywhere({.label = "",
                   .operands = {"2x" + count + "x" + type, count + "x3x" + type},
                   .results = {"2x3x" + type},
                   .text = "ds.linear $0, $1 : #0, #1 -> @0"},
                  {filled({2, n}, 1), filled({n, 3}, 1)}, each(4096));
    runEverywhere({.label = "",
                   .operands = {count + "x2x" + type, count + "x3x" + type},
                   .results = {"2x3xf32"},
                   .text = "ds.linear_weight_grad $0, $1 : #0, #1 -> @0"},
                  {filled({n, 2}, 1), filled({n, 3}, 1)}, each(4096));
  }
  // The mean of 8192 losses of 10: their sum is beyond f16.
  runEverywhere({.label = "",
                 .operands = {"8192xf32", "f64"},
                 .results = {"f64"},
                 .text = "ds.token_mean $0, $1 : (#0, #1) -> @0"},
                {filled({8192}, 10), Tensor::scalar(8192)}, each(10));
}

// A floor below 1: a gradient of 1e5, beyond f16, is skipped once at scale 1, and held at 1/2.
TEST(PrecisionCases, MP_03_TheFloorMayLieBelowOne) {
  double scale = 1, good = 0, used = 0, floored = 0;
  OpCase update{.label = "",
                .operands = std::vector<std::string>(11, "f64"),
                .results = {"f64", "f64", "f64", "f64"},
                .text =
                    "ds.loss_scale_update $0, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10 : (#0, #1, "
                    "#2, #3, #4, #5, #6, #7, #8, #9, #10) -> (@0, @1, @2, @3)"};
  for (int step = 0; step < 4; ++step) {
    double stored = roundToHalf(1e5 * scale);
    EXPECT_EQ(std::isfinite(stored), step > 0);
    EXPECT_EQ(scale, step == 0 ? 1 : 0.5);
    if (step > 0)
      EXPECT_NEAR(stored / scale, 1e5, 1e5 * 0x1p-11);
    auto scalar = [](double value) { return Tensor::scalar(value); };
    Tensors next;
    runEverywhere(update,
                  {scalar(7), scalar(1), scalar(stored), scalar(scale), scalar(good), scalar(used),
                   scalar(floored), scalar(1000), scalar(1), scalar(0x1p-5), scalar(0x1p32)},
                  [&](const Tensors &results) {
                    if (!next.empty())
                      for (int i = 0; i < 4; ++i)
                        EXPECT_EQ(results[i].item(), next[i].item());
                    next = results;
                  });
    ASSERT_EQ(next.size(), 4u);
    scale = next[0].item(), good = next[1].item(), used = next[2].item(), floored = next[3].item();
  }
  EXPECT_EQ(good, 3);
}

// Values are unit vectors, so that an output row is the row of probabilities: it adds up to 1 over
// what a position may see, and is exactly 0 elsewhere, however large the scores there are.
TEST(PrecisionCases, AT_08_ProbabilitiesAddUpOverWhatIsSeen) {
  for (std::string type : {"f32", "f16", "bf16"}) {
    const int64_t length = 24;
    OpCase attention{
        .label = "",
        .operands = {"1x24x72x" + type},
        .results = {"1x24x24x" + type, "1x1x24xf32"},
        .text = "ds.attention $0 {heads = 1 : i64, scale = 0.25 : f64} : (#0) -> (@0, @1)"};
    Tensor qkv = filled({1, length, 3 * length}, 0);
    for (int64_t i = 0; i < length; ++i) {
      for (int64_t c = 0; c < length; ++c) {
        qkv[i * 3 * length + c] = std::ldexp(static_cast<double>((7 * i + 3 * c) % 9 - 4), -2);
        qkv[i * 3 * length + length + c] =
            std::ldexp(static_cast<double>((5 * i + c) % 11 - 5), -2);
      }
      qkv[i * 3 * length + 2 * length + i] = 1;
    }
    double bound = type == "f32" ? 1e-6 : type == "f16" ? 24 * 0x1p-11 : 24 * 0x1p-8;
    runEverywhere(attention, {qkv}, [&](const Tensors &results) {
      for (int64_t i = 0; i < length; ++i) {
        double sum = 0;
        for (int64_t j = 0; j < length; ++j) {
          double p = results[0][i * length + j];
          sum += p;
          if (j > i)
            ASSERT_EQ(p, 0) << i << " " << j;
          else
            ASSERT_GT(p, 0) << i << " " << j;
        }
        ASSERT_NEAR(sum, 1, bound) << i;
      }
    });
  }
}

// Each block of a long row has a larger maximum than those before: what has been added up so far is
// taken relative to it.
TEST(PrecisionCases, LaterMaximaRescaleTheSum) {
  const int64_t columns = 3000;
  Tensor logits = filled({2, columns}, 0);
  for (int64_t i = 0; i < columns; ++i) {
    logits[i] = static_cast<double>(i / 1024 * 5);
    logits[columns + i] = static_cast<double>(10 - i / 1024 * 5);
  }
  double rising = std::log(1024 + 1024 * std::exp(5.0) + 952 * std::exp(10.0));
  double falling = std::log(1024 * std::exp(10.0) + 1024 * std::exp(5.0) + 952);
  runEverywhere({.label = "",
                 .operands = {"2x3000xf32", "2xi32"},
                 .results = {"2xf32", "2xf32"},
                 .text = "ds.cross_entropy $0, $1 : (#0, #1) -> (@0, @1)"},
                {logits, Tensor({2}, {2999, 0})}, [&](const Tensors &results) {
                  EXPECT_NEAR(results[1][0], rising, 2e-6 * rising);
                  EXPECT_NEAR(results[1][1], falling, 2e-6 * falling);
                  EXPECT_NEAR(results[0][0], rising - 10, 2e-6 * rising);
                });
}
