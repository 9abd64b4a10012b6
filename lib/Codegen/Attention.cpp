//===- Attention.cpp - kernel of causal attention --------------------------===//
// Items are (sample, head). For a block of queries (two vectors) it walks blocks of keys up to the
// diagonal: scores, running maximum, exponentials, and the weighted sum of values, each from and to
// the nearest cache. Masked pairs are computed only inside tiles that the diagonal crosses. Where
// documents are packed, blocks of keys before the first document of the queries are skipped.
#include "AttentionTile.h"
#include "Generators.h"
#include "VectorMath.h"
#include "dsc/Dialect/DS/DS.h"

using namespace mlir;
using namespace dsc;

/// Stands for a masked score; finite, so that no difference of two of them is NaN.
static constexpr double masked = -1e30;

namespace {

class ForwardKernel {
public:
  ForwardKernel(ds::AttentionOp op, const Target &target)
      : shape(op.getQkv(), op.getHeads(), op.getScale().convertToDouble(), target),
        drops(op.getKey()), dropout(shape, op.getDropout().convertToDouble()),
        range(shape, bool(op.getPositionIds())) {
    // Whole tiles of keys whose scores stay in the nearest cache.
    keyBlock = std::min<int64_t>(96, shape.paddedKeys());
    keysAt = layout.take(shape.paddedKeys() * shape.width);
    valuesAt = layout.take(shape.paddedKeys() * shape.width);
    queriesAt = layout.take(shape.width * shape.queries);
    scoresAt = layout.take(scoreRows() * shape.queries);
    sumsAt = layout.take(shape.width * shape.queries);
  }
  int64_t workspaceBytes() const { return layout.bytes(); }
  void emit(KernelBuilder &b, ArrayRef<int64_t> resultArgument);

private:
  int64_t scoreRows() const { return AttentionShape::wholeCounters(keyBlock); }
  void emitHead(KernelBuilder &b, Value item);
  void emitQueries(KernelBuilder &b, Value first);
  void emitDropout(KernelBuilder &b, Value first, Value key, Value count);
  Carried emitKeys(KernelBuilder &b, Value first, Value key, Value count, ValueRange state);
  Carried emitScores(KernelBuilder &b, Value first, Value key, Value low, Value high, bool diagonal,
                     ValueRange largest);
  void packQueries(KernelBuilder &b, Value first);
  void storeResult(KernelBuilder &b, Value first, ValueRange inverse);
  /// Runs `body` if position `query` exists.
  void ifExists(KernelBuilder &b, Value query, function_ref<void()> body) {
    if (shape.length % shape.queries == 0)
      return body();
    b.ifThen(b.less(query, b.index(shape.length)), body);
  }

  AttentionShape shape;
  bool drops;
  AttentionMask dropout;
  KeyRange range;
  WorkspaceLayout layout;
  int64_t keyBlock, keysAt, valuesAt, queriesAt, scoresAt, sumsAt;
  // Values of the kernel being written.
  Value qkv, result, lse, keys, values, queries, scores, sums;
  Value qkvBase, rowBase, lseBase;
};

} // namespace

void ForwardKernel::emit(KernelBuilder &b, ArrayRef<int64_t> resultArgument) {
  qkv = b.flat(0);
  result = b.flat(resultArgument[0]);
  lse = b.flat(resultArgument[1]);
  keys = b.workspace(keysAt, shape.paddedKeys() * shape.width);
  values = b.workspace(valuesAt, shape.paddedKeys() * shape.width);
  queries = b.workspace(queriesAt, shape.width * shape.queries);
  scores = b.workspace(scoresAt, scoreRows() * shape.queries);
  if (drops)
    dropout.begin(b, 1);
  if (range.isPacked())
    range.begin(b, drops ? 2 : 1);
  sums = b.workspace(sumsAt, shape.width * shape.queries);
  b.forRange(b.begin(), b.end(), 1, [&](Value item) { emitHead(b, item); });
  b.finish();
}

void ForwardKernel::emitHead(KernelBuilder &b, Value item) {
  Value sample = b.div(item, b.index(shape.heads)), head = b.rem(item, b.index(shape.heads));
  qkvBase = shape.qkvBase(b, sample, head);
  rowBase = shape.rowBase(b, sample, head);
  dropout.beginHead(sample, head);
  range.beginSample(b, sample);
  lseBase = b.linear(item, shape.length);
  int64_t model = shape.model();
  for (auto [at, to] : {std::pair(1, keys), std::pair(2, values)}) {
    copyRows(b, b.index(shape.length), shape.width, qkv, b.add(qkvBase, b.index(at * model)),
             3 * model, to, shape.width);
    fillZeros(b, to, shape.length * shape.width, shape.paddedKeys() * shape.width);
  }
  b.forRange(b.index(0), b.index(shape.length), shape.queries,
             [&](Value first) { emitQueries(b, first); });
}

