//===- CachedAttention.cpp - kernel of attention to kept keys and values ---===//
// Items are (sample, head). New keys and values go to their places in the caches, then each query
// walks the positions up to its own three times: scores, exponentials, weighted values. A query
// meets its keys in order, alone, so its result depends on nothing but them.
#include "AttentionTile.h"
#include "ElementLoop.h"
#include "Generators.h"
#include "VectorMath.h"
#include "dsc/Dialect/DS/DS.h"
#include "dsc/Support/Fault.h"

using namespace mlir;
using namespace dsc;

namespace {

/// Keys whose scores are summed side by side.
constexpr int64_t keysAtOnce = 4;
/// Vectors of channels whose sums stay in registers.
constexpr int64_t channelsAtOnce = 8;

class CachedKernel {
public:
  CachedKernel(ds::CachedAttentionOp op, const Target &target)
      : shape(op.getQkv(), op.getHeads(), op.getScale().convertToDouble(), target),
        positions(cast<ShapedType>(op.getKeys().getType()).getShape()[1]) {
    int64_t rounded = (positions + keysAtOnce - 1) / keysAtOnce * keysAtOnce;
    scoresAt = layout.take(rounded);
    scoreCount = rounded;
    queryAt = layout.take(shape.paddedWidth());
  }
  int64_t workspaceBytes() const { return layout.bytes(); }
  void emit(KernelBuilder &b, ArrayRef<int64_t> resultArgument);

private:
  void emitItem(KernelBuilder &b, Value item);
  void keep(KernelBuilder &b, Value token, Value place);
  void emitQuery(KernelBuilder &b, Value token, Value count);
  Value emitScores(KernelBuilder &b, Value count);
  Value emitExponentials(KernelBuilder &b, Value count, Value largest);
  void emitValues(KernelBuilder &b, Value token, Value count, Value inverse);
  /// Calls `body` for each vector of a head's channels, with how many of them count.
  void forChannels(function_ref<void(int64_t, int64_t)> body) const {
    for (int64_t at = 0; at < shape.width; at += shape.lanes)
      body(at, std::min(shape.lanes, shape.width - at));
  }

  AttentionShape shape;
  int64_t positions;
  WorkspaceLayout layout;
  int64_t scoresAt, scoreCount, queryAt;
  // Values of the kernel being written.
  Value qkv, keys, values, positionIds, rows, result, scores, query;
  Value qkvBase, rowBase, cacheBase;
};

} // namespace

void CachedKernel::emit(KernelBuilder &b, ArrayRef<int64_t> resultArgument) {
  qkv = b.flat(0);
  keys = b.flat(resultArgument[1]);
  values = b.flat(resultArgument[2]);
  positionIds = b.flat(3);
  rows = b.flat(4);
  result = b.flat(resultArgument[0]);
  scores = b.workspace(scoresAt, scoreCount);
  query = b.workspace(queryAt, shape.paddedWidth());
  b.forRange(b.begin(), b.end(), 1, [&](Value item) { emitItem(b, item); });
  b.finish();
}

void CachedKernel::emitItem(KernelBuilder &b, Value item) {
  Value sample = b.div(item, b.index(shape.heads)), head = b.rem(item, b.index(shape.heads));
  qkvBase = shape.qkvBase(b, sample, head);
  rowBase = shape.rowBase(b, sample, head);
  Type index = b.builder().getIndexType();
  Value row = b.convert(b.load(rows, sample), index);
  cacheBase = b.linear(row, positions * shape.model(), b.linear(head, shape.width));
  auto placeOf = [&](Value token) {
    return b.convert(b.load(positionIds, b.linear(sample, shape.length, token)), index);
  };
  b.forRange(b.index(0), b.index(shape.length), 1, [&](Value token) {
    Value place = placeOf(token);
    b.ifThen(b.less(b.index(-1), place), [&] { keep(b, token, place); });
  });
  b.forRange(b.index(0), b.index(shape.length), 1, [&](Value token) {
    Value place = placeOf(token);
    b.ifElse(
        b.less(b.index(-1), place),
        [&] {
          emitQuery(b, token, DSC_FAULT(88, b.add(place, b.index(1)), b.max(place, b.index(1))));
          return Carried{};
        },
        [&] {
          forChannels([&](int64_t at, int64_t count) {
            Value to = b.linear(token, shape.model(), b.add(rowBase, b.index(at)));
            b.storeLanes(b.splat(0), result, to, count);
          });
          return Carried{};
        });
  });
}

/// Copies a token's key and value to its place.
void CachedKernel::keep(KernelBuilder &b, Value token, Value place) {
  for (auto [part, cache] : {std::pair<int64_t, Value>(1, keys), {2, values}})
    forChannels([&, part = part, cache = cache](int64_t at, int64_t count) {
      Value from =
          b.linear(token, 3 * shape.model(), b.add(qkvBase, b.index(part * shape.model() + at)));
      Value to = b.linear(place, shape.model(), b.add(cacheBase, b.index(at)));
      b.storeLanes(b.loadLanes(qkv, from, count), cache, to, count);
    });
}

