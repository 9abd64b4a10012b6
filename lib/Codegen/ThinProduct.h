//===- ThinProduct.h - products of a few rows ------------------------------===//
// Decoding multiplies a handful of rows by each weight. Packing, which a tall product repays, would
// cost more than the product: here the weight is read once, from where it lies, while sums of all
// rows wait in registers. Every element of C has the bits of the packed product (Matmul.h): the
// same blocks of k, the same order.
#ifndef DSC_LIB_CODEGEN_THINPRODUCT_H
#define DSC_LIB_CODEGEN_THINPRODUCT_H

#include "Matmul.h"

namespace dsc {

/// True for a product that is written this way, on every target.
bool isThin(const MatmulShape &shape);

/// Items are runs of columns.
MatmulSplit splitThin(const MatmulShape &shape);

/// Operands of one product under construction. A, B, C: flat memrefs of f32, f16 or bf16.
struct ThinEmitter {
  KernelBuilder &b;
  const MatmulShape shape;
  const MatmulEpilogue &epilogue;
  Value sourceA, sourceB, result;

  /// A in f32, where it is stored in two bytes.
  static int64_t workspaceBytes(const MatmulShape &shape) { return 4 * shape.m * shape.k; }
  void emit();

private:
  /// Vectors of columns that are summed side by side.
  int64_t vectorsAtOnce() const;
  void widenA();
  void emitTile(Value column, int64_t columns);
  Carried multiply(Value k, Value column, int64_t columns, ValueRange sums);
  Carried multiplyTransposed(Value k, int64_t depth, Value column, int64_t columns,
                             ValueRange sums);
};

} // namespace dsc

#endif // DSC_LIB_CODEGEN_THINPRODUCT_H
