//===- TileMatmul.h - products of two-byte operands on tile registers ------===//
// C[m, n] = sum_k A(m, k) B(k, n) with Intel's AMX: a tile register holds 16 rows of 64 bytes, and
// one instruction adds the product of 16 x 32 and 32 x 16 bfloat16 to 16 x 16 sums in f32.
//
// bfloat16 operands are multiplied as they are. A float16 value is exactly the sum of two bfloat16
// values (11 significant bits are at most 8 and 3), so a product of float16 matrices is four of
// bfloat16 ones: every single product is exact, sums are f32 as everywhere. The hardware takes
// denormal bfloat16 numbers for 0, which loses products below 2^-126 and nothing of float16.
//
// Operands are packed into tiles of 1 KiB. Both are seen as lanes (rows of A, columns of B) by
// pairs of k, 32 bits each: A's tiles hold a lane after the other, B's a pair after the other.
// Every element of C sums all of its k in one order, whatever tile, item or thread it falls to.
// docs/Rationale/MatrixProducts.md says more.
#ifndef DSC_LIB_CODEGEN_TILEMATMUL_H
#define DSC_LIB_CODEGEN_TILEMATMUL_H

#include "Matmul.h"

namespace dsc {

/// True if `target` has tiles and both operands of the product are f16, or both bf16.
bool takesTiles(mlir::Type elementA, mlir::Type elementB, const Target &target);

/// Operands and state of one product under construction.
class TileMatmul {
public:
  TileMatmul(KernelBuilder &b, const MatmulShape &shape, const MatmulEpilogue &epilogue, Value a,
             Value bOperand, Value c, bool f16);

  static int64_t workspaceBytes(const MatmulShape &shape, bool f16);
  void emit(const MatmulSplit &split);

private:
  /// An operand as packing sees it.
  struct Operand {
    Value source;
    int64_t extent;  ///< lanes of the whole matrix
    bool contiguous; ///< lanes of one k lie side by side; else the k of one lane do
    bool byLane;     ///< of its tiles
  };
  using Vectors = SmallVector<Value>;

  /// Packs the lanes [first, high) of an operand.
  void pack(const Operand &operand, Value packed, Value first, Value high);
  /// The tiles of 16 lanes from `lane` on and k from `k` on, one for each part of the operand:
  /// sixteen vectors of sixteen pairs each. Lanes from `high` and k past the last are 0.
  void packTile(const Operand &operand, Value packed, Value offset, Value lane, Value high, Value k,
                bool whole);
  Vectors pairsOfLane(const Operand &operand, Value lane, Value high, Value k, bool whole);
  Vectors pairsOfLanes(const Operand &operand, Value lane, Value high, Value k, bool whole);
  /// Sixteen elements as the bits of their bfloat16 parts.
  Vectors load(const Operand &operand, Value offset, Value count);
  void emitColumns(Value row, Value rowHigh, Value column, Value columnHigh);
  /// 32 x 32 of C.
  void emitTile(Value row, Value rowHigh, Value column, Value panelA, Value panelB);
  void multiply(Value panelA, Value panelB);
  void finish(Value row, Value rowHigh, Value column, int64_t columns);

  KernelBuilder &b;
  const MatmulShape shape;
  const MatmulEpilogue &epilogue;
  Operand a, bOperand;
  Value result;
  const int64_t parts; ///< bfloat16 values that an element is the sum of
  Value packedA, packedB, sums;
};

} // namespace dsc

#endif // DSC_LIB_CODEGEN_TILEMATMUL_H
