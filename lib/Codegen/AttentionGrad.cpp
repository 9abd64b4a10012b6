//===- AttentionGrad.cpp - kernel of the gradient of causal attention ------===//
// Items are (sample, head). For each block of queries and block of keys up to the diagonal it
// computes probabilities and score gradients, transposed, then three products: into the keys' and
// values' gradients (accumulators of the whole head) and into the queries' (accumulators of the
// block). Queries are met in order, keys in order, so every sum has one order.
#include "AttentionTile.h"
#include "Generators.h"
#include "VectorMath.h"
#include "dsc/Dialect/DS/DS.h"
#include "dsc/Support/Fault.h"

using namespace mlir;
using namespace dsc;

namespace {

class BackwardKernel {
public:
  BackwardKernel(ds::AttentionGradOp op, const Target &target);
  int64_t workspaceBytes() const { return layout.bytes(); }
  void emit(KernelBuilder &b, ArrayRef<int64_t> resultArgument);

private:
  void emitHead(KernelBuilder &b, Value item);
  void emitQueryBlock(KernelBuilder &b, Value first);
  void packGroup(KernelBuilder &b, Value group);
  void emitDelta(KernelBuilder &b, Value first, Value count);
  void emitKeyBlock(KernelBuilder &b, Value first, Value count, Value key);
  void emitScores(KernelBuilder &b, Value first, Value key, Value group, Value low, Value high,
                  bool diagonal);
  void emitDropout(KernelBuilder &b, Value first, Value key, Value group, Value limit);
  void emitKeySums(KernelBuilder &b, Value first, Value count, Value key, Value keys);
  void emitQuerySums(KernelBuilder &b, Value group, Value key, Value keys);
  void storeQueries(KernelBuilder &b, Value first, Value group);
  void storeKeys(KernelBuilder &b, Value from, int64_t part, bool scaled);

  AttentionShape shape;
  bool drops;
  AttentionMask dropout;
  KeyRange range;
  WorkspaceLayout layout;
  int64_t queryBlock, keyBlock;
  struct Piece {
    int64_t at, count;
    Value memory;
  };
  Piece take(int64_t count) { return {layout.take(count), count, Value()}; }
  Piece keys, values, keySums, valueSums;          // [key][channel], whole head
  Piece queries, gradients;                        // [query][channel], padded width
  Piece turnedQueries, turnedGradients, querySums; // [group][channel][lane]
  Piece probabilities, scoreGradients;             // [key][query]
  Piece lses, deltas;                              // [query]
  Value gradient, qkv, output, lse, result;
  Value qkvBase, rowBase, lseBase;
};

} // namespace

BackwardKernel::BackwardKernel(ds::AttentionGradOp op, const Target &target)
    : shape(op.getQkv(), op.getHeads(), op.getScale().convertToDouble(), target),
      drops(op.getKey()), dropout(shape, op.getDropout().convertToDouble()),
      range(shape, bool(op.getPositionIds())) {
  int64_t groups = (std::min<int64_t>(64, shape.length) + shape.queries - 1) / shape.queries;
  queryBlock = groups * shape.queries;
  keyBlock = std::min<int64_t>(96, shape.paddedKeys());
  keys = take(shape.paddedKeys() * shape.width);
  values = take(shape.paddedKeys() * shape.width);
  keySums = take(shape.paddedKeys() * shape.paddedWidth());
  valueSums = take(shape.paddedKeys() * shape.paddedWidth());
  queries = take(queryBlock * shape.paddedWidth());
  gradients = take(queryBlock * shape.paddedWidth());
  turnedQueries = take(queryBlock * shape.width);
  turnedGradients = take(queryBlock * shape.width);
  querySums = take(queryBlock * shape.width);
  probabilities = take(AttentionShape::wholeCounters(keyBlock) * queryBlock);
  scoreGradients = take(AttentionShape::wholeCounters(keyBlock) * queryBlock);
  lses = take(queryBlock);
  deltas = take(queryBlock);
}

