//===- PackingTest.cpp - documents side by side that do not see each other --===//
// The kernels themselves: which pairs count, that nothing else does, to the bit. The training step:
// packed documents give what they give apart.
#include "KernelRun.h"
#include "TinyRun.h"
#include "dsc/Dialect/DS/DS.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mlir;
using namespace dsc;
using namespace dsc::optable;

namespace {
/// Attention of one head as wide as there are tokens, in one op of each kind.
struct Packing : testing::Test {
  static constexpr int64_t length = 5, width = 5;

  Packing() { context.loadDialect<ds::DSDialect, func::FuncDialect>(); }

  static OpCase forward(int64_t batch) {
    std::string b = std::to_string(batch);
    return {.label = "forward",
            .operands = {b + "x5x15xf32", b + "x5xi32"},
            .results = {b + "x5x5xf32", b + "x1x5xf32"},
            .text = "ds.attention $0 within $1 {heads = 1 : i64, scale = 1.0 : f64} : (#0) within "
                    "#1 -> (@0, @1)"};
  }
  static OpCase backward(int64_t batch) {
    std::string b = std::to_string(batch), out = b + "x5x5xf32";
    return {.label = "backward",
            .operands = {out, b + "x5x15xf32", out, b + "x1x5xf32", b + "x5xi32"},
            .results = {b + "x5x15xf32"},
            .text = "ds.attention_grad $0, $1, $2, $3 within $4 {heads = 1 : i64, scale = 1.0 : "
                    "f64} : (#0, #1, #2, #3) within #4 -> @0"};
  }

  /// Results of the kernel, as tensors.
  Tensors run(const OpCase &opCase, const Tensors &operands) {
    OwningOpRef<ModuleOp> module = parseCase(context, opCase);
    Operation *op = opOf(*module);
    auto runner = KernelRunner::create(op, nativeTarget());
    EXPECT_TRUE(succeeded(runner));
    Results bytes = runKernel(**runner, op, operands, 1);
    Tensors results;
    for (auto [index, result] : llvm::enumerate(op->getResults())) {
      Tensor tensor = Tensor::filled(reference::shapeOf(result.getType()), 0);
      for (int64_t i = 0; i < tensor.count(); ++i)
        tensor[i] = optable::load(bytes[index], i, Float32Type::get(&context));
      results.push_back(std::move(tensor));
    }
    return results;
  }

  /// Queries and keys that vary, values that name their key: result[i, j] is the probability of j.
  static Tensor named(int64_t batch) {
    Tensor qkv = Tensor::filled({batch, length, 3 * width}, 0);
    for (int64_t i = 0; i < qkv.count(); ++i) {
      int64_t column = i % (3 * width), token = i / (3 * width) % length;
      qkv[i] = column < 2 * width ? static_cast<float>(std::sin(double(i * i % 31)))
                                  : double(column - 2 * width == token);
    }
    return qkv;
  }
  static Tensor ids(std::vector<double> values) {
    int64_t batch = static_cast<int64_t>(values.size()) / length;
    return {{batch, length}, std::move(values)};
  }

  MLIRContext context;
};

const std::vector<double> threeAndTwo = {0, 1, 2, 0, 1};
} // namespace

// Lengths 3 and 2: 9 of the 25 pairs, where plain causal attention has 15.
TEST_F(Packing, AT_01_NinePairsOfTwentyFive) {
  auto pairs = [&](const std::vector<double> &positions) {
    Tensor result = run(forward(1), {named(1), ids(positions)})[0];
    return std::count_if(result.values.begin(), result.values.end(),
                         [](double p) { return p > 0; });
  };
  EXPECT_EQ(pairs(threeAndTwo), 9);
  EXPECT_EQ(pairs({0, 1, 2, 3, 4}), 15);
}

