//===- Matmul.h - the matrix product that every linear kernel is made of ---===//
// C[m, n] = sum_k A(m, k) B(k, n), packed, tiled and vectorised as in K. Goto, R. van de Geijn,
// "Anatomy of high-performance matrix multiplication", ACM TOMS 34(3), 2008.
// docs/Rationale/MatrixProducts.md says why it looks as it does. Every element of C sums its
// products in one order, whatever tile, item or thread it falls to: blocks of kc in order, within a
// block k in order, the block sums added in order.
#ifndef DSC_LIB_CODEGEN_MATMUL_H
#define DSC_LIB_CODEGEN_MATMUL_H

#include "KernelBuilder.h"

namespace dsc {

/// The product's shape and how its operands lie in memory (row-major, contiguous).
struct MatmulShape {
  int64_t m, n, k;
  bool transposeA;    ///< A is stored [k, m], else [m, k]
  bool transposeB;    ///< B is stored [n, k], else [k, n]
  bool halfC = false; ///< C is f16 or bf16: sums are whole before they are stored
};

/// How a product is dealt out; the same on every target, since items are part of the plan.
struct MatmulSplit {
  bool columns;     ///< items are runs of columns of C, else of rows
  int64_t itemSize; ///< columns or rows of an item
  int64_t items;
};

/// Tile and block sizes on one target. `mr` divides the item size of a row split, `nr` that of a
/// column split: all tiles but those at the edge of C are whole.
struct MatmulTiling {
  int64_t mr, nr; ///< the register tile of C
  int64_t kc;     ///< k of a block: kc x nr of B stay in the L1 cache
  int64_t mc;     ///< rows of a block: mc x kc of A stay in the L2 or L3 cache
  int64_t nc;     ///< columns between two changes of k: what of C should stay in a cache
  int64_t nb;     ///< columns of B packed at a time
  int64_t kcPadded() const { return (kc + 15) / 16 * 16; }
  int64_t packedBFloats() const { return kcPadded() * nb; }
  int64_t packedAFloats() const { return kcPadded() * mc; }
  /// A tile of sums, on its way through a long epilogue to a C of two bytes an element.
  int64_t tileFloats = 0;
  int64_t workspaceBytes() const { return 4 * (packedAFloats() + packedBFloats() + tileFloats); }
};

MatmulSplit splitMatmul(const MatmulShape &shape);
MatmulTiling tileMatmul(const MatmulShape &shape, const Target &target);

/// What happens to finished sums.
struct MatmulEpilogue {
  /// C holds values that the product is added to.
  bool accumulate = false;
  /// Maps a vector of finished sums to what is stored in C. Gets the vector, its column, its linear
  /// offset in C and how many of its lanes count. Null: the sums themselves.
  std::function<Value(KernelBuilder &, Value sum, Value column, Value offset, int64_t count)>
      finish;
  /// `finish` is long: it runs in a loop over the rows of a stored tile rather than unrolled on
  /// registers.
  bool heavy = false;
};

/// Operands and state of one product under construction. A, B, C: flat memrefs of f32, f16 or bf16.
struct MatmulEmitter {
  KernelBuilder &b;
  const MatmulShape shape;
  const MatmulTiling tiling;
  const MatmulEpilogue &epilogue;
  Value sourceA, sourceB, result;
  Value packedA, packedB, tileSums;

  /// The nest over all blocks of C of items [begin, end).
  void emit(const MatmulSplit &split);

private:
  void emitBlocks(Value rowLow, Value rowHigh, Value columnLow, Value columnHigh);
  /// Packs B[k0 .., column ..] of `kc` rows and `columns` columns into panels [panel][k][nr].
  void packB(Value k0, Value kc, Value column, Value columns);
  /// Packs A[row .., k0 ..] of `rows` rows into panels [panel][k][mr].
  void packA(Value k0, Value kc, Value row, Value rows);
  /// An operand as packing sees it: lanes (rows of A, columns of B) by k.
  struct Operand {
    Value source;
    int64_t extent;  ///< lanes of the whole matrix
    int64_t panel;   ///< lanes of a panel
    bool contiguous; ///< lanes of one k lie side by side; else the k of one lane do
  };
  /// `size` lanes from `first` on.
  void packPanels(const Operand &operand, Value packed, Value k0, Value kc, Value first,
                  Value size);
  /// `panels` neighbouring panels of contiguous lanes, of each `width` lanes that exist.
  void packCopy(Value source, int64_t stride, Value k0, Value kc, Value first, Value packed,
                Value base, int64_t width, int64_t panel, int64_t panels);
  /// One panel of lanes that lie `stride` apart.
  void packTranspose(Value source, int64_t stride, Value k0, Value kc, Value first, Value packed,
                     Value base, int64_t width, int64_t panel);
  /// All tiles of rows x columns of C, from the packed B.
  void emitPanels(Value k0, Value kc, Value row, Value rows, Value column, Value columns);
  /// All tiles of one column panel: `columns` (at most nr) of C.
  void emitPanel(Value k0, Value kc, Value row, Value rows, Value column, Value panelBase,
                 int64_t columns);
  /// One tile: rows x columns of C.
  void emitTile(Value k0, Value kc, Value row, Value panelA, Value column, Value panelB,
                int64_t rows, int64_t columns);
};

/// Transposes `rows` (as many as a vector has lanes) in registers.
void transposeVectors(KernelBuilder &b, SmallVector<Value> &rows);

} // namespace dsc

#endif // DSC_LIB_CODEGEN_MATMUL_H
