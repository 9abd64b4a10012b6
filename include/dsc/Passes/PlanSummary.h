//===- PlanSummary.h - what a plan costs, read off its IR ------------------===//
#ifndef DSC_PASSES_PLANSUMMARY_H
#define DSC_PASSES_PLANSUMMARY_H

#include "dsc/Codegen/KernelOpInterface.h"
#include "mlir/IR/BuiltinOps.h"
#include <string>
#include <vector>

namespace dsc {

struct ProgramSummary {
  std::string name;
  int64_t times = 0; ///< that a training step runs it; 0: no part of a step
  int64_t flops = 0; ///< of one execution, a multiply-add counted as two
  int64_t launches = 0, copies = 0;
  int64_t activations = 0; ///< bytes of the region for everything that dies within the program
  int64_t bound = 0;       ///< most bytes alive at one instruction: no layout needs less
};

struct PlanSummary {
  int64_t parameters = 0;    ///< elements
  int64_t workingCopies = 0; ///< parameters in two bytes
  int64_t weights = 0, gradients = 0, optimizer = 0,
          scalars = 0;     ///< bytes, padding between buffers apart
  int64_t caches = 0;      ///< of generation, over bytes that training has for itself
  int64_t stashes = 0;     ///< what a stage keeps of the micro-batches in flight
  int64_t activations = 0; ///< of the program that needs most
  int64_t workspace = 0;   ///< a thread, on the target that needs most
  int64_t arena = 0;       ///< everything but workspaces, with padding
  int64_t kernels = 0;
  int64_t stepFlops = 0,
          stepLaunches = 0; ///< of all programs of a training step, as often as each runs
  std::vector<ProgramSummary> programs;
};

/// Of a module after plan-assign-memory. Ops without a kernel generator count no workspace.
PlanSummary summarizePlan(mlir::ModuleOp module, llvm::ArrayRef<const Target *> targets);

/// What `dsc --dry-run` prints.
std::string printSummary(const PlanSummary &summary);

} // namespace dsc

#endif // DSC_PASSES_PLANSUMMARY_H
