//===- Emit.h - from plan IR to a plan -------------------------------------===//
// The last phase. Functions and not passes, because their result is no IR.
#ifndef DSC_PASSES_EMIT_H
#define DSC_PASSES_EMIT_H

#include "dsc/Codegen/KernelOpInterface.h"
#include "dsc/Plan/Plan.h"
#include "mlir/IR/BuiltinOps.h"
#include <functional>

namespace dsc {

struct Spec;

struct EmitOptions {
  /// One kernel image each, in this order.
  std::vector<const Target *> targets;
  /// Goes into the plan as it is: see buildManifest.
  JsonValue manifest;
  /// Folder of machine code compiled before (see emitKernelImage); empty: none.
  std::string kernelCache;
  /// Sees the kernel functions of each target before they become code (for dumps).
  std::function<void(const Target &, mlir::ModuleOp)> seeKernels;
  uint64_t rowsInTurn = 0;              ///< see Plan
  mlir::MLIRContext *context = nullptr; ///< set by emitPlan
};

/// The plan of modules that plan-verify accepts: `module`, and with many ranks one a stage. Fails
/// with a diagnostic if an op has no kernel generator.
mlir::FailureOr<plan::Plan> emitPlan(mlir::ModuleOp module, const EmitOptions &options,
                                     llvm::ArrayRef<mlir::ModuleOp> stages = {});

/// {"compiler": version, "ranks": count, "spec": the resolved spec, "targets": names, "files": what
/// the spec names}. Relative paths start at the folder of `planPath`. Each file has `path`,
/// `format`, `bytes` and `xxh3`, the hash that dsrun compares. Error (Input) if a file cannot be
/// read.
StatusOr<JsonValue> buildManifest(const Spec &spec, const std::string &planPath,
                                  const std::vector<const Target *> &targets,
                                  const std::string &compilerVersion);

} // namespace dsc

#endif // DSC_PASSES_EMIT_H
