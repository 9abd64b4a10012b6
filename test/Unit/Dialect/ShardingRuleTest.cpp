//===- ShardingRuleTest.cpp - loops and maps of ops ------------------------===//
#include "../Reference/Table/OpTable.h"
#include "dsc/Dialect/DS/DS.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace dsc;

namespace {
struct Parsed {
  explicit Parsed(const std::string &text) {
    context.loadDialect<ds::DSDialect, func::FuncDialect>();
    module = parseSourceString<ModuleOp>(text, &context);
  }
  /// The first op that has a rule.
  Operation *op() {
    Operation *found = nullptr;
    module->walk([&](ShardableOpInterface op) { found = found ? found : op.getOperation(); });
    return found;
  }
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

std::string text(AffineMap map) {
  std::string result;
  llvm::raw_string_ostream(result) << map;
  return result;
}

/// "k:sum:16"
std::string text(const ShardingLoop &loop) {
  const char *kinds[] = {"parallel", "sum", "generic"};
  return loop.name + ":" + kinds[static_cast<int>(loop.kind)] + ":" + std::to_string(loop.size);
}

std::vector<std::string> loopsOf(const ShardingRule &rule) {
  std::vector<std::string> result;
  for (const ShardingLoop &loop : rule.loops)
    result.push_back(text(loop));
  return result;
}
} // namespace

// result[b, t, n] = sum_k input[b, t, k] * weight[k, n] + bias[n]
TEST(ShardingRule, OfALinearOpIsItsEinsum) {
  Parsed parsed(
      "func.func @f(%x: tensor<2x8x16xf32>, %w: tensor<16x48xf32>, %b: tensor<48xf32>) {\n"
      "%y = ds.linear %x, %w bias %b : tensor<2x8x16xf32>, tensor<16x48xf32> bias "
      "tensor<48xf32> -> tensor<2x8x48xf32>\nreturn }");
  ShardingRule rule = cast<ShardableOpInterface>(parsed.op()).shardingRule();
  EXPECT_EQ(loopsOf(rule), (std::vector<std::string>{"r0:parallel:2", "r1:parallel:8",
                                                     "n:parallel:48", "k:sum:16"}));
  EXPECT_EQ(text(rule.results[0]), "(d0, d1, d2, d3) -> (d0, d1, d2)");
  EXPECT_EQ(text(rule.operands[0]), "(d0, d1, d2, d3) -> (d0, d1, d3)");
  EXPECT_EQ(text(rule.operands[1]), "(d0, d1, d2, d3) -> (d3, d2)");
  EXPECT_EQ(text(rule.operands[2]), "(d0, d1, d2, d3) -> (d2)");
}

// Heads are a loop although the tensor has queries, keys, values and heads in one dimension.
TEST(ShardingRule, OfAttentionFindsTheHeads) {
  Parsed parsed("func.func @f(%q: tensor<2x8x48xf32>) {\n"
                "%y, %l = ds.attention %q {heads = 4 : i64, scale = 0.5 : f64} : "
                "(tensor<2x8x48xf32>) -> (tensor<2x8x16xf32>, tensor<2x4x8xf32>)\nreturn }");
  ShardingRule rule = cast<ShardableOpInterface>(parsed.op()).shardingRule();
  EXPECT_EQ(loopsOf(rule), (std::vector<std::string>{"b:parallel:2", "t:generic:8", "h:parallel:4",
                                                     "c:generic:4", "x:generic:3"}));
  EXPECT_EQ(text(rule.operands[0]), "(d0, d1, d2, d3, d4) -> (d0, d1, d4 * 16 + d2 * 4 + d3)");
  EXPECT_EQ(text(rule.results[0]), "(d0, d1, d2, d3, d4) -> (d0, d1, d2 * 4 + d3)");
  EXPECT_EQ(text(rule.results[1]), "(d0, d1, d2, d3, d4) -> (d0, d2, d1)");
}

// Data parallelism leaves partial sums in a weight gradient, nothing in an input gradient.
TEST(ShardingRule, OfAWeightGradientSumsOverRows) {
  Parsed parsed("func.func @f(%x: tensor<4x16xf32>, %g: tensor<4x8xf32>) {\n"
                "%y = ds.linear_weight_grad %x, %g {transpose_weight} : tensor<4x16xf32>, "
                "tensor<4x8xf32> -> tensor<8x16xf32>\nreturn }");
  ShardingRule rule = cast<ShardableOpInterface>(parsed.op()).shardingRule();
  EXPECT_EQ(loopsOf(rule), (std::vector<std::string>{"n:parallel:8", "k:parallel:16", "r0:sum:4"}));
}

// For every case of the op table: one map a tensor, one index a dimension, and the loops together
// reach exactly the last element of each dimension.
TEST(ShardingRule, OfEveryOpCoversEveryTensor) {
  MLIRContext context;
  context.loadDialect<ds::DSDialect, func::FuncDialect>();
  int64_t checked = 0;
  for (const optable::OpRow &row : optable::allOpRows())
    for (const optable::OpCase &opCase : row.cases) {
      SCOPED_TRACE(row.name + " " + opCase.label);
      OwningOpRef<ModuleOp> module = optable::parseCase(context, opCase);
      ASSERT_TRUE(module);
      Operation *op = optable::opOf(*module);
      ShardingRule rule = cast<ShardableOpInterface>(op).shardingRule();
      ASSERT_EQ(rule.operands.size(), op->getNumOperands());
      ASSERT_EQ(rule.results.size(), op->getNumResults());
      SmallVector<int64_t> last;
      for (const ShardingLoop &loop : rule.loops)
        last.push_back(loop.size - 1);
      auto check = [&](AffineMap map, Type type) {
        auto shape = cast<RankedTensorType>(type).getShape();
        ASSERT_EQ(map.getNumDims(), rule.loops.size());
        ASSERT_EQ(map.getNumResults(), shape.size());
        SmallVector<int64_t> index = map.compose(last);
        for (auto [at, size] : llvm::zip(index, shape))
          EXPECT_EQ(at, size - 1);
        ++checked;
      };
      for (auto [map, type] : llvm::zip(rule.operands, op->getOperandTypes()))
        check(map, type);
      for (auto [map, type] : llvm::zip(rule.results, op->getResultTypes()))
        check(map, type);
    }
  EXPECT_GT(checked, 100);
}
