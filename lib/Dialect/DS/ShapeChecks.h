//===- ShapeChecks.h - what the verifiers of the op families share ---------===//
// Shapes as text, leading dimensions, rows; all on static ranked tensors, as the op records demand.
#ifndef DSC_LIB_DIALECT_DS_SHAPECHECKS_H
#define DSC_LIB_DIALECT_DS_SHAPECHECKS_H

#include "dsc/Dialect/DS/DS.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringExtras.h"

namespace dsc::ds {

inline mlir::RankedTensorType tensorOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}
inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) { return tensorOf(value).getShape(); }

/// "[2, 8, 16]"
inline std::string text(llvm::ArrayRef<int64_t> shape) {
  std::string result = "[";
  for (auto [index, size] : llvm::enumerate(shape))
    result += (index ? ", " : "") + std::to_string(size);
  return result + "]";
}

/// All dimensions but the last; empty for scalars.
inline llvm::ArrayRef<int64_t> leading(mlir::Value value) {
  llvm::ArrayRef<int64_t> shape = shapeOf(value);
  return shape.empty() ? shape : shape.drop_back();
}

inline int64_t elements(mlir::Value value) { return tensorOf(value).getNumElements(); }

/// Elements over the last dimension.
inline int64_t rows(mlir::Value value) {
  int64_t count = 1;
  for (int64_t size : leading(value))
    count *= size;
  return count;
}

/// Fails with "<rule>: <what> is <found>, expected <expected>" unless the shapes are equal.
inline mlir::LogicalResult expectShape(mlir::Operation *op, llvm::StringRef rule,
                                       llvm::StringRef what, llvm::ArrayRef<int64_t> found,
                                       llvm::ArrayRef<int64_t> expected) {
  if (found == expected)
    return mlir::success();
  return op->emitOpError() << rule << ": " << what << " is " << text(found) << ", expected "
                           << text(expected);
}

inline bool isHalf(mlir::Value value) {
  mlir::Type type = tensorOf(value).getElementType();
  return type.isF16() || type.isBF16();
}

/// The rule on element types, P1 to P3 of `ds.cast`, under the number it has in the op: `kept`
/// tensors are f32 or f64; `stored` ones are so too, or f16 or bf16, one of both; two-byte tensors
/// stand beside f32 only. Null values are absent.
inline mlir::LogicalResult
expectElementTypes(mlir::Operation *op, llvm::StringRef rule, llvm::ArrayRef<mlir::Value> stored,
                   llvm::ArrayRef<std::pair<llvm::StringRef, mlir::Value>> kept = {}) {
  mlir::Type wide, half;
  auto join = [&](mlir::Type &known, mlir::Type type) -> mlir::LogicalResult {
    if (known && type != known)
      return op->emitOpError() << rule << ": element types differ: " << known << " vs " << type;
    known = type;
    return mlir::success();
  };
  for (mlir::Value value : stored)
    if (value && failed(join(isHalf(value) ? half : wide, tensorOf(value).getElementType())))
      return mlir::failure();
  for (auto [what, value] : kept) {
    if (!value)
      continue;
    mlir::Type type = tensorOf(value).getElementType();
    if (isHalf(value))
      return op->emitOpError() << rule << ": " << what << " is " << type << ", must be f32 or f64";
    if (failed(join(wide, type)))
      return mlir::failure();
  }
  if (half && wide && !wide.isF32())
    return op->emitOpError() << rule << ": element types differ: " << wide << " vs " << half;
  return mlir::success();
}

/// Fails with "<rule>: <what> is <found>, expected 'tensor<5xf64>'" unless `value` has the type of
/// a random key.
inline mlir::LogicalResult expectRandomKey(mlir::Operation *op, llvm::StringRef rule,
                                           llvm::StringRef what, mlir::Value value, bool part = false) {
  auto numbers = [&](int64_t count) {
    return mlir::RankedTensorType::get({count}, mlir::Float64Type::get(op->getContext()));
  };
  auto expected = numbers(5);
  if (value.getType() == expected || (part && value.getType() == numbers(6)))
    return mlir::success();
  return op->emitOpError() << rule << ": " << what << " is " << value.getType() << ", expected "
                           << expected;
}

} // namespace dsc::ds

#endif // DSC_LIB_DIALECT_DS_SHAPECHECKS_H