/// queries[channel][lane] from rows `first`...; positions past the end repeat the last.
void ForwardKernel::packQueries(KernelBuilder &b, Value first) {
  int64_t lanes = shape.lanes;
  for (int64_t group = 0; group < shape.queries; group += lanes) {
    SmallVector<Value> rows;
    for (int64_t i = 0; i < lanes; ++i) {
      Value query = b.min(b.add(first, b.index(group + i)), b.index(shape.length - 1));
      rows.push_back(b.linear(query, 3 * shape.model(), qkvBase));
    }
    for (int64_t channel = 0; channel < shape.width; channel += lanes) {
      int64_t count = std::min(lanes, shape.width - channel);
      SmallVector<Value> vectors;
      for (Value row : rows)
        vectors.push_back(b.loadLanes(qkv, b.add(row, b.index(channel)), count));
      SmallVector<Value> turned = transpose(b, vectors);
      for (int64_t i = 0; i < count; ++i)
        b.storeVector(turned[i], queries, b.index((channel + i) * shape.queries + group));
    }
  }
}

void ForwardKernel::emitQueries(KernelBuilder &b, Value first) {
  packQueries(b, first);
  fillZeros(b, sums, 0, shape.width * shape.queries);
  Value end = b.min(b.add(first, b.index(shape.queries)), b.index(shape.length));
  Value low = b.splat(masked * shape.scale), zero = b.splat(0);
  // Largest scaled score and sum of exponentials of each query.
  Carried state = b.forRange(range.start(b, first, keyBlock), end, keyBlock, {low, low, zero, zero},
                             [&](Value key, ValueRange carried) {
                               Value count = b.min(b.sub(end, key), b.index(keyBlock));
                               return emitKeys(b, first, key, count, carried);
                             });
  SmallVector<Value> inverse;
  for (int64_t c = 0; c < 2; ++c) {
    inverse.push_back(b.div(b.splat(drops ? dropout.scale() : 1), state[2 + c]));
    Value value = b.add(state[c], emitLog(b, state[2 + c]));
    if (Value token = range.isToken(b, first, c)) { // padding has met masked keys only
      inverse.back() = b.select(token, inverse.back(), zero);
      value = b.select(token, value, zero);
    }
    Value query = b.add(first, b.index(c * shape.lanes));
    Value place = b.add(lseBase, query);
    if (shape.length % shape.queries == 0)
      b.storeVector(value, lse, place);
    else
      b.storeVector(value, lse, place, b.mask(b.sub(b.index(shape.length), query)));
  }
  storeResult(b, first, inverse);
}

/// Scores of keys [key + low, key + high) to the score block; returns the largest raw score so far.
Carried ForwardKernel::emitScores(KernelBuilder &b, Value first, Value key, Value low, Value high,
                                  bool diagonal, ValueRange largest) {
  int64_t rows = shape.rows;
  return b.forRange(low, high, rows, largest, [&](Value at, ValueRange carried) {
    Carried next(carried);
    SmallVector<Value> zeros(rows * 2, b.splat(0));
    Value row = b.add(key, at);
    Carried tile = tileProduct(b, rows, 2, b.index(0), b.index(shape.width),
                               {keys, b.linear(row, shape.width), 1, shape.width},
                               {queries, b.index(0), shape.queries, 0}, zeros);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < 2; ++c) {
        Value score = tile[r * 2 + c];
        if (diagonal)
          score = b.select(range.mask(b, first, c, b.add(row, b.index(r))), score, b.splat(masked));
        next[c] = b.max(score, next[c]);
        b.storeVector(score, scores,
                      b.linear(b.add(at, b.index(r)), shape.queries, b.index(c * shape.lanes)));
      }
    return next;
  });
}

