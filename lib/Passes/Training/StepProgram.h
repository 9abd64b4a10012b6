//===- StepProgram.h - what training passes look up in @train --------------===//
// Passes of this phase meet through symbols and reports, never through attributes: a gradient is
// what is reported as "grad:<variable>".
#ifndef DSC_LIB_PASSES_TRAINING_STEPPROGRAM_H
#define DSC_LIB_PASSES_TRAINING_STEPPROGRAM_H

#include "dsc/Dialect/DS/DS.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <map>
#include <string>

namespace dsc {

inline constexpr llvm::StringLiteral kGradientPrefix = "grad:";

/// @train with a body, or null: the module is no training run.
inline mlir::func::FuncOp findStep(mlir::ModuleOp module) {
  auto function = module.lookupSymbol<mlir::func::FuncOp>("train");
  return function && !function.isExternal() ? function : mlir::func::FuncOp();
}

/// The report `name` of a program, or null.
inline ds::ReportOp findReport(mlir::func::FuncOp program, llvm::StringRef name) {
  for (auto report : program.getOps<ds::ReportOp>())
    if (report.getName() == name)
      return report;
  return {};
}

/// Reported gradients by variable, sorted by name.
inline std::map<std::string, mlir::Value> reportedGradients(mlir::func::FuncOp program) {
  std::map<std::string, mlir::Value> gradients;
  for (auto report : program.getOps<ds::ReportOp>())
    if (report.getName().starts_with(kGradientPrefix))
      gradients[report.getName().drop_front(kGradientPrefix.size()).str()] = report.getValue();
  return gradients;
}

} // namespace dsc

#endif // DSC_LIB_PASSES_TRAINING_STEPPROGRAM_H
