//===- Parts.h - variables that ranks hold in parts, before stages exist ---===//
// Until ds-split-stages moves training into modules of its own, a variable that other programs read
// whole has its part beside it, under the same name with a prefix.
#ifndef DSC_LIB_PASSES_PARALLEL_PARTS_H
#define DSC_LIB_PASSES_PARALLEL_PARTS_H

#include "mlir/IR/BuiltinOps.h"

namespace dsc {

inline constexpr llvm::StringLiteral kPartPrefix = "part:";

/// Gives the parts in `stage` the names of their variables, and takes them out of `module`.
void settleParts(mlir::ModuleOp module, mlir::ModuleOp stage);

} // namespace dsc

#endif // DSC_LIB_PASSES_PARALLEL_PARTS_H
