//===- PlanDialect.cpp - registration of the plan dialect ------------------===//
#include "dsc/Dialect/Plan/PlanDialect.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace dsc::plan;

#include "dsc/Dialect/Plan/PlanDialect.cpp.inc"
#include "dsc/Dialect/Plan/PlanEnums.cpp.inc"

void PlanDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dsc/Dialect/Plan/PlanOps.cpp.inc"
      >();
}

#define GET_OP_CLASSES
#include "dsc/Dialect/Plan/PlanOps.cpp.inc"
