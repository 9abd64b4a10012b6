//===- EmitLowering.cpp - kernel functions to the LLVM dialect -------------===//
#include "Emit.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Conversion/VectorToSCF/VectorToSCF.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace dsc;

/// Bare pointers need static shapes: the workspace, memref<?xi8>, gets a size no CPU can address
/// and a cast.
static void makeWorkspaceStatic(func::FuncOp kernel) {
  if (kernel.isExternal() || kernel.getNumArguments() == 0)
    return;
  unsigned last = kernel.getNumArguments() - 1;
  BlockArgument workspace = kernel.getArgument(last);
  auto type = dyn_cast<MemRefType>(workspace.getType());
  if (!type || type.hasStaticShape())
    return;
  auto staticType = MemRefType::get({int64_t(1) << 47}, type.getElementType());
  workspace.setType(staticType);
  OpBuilder builder(kernel.getBody());
  auto cast = memref::CastOp::create(builder, kernel.getLoc(), type, workspace);
  workspace.replaceAllUsesExcept(cast, cast);
  SmallVector<Type> inputs(kernel.getArgumentTypes());
  inputs[last] = staticType;
  kernel.setFunctionType(builder.getFunctionType(inputs, kernel.getResultTypes()));
}

LogicalResult dsc::lowerKernelsToLLVM(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    makeWorkspaceStatic(function);

  PassManager manager(module.getContext(), ModuleOp::getOperationName());
  manager.enableVerifier(true);
  OpPassManager &functions = manager.nest<func::FuncOp>();
  functions.addPass(createCanonicalizerPass());
  functions.addPass(createCSEPass());
  functions.addPass(createConvertVectorToSCFPass());
  manager.addPass(createSCFToControlFlowPass());
  ConvertVectorToLLVMPassOptions vectorOptions;
  vectorOptions.vectorContractLowering = vector::VectorContractLowering::OuterProduct;
  manager.addPass(createConvertVectorToLLVMPass(vectorOptions));
  manager.addPass(createConvertMathToLLVMPass());
  manager.addPass(createFinalizeMemRefToLLVMConversionPass());
  ConvertFuncToLLVMPassOptions functionOptions;
  functionOptions.useBarePtrCallConv = true;
  manager.addPass(createConvertFuncToLLVMPass(functionOptions));
  manager.addPass(createArithToLLVMConversionPass());
  manager.addPass(createConvertControlFlowToLLVMPass());
  manager.addPass(createConvertIndexToLLVMPass());
  manager.addPass(createUBToLLVMConversionPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
  manager.addPass(createCSEPass());
  return manager.run(module);
}
