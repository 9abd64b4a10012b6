//===- MatmulTile.cpp - the register tile of a product and its epilogue ----===//
#include "Matmul.h"
#include "dsc/Support/Fault.h"

using namespace mlir;
using namespace dsc;

/// k a turn of the inner loop: fewer turns, whose end is easier to foresee.
static constexpr int64_t kUnroll = 4;

void MatmulEmitter::emitPanel(Value k0, Value kc, Value row, Value rows, Value column,
                              Value panelBase, int64_t columns) {
  const int64_t mr = tiling.mr, edge = shape.m % mr, panelSize = tiling.kcPadded() * mr;
  auto tile = [&](Value index, int64_t height) {
    Value panelA = b.mul(index, b.index(panelSize));
    emitTile(k0, kc, b.linear(index, mr, row), panelA, column, panelBase, height, columns);
  };
  Value tiles = b.div(rows, b.index(mr));
  if (shape.m >= mr)
    b.forRange(b.index(0), tiles, 1, [&](Value index) { tile(index, mr); });
  if (edge)
    b.ifThen(b.equal(b.add(row, rows), b.index(shape.m)), [&] { tile(tiles, edge); });
}

void MatmulEmitter::emitTile(Value k0, Value kc, Value row, Value panelA, Value column,
                             Value panelB, int64_t rows, int64_t columns) {
  const int64_t lanes = b.lanes(), vectors = (columns + lanes - 1) / lanes;
  auto count = [&](int64_t v) { return std::min(columns - v * lanes, lanes); };
  Value origin = b.linear(row, shape.n, column);
  auto offset = [&](int64_t r, int64_t v) {
    return b.add(origin, b.index(r * shape.n + v * lanes));
  };

  // The lines of C arrive while the products are summed; rows that do not start on a line end on
  // another.
  const int64_t line = shape.halfC ? 32 : 16;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; c += line)
      b.prefetch(result, b.add(origin, b.index(r * shape.n + c)), /*write=*/true);
    if (shape.n % line && columns > 1)
      b.prefetch(result, b.add(origin, b.index(r * shape.n + columns - 1)), /*write=*/true);
  }

  auto multiplyAdd = [&](Value k, ValueRange partial) {
    Value a = b.linear(k, tiling.mr, panelA), p = b.linear(k, tiling.nr, panelB);
    SmallVector<Value> vectorsB;
    for (int64_t v = 0; v < vectors; ++v)
      vectorsB.push_back(b.loadVector(packedB, b.add(p, b.index(v * lanes))));
    Carried next;
    for (int64_t r = 0; r < rows; ++r) {
      Value scalar = b.broadcast(b.load(packedA, b.add(a, b.index(r))));
      for (int64_t v = 0; v < vectors; ++v)
        next.push_back(b.fma(scalar, vectorsB[v], partial[r * vectors + v]));
    }
    return next;
  };
  Carried sums(rows * vectors, b.splat(0));
  Value whole = b.sub(kc, b.rem(kc, b.index(kUnroll)));
  sums = b.forRange(b.index(0), whole, kUnroll, sums, [&](Value k, ValueRange partial) {
    Carried next(partial);
    for (int64_t u = 0; u < kUnroll; ++u)
      next = multiplyAdd(b.add(k, b.index(u)), next);
    return next;
  });
  if (DSC_FAULT(58, shape.k % kUnroll, 0))
    sums = b.forRange(whole, kc, 1, sums, multiplyAdd);

  auto forEach = [&](function_ref<void(int64_t, int64_t)> body) {
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t v = 0; v < vectors; ++v)
        body(r, v);
  };
  auto addStored = [&] {
    Carried total;
    forEach([&](int64_t r, int64_t v) {
      total.push_back(b.add(b.loadLanes(result, offset(r, v), count(v)), sums[r * vectors + v]));
    });
    return total;
  };
  auto store = [&](const Carried &values) {
    forEach([&](int64_t r, int64_t v) {
      b.storeLanes(values[r * vectors + v], result, offset(r, v), count(v));
    });
  };
  auto finishInRegisters = [&] {
    // All loads come before any store: nobody tells the compiler that C is not the bias.
    Carried finished;
    forEach([&](int64_t r, int64_t v) {
      finished.push_back(epilogue.finish(
          b, sums[r * vectors + v], b.add(column, b.index(v * lanes)), offset(r, v), count(v)));
    });
    store(finished);
  };
  auto finishStored = [&] {
    b.forRange(b.index(0), b.index(rows), 1, [&](Value r) {
      for (int64_t v = 0; v < vectors; ++v) {
        Value at = b.add(b.linear(r, shape.n, origin), b.index(v * lanes));
        Value sum = tileSums ? b.loadVector(tileSums, b.linear(r, tiling.nr, b.index(v * lanes)))
                             : b.loadLanes(result, at, count(v));
        Value finished = epilogue.finish(b, sum, b.add(column, b.index(v * lanes)), at, count(v));
        b.storeLanes(finished, result, at, count(v));
      }
    });
  };

  const bool oneBlock = shape.k <= tiling.kc;
  if (epilogue.accumulate)
    sums = addStored();
  else if (!oneBlock)
    sums = b.ifElse(
        DSC_FAULT(59, b.equal(k0, b.index(0)), b.equal(k0, k0)), [&] { return sums; }, addStored);

  auto whenLast = [&](function_ref<void()> then) {
    if (oneBlock)
      return then();
    b.ifThen(b.equal(b.add(k0, kc), b.index(shape.k)), then);
  };
  if (!epilogue.finish)
    return store(sums);
  if (epilogue.heavy && tileSums)
    forEach([&](int64_t r, int64_t v) {
      b.storeVector(sums[r * vectors + v], tileSums, b.index(r * tiling.nr + v * lanes));
    });
  else if (epilogue.heavy || !oneBlock)
    store(sums);
  if (epilogue.heavy)
    whenLast(finishStored);
  else
    whenLast(finishInRegisters);
}
