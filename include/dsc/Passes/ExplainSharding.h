//===- ExplainSharding.h - who asked for which cut -------------------------===//
#ifndef DSC_PASSES_EXPLAINSHARDING_H
#define DSC_PASSES_EXPLAINSHARDING_H

#include "mlir/IR/BuiltinOps.h"
#include <string>

namespace dsc {

/// A line for each variable of a stage: its whole shape, what one rank has of it, along which axis,
/// and why; "" for a module that is no stage.
std::string explainShardings(mlir::ModuleOp stage);

} // namespace dsc

#endif // DSC_PASSES_EXPLAINSHARDING_H
