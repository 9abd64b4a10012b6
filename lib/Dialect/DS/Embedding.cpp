//===- Embedding.cpp - verifiers, gradients and costs of Ops/Embedding.td ---===//
#include "dsc/Dialect/DS/DS.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace dsc;
using namespace dsc::ds;

LogicalResult EmbeddingOp::verify() { return success(); }
LogicalResult EmbeddingOp::buildBackward(OpBuilder &, ValueRange, SmallVectorImpl<Value> &) { return failure(); }
SmallVector<Value> EmbeddingOp::savedValues() { return {}; }
LogicalResult EmbeddingGradOp::verify() { return success(); }
int64_t EmbeddingGradOp::inPlaceOperand(unsigned) { return -1; }
bool EmbeddingGradOp::mustAlias(unsigned) { return false; }
LogicalResult PositionGradOp::verify() { return success(); }
int64_t PositionGradOp::flops() { return 0; }

#define GET_OP_CLASSES
#include "dsc/Dialect/DS/Ops/Embedding.cpp.inc"
