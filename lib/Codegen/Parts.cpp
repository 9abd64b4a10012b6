//===- Parts.cpp - kernels of what ranks make of their coordinate ----------===//
// Rows of the losses as in Loss.cpp: blocks that stay in the nearest cache give a maximum, then a
// sum of exponentials relative to the largest so far; sums over blocks are f64.
#include "ElementLoop.h"
#include "Generators.h"
#include "PartBounds.h"
#include "VectorMath.h"
#include "dsc/Dialect/DS/DS.h"

using namespace mlir;
using namespace dsc;

static constexpr double lowest = -std::numeric_limits<float>::max();
static constexpr int64_t uncounted = -100;

static Value differs(KernelBuilder &b, Value a, Value c) {
  return arith::CmpIOp::create(b.builder(), b.loc(), arith::CmpIPredicate::ne, a, c);
}

namespace {

class OnceGenerator : public KernelGenerator {
public:
  int64_t items(Operation *op) const override {
    return blocksOf(elementsOf(op->getResult(0)), elementBlock);
  }
  void generate(Operation *op, ArrayRef<int64_t> resultArgument, func::FuncOp kernel,
                const Target &target) const override {
    KernelBuilder b(kernel, target);
    Value out = b.flat(resultArgument[0]);
    Value first = b.equal(b.load(b.flat(1), b.index(0)), b.f64(0));
    b.ifElse(
        first,
        [&] {
          forElements(b, elementsOf(op->getResult(0)), [&](Value at, Value mask) {
            b.storeVector(b.loadVector(b.flat(0), at, mask), out, at, mask);
          });
          return Carried{};
        },
        [&] {
          forElements(b, elementsOf(op->getResult(0)),
                      [&](Value at, Value mask) { b.storeVector(b.splat(0), out, at, mask); });
          return Carried{};
        });
    b.finish();
  }
};

class LocalIdsGenerator : public KernelGenerator {
public:
  int64_t items(Operation *op) const override { return elementsOf(op->getResult(0)); }
  void generate(Operation *op, ArrayRef<int64_t> resultArgument, func::FuncOp kernel,
                const Target &target) const override {
    KernelBuilder b(kernel, target);
    int64_t rows = cast<ds::LocalIdsOp>(op).getRows();
    Value rank = b.convert(b.load(b.flat(1), b.index(0)), b.builder().getI32Type());
    Value from = b.mul(rank, b.i32(rows));
    b.forRange(b.begin(), b.end(), 1, [&](Value at) {
      Value id = b.load(b.flat(0), at), own = b.sub(id, from);
      Value inside = b.bitAnd(b.less(b.i32(-1), own), b.less(own, b.i32(rows)));
      Value found = b.select(inside, own, b.i32(-1));
      b.store(b.select(b.less(id, b.i32(0)), id, found), b.flat(resultArgument[0]), at);
    });
    b.finish();
  }
};

class PartKeyGenerator : public KernelGenerator {
public:
  int64_t items(Operation *) const override { return 1; }
  void generate(Operation *op, ArrayRef<int64_t> resultArgument, func::FuncOp kernel,
                const Target &target) const override {
    KernelBuilder b(kernel, target);
    double counters = static_cast<double>(cast<ds::PartKeyOp>(op).getElements() / 4);
    Value out = b.flat(resultArgument[0]);
    b.forRange(b.begin(), b.end(), 1, [&](Value) {
      for (int64_t i = 0; i < 5; ++i)
        b.store(b.load(b.flat(0), b.index(i)), out, b.index(i));
      Value rank = b.load(b.flat(1), b.index(0));
      b.store(b.mul(rank, b.f64(counters)), out, b.index(5));
    });
    b.finish();
  }
};

class LossPartsGenerator : public KernelGenerator {
public:
  int64_t items(Operation *op) const override {
    return elementsOf(cast<ds::LossPartsOp>(op).getLabels());
  }
  void generate(Operation *op, ArrayRef<int64_t> resultArgument, func::FuncOp kernel,
                const Target &target) const override {
    auto loss = cast<ds::LossPartsOp>(op);
    KernelBuilder b(kernel, target);
    int64_t columns = columnsOf(loss.getLogits()), rows = elementsOf(loss.getLabels());
    int64_t parts = elementsOf(loss.getLse()) / rows;
    Value logits = b.flat(0), lse = b.flat(resultArgument[0]);
    Value coordinate = b.convert(b.load(b.flat(2), b.index(0)), b.builder().getI32Type());
    Value own = ownClasses(b, b.flat(2), columns, loss.getClasses());
    bool sumsElements = bool(loss.getTotal());
    b.forRange(b.begin(), b.end(), 1, [&](Value row) {
      Value base = b.linear(row, columns);
      Carried state = {b.f32(lowest), b.f64(0)};
      if (sumsElements)
        state.push_back(b.f64(0));
      state = b.forRange(b.index(0), own, 1024, state, [&](Value at, ValueRange values) {
        Value count = b.min(b.sub(own, at), b.index(1024));
        return addBlock(b, logits, b.add(base, at), count, values);
      });
      // A rank without a class has a sum of 0, whose logarithm says nothing.
      Value logSum = emitLog(b, b.convert(state[1], b.f32Type()));
      Value whole = b.add(state[0], logSum);
      Value found = b.select(b.less(b.f64(0), state[1]), whole, b.f32(lowest));
      for (int64_t part = 0; part < parts; ++part)
        b.store(b.select(differs(b, coordinate, b.i32(part)), b.f32(0), found), lse,
                b.add(b.index(part * rows), row));
      Value label = b.load(b.flat(1), row), here = b.less(b.i32(-1), label);
      Value column = b.convert(b.select(here, label, b.i32(0)), b.builder().getIndexType());
      Value chosen = b.load(logits, b.add(base, column));
      b.store(b.select(here, chosen, b.f32(0)), b.flat(resultArgument[1]), row);
      if (sumsElements)
        b.store(b.convert(state[2], b.f32Type()), b.flat(resultArgument[2]), row);
    });
    b.finish();
  }

private:
  /// Largest element (f32) and sum of exponentials relative to it (f64), with a block of `count`
  /// more; then, if the state has it, the sum of the elements (f64).
  static Carried addBlock(KernelBuilder &b, Value logits, Value base, Value count,
                          ValueRange state) {
    Value low = b.splat(lowest);
    Value blockMax =
        b.forVectors(count, ValueRange{low}, [&](Value at, Value mask, ValueRange values) {
          Value x = b.loadVector(logits, b.add(base, at), mask);
          return Carried{b.max(mask ? b.select(mask, x, low) : x, values[0])};
        })[0];
    Value largest = b.max(state[0], b.reduceMax(blockMax)), shift = b.broadcast(largest);
    bool sumsElements = state.size() > 2;
    Carried neutral(sumsElements ? 2 : 1, b.splat(0));
    Carried sums = b.forVectors(count, neutral, [&](Value at, Value mask, ValueRange values) {
      Value x = b.loadVector(logits, b.add(base, at), mask);
      Value e = emitExpFlushed(b, b.sub(x, shift));
      Carried next{b.add(values[0], mask ? b.select(mask, e, b.splat(0)) : e)};
      if (sumsElements)
        next.push_back(b.add(values[1], x)); // masked lanes are 0
      return next;
    });
    Value rescale = b.convert(emitExpFlushed(b, b.sub(state[0], largest)), b.f64Type());
    Carried next{largest,
                 b.add(b.mul(state[1], rescale), b.convert(b.reduceAdd(sums[0]), b.f64Type()))};
    if (sumsElements)
      next.push_back(b.add(state[2], b.convert(b.reduceAdd(sums[1]), b.f64Type())));
    return next;
  }
};

class JoinLossGenerator : public KernelGenerator {
public:
  int64_t items(Operation *op) const override { return elementsOf(op->getResult(1)); }
  void generate(Operation *op, ArrayRef<int64_t> resultArgument, func::FuncOp kernel,
                const Target &target) const override {
    auto join = cast<ds::JoinLossOp>(op);
    KernelBuilder b(kernel, target);
    int64_t rows = elementsOf(join.getLse()), parts = elementsOf(join.getParts()) / rows;
    Value smoothing = join.getSmoothing() ? b.load(b.flat(3), b.index(0)) : Value();
    Value weights = join.getWeights() ? b.flat(smoothing ? 5 : 3) : Value();
    b.forRange(b.begin(), b.end(), 1, [&](Value row) {
      auto part = [&](int64_t i) { return b.load(b.flat(0), b.add(b.index(i * rows), row)); };
      Value largest = part(0);
      for (int64_t i = 1; i < parts; ++i)
        largest = b.max(largest, part(i));
      Value sum = b.f32(0);
      for (int64_t i = 0; i < parts; ++i)
        sum = b.add(sum, emitExpFlushed(b, b.sub(part(i), largest)));
      Value logSum = emitLog(b, sum), chosen = b.load(b.flat(1), row);
      Value value = b.add(b.sub(largest, chosen), logSum);
      if (smoothing) {
        Value total = b.convert(b.load(b.flat(4), row), b.f64Type());
        Value mean = b.div(total, b.f64(static_cast<double>(join.getClasses())));
        Value distance = b.sub(b.convert(chosen, b.f64Type()), mean);
        value = b.add(value, b.convert(b.mul(smoothing, distance), b.f32Type()));
      }
      if (weights)
        value = b.mul(value, b.load(weights, row));
      Value counted = differs(b, b.load(b.flat(2), row), b.i32(uncounted));
      b.store(b.select(counted, value, b.f32(0)), b.flat(resultArgument[0]), row);
      b.store(b.add(largest, logSum), b.flat(resultArgument[1]), row);
    });
    b.finish();
  }
};

} // namespace

GeneratorPointer dsc::createOnceGenerator() { return std::make_unique<OnceGenerator>(); }
GeneratorPointer dsc::createLocalIdsGenerator() { return std::make_unique<LocalIdsGenerator>(); }
GeneratorPointer dsc::createPartKeyGenerator() { return std::make_unique<PartKeyGenerator>(); }
GeneratorPointer dsc::createLossPartsGenerator() { return std::make_unique<LossPartsGenerator>(); }
GeneratorPointer dsc::createJoinLossGenerator() { return std::make_unique<JoinLossGenerator>(); }
