//===- MegatronRule.h - what tensor parallelism cuts -----------------------===//
#ifndef DSC_LIB_PASSES_PARALLEL_MEGATRONRULE_H
#define DSC_LIB_PASSES_PARALLEL_MEGATRONRULE_H

#include "Sharding.h"

namespace dsc {

/// Cuts pairs of products and vocabularies over `parts` ranks wherever everything that follows can
/// be cut.
void applyMegatronRule(mlir::ModuleOp module, llvm::ArrayRef<mlir::func::FuncOp> programs,
                       Shardings &shardings, int64_t parts);

} // namespace dsc

#endif // DSC_LIB_PASSES_PARALLEL_MEGATRONRULE_H
