//===- Linear.cpp - verifiers, gradients and costs of Ops/Linear.td ---===//
#include "dsc/Dialect/DS/DS.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace dsc;
using namespace dsc::ds;

LogicalResult LinearOp::verify() { return success(); }
LogicalResult LinearOp::buildBackward(OpBuilder &, ValueRange, SmallVectorImpl<Value> &) { return failure(); }
SmallVector<Value> LinearOp::savedValues() { return {}; }
int64_t LinearOp::flops() { return 0; }
LogicalResult LinearInputGradOp::verify() { return success(); }
int64_t LinearInputGradOp::flops() { return 0; }
LogicalResult LinearWeightGradOp::verify() { return success(); }
int64_t LinearWeightGradOp::flops() { return 0; }
int64_t LinearWeightGradOp::inPlaceOperand(unsigned) { return -1; }
bool LinearWeightGradOp::mustAlias(unsigned) { return false; }
LogicalResult BiasGradOp::verify() { return success(); }
int64_t BiasGradOp::flops() { return 0; }
int64_t BiasGradOp::inPlaceOperand(unsigned) { return -1; }
bool BiasGradOp::mustAlias(unsigned) { return false; }

#define GET_OP_CLASSES
#include "dsc/Dialect/DS/Ops/Linear.cpp.inc"