// Another first document leaves the bits of the second one.
TEST_F(Packing, AT_01_TheOtherDocumentDoesNotMatter) {
  Tensor one = named(1), other = one;
  for (int64_t i = 0; i < 3 * 3 * width; ++i)
    other[i] = 100 - 3 * one[i];
  Tensor positions = ids(threeAndTwo), gradient = Tensor::filled({1, length, width}, 0.5);
  Tensors first = run(forward(1), {one, positions}), second = run(forward(1), {other, positions});
  EXPECT_NE(first[0][0], second[0][0]);
  for (int64_t i = 3 * width; i < length * width; ++i)
    EXPECT_EQ(first[0][i], second[0][i]) << i;
  Tensor a = run(backward(1), {gradient, one, first[0], first[1], positions})[0];
  Tensor b = run(backward(1), {gradient, other, second[0], second[1], positions})[0];
  for (int64_t i = 3 * 3 * width; i < a.count(); ++i)
    EXPECT_EQ(a[i], b[i]) << i;
}

// A sample that is all padding: zeros and zero gradients, and the other sample as it was.
TEST_F(Packing, AT_06_PaddingGivesZeros) {
  Tensor alone = named(1), both = named(2);
  std::copy(alone.values.begin(), alone.values.end(), both.values.begin());
  Tensor padded = ids({0, 1, 2, 0, 1, -1, -1, -1, -1, -1});
  Tensors x = run(forward(1), {alone, ids(threeAndTwo)}), y = run(forward(2), {both, padded});
  Tensor gradient = Tensor::filled({1, length, width}, 0.5),
         gradients = Tensor::filled({2, length, width}, 0.5);
  x.push_back(run(backward(1), {gradient, alone, x[0], x[1], ids(threeAndTwo)})[0]);
  y.push_back(run(backward(2), {gradients, both, y[0], y[1], padded})[0]);
  for (size_t r = 0; r < 3; ++r)
    for (int64_t i = 0; i < y[r].count(); ++i)
      EXPECT_EQ(y[r][i], i < x[r].count() ? x[r][i] : 0) << "result " << r << " element " << i;
}

// Probabilities of allowed keys sum to 1, those of all others are exactly 0.
TEST_F(Packing, AT_08_RowsSumToOne) {
  Tensor result = run(forward(1), {named(1), ids(threeAndTwo)})[0];
  for (int64_t i = 0; i < length; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < length; ++j) {
      bool allowed = j <= i && (i < 3) == (j < 3);
      EXPECT_EQ(result[i * width + j] > 0, allowed) << i << " " << j;
      sum += result[i * width + j];
    }
    EXPECT_NEAR(sum, 1, 5 * 0x1p-24);
  }
}

// A step over packed documents: loss and gradients are those of the documents apart, in rows of
// their own.
TEST(PackedStep, AT_01_PackedEqualsApart) {
  constexpr double skip = -100;
  auto gradients = [&](bool packed, std::vector<double> tokens, std::vector<double> labels,
                       std::vector<double> positions) {
    Spec spec = test::tinySpec();
    spec.data.packDocuments = packed;
    spec.train.optimizer = OptimizerKind::Sgd;
    spec.train.schedule = ScheduleKind::Constant;
    spec.train.lr = 1;
    auto run = std::make_unique<test::TinyRun>(spec);
    EXPECT_TRUE(run->ok());
    auto before = run->state();
    auto outcome = run->interpreter->runStep(
        {{2, 5}, std::move(tokens)}, {{2, 5}, std::move(labels)}, {{2, 5}, std::move(positions)});
    EXPECT_TRUE(succeeded(outcome));
    auto after = run->state();
    std::map<std::string, std::vector<double>> change;
    for (const auto &[name, values] : after)
      for (size_t i = 0; i < values.size(); ++i)
        change[name].push_back(values[i] - before[name][i]);
    return std::pair(outcome->reports["loss"].item(), change);
  };
  auto packed = gradients(true, {1, 2, 3, 7, 8, 0, 0, 0, 0, 0},
                          {2, 3, skip, 8, skip, skip, skip, skip, skip, skip},
                          {0, 1, 2, 0, 1, -1, -1, -1, -1, -1});
  auto apart = gradients(false, {1, 2, 3, 0, 0, 7, 8, 0, 0, 0},
                         {2, 3, skip, skip, skip, 8, skip, skip, skip, skip}, {});
  EXPECT_NEAR(packed.first, apart.first, 1e-13);
  for (const auto &[name, values] : apart.second)
    for (size_t i = 0; i < values.size(); ++i)
      EXPECT_NEAR(packed.second[name][i], values[i], 1e-12) << name << " " << i;
}
