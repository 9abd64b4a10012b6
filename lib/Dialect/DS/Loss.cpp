//===- Loss.cpp - verifiers, gradients and costs of Ops/Loss.td ---===//
#include "dsc/Dialect/DS/DS.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace dsc;
using namespace dsc::ds;

LogicalResult CrossEntropyOp::verify() { return success(); }
LogicalResult CrossEntropyOp::buildBackward(OpBuilder &, ValueRange, SmallVectorImpl<Value> &) { return failure(); }
SmallVector<Value> CrossEntropyOp::savedValues() { return {}; }
int64_t CrossEntropyOp::flops() { return 0; }
LogicalResult CrossEntropyGradOp::verify() { return success(); }
int64_t CrossEntropyGradOp::flops() { return 0; }
int64_t CrossEntropyGradOp::inPlaceOperand(unsigned) { return -1; }
LogicalResult CountOp::verify() { return success(); }
LogicalResult LossSeedOp::verify() { return success(); }
LogicalResult TokenMeanOp::verify() { return success(); }
int64_t TokenMeanOp::flops() { return 0; }
LogicalResult SliceRowsOp::verify() { return success(); }
LogicalResult ConcatRowsOp::verify() { return success(); }

#define GET_OP_CLASSES
#include "dsc/Dialect/DS/Ops/Loss.cpp.inc"
