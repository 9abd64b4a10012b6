//===- DS.h - the ds dialect: what a training run computes -----------------===//
#ifndef DSC_DIALECT_DS_DS_H
#define DSC_DIALECT_DS_DS_H

#include "dsc/Interfaces/Interfaces.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dsc/Dialect/DS/DSDialect.h.inc"
#include "dsc/Dialect/DS/DSEnums.h.inc"

#define GET_OP_CLASSES
#include "dsc/Dialect/DS/Ops/Attention.h.inc"
#define GET_OP_CLASSES
#include "dsc/Dialect/DS/Ops/Communication.h.inc"
#define GET_OP_CLASSES
#include "dsc/Dialect/DS/Ops/Dropout.h.inc"
#define GET_OP_CLASSES
#include "dsc/Dialect/DS/Ops/Elementwise.h.inc"
#define GET_OP_CLASSES
#include "dsc/Dialect/DS/Ops/Embedding.h.inc"
#define GET_OP_CLASSES
#include "dsc/Dialect/DS/Ops/Linear.h.inc"
#define GET_OP_CLASSES
#include "dsc/Dialect/DS/Ops/Loss.h.inc"
#define GET_OP_CLASSES
#include "dsc/Dialect/DS/Ops/Norm.h.inc"
#define GET_OP_CLASSES
#include "dsc/Dialect/DS/Ops/Optimizer.h.inc"
#define GET_OP_CLASSES
#include "dsc/Dialect/DS/Ops/Parts.h.inc"
#define GET_OP_CLASSES
#include "dsc/Dialect/DS/Ops/Scalar.h.inc"
#define GET_OP_CLASSES
#include "dsc/Dialect/DS/Ops/Structure.h.inc"

namespace dsc::ds {

/// On an op of an update: a rank runs its share of the work along this axis (ds::AxisAttr) and has
/// its own blocks of the results alone.
inline constexpr llvm::StringLiteral kShareAttr = "ds.share";

/// On a variable that is cut: who asked for it, in words.
inline constexpr llvm::StringLiteral kWhyAttr = "ds.why";

/// True for what only an applied update may change: the guard stands before every such assignment.
inline bool movesWithUpdates(Role role) {
  return role == Role::Parameter || role == Role::OptimizerState || role == Role::Counter ||
         role == Role::WorkingCopy;
}

} // namespace dsc::ds

#endif // DSC_DIALECT_DS_DS_H
