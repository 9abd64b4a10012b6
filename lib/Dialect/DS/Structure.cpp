//===- Structure.cpp - verifiers, gradients and costs of Ops/Structure.td ---===//
#include "dsc/Dialect/DS/DS.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace dsc;
using namespace dsc::ds;

LogicalResult VariableOp::verify() { return success(); }
LogicalResult ReadOp::verifySymbolUses(SymbolTableCollection &) { return success(); }
LogicalResult AssignOp::verifySymbolUses(SymbolTableCollection &) { return success(); }
LogicalResult BlockOp::verify() { return success(); }

#define GET_OP_CLASSES
#include "dsc/Dialect/DS/Ops/Structure.cpp.inc"
