//===- InterfaceTest.cpp - cost, in-place answers, refusals of backward ----===//
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
  template <typename OpTy> OpTy first() {
    OpTy found;
    module->walk([&](OpTy op) { found = found ? found : op; });
    return found;
  }
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

/// Calls `body` with the op of every case of the op table.
void forEachCase(function_ref<void(Operation *)> body) {
  MLIRContext context;
  context.loadDialect<ds::DSDialect, func::FuncDialect>();
  for (const optable::OpRow &row : optable::allOpRows())
    for (const optable::OpCase &opCase : row.cases) {
      SCOPED_TRACE(row.name + " " + opCase.label);
      OwningOpRef<ModuleOp> module = optable::parseCase(context, opCase);
      ASSERT_TRUE(module);
      body(optable::opOf(*module));
    }
}
} // namespace

// 2 k multiply-adds an element, one addition for the bias; bytes once each.
TEST(Cost, OfALinearOp) {
  Parsed parsed(
      "func.func @f(%x: tensor<2x8x16xf32>, %w: tensor<16x48xf32>, %b: tensor<48xf32>) {\n"
      "%y = ds.linear %x, %w bias %b : tensor<2x8x16xf32>, tensor<16x48xf32> bias "
      "tensor<48xf32> -> tensor<2x8x48xf32>\nreturn }");
  auto op = cast<CostOpInterface>(parsed.first<ds::LinearOp>().getOperation());
  EXPECT_EQ(op.flops(), 2 * 8 * 48 * (2 * 16 + 1));
  EXPECT_EQ(op.bytesRead(), 4 * (2 * 8 * 16 + 16 * 48 + 48));
  EXPECT_EQ(op.bytesWritten(), 4 * 2 * 8 * 48);
}

// An embedding reads the rows it looks up, not the table.
TEST(Cost, OfAnEmbedding) {
  Parsed parsed("func.func @f(%i: tensor<2x8xi32>, %t: tensor<50000x16xf32>) {\n"
                "%y = ds.embedding %i, %t : tensor<2x8xi32>, tensor<50000x16xf32> -> "
                "tensor<2x8x16xf32>\nreturn }");
  auto op = cast<CostOpInterface>(parsed.first<ds::EmbeddingOp>().getOperation());
  EXPECT_EQ(op.bytesRead(), 4 * (2 * 8 + 2 * 8 * 16));
}

TEST(Cost, IsNeverNegative) {
  forEachCase([](Operation *op) {
    auto cost = cast<CostOpInterface>(op);
    EXPECT_GE(cost.flops(), 0);
    EXPECT_GE(cost.bytesRead(), 0);
    EXPECT_GE(cost.bytesWritten(), 0);
  });
}

// The operand a result may overwrite has its type; what must alias has an operand.
TEST(InPlace, OperandsHaveTheTypeOfTheResult) {
  forEachCase([](Operation *op) {
    auto inPlace = cast<InPlaceOpInterface>(op);
    for (unsigned result = 0; result < op->getNumResults(); ++result) {
      int64_t operand = inPlace.inPlaceOperand(result);
      ASSERT_LT(operand, static_cast<int64_t>(op->getNumOperands()));
      if (operand >= 0)
        EXPECT_EQ(op->getOperand(operand).getType(), op->getResult(result).getType());
      EXPECT_TRUE(operand >= 0 || !inPlace.mustAlias(result));
    }
  });
}

// Saved values are operands or results of the op.
TEST(Differentiable, SavesOnlyItsOwnValues) {
  forEachCase([](Operation *op) {
    auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
    if (!differentiable)
      return;
    for (Value saved : differentiable.savedValues())
      EXPECT_TRUE(llvm::is_contained(op->getOperands(), saved) ||
                  llvm::is_contained(op->getResults(), saved));
  });
}

// C7: a gradient that reaches the objective is refused.
TEST(Differentiable, TheObjectiveTakesNoGradient) {
  Parsed parsed(
      "func.func @f(%l: tensor<4xf32>, %c: tensor<f64>) {\n"
      "%m = ds.token_mean %l, %c : (tensor<4xf32>, tensor<f64>) -> tensor<f64>\nreturn }");
  auto mean = parsed.first<ds::TokenMeanOp>();
  std::string message;
  ScopedDiagnosticHandler handler(&parsed.context, [&](Diagnostic &diagnostic) {
    message = diagnostic.str();
    return success();
  });
  OpBuilder builder(mean->getBlock()->getTerminator());
  SmallVector<Value> gradients;
  EXPECT_TRUE(failed(mean.buildBackward(builder, {mean.getResult()}, gradients)));
  EXPECT_EQ(message, "'ds.token_mean' op C7: the mean of losses is the objective, nothing may be "
                     "computed from it");
}
