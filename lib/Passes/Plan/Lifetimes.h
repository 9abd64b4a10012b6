//===- Lifetimes.h - when the contents of each buffer matter ---------------===//
#ifndef DSC_LIB_PASSES_PLAN_LIFETIMES_H
#define DSC_LIB_PASSES_PLAN_LIFETIMES_H

#include "dsc/Dialect/Plan/PlanDialect.h"
#include "llvm/ADT/MapVector.h"

namespace dsc::plan {

/// One operand of an instruction and what is done to it.
struct Access {
  mlir::Value memref;
  bool reads, writes;
};

/// Accesses of a launch, copy or guard, in operand order.
llvm::SmallVector<Access> accessesOf(mlir::Operation *instruction);

/// Instructions [first, last] between which a buffer's contents matter. Inputs are there from the
/// start, outputs until the end, and what lives across programs always.
struct Lifetime {
  int64_t first, last;
  bool overlaps(const Lifetime &other) const { return first <= other.last && other.first <= last; }
};

struct Lifetimes {
  llvm::SmallVector<mlir::Operation *> instructions;
  llvm::MapVector<BufferOp, Lifetime>
      buffers; ///< in program order; unused buffers have last < first
};

Lifetimes computeLifetimes(ProgramOp program);

} // namespace dsc::plan

#endif // DSC_LIB_PASSES_PLAN_LIFETIMES_H
