//===- PlanDialect.h - the plan dialect ------------------------------------===//
#ifndef DSC_DIALECT_PLAN_PLANDIALECT_H
#define DSC_DIALECT_PLAN_PLANDIALECT_H

#include "dsc/Support/Layout.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dsc/Dialect/Plan/PlanDialect.h.inc"
#include "dsc/Dialect/Plan/PlanEnums.h.inc"
#define GET_OP_CLASSES
#include "dsc/Dialect/Plan/PlanOps.h.inc"

namespace dsc::plan {

/// Bytes of a memref or tensor of static shape without gaps.
int64_t byteSize(mlir::ShapedType type);

/// True for kinds whose buffers are the same bytes in all programs that have them. Those of a cache
/// may hold anything else while other programs run.
inline bool livesAcrossPrograms(BufferKind kind) {
  return kind <= BufferKind::Hyperparameter || kind == BufferKind::WorkingCopy ||
         kind == BufferKind::StepState || kind == BufferKind::Window || kind == BufferKind::Cache ||
         kind == BufferKind::Stash;
}

/// True for variables that only an applied update changes: nothing is written to them before the
/// guard.
inline bool movesWithUpdates(BufferKind kind) {
  return kind == BufferKind::Parameter || kind == BufferKind::OptimizerState ||
         kind == BufferKind::Counter || kind == BufferKind::WorkingCopy;
}

/// On a module whose programs are those of one of many ranks: sizes of the grid along data, tensor,
/// pipeline and context (DenseI64ArrayAttr).
inline constexpr llvm::StringLiteral kLayoutAttr = "ds.layout";
/// The grid of the module that `op` stands in; one rank where it has none.
Layout layoutOf(mlir::Operation *op);

/// Bytes of one place of a buffer: those of the largest share where it is shared out.
int64_t localBytes(BufferOp buffer);
/// Bytes of all its places.
int64_t extentOf(BufferOp buffer);

/// Where an operand lies: a buffer and bytes from its start, through any number of views.
struct BufferPlace {
  BufferOp buffer;
  int64_t offset;
};
/// Null buffer if `memref` is no buffer and no view of one.
BufferPlace locate(mlir::Value memref);

} // namespace dsc::plan

#endif // DSC_DIALECT_PLAN_PLANDIALECT_H