void BackwardKernel::emit(KernelBuilder &b, ArrayRef<int64_t> resultArgument) {
  gradient = b.flat(0);
  qkv = b.flat(1);
  output = b.flat(2);
  lse = b.flat(3);
  result = b.flat(resultArgument[0]);
  for (Piece *piece :
       {&keys, &values, &keySums, &valueSums, &queries, &gradients, &turnedQueries,
        &turnedGradients, &querySums, &probabilities, &scoreGradients, &lses, &deltas})
    piece->memory = b.workspace(piece->at, piece->count);
  if (drops)
    dropout.begin(b, 4);
  if (range.isPacked())
    range.begin(b, drops ? 5 : 4);
  b.forRange(b.begin(), b.end(), 1, [&](Value item) { emitHead(b, item); });
  b.finish();
}

void BackwardKernel::emitHead(KernelBuilder &b, Value item) {
  Value sample = b.div(item, b.index(shape.heads)), head = b.rem(item, b.index(shape.heads));
  qkvBase = shape.qkvBase(b, sample, head);
  rowBase = shape.rowBase(b, sample, head);
  dropout.beginHead(sample, head);
  range.beginSample(b, sample);
  lseBase = b.linear(item, shape.length);
  int64_t model = shape.model();
  for (auto [part, to] : {std::pair(1, keys), std::pair(2, values)}) {
    copyRows(b, b.index(shape.length), shape.width, qkv, b.add(qkvBase, b.index(part * model)),
             3 * model, to.memory, shape.width);
    fillZeros(b, to.memory, shape.length * shape.width, to.count);
  }
  fillZeros(b, keySums.memory, 0, keySums.count);
  fillZeros(b, valueSums.memory, 0, valueSums.count);
  b.forRange(b.index(0), b.index(shape.length), queryBlock,
             [&](Value first) { emitQueryBlock(b, first); });
  storeKeys(b, keySums.memory, 1, /*scaled=*/true);
  storeKeys(b, valueSums.memory, 2, /*scaled=*/false);
}

void BackwardKernel::emitQueryBlock(KernelBuilder &b, Value first) {
  // Queries of this block that exist; the tile of the last group may hold stale ones beyond, whose
  // columns are computed and never used.
  Value count = b.min(b.sub(b.index(shape.length), first), b.index(queryBlock));
  int64_t model = shape.model(), stride = shape.paddedWidth();
  copyRows(b, count, shape.width, qkv, b.linear(first, 3 * model, qkvBase), 3 * model,
           queries.memory, stride);
  copyRows(b, count, shape.width, gradient, b.linear(first, model, rowBase), model,
           gradients.memory, stride);
  emitDelta(b, first, count);
  fillZeros(b, querySums.memory, 0, querySums.count);
  Value groups = b.div(b.add(count, b.index(shape.queries - 1)), b.index(shape.queries));
  b.forRange(b.index(0), groups, 1, [&](Value group) { packGroup(b, group); });
  b.forRange(range.start(b, first, keyBlock), b.add(first, count), keyBlock,
             [&](Value key) { emitKeyBlock(b, first, count, key); });
  b.forRange(b.index(0), groups, 1, [&](Value group) { storeQueries(b, first, group); });
}

/// deltas[query] = sum over channels of gradient * output; lses[query].
void BackwardKernel::emitDelta(KernelBuilder &b, Value first, Value count) {
  int64_t model = shape.model();
  b.forRange(b.index(0), count, 1, [&](Value query) {
    Value row = b.linear(b.add(first, query), model, rowBase);
    Value sum;
    for (int64_t channel = 0; channel < shape.width; channel += shape.lanes) {
      int64_t width = std::min(shape.lanes, shape.width - channel);
      Value at = b.add(row, b.index(channel));
      Value g = b.loadLanes(gradient, at, width), o = b.loadLanes(output, at, width);
      sum = sum ? b.fma(g, o, sum) : b.mul(g, o);
    }
    b.store(b.reduceAdd(sum), deltas.memory, query);
    b.store(b.load(lse, b.add(lseBase, b.add(first, query))), lses.memory, query);
  });
  // What is past the end is harmless in any value but NaN, which would slow nothing but confuse.
  b.forRange(count, b.index(queryBlock), 1, [&](Value query) {
    b.store(b.f32(0), deltas.memory, query);
    b.store(b.f32(0), lses.memory, query);
    for (const Piece &piece : {queries, gradients})
      for (int64_t channel = 0; channel < shape.paddedWidth(); channel += shape.lanes)
        b.storeVector(b.splat(0), piece.memory,
                      b.linear(query, shape.paddedWidth(), b.index(channel)));
  });
}

