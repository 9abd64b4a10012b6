//===- ds-opt.cpp - runs passes on IR text ---------------------------------===//
// MlirOptMain with the dialects and passes of this project, nothing else.
#include "dsc/Dialect/DS/DS.h"
#include "dsc/Dialect/Plan/PlanDialect.h"
#include "dsc/Passes/Passes.h"
#include "dsc/Passes/Pipelines.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<dsc::ds::DSDialect, dsc::plan::PlanDialect, mlir::func::FuncDialect,
                  mlir::arith::ArithDialect, mlir::math::MathDialect, mlir::memref::MemRefDialect,
                  mlir::scf::SCFDialect, mlir::vector::VectorDialect>();
  dsc::registerDscPasses();
  dsc::registerPipelines();
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Runs dsc passes on IR text\n", registry));
}
