//===- Norm.cpp - verifiers, gradients and costs of Ops/Norm.td ---===//
#include "dsc/Dialect/DS/DS.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace dsc;
using namespace dsc::ds;

LogicalResult LayerNormOp::verify() { return success(); }
LogicalResult LayerNormOp::buildBackward(OpBuilder &, ValueRange, SmallVectorImpl<Value> &) { return failure(); }
SmallVector<Value> LayerNormOp::savedValues() { return {}; }
int64_t LayerNormOp::flops() { return 0; }
LogicalResult LayerNormInputGradOp::verify() { return success(); }
int64_t LayerNormInputGradOp::flops() { return 0; }
int64_t LayerNormInputGradOp::inPlaceOperand(unsigned) { return -1; }
LogicalResult LayerNormParameterGradOp::verify() { return success(); }
int64_t LayerNormParameterGradOp::flops() { return 0; }

#define GET_OP_CLASSES
#include "dsc/Dialect/DS/Ops/Norm.cpp.inc"