void CachedKernel::emitQuery(KernelBuilder &b, Value token, Value count) {
  // Lanes past the head's width are 0, so that whole vectors can be multiplied.
  forChannels([&](int64_t at, int64_t lanes) {
    Value from = b.linear(token, 3 * shape.model(), b.add(qkvBase, b.index(at)));
    b.storeVector(b.loadLanes(qkv, from, lanes), query, b.index(at));
  });
  Value largest = emitScores(b, count);
  Value sum = emitExponentials(b, count, largest);
  emitValues(b, token, count, b.div(b.f32(1), sum));
}

/// Scaled scores of the first `count` keys; the largest of them.
Value CachedKernel::emitScores(KernelBuilder &b, Value count) {
  Value last = b.sub(count, b.index(1));
  return b.forRange(
      b.index(0), count, keysAtOnce, {b.f32(-1e30)}, [&](Value key, ValueRange carried) {
        // Keys past the last are the last again: their scores are computed and never used.
        SmallVector<Value> places, sums(keysAtOnce);
        for (int64_t i = 0; i < keysAtOnce; ++i)
          places.push_back(b.linear(b.min(b.add(key, b.index(i)), last), shape.model(), cacheBase));
        forChannels([&](int64_t at, int64_t lanes) {
          Value q = b.loadVector(query, b.index(at));
          for (int64_t i = 0; i < keysAtOnce; ++i) {
            Value k = b.loadLanes(keys, b.add(places[i], b.index(at)), lanes);
            sums[i] = sums[i] ? b.fma(q, k, sums[i]) : b.mul(q, k);
          }
        });
        Value largest = carried[0];
        for (int64_t i = 0; i < keysAtOnce; ++i) {
          Value score = b.mul(b.reduceAdd(sums[i]), b.f32(shape.scale));
          b.store(score, scores, b.add(key, b.index(i)));
          largest = b.max(score, largest);
        }
        return Carried{largest};
      })[0];
}

/// Scores to exponentials; their sum.
Value CachedKernel::emitExponentials(KernelBuilder &b, Value count, Value largest) {
  Value shift = b.broadcast(largest);
  Carried sum = b.forVectors(count, {b.splat(0)}, [&](Value at, Value mask, ValueRange carried) {
    Value e = emitExpFlushed(b, b.sub(b.loadVector(scores, at, mask), shift));
    b.storeVector(e, scores, at, mask);
    return Carried{b.add(carried[0], mask ? b.select(mask, e, b.splat(0)) : e)};
  });
  return b.reduceAdd(sum[0]);
}

/// The sum of the values, weighted, to the token's row of the result.
void CachedKernel::emitValues(KernelBuilder &b, Value token, Value count, Value inverse) {
  for (int64_t first = 0; first < shape.width; first += channelsAtOnce * shape.lanes) {
    int64_t end = std::min(first + channelsAtOnce * shape.lanes, shape.width);
    int64_t vectors = (end - first + shape.lanes - 1) / shape.lanes;
    auto lanesOf = [&](int64_t i) { return std::min(shape.lanes, end - first - i * shape.lanes); };
    Carried sums = b.forRange(
        b.index(0), count, 1, Carried(vectors, b.splat(0)), [&](Value key, ValueRange carried) {
          Value weight = b.broadcast(b.load(scores, key));
          Value place = b.linear(key, shape.model(), b.add(cacheBase, b.index(first)));
          Carried next;
          for (int64_t i = 0; i < vectors; ++i) {
            Value v = b.loadLanes(values, b.add(place, b.index(i * shape.lanes)), lanesOf(i));
            next.push_back(b.fma(weight, v, carried[i]));
          }
          return next;
        });
    Value factor = b.broadcast(inverse);
    for (int64_t i = 0; i < vectors; ++i) {
      Value to = b.linear(token, shape.model(), b.add(rowBase, b.index(first + i * shape.lanes)));
      b.storeLanes(b.mul(sums[i], factor), result, to, lanesOf(i));
    }
  }
}

namespace {

class CachedAttentionGenerator : public KernelGenerator {
public:
  int64_t items(Operation *op) const override {
    auto attention = cast<ds::CachedAttentionOp>(op);
    return elementsOf(attention.getRows()) * static_cast<int64_t>(attention.getHeads());
  }
  int64_t workspaceBytes(Operation *op, const Target &target) const override {
    return CachedKernel(cast<ds::CachedAttentionOp>(op), target).workspaceBytes();
  }
  void generate(Operation *op, ArrayRef<int64_t> resultArgument, func::FuncOp kernel,
                const Target &target) const override {
    KernelBuilder b(kernel, target);
    CachedKernel(cast<ds::CachedAttentionOp>(op), target).emit(b, resultArgument);
  }
};

} // namespace

GeneratorPointer dsc::createCachedAttentionGenerator() {
  return std::make_unique<CachedAttentionGenerator>();
}
