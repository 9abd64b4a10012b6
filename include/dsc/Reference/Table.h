//===- Table.h - one float64 function for each op of the ds dialect --------===//
// The functions are plain loops over the formulas of the op records (include/dsc/Dialect/DS/Ops)
// and share nothing with the kernels that the compiler generates.
#ifndef DSC_REFERENCE_TABLE_H
#define DSC_REFERENCE_TABLE_H

#include "dsc/Reference/Tensor.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include <memory>

namespace dsc::reference {

/// Operands and results of one op while it is evaluated.
class Evaluation {
public:
  explicit Evaluation(mlir::Operation *op);

  /// The tensor of an operand.
  const Tensor &operator()(mlir::Value operand) const { return *operands.find(operand)->second; }
  /// The tensor of an operand that may be absent (a null value): null then.
  const Tensor *optional(mlir::Value operand) const {
    return operand ? &(*this)(operand) : nullptr;
  }
  /// The tensor of a result, zeros in the shape of its type until written.
  Tensor &result(mlir::Value value);
  /// Reports that the op cannot be evaluated on these operands (an id out of range); results do not
  /// count.
  void fail(const llvm::Twine &message);

  bool failed() const { return hasFailed; }
  void setOperand(mlir::Value value, std::shared_ptr<const Tensor> tensor) {
    operands[value] = std::move(tensor);
  }
  std::shared_ptr<Tensor> takeResult(unsigned index) { return results[index]; }

private:
  mlir::Operation *op;
  llvm::DenseMap<mlir::Value, std::shared_ptr<const Tensor>> operands;
  std::vector<std::shared_ptr<Tensor>> results;
  bool hasFailed = false;
};

using ReferenceFunction = void (*)(mlir::Operation *, Evaluation &);

/// The function of an op name ("ds.linear"), or null: control, variables and reports are the
/// interpreter's.
ReferenceFunction findReference(llvm::StringRef opName);

/// Shape of a ranked tensor type with static dimensions.
std::vector<int64_t> shapeOf(mlir::Type type);

} // namespace dsc::reference

#endif // DSC_REFERENCE_TABLE_H
