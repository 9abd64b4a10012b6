//===- Emit.h - the steps from kernel functions to a shared object ---------===//
// emitKernelImage (dsc/Codegen/KernelOpInterface.h) runs them in order.
#ifndef DSC_LIB_CODEGEN_EMIT_H
#define DSC_LIB_CODEGEN_EMIT_H

#include "dsc/Codegen/KernelOpInterface.h"
#include "mlir/IR/BuiltinOps.h"

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace dsc {

/// Lowers `module` in place to the LLVM dialect. Kernel arguments become bare pointers.
mlir::LogicalResult lowerKernelsToLLVM(mlir::ModuleOp module);

/// Gives each of `kernels` the ABI of dsc/Plan/Plan.h: the generated body is inlined into a
/// function of that name and nothing else is exported.
void wrapKernels(llvm::Module &module, llvm::ArrayRef<std::string> kernels);

/// Optimises for `target` and writes a relocatable object; false, and why, if that fails. May run
/// on several threads, with modules of different contexts.
bool compileToObject(llvm::Module &module, const Target &target, std::string &object,
                     std::string &error);

/// Links objects to a shared object without dependencies. Undefined symbols are errors, reported
/// at `loc`.
mlir::FailureOr<std::string> linkShared(llvm::ArrayRef<std::string> objects, mlir::Location loc);

} // namespace dsc

#endif // DSC_LIB_CODEGEN_EMIT_H
