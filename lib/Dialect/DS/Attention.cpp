//===- Attention.cpp - verifiers, gradients and costs of Ops/Attention.td ---===//
#include "dsc/Dialect/DS/DS.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace dsc;
using namespace dsc::ds;

LogicalResult AttentionOp::verify() { return success(); }
LogicalResult AttentionOp::buildBackward(OpBuilder &, ValueRange, SmallVectorImpl<Value> &) { return failure(); }
SmallVector<Value> AttentionOp::savedValues() { return {}; }
int64_t AttentionOp::flops() { return 0; }
LogicalResult AttentionGradOp::verify() { return success(); }
int64_t AttentionGradOp::flops() { return 0; }

#define GET_OP_CLASSES
#include "dsc/Dialect/DS/Ops/Attention.cpp.inc"