/// One block of `count` keys from `key` on: `state` is two vectors of maxima and two of sums.
Carried ForwardKernel::emitKeys(KernelBuilder &b, Value first, Value key, Value count,
                                ValueRange state) {
  int64_t rows = shape.rows;
  Value low = b.splat(masked);
  Carried largest = {low, low};
  Value free = b.index(0);
  if (!range.isPacked()) {
    // Tiles below the diagonal: key + at + rows - 1 <= first.
    Value below = b.max(b.add(b.sub(first, key), b.index(1)), b.index(0));
    free = b.min(b.mul(b.div(below, b.index(rows)), b.index(rows)), count);
    largest = emitScores(b, first, key, b.index(0), free, false, largest);
  }
  largest = emitScores(b, first, key, free, count, true, largest);

  Value scale = b.splat(shape.scale);
  SmallVector<Value> shift, rescale, back;
  for (int64_t c = 0; c < 2; ++c) {
    shift.push_back(b.max(state[c], b.mul(largest[c], scale)));
    rescale.push_back(emitExpFlushed(b, b.sub(state[c], shift[c])));
    back.push_back(b.neg(shift[c]));
  }
  Carried total =
      b.forRange(b.index(0), count, 1, {b.mul(state[2], rescale[0]), b.mul(state[3], rescale[1])},
                 [&](Value at, ValueRange carried) {
                   Carried next(carried);
                   for (int64_t c = 0; c < 2; ++c) {
                     Value place = b.linear(at, shape.queries, b.index(c * shape.lanes));
                     Value e =
                         emitExpFlushed(b, b.fma(b.loadVector(scores, place), scale, back[c]));
                     b.storeVector(e, scores, place);
                     next[c] = b.add(next[c], e);
                   }
                   return next;
                 });

  if (drops)
    emitDropout(b, first, key, count);
  Value valueBase = b.linear(key, shape.width);
  for (ChannelRun run : channelTiles(shape.width, rows))
    b.forRange(b.index(run.first), b.index(run.first + run.size * run.count), run.size,
               [&](Value channel) {
                 auto place = [&](int64_t r, int64_t c) {
                   return b.linear(b.add(channel, b.index(r)), shape.queries,
                                   b.index(c * shape.lanes));
                 };
                 SmallVector<Value> start;
                 for (int64_t r = 0; r < run.size; ++r)
                   for (int64_t c = 0; c < 2; ++c)
                     start.push_back(b.mul(b.loadVector(sums, place(r, c)), rescale[c]));
                 Carried tile = tileProduct(b, run.size, 2, b.index(0), count,
                                            {values, b.add(valueBase, channel), shape.width, 1},
                                            {scores, b.index(0), shape.queries, 0}, start);
                 for (int64_t r = 0; r < run.size; ++r)
                   for (int64_t c = 0; c < 2; ++c)
                     b.storeVector(tile[r * 2 + c], sums, place(r, c));
               });
  return {shift[0], shift[1], total[0], total[1]};
}

/// Zeros for the exponentials that are dropped, after their sum has been taken; `inverse` scales
/// the others. Rows past `count` are never read.
void ForwardKernel::emitDropout(KernelBuilder &b, Value first, Value key, Value count) {
  dropout.forPairs(b, first, key, count, 2, [&](Value at, int64_t c, Value ones) {
    Value place = b.linear(at, shape.queries, b.index(c * shape.lanes));
    b.storeVector(emitDropped(b, b.loadVector(scores, place), ones, 1), scores, place);
  });
}

/// sums[channel][lane] * inverse[lane] to the rows of the result.
void ForwardKernel::storeResult(KernelBuilder &b, Value first, ValueRange inverse) {
  int64_t lanes = shape.lanes;
  for (int64_t group = 0; group < 2; ++group)
    for (int64_t channel = 0; channel < shape.width; channel += lanes) {
      int64_t count = std::min(lanes, shape.width - channel);
      SmallVector<Value> vectors(lanes, b.splat(0));
      for (int64_t i = 0; i < count; ++i)
        vectors[i] =
            b.mul(b.loadVector(sums, b.index((channel + i) * shape.queries + group * lanes)),
                  inverse[group]);
      SmallVector<Value> turned = transpose(b, vectors);
      for (int64_t i = 0; i < lanes; ++i) {
        Value query = b.add(first, b.index(group * lanes + i));
        ifExists(b, query, [&] {
          Value place = b.linear(query, shape.model(), b.add(rowBase, b.index(channel)));
          b.storeLanes(turned[i], result, place, count);
        });
      }
    }
}

namespace {

class AttentionGenerator : public KernelGenerator {
public:
  int64_t items(Operation *op) const override {
    auto attention = cast<ds::AttentionOp>(op);
    ArrayRef<int64_t> lse = cast<ShapedType>(attention.getLse().getType()).getShape();
    return lse[0] * lse[1];
  }
  int64_t workspaceBytes(Operation *op, const Target &target) const override {
    return ForwardKernel(cast<ds::AttentionOp>(op), target).workspaceBytes();
  }
  void generate(Operation *op, ArrayRef<int64_t> resultArgument, func::FuncOp kernel,
                const Target &target) const override {
    KernelBuilder b(kernel, target);
    ForwardKernel(cast<ds::AttentionOp>(op), target).emit(b, resultArgument);
  }
};

} // namespace

GeneratorPointer dsc::createAttentionGenerator() { return std::make_unique<AttentionGenerator>(); }
