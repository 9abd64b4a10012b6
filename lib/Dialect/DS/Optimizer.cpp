//===- Optimizer.cpp - verifiers, gradients and costs of Ops/Optimizer.td ---===//
#include "dsc/Dialect/DS/DS.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace dsc;
using namespace dsc::ds;

LogicalResult AdamUpdateOp::verify() { return success(); }
int64_t AdamUpdateOp::flops() { return 0; }
int64_t AdamUpdateOp::inPlaceOperand(unsigned) { return -1; }
LogicalResult SgdUpdateOp::verify() { return success(); }
int64_t SgdUpdateOp::flops() { return 0; }
int64_t SgdUpdateOp::inPlaceOperand(unsigned) { return -1; }

#define GET_OP_CLASSES
#include "dsc/Dialect/DS/Ops/Optimizer.cpp.inc"
