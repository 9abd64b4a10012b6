//===- Matmul.cpp - splits, tile sizes and the loop nest of a product ------===//
#include "Matmul.h"

using namespace mlir;
using namespace dsc;

static int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
static int64_t roundDown(int64_t a, int64_t b) { return a / b * b; }
static int64_t roundUp(int64_t a, int64_t b) { return ceilDiv(a, b) * b; }

/// Multiples of every target's tile: 4, 6 and 12 rows; 8, 16 and 32 columns.
static constexpr int64_t kItemRows = 12, kItemColumns = 32;

/// Greatest depth of a block: 256 x 16 floats of B are half an L1 cache.
static constexpr int64_t kDepth = 256;
/// Floats of A packed at a time: 1 MiB, read as one stream from a cache.
static constexpr int64_t kBlockFloats = 262144;
/// Most floats of B packed at a time where k is not cut into blocks: 16 MiB.
static constexpr int64_t kWholeDepthFloats = 4194304;

/// Size of the longest run when `size` is dealt in items to `threads`.
static int64_t longestRun(int64_t size, int64_t itemSize, int64_t threads) {
  int64_t items = ceilDiv(size, itemSize), longest = 0;
  for (int64_t i = 0; i < threads; ++i) {
    int64_t low = items * i / threads * itemSize, high = items * (i + 1) / threads * itemSize;
    longest = std::max(longest, std::min(high, size) - std::min(low, size));
  }
  return longest;
}

MatmulSplit dsc::splitMatmul(const MatmulShape &shape) {
  // Estimated cycles of the slowest thread, summed over thread counts as multiples of an even
  // split: 16 multiply-adds a cycle; half a cycle to pack an element. A row split packs all of B in
  // every thread, a column split all of A.
  const double m = shape.m, n = shape.n, k = shape.k, packing = 0.5;
  double rowCost = 0, columnCost = 0;
  for (int64_t threads : {1, 2, 4, 8, 16}) {
    double rows = longestRun(shape.m, kItemRows, threads);
    double columns = longestRun(shape.n, kItemColumns, threads);
    double even = m * n * k / 16 / threads;
    rowCost += (rows * n * k / 16 + packing * (n * k + rows * k)) / even;
    columnCost += (m * columns * k / 16 + packing * (columns * k + m * k)) / even;
  }
  if (columnCost < rowCost)
    return {true, kItemColumns, ceilDiv(shape.n, kItemColumns)};
  return {false, kItemRows, ceilDiv(shape.m, kItemRows)};
}

MatmulTiling dsc::tileMatmul(const MatmulShape &shape, const Target &target) {
  MatmulTiling tiling;
  // Accumulators, one row of B and a broadcast value fill the registers; without FMA a product
  // needs one more.
  const int64_t lanes = target.lanes();
  tiling.nr = 2 * lanes;
  tiling.mr = !target.fma ? 4 : target.registers >= 32 ? 12 : 6;
  // Blocks of k of equal length, whole vectors but the last.
  // A C of two bytes an element cannot hold sums in between: there the block is all of k, and the
  // panels of B come from the L2 cache.
  const int64_t blocks = shape.halfC ? 1 : ceilDiv(shape.k, kDepth);
  tiling.kc = blocks == 1 ? shape.k : roundUp(ceilDiv(shape.k, blocks), 16);
  tiling.nc = roundUp(std::min<int64_t>(shape.n, 3072), kItemColumns);
  const int64_t rows = roundUp(shape.m, kItemRows);
  if (rows * tiling.kcPadded() <= kBlockFloats) {
    // All rows of A stay in cache, so that B is packed bit by bit and used at once.
    tiling.mc = rows;
    tiling.nb = std::min(tiling.nc, std::max<int64_t>(64, tiling.nr));
  } else {
    tiling.mc = std::max(roundDown(kBlockFloats / 4 / tiling.kcPadded(), kItemRows), kItemRows);
    tiling.nb = tiling.nc;
    if (shape.halfC)
      tiling.nb = std::min(
          tiling.nb,
          std::max(roundDown(kWholeDepthFloats / tiling.kcPadded(), kItemColumns), kItemColumns));
  }
  if (shape.halfC)
    tiling.tileFloats = tiling.mr * tiling.nr;
  return tiling;
}

void MatmulEmitter::emit(const MatmulSplit &split) {
  packedA = b.workspace(4 * tiling.packedBFloats(), tiling.packedAFloats());
  packedB = b.workspace(0, tiling.packedBFloats());
  if (tiling.tileFloats)
    tileSums =
        b.workspace(4 * (tiling.packedBFloats() + tiling.packedAFloats()), tiling.tileFloats);
  const int64_t size = split.columns ? shape.n : shape.m;
  Value low = b.mul(b.begin(), b.index(split.itemSize));
  Value high = b.min(b.mul(b.end(), b.index(split.itemSize)), b.index(size));
  if (split.columns)
    emitBlocks(b.index(0), b.index(shape.m), low, high);
  else
    emitBlocks(low, high, b.index(0), b.index(shape.n));
}

void MatmulEmitter::emitBlocks(Value rowLow, Value rowHigh, Value columnLow, Value columnHigh) {
  const bool allRows = tiling.mc >= shape.m;
  Value rowsHere = b.sub(rowHigh, rowLow);
  b.forRange(columnLow, columnHigh, tiling.nc, [&](Value block) {
    Value blockHigh = b.min(b.add(block, b.index(tiling.nc)), columnHigh);
    b.forRange(b.index(0), b.index(shape.k), tiling.kc, [&](Value k0) {
      Value kc = b.min(b.index(tiling.kc), b.sub(b.index(shape.k), k0));
      if (allRows)
        packA(k0, kc, rowLow, rowsHere);
      b.forRange(block, blockHigh, tiling.nb, [&](Value column) {
        Value columns = b.min(b.index(tiling.nb), b.sub(blockHigh, column));
        packB(k0, kc, column, columns);
        if (allRows)
          return emitPanels(k0, kc, rowLow, rowsHere, column, columns);
        b.forRange(rowLow, rowHigh, tiling.mc, [&](Value row) {
          Value rows = b.min(b.index(tiling.mc), b.sub(rowHigh, row));
          packA(k0, kc, row, rows);
          emitPanels(k0, kc, row, rows, column, columns);
        });
      });
    });
  });
}

void MatmulEmitter::emitPanels(Value k0, Value kc, Value row, Value rows, Value column,
                               Value columns) {
  const int64_t nr = tiling.nr, edge = shape.n % nr, panelSize = tiling.kcPadded() * nr;
  auto panel = [&](Value index, int64_t width) {
    emitPanel(k0, kc, row, rows, b.linear(index, nr, column), b.mul(index, b.index(panelSize)),
              width);
  };
  Value panels = b.div(columns, b.index(nr));
  if (shape.n >= nr)
    b.forRange(b.index(0), panels, 1, [&](Value index) { panel(index, nr); });
  if (edge)
    b.ifThen(b.equal(b.add(column, columns), b.index(shape.n)), [&] { panel(panels, edge); });
}
