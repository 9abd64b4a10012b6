//===- KernelTable.h - one plan.kernel for all equal ops -------------------===//
#ifndef DSC_LIB_PASSES_PLAN_KERNELTABLE_H
#define DSC_LIB_PASSES_PLAN_KERNELTABLE_H

#include "dsc/Dialect/Plan/PlanDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Operation.h"
#include <map>
#include <set>
#include <string>

namespace dsc::plan {

/// Finds or creates the kernel of an op. Ops are equal if name, attributes (`ds.label` aside),
/// types and the sharing of buffers are.
class KernelTable {
public:
  /// Kernels are created in front of the first op this is called with.
  void placeBefore(mlir::Operation *op) { before = before ? before : op; }
  /// `resultArgument[r]`: operand that result r is written over, or -1 for an argument of its own.
  mlir::StringAttr get(mlir::Operation *op, llvm::ArrayRef<int64_t> resultArgument);
  size_t size() const { return byKey.size(); }

private:
  mlir::StringAttr create(mlir::Operation *op, llvm::ArrayRef<int64_t> resultArgument);

  mlir::Operation *before = nullptr;
  std::map<std::string, mlir::StringAttr> byKey;
  std::set<std::string> names;
};

} // namespace dsc::plan

#endif // DSC_LIB_PASSES_PLAN_KERNELTABLE_H
