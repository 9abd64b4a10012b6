//===- Reproducer.h - a failure of the compiler as one file ----------------===//
// What `dsc --crash-repro=FILE` writes when a pass fails or crashes: the module as it came to that
// pass, and the pass with its options. `ds-opt --run-reproducer FILE` repeats the failure without
// the spec and its data.
#ifndef DSC_PASSES_REPRODUCER_H
#define DSC_PASSES_REPRODUCER_H

#include "mlir/Pass/PassManager.h"
#include <string>

namespace dsc {

/// Lets `manager` write `file` when one of its passes fails; nothing is written otherwise. The
/// context must not run passes on several threads.
void reproduceFailures(mlir::PassManager &manager, const std::string &file);

} // namespace dsc

#endif // DSC_PASSES_REPRODUCER_H
