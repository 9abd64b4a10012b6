//===- Elementwise.cpp - verifiers, gradients and costs of Ops/Elementwise.td ---===//
#include "dsc/Dialect/DS/DS.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace dsc;
using namespace dsc::ds;

LogicalResult AddOp::verify() { return success(); }
LogicalResult AddOp::buildBackward(OpBuilder &, ValueRange, SmallVectorImpl<Value> &) { return failure(); }
SmallVector<Value> AddOp::savedValues() { return {}; }
int64_t AddOp::flops() { return 0; }
int64_t AddOp::inPlaceOperand(unsigned) { return -1; }
LogicalResult ActivationOp::verify() { return success(); }
LogicalResult ActivationOp::buildBackward(OpBuilder &, ValueRange, SmallVectorImpl<Value> &) { return failure(); }
SmallVector<Value> ActivationOp::savedValues() { return {}; }
int64_t ActivationOp::flops() { return 0; }
int64_t ActivationOp::inPlaceOperand(unsigned) { return -1; }
LogicalResult ActivationGradOp::verify() { return success(); }
int64_t ActivationGradOp::flops() { return 0; }
int64_t ActivationGradOp::inPlaceOperand(unsigned) { return -1; }

#define GET_OP_CLASSES
#include "dsc/Dialect/DS/Ops/Elementwise.cpp.inc"
