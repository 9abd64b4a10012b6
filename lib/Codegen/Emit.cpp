//===- Emit.cpp - kernel functions to the bytes of a kernel image ----------===//
// The module handed in is left as it was: lowering works on a copy.
#include "Emit.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

using namespace mlir;
using namespace dsc;

FailureOr<std::string> dsc::emitKernelImage(ModuleOp module, const Target &target) {
  OwningOpRef<ModuleOp> copy = module.clone();
  std::vector<std::string> kernels;
  for (auto function : copy->getOps<func::FuncOp>())
    if (function.isPublic())
      kernels.push_back(function.getName().str());
  if (failed(lowerKernelsToLLVM(*copy)))
    return failure();

  registerBuiltinDialectTranslation(*module.getContext());
  registerLLVMDialectTranslation(*module.getContext());
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> llvmModule = translateModuleToLLVMIR(*copy, context, "kernels");
  if (!llvmModule)
    return module.emitError("kernels do not translate to LLVM IR");
  wrapKernels(*llvmModule, kernels);

  FailureOr<std::string> object = compileToObject(*llvmModule, target, module.getLoc());
  if (failed(object))
    return failure();
  return linkShared(*object, module.getLoc());
}
