//===- ThinProduct.cpp - products of a few rows ----------------------------===//
#include "ThinProduct.h"
#include "AttentionTile.h" // transpose
#include "dsc/Support/Fault.h"

using namespace mlir;
using namespace dsc;

/// Most rows whose sums, with a row of B, fit the registers of every target.
static constexpr int64_t mostRows = 8;
/// Columns of an item: whole vectors of every target.
static constexpr int64_t itemColumns = 32;
/// k a turn of the inner loop, and how many k ahead B is fetched: its rows lie pages apart, where
/// the CPU does not look ahead by itself.
static constexpr int64_t unroll = 4, fetchAhead = 16;

bool dsc::isThin(const MatmulShape &shape) { return shape.m <= mostRows && !shape.transposeA; }

MatmulSplit dsc::splitThin(const MatmulShape &shape) {
  return {true, itemColumns, (shape.n + itemColumns - 1) / itemColumns};
}

int64_t ThinEmitter::vectorsAtOnce() const {
  if (shape.transposeB)
    return 1; // the block being transposed needs registers too
  for (int64_t vectors : {4, 2})
    if (vectors * b.lanes() <= itemColumns &&
        (shape.m + 1) * vectors < static_cast<int64_t>(b.target().registers))
      return vectors;
  return 1;
}

void ThinEmitter::widenA() {
  if (cast<MemRefType>(sourceA.getType()).getElementType().isF32())
    return;
  Value wide = b.workspace(0, shape.m * shape.k);
  b.forVectors(shape.m * shape.k, [&](Value at, Value mask) {
    b.storeVector(b.loadVector(sourceA, at, mask), wide, at, mask);
  });
  sourceA = wide;
}

void ThinEmitter::emit() {
  widenA();
  const int64_t width = vectorsAtOnce() * b.lanes(), edge = shape.n % width;
  Value low = b.mul(b.begin(), b.index(itemColumns));
  Value high = b.min(b.mul(b.end(), b.index(itemColumns)), b.index(shape.n));
  Value whole = b.sub(high, b.rem(high, b.index(width)));
  if (shape.n >= width)
    b.forRange(low, whole, width, [&](Value column) { emitTile(column, width); });
  if (DSC_FAULT(89, edge, 0))
    b.ifThen(b.less(whole, high), [&] { emitTile(whole, edge); });
}

/// sums[r][v] += A[r, k] B[k, column ...]
Carried ThinEmitter::multiply(Value k, Value column, int64_t columns, ValueRange sums) {
  const int64_t lanes = b.lanes(), vectors = (columns + lanes - 1) / lanes;
  Value place = b.linear(k, shape.n, column);
  for (int64_t c = 0; c < columns; c += 16)
    b.prefetch(sourceB, b.add(place, b.index(fetchAhead * shape.n + c)), /*write=*/false);
  SmallVector<Value> row;
  for (int64_t v = 0; v < vectors; ++v)
    row.push_back(b.loadLanes(sourceB, b.add(place, b.index(v * lanes)),
                              std::min(columns - v * lanes, lanes)));
  Carried next;
  for (int64_t r = 0; r < shape.m; ++r) {
    Value a = b.broadcast(b.load(sourceA, b.add(k, b.index(r * shape.k))));
    for (int64_t v = 0; v < vectors; ++v)
      next.push_back(b.fma(a, row[v], sums[r * vectors + v]));
  }
  return next;
}

/// The same for `depth` k of a B that is stored [n, k], at most one vector of columns.
Carried ThinEmitter::multiplyTransposed(Value k, int64_t depth, Value column, int64_t columns,
                                        ValueRange sums) {
  SmallVector<Value> rows;
  for (int64_t i = 0; i < b.lanes(); ++i) {
    Value row = b.add(column, b.index(std::min(i, columns - 1)));
    rows.push_back(b.loadLanes(sourceB, b.linear(row, shape.k, k), depth));
  }
  SmallVector<Value> turned = transpose(b, rows);
  Carried next(sums);
  for (int64_t i = 0; i < depth; ++i)
    for (int64_t r = 0; r < shape.m; ++r) {
      Value a = b.broadcast(b.load(sourceA, b.add(k, b.index(r * shape.k + i))));
      next[r] = b.fma(a, turned[i], next[r]);
    }
  return next;
}

void ThinEmitter::emitTile(Value column, int64_t columns) {
  const int64_t lanes = b.lanes(), vectors = (columns + lanes - 1) / lanes;
  const int64_t kc = tileMatmul(shape, b.target()).kc;
  const int64_t step = shape.transposeB ? lanes : unroll, rest = shape.k % step;
  Carried zeros(shape.m * vectors, b.splat(0));
  Value depth = b.index(shape.k);
  Carried totals = b.forRange(b.index(0), depth, kc, zeros, [&](Value k0, ValueRange before) {
    // Only the last block of k has a rest: the others are whole vectors.
    Value end = b.min(b.add(k0, b.index(kc)), depth);
    Value whole = b.min(end, b.index(shape.k - rest));
    Carried sums = b.forRange(k0, whole, step, zeros, [&](Value k, ValueRange partial) {
      if (shape.transposeB)
        return multiplyTransposed(k, lanes, column, columns, partial);
      Carried next(partial);
      for (int64_t u = 0; u < unroll; ++u)
        next = multiply(b.add(k, b.index(u)), column, columns, next);
      return next;
    });
    if (rest)
      sums = b.ifElse(
          b.less(whole, end),
          [&] {
            if (shape.transposeB)
              return multiplyTransposed(whole, rest, column, columns, sums);
            Carried next = sums;
            for (int64_t u = 0; u < rest; ++u)
              next = multiply(b.add(whole, b.index(u)), column, columns, next);
            return next;
          },
          [&] { return sums; });
    Carried next;
    for (auto [total, sum] : llvm::zip_equal(before, sums))
      next.push_back(b.add(total, sum));
    return next;
  });
  for (int64_t r = 0; r < shape.m; ++r)
    for (int64_t v = 0; v < vectors; ++v) {
      int64_t count = std::min(columns - v * lanes, lanes);
      Value at = b.add(column, b.index(v * lanes)), place = b.add(at, b.index(r * shape.n));
      Value sum = totals[r * vectors + v];
      if (epilogue.finish)
        sum = epilogue.finish(b, sum, at, place, count);
      b.storeLanes(sum, result, place, count);
    }
}
