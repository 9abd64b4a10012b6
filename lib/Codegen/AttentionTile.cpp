//===- AttentionTile.cpp - what the two attention kernels share ------------===//
#include "AttentionTile.h"
#include "dsc/Support/Fault.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace dsc;

AttentionShape::AttentionShape(Value qkv, int64_t heads, double scale, const Target &target)
    : heads(heads), lanes(target.lanes()), rows(target.registers >= 32 ? 12 : 6),
      queries(2 * target.lanes()), scale(scale) {
  ArrayRef<int64_t> shape = cast<ShapedType>(qkv.getType()).getShape();
  batch = shape[0];
  length = shape[1];
  width = shape[2] / 3 / heads;
}

Value AttentionShape::qkvBase(KernelBuilder &b, Value sample, Value head) const {
  return b.linear(sample, length * 3 * model(), b.linear(head, width));
}

Value AttentionShape::rowBase(KernelBuilder &b, Value sample, Value head) const {
  return b.linear(sample, length * model(), b.linear(head, width));
}

Carried dsc::tileProduct(KernelBuilder &b, int64_t rows, int64_t vectors, Value low, Value high,
                         const TileFactor &a, const TileFactor &v, ValueRange sums) {
  return b.forRange(low, high, 1, sums, [&](Value k, ValueRange state) {
    Carried next(state);
    SmallVector<Value> columns;
    Value column = b.linear(k, v.perK, v.base), row = b.linear(k, a.perK, a.base);
    for (int64_t c = 0; c < vectors; ++c)
      columns.push_back(b.loadVector(v.memory, b.add(column, b.index(c * b.lanes()))));
    for (int64_t r = 0; r < rows; ++r) {
      Value factor = b.broadcast(b.load(a.memory, b.add(row, b.index(r * a.perIndex))));
      for (int64_t c = 0; c < vectors; ++c)
        next[r * vectors + c] = b.fma(factor, columns[c], next[r * vectors + c]);
    }
    return next;
  });
}

static Value shuffle(KernelBuilder &b, Value x, Value y, ArrayRef<int64_t> order) {
  return vector::ShuffleOp::create(b.builder(), b.loc(), x, y, order);
}

SmallVector<Value> dsc::transpose(KernelBuilder &b, ValueRange vectors) {
  // Within 128-bit blocks first, as the CPU's unpack instructions do it, then the blocks.
  int64_t n = vectors.size(), blocks = n / 4;
  auto interleave = [&](Value x, Value y, ArrayRef<int64_t> inBlock) {
    SmallVector<int64_t> order; // entries below 4 are of x, the others of y
    for (int64_t block = 0; block < blocks; ++block)
      for (int64_t i : inBlock)
        order.push_back(i < 4 ? 4 * block + i : n + 4 * block + i - 4);
    return shuffle(b, x, y, order);
  };
  // part[g][i]: in block l, column 4 l + i of rows 4 g to 4 g + 3.
  SmallVector<SmallVector<Value>> part;
  for (int64_t g = 0; g < blocks; ++g) {
    ValueRange r = vectors.slice(4 * g, 4);
    Value low01 = interleave(r[0], r[1], {0, 4, 1, 5}),
          high01 = interleave(r[0], r[1], {2, 6, 3, 7});
    Value low23 = interleave(r[2], r[3], {0, 4, 1, 5}),
          high23 = interleave(r[2], r[3], {2, 6, 3, 7});
    part.push_back({interleave(low01, low23, {0, 1, 4, 5}), interleave(low01, low23, {2, 3, 6, 7}),
                    interleave(high01, high23, {0, 1, 4, 5}),
                    interleave(high01, high23, {2, 3, 6, 7})});
  }
  auto pick = [&](Value x, Value y, ArrayRef<int64_t> order) {
    SmallVector<int64_t> elements; // entries are blocks, y's after x's
    for (int64_t block : order)
      for (int64_t i = 0; i < 4; ++i)
        elements.push_back(4 * block + i);
    return shuffle(b, x, y, elements);
  };
  SmallVector<Value> result(n);
  for (int64_t i = 0; i < 4; ++i) {
    if (blocks == 1) {
      result[i] = part[0][i];
    } else if (blocks == 2) {
      result[i] = pick(part[0][i], part[1][i], {0, 2});
      result[4 + i] = pick(part[0][i], part[1][i], {1, 3});
    } else {
      for (int64_t odd : {0, 1}) {
        Value x = pick(part[0][i], part[1][i], {odd, 2 + odd, 4 + odd, 6 + odd});
        Value y = pick(part[2][i], part[3][i], {odd, 2 + odd, 4 + odd, 6 + odd});
        result[4 * odd + i] = pick(x, y, {0, 2, 4, 6});
        result[4 * (2 + odd) + i] = pick(x, y, {1, 3, 5, 7});
      }
    }
  }
  return result;
}

SmallVector<ChannelRun> dsc::channelTiles(int64_t count, int64_t rows) {
  int64_t tiles = (count + rows - 1) / rows, small = count / tiles, larger = count % tiles;
  SmallVector<ChannelRun> runs;
  if (larger)
    runs.push_back({0, small + 1, larger});
  runs.push_back({larger * (small + 1), small, tiles - larger});
  return runs;
}

