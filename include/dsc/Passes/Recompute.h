//===- Recompute.h - what is computed again instead of kept -----------------===//
// Choices are lists of block labels for ds-recompute; what one costs is measured by planning it.
#ifndef DSC_PASSES_RECOMPUTE_H
#define DSC_PASSES_RECOMPUTE_H

#include "dsc/Dialect/DS/DS.h"
#include "dsc/Frontend/Spec.h"
#include "mlir/IR/BuiltinOps.h"
#include <optional>
#include <string>
#include <vector>

namespace dsc {

/// A block of a training program and the one that differentiates it.
struct RecomputablePair {
  ds::BlockOp forward, backward;
};
/// In the order of the programs and their ops.
std::vector<RecomputablePair> recomputableBlocks(mlir::ModuleOp module);

/// Options of ds-recompute.
struct RecomputeChoice {
  std::vector<std::string> full, selective; ///< block labels
};

/// What a plan with a choice needs.
struct RecomputeCost {
  int64_t flops = 0;       ///< of a training step
  int64_t activations = 0; ///< bytes, of the program that needs most
  int64_t arena = 0;       ///< bytes of everything but workspaces
};

/// The choice that `mode` and `blocks` of the spec ask for, other than `auto`. `module` is one
/// after the precision phase.
RecomputeChoice recomputeChoice(mlir::ModuleOp module, const TrainSpec &train);

/// Plans a copy of `module` with `choice`.
mlir::FailureOr<RecomputeCost> measureRecompute(mlir::ModuleOp module,
                                                const RecomputeChoice &choice);

/// The least work that fits an arena of `budget` bytes. Blocks are moved from nothing to selective
/// to full, those first that save most bytes for a FLOP; how many is found by bisection over real
/// plans, then steps that turn out not to be needed are taken back. `smallest` is the arena that
/// recomputing everything needs; without a choice that fits, none is returned.
mlir::FailureOr<std::optional<RecomputeChoice>>
chooseRecompute(mlir::ModuleOp module, int64_t budget, RecomputeCost &smallest);

/// Table of what no, selective, full recomputation and `chosen` cost, for `dsc --dry-run`.
mlir::FailureOr<std::string> printRecomputeChoices(mlir::ModuleOp module,
                                                   const RecomputeChoice &chosen);

} // namespace dsc

#endif // DSC_PASSES_RECOMPUTE_H