/// [channel][lane] copies of a group of queries and of their gradients.
void BackwardKernel::packGroup(KernelBuilder &b, Value group) {
  int64_t lanes = shape.lanes, stride = shape.paddedWidth();
  Value row = b.linear(group, shape.queries * stride);
  Value target = b.linear(group, shape.queries * shape.width);
  for (auto [from, to] : {std::pair(queries, turnedQueries), std::pair(gradients, turnedGradients)})
    for (int64_t part = 0; part < shape.queries; part += lanes)
      for (int64_t channel = 0; channel < shape.width; channel += lanes) {
        SmallVector<Value> vectors;
        for (int64_t i = 0; i < lanes; ++i)
          vectors.push_back(
              b.loadVector(from.memory, b.add(row, b.index((part + i) * stride + channel))));
        SmallVector<Value> turned = transpose(b, vectors);
        for (int64_t i = 0; i < std::min(lanes, shape.width - channel); ++i)
          b.storeVector(turned[i], to.memory,
                        b.add(target, b.index((channel + i) * shape.queries + part)));
      }
}

void BackwardKernel::emitKeyBlock(KernelBuilder &b, Value first, Value count, Value key) {
  int64_t rows = shape.rows;
  Value groups = b.div(b.add(count, b.index(shape.queries - 1)), b.index(shape.queries));
  // Keys of this block that a group looks at: none past its last query.
  auto keysOf = [&](Value group) {
    Value end = b.min(b.linear(b.add(group, b.index(1)), shape.queries), count);
    Value available = b.sub(b.add(first, end), key);
    return b.max(b.min(available, b.index(keyBlock)), b.index(0));
  };
  b.forRange(b.index(0), groups, 1, [&](Value group) {
    Value from = b.linear(group, shape.queries, first), limit = keysOf(group);
    Value free = b.index(0);
    if (!range.isPacked()) {
      // Tiles below the diagonal: key + at + rows - 1 <= from.
      Value below = b.max(b.add(b.sub(from, key), b.index(1)), b.index(0));
      free = b.min(b.mul(b.div(below, b.index(rows)), b.index(rows)), limit);
      emitScores(b, from, key, group, b.index(0), free, false);
    }
    emitScores(b, from, key, group, free, limit, true);
    if (drops)
      emitDropout(b, from, key, group, limit);
  });
  Value last = b.sub(groups, b.index(1));
  emitKeySums(b, first, count, key, keysOf(last));
  b.forRange(b.index(0), groups, 1,
             [&](Value group) { emitQuerySums(b, group, key, keysOf(group)); });
}

/// Probabilities and score gradients of keys [key + low, key + high) for one group of queries; with
/// dropout, gradients of the masked probabilities where score gradients will be.
void BackwardKernel::emitScores(KernelBuilder &b, Value first, Value key, Value group, Value low,
                                Value high, bool diagonal) {
  int64_t rows = shape.rows, lanes = shape.lanes;
  Value column = b.linear(group, shape.queries);
  Value turned = b.linear(group, shape.queries * shape.width);
  SmallVector<Value> zeros(rows * 2, b.splat(0)), back, delta;
  for (int64_t c = 0; c < 2; ++c) {
    Value at = b.add(column, b.index(c * lanes));
    back.push_back(b.neg(b.loadVector(lses.memory, at)));
    delta.push_back(b.loadVector(deltas.memory, at));
  }
  Value scale = b.splat(shape.scale);
  b.forRange(low, high, rows, [&](Value at) {
    Value row = b.add(key, at), start = b.linear(row, shape.width);
    auto place = [&](int64_t r, int64_t c) {
      return b.linear(b.add(at, b.index(r)), queryBlock, b.add(column, b.index(c * lanes)));
    };
    Carried tile = tileProduct(b, rows, 2, b.index(0), b.index(shape.width),
                               {keys.memory, start, 1, shape.width},
                               {turnedQueries.memory, turned, shape.queries, 0}, zeros);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < 2; ++c) {
        Value p = emitExpFlushed(b, b.min(b.splat(88), b.fma(tile[r * 2 + c], scale, back[c])));
        if (diagonal)
          p = b.select(range.mask(b, first, c, b.add(row, b.index(r))), p, b.splat(0));
        b.storeVector(p, probabilities.memory, place(r, c));
      }
    tile = tileProduct(b, rows, 2, b.index(0), b.index(shape.width),
                       {values.memory, start, 1, shape.width},
                       {turnedGradients.memory, turned, shape.queries, 0}, zeros);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < 2; ++c) {
        Value value = tile[r * 2 + c];
        if (!drops)
          value = b.mul(b.loadVector(probabilities.memory, place(r, c)),
                        DSC_FAULT(48, b.sub(value, delta[c]), value));
        b.storeVector(value, scoreGradients.memory, place(r, c));
      }
  });
}