void dsc::copyRows(KernelBuilder &b, Value rows, int64_t width, Value from, Value fromBase,
                   int64_t fromStride, Value to, int64_t toStride) {
  int64_t lanes = b.lanes(), whole = width / lanes * lanes;
  bool padded = toStride >= whole + lanes;
  b.forRange(b.index(0), rows, 1, [&](Value row) {
    Value source = b.linear(row, fromStride, fromBase), target = b.linear(row, toStride);
    for (int64_t at = 0; at < whole; at += lanes)
      b.storeVector(b.loadVector(from, b.add(source, b.index(at))), to, b.add(target, b.index(at)));
    if (whole == width)
      return;
    Value rest = b.loadLanes(from, b.add(source, b.index(whole)), width - whole);
    Value place = b.add(target, b.index(whole));
    if (padded)
      b.storeVector(rest, to, place);
    else
      b.storeLanes(rest, to, place, width - whole);
  });
}

void dsc::fillZeros(KernelBuilder &b, Value memory, int64_t low, int64_t high) {
  Value start = b.index(low);
  b.forVectors(high - low, [&](Value at, Value mask) {
    b.storeVector(b.splat(0), memory, b.add(start, at), mask);
  });
}

/// first, first + 1, ... as an i32 vector.
static Value laneNumbers(KernelBuilder &b, int64_t first) {
  int64_t lanes = b.lanes();
  SmallVector<int32_t> steps;
  for (int64_t i = 0; i < lanes; ++i)
    steps.push_back(first + i);
  auto type = VectorType::get({lanes}, b.builder().getI32Type());
  return arith::ConstantOp::create(b.builder(), b.loc(),
                                   DenseElementsAttr::get(type, ArrayRef<int32_t>(steps)));
}

void AttentionMask::forPairs(KernelBuilder &b, Value query, Value firstKey, Value count,
                             int64_t vectors,
                             function_ref<void(Value, int64_t, Value)> body) const {
  Type integer = b.builder().getI32Type();
  int64_t lanes = b.lanes(), perRow = AttentionShape::wholeCounters(shape.length) / 4;
  // Counters of a row follow each other, so those of a lane are perRow apart from its neighbour's.
  Value row = b.linear(DSC_FAULT(50, head, b.index(0)), shape.length, query);
  Value rowStart = b.convert(b.linear(row, perRow, b.div(firstKey, b.index(4))), integer);
  if (key.first)
    rowStart = b.add(rowStart, key.first);
  Value index = b.broadcast(b.add(key.sample, b.convert(sample, integer)), lanes);
  Value step = b.broadcast(key.step, lanes), stream = b.broadcast(key.stream, lanes);
  b.forRange(b.index(0), count, 4, [&](Value at) {
    Value first = b.add(rowStart, b.convert(b.div(at, b.index(4)), integer));
    for (int64_t c = 0; c < vectors; ++c) {
      Value lane = b.mul(laneNumbers(b, c * lanes), b.broadcast(b.i32(perRow), lanes));
      std::array<Value, 4> words =
          emitPhilox(b, {b.add(b.broadcast(first, lanes), lane), index, step, stream}, key);
      for (int64_t i = 0; i < 4; ++i)
        body(b.add(at, b.index(i)), c, mask.ones(b, words[i]));
    }
  });
}

Value dsc::causalMask(KernelBuilder &b, Value first, int64_t vector, Value key) {
  int64_t lanes = b.lanes();
  Value lane = laneNumbers(b, vector * lanes);
  // key - first <= lane
  Value distance = b.broadcast(b.convert(b.sub(key, first), b.builder().getI32Type()), lanes);
  return arith::CmpIOp::create(b.builder(), b.loc(),
                               DSC_FAULT(49, arith::CmpIPredicate::sle, arith::CmpIPredicate::slt),
                               distance, lane);
}

/// Positions of queries in their documents; -1 past the end of the sequence.
Value KeyRange::positionsOf(KernelBuilder &b, Value first, int64_t vector) const {
  int64_t lanes = b.lanes();
  Type integer = b.builder().getI32Type();
  Value query = b.add(first, b.index(vector * lanes));
  auto load = [&](Value mask) { return b.loadVector(positions, b.add(base, query), mask, lanes); };
  if (shape.length % shape.queries == 0)
    return load(Value());
  Value rest = b.max(b.sub(b.index(shape.length), query), b.index(0));
  Value exists = b.mask(rest, lanes);
  return b.select(exists, load(exists), b.broadcast(b.constant(integer, -1), lanes));
}

Value KeyRange::start(KernelBuilder &b, Value first, int64_t step) const {
  if (!packed)
    return b.index(0);
  Value position = b.load(positions, b.add(base, first));
  Value key = b.sub(first, b.convert(position, b.builder().getIndexType()));
  return b.mul(b.div(key, b.index(step)), b.index(step));
}

Value KeyRange::isToken(KernelBuilder &b, Value first, int64_t vector) const {
  if (!packed)
    return Value();
  Value none = b.broadcast(b.constant(b.builder().getI32Type(), -1), b.lanes());
  return b.less(none, positionsOf(b, first, vector));
}

Value KeyRange::mask(KernelBuilder &b, Value first, int64_t vector, Value key) const {
  Value allowed = causalMask(b, first, vector, key);
  if (DSC_FAULT(87, !packed, true))
    return allowed;
  // first + lane - position <= key
  Value distance = b.broadcast(b.convert(b.sub(key, first), b.builder().getI32Type()), b.lanes());
  Value start = b.sub(laneNumbers(b, vector * b.lanes()), positionsOf(b, first, vector));
  return b.bitAnd(allowed, arith::CmpIOp::create(b.builder(), b.loc(), arith::CmpIPredicate::sle,
                                                 start, distance));
}
