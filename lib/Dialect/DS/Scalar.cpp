//===- Scalar.cpp - verifiers, gradients and costs of Ops/Scalar.td ---===//
#include "dsc/Dialect/DS/DS.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace dsc;
using namespace dsc::ds;

LogicalResult SquareSumOp::verify() { return success(); }
int64_t SquareSumOp::flops() { return 0; }
LogicalResult GlobalNormOp::verify() { return success(); }
int64_t GlobalNormOp::flops() { return 0; }
LogicalResult ClipFactorOp::verify() { return success(); }
LogicalResult LearningRateOp::verify() { return success(); }
LogicalResult IncrementOp::verify() { return success(); }
int64_t IncrementOp::inPlaceOperand(unsigned) { return -1; }

#define GET_OP_CLASSES
#include "dsc/Dialect/DS/Ops/Scalar.cpp.inc"