/// Masks what emitScores left for keys key + [0, limit): probabilities for the values' gradients,
/// and score gradients. Whole tiles are finished, as the products read whole tiles.
void BackwardKernel::emitDropout(KernelBuilder &b, Value first, Value key, Value group,
                                 Value limit) {
  Value column = b.linear(group, shape.queries), rows = b.index(shape.rows);
  Value tiles = b.div(b.add(limit, b.index(shape.rows - 1)), rows);
  SmallVector<Value> delta;
  for (int64_t c = 0; c < 2; ++c)
    delta.push_back(b.loadVector(deltas.memory, b.add(column, b.index(c * shape.lanes))));
  dropout.forPairs(b, first, key, b.mul(tiles, rows), 2, [&](Value at, int64_t c, Value ones) {
    Value place = b.linear(at, queryBlock, b.add(column, b.index(c * shape.lanes)));
    Value p = b.loadVector(probabilities.memory, place);
    Value g = b.loadVector(scoreGradients.memory, place);
    g = emitDropped(b, g, ones, dropout.scale());
    b.storeVector(b.mul(p, b.sub(g, delta[c])), scoreGradients.memory, place);
    b.storeVector(emitDropped(b, p, ones, dropout.scale()), probabilities.memory, place);
  });
}

/// keySums += score gradients * queries, valueSums += probabilities * gradients, for `limit` keys.
void BackwardKernel::emitKeySums(KernelBuilder &b, Value first, Value count, Value key,
                                 Value limit) {
  int64_t rows = shape.rows, stride = shape.paddedWidth(), lanes = shape.lanes;
  auto product = [&](Piece sums, Piece factors, Piece vectors, int64_t channel, int64_t width) {
    b.forRange(b.index(0), limit, rows, [&](Value at) {
      // The first group of queries that reaches this tile of keys.
      Value distance = b.max(b.sub(b.add(key, at), first), b.index(0));
      Value low = b.mul(b.div(distance, b.index(shape.queries)), b.index(shape.queries));
      auto place = [&](int64_t r, int64_t c) {
        return b.linear(b.add(b.add(key, at), b.index(r)), stride, b.index(channel + c * lanes));
      };
      SmallVector<Value> start;
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < width; ++c)
          start.push_back(b.loadVector(sums.memory, place(r, c)));
      Carried tile = tileProduct(b, rows, width, low, count,
                                 {factors.memory, b.linear(at, queryBlock), 1, queryBlock},
                                 {vectors.memory, b.index(channel), stride, 0}, start);
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < width; ++c)
          b.storeVector(tile[r * width + c], sums.memory, place(r, c));
    });
  };
  for (auto [sums, factors, vectors] : {std::tuple(valueSums, probabilities, gradients),
                                        std::tuple(keySums, scoreGradients, queries)}) {
    int64_t vectorCount = stride / lanes;
    for (int64_t i = 0; i < vectorCount; i += 2)
      product(sums, factors, vectors, i * lanes, std::min<int64_t>(2, vectorCount - i));
  }
}

