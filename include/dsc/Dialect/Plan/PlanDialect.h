//===- PlanDialect.h - the plan dialect ------------------------------------===//
#ifndef DSC_DIALECT_PLAN_PLANDIALECT_H
#define DSC_DIALECT_PLAN_PLANDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dsc/Dialect/Plan/PlanDialect.h.inc"
#include "dsc/Dialect/Plan/PlanEnums.h.inc"
#define GET_OP_CLASSES
#include "dsc/Dialect/Plan/PlanOps.h.inc"

#endif // DSC_DIALECT_PLAN_PLANDIALECT_H