/// querySums += keys * score gradients, over `limit` keys.
void BackwardKernel::emitQuerySums(KernelBuilder &b, Value group, Value key, Value limit) {
  Value column = b.linear(group, shape.queries);
  Value target = b.linear(group, shape.queries * shape.width);
  Value start = b.linear(key, shape.width);
  for (ChannelRun run : channelTiles(shape.width, shape.rows))
    b.forRange(b.index(run.first), b.index(run.first + run.size * run.count), run.size,
               [&](Value channel) {
                 auto place = [&](int64_t r, int64_t c) {
                   return b.linear(b.add(channel, b.index(r)), shape.queries,
                                   b.add(target, b.index(c * shape.lanes)));
                 };
                 SmallVector<Value> before;
                 for (int64_t r = 0; r < run.size; ++r)
                   for (int64_t c = 0; c < 2; ++c)
                     before.push_back(b.loadVector(querySums.memory, place(r, c)));
                 Carried tile = tileProduct(b, run.size, 2, b.index(0), limit,
                                            {keys.memory, b.add(start, channel), shape.width, 1},
                                            {scoreGradients.memory, column, queryBlock, 0}, before);
                 for (int64_t r = 0; r < run.size; ++r)
                   for (int64_t c = 0; c < 2; ++c)
                     b.storeVector(tile[r * 2 + c], querySums.memory, place(r, c));
               });
}

void BackwardKernel::storeQueries(KernelBuilder &b, Value first, Value group) {
  int64_t lanes = shape.lanes;
  Value from = b.linear(group, shape.queries * shape.width), scale = b.splat(shape.scale);
  for (int64_t part = 0; part < shape.queries; part += lanes)
    for (int64_t channel = 0; channel < shape.width; channel += lanes) {
      int64_t count = std::min(lanes, shape.width - channel);
      SmallVector<Value> vectors(lanes, b.splat(0));
      for (int64_t i = 0; i < count; ++i) {
        Value at = b.add(from, b.index((channel + i) * shape.queries + part));
        vectors[i] = b.mul(b.loadVector(querySums.memory, at), scale);
      }
      SmallVector<Value> turned = transpose(b, vectors);
      for (int64_t i = 0; i < lanes; ++i) {
        Value query = b.linear(group, shape.queries, b.add(first, b.index(part + i)));
        auto store = [&] {
          Value row = b.linear(query, 3 * shape.model(), qkvBase);
          b.storeLanes(turned[i], result, b.add(row, b.index(channel)), count);
        };
        if (shape.length % shape.queries == 0)
          store();
        else
          b.ifThen(b.less(query, b.index(shape.length)), store);
      }
    }
}

/// Sums of the whole head to part `part` (1: keys, 2: values) of the result.
void BackwardKernel::storeKeys(KernelBuilder &b, Value from, int64_t part, bool scaled) {
  b.forRange(b.index(0), b.index(shape.length), 1, [&](Value key) {
    Value row = b.linear(key, 3 * shape.model(), b.add(qkvBase, b.index(part * shape.model())));
    for (int64_t channel = 0; channel < shape.width; channel += shape.lanes) {
      Value x = b.loadVector(from, b.linear(key, shape.paddedWidth(), b.index(channel)));
      if (DSC_FAULT(47, scaled, false))
        x = b.mul(x, b.splat(shape.scale));
      b.storeLanes(x, result, b.add(row, b.index(channel)),
                   std::min(shape.lanes, shape.width - channel));
    }
  });
}

namespace {

class AttentionGradGenerator : public KernelGenerator {
public:
  int64_t items(Operation *op) const override {
    auto attention = cast<ds::AttentionGradOp>(op);
    ArrayRef<int64_t> lse = cast<ShapedType>(attention.getLse().getType()).getShape();
    return lse[0] * lse[1];
  }
  int64_t workspaceBytes(Operation *op, const Target &target) const override {
    return BackwardKernel(cast<ds::AttentionGradOp>(op), target).workspaceBytes();
  }
  void generate(Operation *op, ArrayRef<int64_t> resultArgument, func::FuncOp kernel,
                const Target &target) const override {
    KernelBuilder b(kernel, target);
    BackwardKernel(cast<ds::AttentionGradOp>(op), target).emit(b, resultArgument);
  }
};

} // namespace

GeneratorPointer dsc::createAttentionGradGenerator() {
  return std::make_unique<AttentionGradGenerator>();
}
