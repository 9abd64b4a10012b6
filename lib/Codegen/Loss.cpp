//===- Loss.cpp - kernels of the cross-entropy and its scalars -------------===//
// Cross-entropy reads the logits once: blocks of a row that stay in the nearest cache give a
// maximum, then a sum of exponentials relative to the largest seen so far. Sums over blocks, and
// over tokens, are f64. Items are rows; the scalar ops are one item each.
#include "ElementLoop.h"
#include "Generators.h"
#include "PartBounds.h"
#include "VectorMath.h"
#include "dsc/Dialect/DS/DS.h"
#include "dsc/Support/Fault.h"

using namespace mlir;
using namespace dsc;

static constexpr int64_t uncounted = -100;

/// i1: the label is counted.
static Value isCounted(KernelBuilder &b, Value label) {
  return arith::CmpIOp::create(b.builder(), b.loc(), arith::CmpIPredicate::ne, label,
                               b.constant(label.getType(), uncounted));
}

/// Where the logit of the label is, or the row's first element if it is not counted.
static Value labelOffset(KernelBuilder &b, Value base, Value label, Value counted) {
  Value column = b.select(counted, label, b.i32(0));
  return b.add(base, b.convert(column, b.builder().getIndexType()));
}

/// i32: how many of `count` labels from `base` on are counted.
static Value countRun(KernelBuilder &b, Value base, int64_t count) {
  Type type = b.vectorType(b.builder().getI32Type());
  Value zero = b.constant(type, 0), one = b.constant(type, 1);
  Value counts = reduceRun(
      b, count, {zero},
      [&](Value at, Value mask, ValueRange sums) {
        Value labels = b.loadVector(b.flat(0), b.add(base, at), mask);
        Value found = DSC_FAULT(53, b.select(isCounted(b, labels), one, zero), one);
        return Carried{b.add(sums[0], mask ? b.select(mask, found, zero) : found)};
      },
      [&](Value x, Value y) { return b.add(x, y); })[0];
  return b.reduceAdd(counts);
}

namespace {

class CrossEntropyGenerator : public KernelGenerator {
public:
  int64_t items(Operation *op) const override {
    return elementsOf(cast<ds::CrossEntropyOp>(op).getLabels());
  }
  void generate(Operation *op, ArrayRef<int64_t> resultArgument, func::FuncOp kernel,
                const Target &target) const override {
    auto loss = cast<ds::CrossEntropyOp>(op);
    KernelBuilder b(kernel, target);
    int64_t columns = columnsOf(loss.getLogits()), block = 1024;
    int64_t whole = columns / block * block;
    Value logits = b.flat(0), labels = b.flat(1);
    Value smoothing = loss.getSmoothing() ? b.load(b.flat(2), b.index(0)) : Value();
    Value weights = loss.getWeights() ? b.flat(loss.getSmoothing() ? 3 : 2) : Value();
    b.forRange(b.begin(), b.end(), 1, [&](Value row) {
      Value base = b.linear(row, columns);
      Carried state = {b.f32(-std::numeric_limits<float>::max()), b.f64(0)};
      if (smoothing)
        state.push_back(b.f64(0));
      if (whole)
        state =
            b.forRange(b.index(0), b.index(whole), block, state, [&](Value at, ValueRange values) {
              return addBlock(b, logits, b.add(base, at), block, values);
            });
      if (whole < columns)
        state = addBlock(b, logits, b.add(base, b.index(whole)), columns - whole, state);
      Value largest = state[0], logSum = emitLog(b, b.convert(state[1], b.f32Type()));
      Value label = b.load(labels, row), counted = isCounted(b, label);
      Value chosen = b.load(logits, labelOffset(b, base, label, counted));
      Value value = b.add(b.sub(largest, chosen), logSum);
      if (smoothing) {
        // (1 - s) (lse - chosen) + s (lse - mean) as one correction of the first.
        Value mean = b.div(state[2], b.f64(static_cast<double>(columns)));
        Value distance = b.sub(b.convert(chosen, b.f64Type()), mean);
        value = b.add(value, b.convert(b.mul(smoothing, distance), b.f32Type()));
      }
      if (weights)
        value = b.mul(value, b.load(weights, row));
      b.store(b.select(counted, value, b.f32(0)), b.flat(resultArgument[0]), row);
      b.store(b.add(largest, logSum), b.flat(resultArgument[1]), row);
    });
    b.finish();
  }

private:
  /// Largest element (f32) and sum of exponentials relative to it (f64), with a block more; then,
  /// if the state has it, the sum of the elements (f64).
  static Carried addBlock(KernelBuilder &b, Value logits, Value base, int64_t count,
                          ValueRange state) {
    Value lowest = b.splat(-std::numeric_limits<float>::max());
    Value blockMax = reduceRun(
        b, count, {lowest},
        [&](Value at, Value mask, ValueRange values) {
          Value x = b.loadVector(logits, b.add(base, at), mask);
          return Carried{b.max(mask ? b.select(mask, x, lowest) : x, values[0])};
        },
        [&](Value x, Value y) { return b.max(x, y); })[0];
    Value largest = b.max(state[0], b.reduceMax(blockMax)), shift = b.broadcast(largest);
    bool sumsElements = state.size() > 2;
    Carried neutral(sumsElements ? 2 : 1, b.splat(0));
    Carried blockSums = reduceRun(
        b, count, neutral,
        [&](Value at, Value mask, ValueRange values) {
          Value x = b.loadVector(logits, b.add(base, at), mask);
          Value e = emitExpFlushed(b, b.sub(x, shift));
          Carried next{b.add(values[0], mask ? b.select(mask, e, b.splat(0)) : e)};
          if (sumsElements)
            next.push_back(b.add(values[1], x)); // masked lanes are 0
          return next;
        },
        [&](Value x, Value y) { return b.add(x, y); });
    Value rescale = b.convert(emitExpFlushed(b, b.sub(state[0], largest)), b.f64Type());
    Carried next{largest, b.add(DSC_FAULT(52, b.mul(state[1], rescale), state[1]),
                                b.convert(b.reduceAdd(blockSums[0]), b.f64Type()))};
    if (sumsElements)
      next.push_back(b.add(state[2], b.convert(b.reduceAdd(blockSums[1]), b.f64Type())));
    return next;
  }
};

class CrossEntropyGradGenerator : public KernelGenerator {
public:
  int64_t items(Operation *op) const override {
    return elementsOf(cast<ds::CrossEntropyGradOp>(op).getLabels());
  }
  void generate(Operation *op, ArrayRef<int64_t> resultArgument, func::FuncOp kernel,
                const Target &target) const override {
    auto grad = cast<ds::CrossEntropyGradOp>(op);
    KernelBuilder b(kernel, target);
    int64_t columns = columnsOf(op->getResult(0));
    Value logits = b.flat(0), labels = b.flat(1), lses = b.flat(2);
    Value out = b.flat(resultArgument[0]);
    Value seed = b.convert(b.load(b.flat(3), b.index(0)), b.f32Type());
    unsigned next = grad.getSmoothing() ? 5 : 4;
    Value weights = grad.getWeights() ? b.flat(next++) : Value();
    Value rank = grad.getRank() ? b.flat(next) : Value();
    int64_t classes = grad.getClasses().value_or(columns);
    // Of the targets: the label's distance from the others, and what every class has.
    Value peak = b.f32(1), share;
    if (grad.getSmoothing()) {
      Value smoothing = b.load(b.flat(4), b.index(0));
      peak = b.convert(b.sub(b.f64(1), smoothing), b.f32Type());
      share = b.convert(b.div(smoothing, b.f64(static_cast<double>(classes))), b.f32Type());
    }
    auto aboveShare = [&](Value p) {
      if (DSC_FAULT(51, !share, true))
        return p;
      return b.sub(p, isa<VectorType>(p.getType()) ? b.broadcast(share) : share);
    };
    b.forRange(b.begin(), b.end(), 1, [&](Value row) {
      Value base = b.linear(row, columns), label = b.load(labels, row);
      Value counted = isCounted(b, label);
      b.ifElse(
          counted,
          [&] {
            Value lse = b.load(lses, row), shift = b.broadcast(lse);
            Value factor = weights ? b.mul(seed, b.load(weights, row)) : seed;
            Value factors = b.broadcast(factor);
            // The label's class, unless another rank has it.
            Value here = rank ? b.less(b.i32(-1), label) : counted;
            Value place = labelOffset(b, base, label, here);
            // Before the row is overwritten, as the result may lie over the logits.
            Value chosen = emitExpFlushed(b, b.sub(b.load(logits, place), lse));
            b.forVectors(columns, [&](Value at, Value mask) {
              Value x = b.loadVector(logits, b.add(base, at), mask);
              Value p = emitExpFlushed(b, b.sub(x, shift));
              b.storeVector(b.mul(factors, aboveShare(p)), out, b.add(base, at), mask);
            });
            auto storeChosen = [&] {
              b.store(b.mul(factor, b.sub(aboveShare(chosen), peak)), out, place);
            };
            if (!rank) {
              storeChosen();
              return Carried{};
            }
            b.ifThen(here, storeChosen);
            b.forRange(ownClasses(b, rank, columns, classes), b.index(columns), 1,
                       [&](Value at) { b.store(b.f32(0), out, b.add(base, at)); });
            return Carried{};
          },
          [&] {
            b.forVectors(columns, [&](Value at, Value mask) {
              b.storeVector(b.splat(0), out, b.add(base, at), mask);
            });
            return Carried{};
          });
    });
    b.finish();
  }
};

/// An op with scalar results: one item, which the thread that gets it computes.
class ScalarLossGenerator : public KernelGenerator {
public:
  int64_t items(Operation *) const override { return 1; }
  void generate(Operation *op, ArrayRef<int64_t> resultArgument, func::FuncOp kernel,
                const Target &target) const override {
    KernelBuilder b(kernel, target);
    b.forRange(b.begin(), b.end(), 1,
               [&](Value) { b.store(value(b, op), b.flat(resultArgument[0]), b.index(0)); });
    b.finish();
  }
  virtual Value value(KernelBuilder &b, Operation *op) const = 0;
};

class CountGenerator : public ScalarLossGenerator {
  Value value(KernelBuilder &b, Operation *op) const override {
    Value labels = op->getOperand(0);
    if (!cast<ds::CountOp>(op).getSamples())
      return b.convert(countRun(b, b.index(0), elementsOf(labels)), b.f64Type());
    int64_t columns = columnsOf(labels);
    return b.forRange(b.index(0), b.index(elementsOf(labels) / columns), 1, {b.f64(0)},
                      [&](Value row, ValueRange sums) {
                        Value found = countRun(b, b.linear(row, columns), columns);
                        Value counts = arith::CmpIOp::create(
                            b.builder(), b.loc(), arith::CmpIPredicate::ne, found, b.i32(0));
                        return Carried{b.add(sums[0], b.select(counts, b.f64(1), b.f64(0)))};
                      })[0];
  }
};

class LabelWeightsGenerator : public KernelGenerator {
public:
  int64_t items(Operation *op) const override {
    return elementsOf(op->getOperand(0)) / columnsOf(op->getOperand(0));
  }
  void generate(Operation *op, ArrayRef<int64_t> resultArgument, func::FuncOp kernel,
                const Target &target) const override {
    KernelBuilder b(kernel, target);
    int64_t columns = columnsOf(op->getOperand(0));
    Value labels = b.flat(0), out = b.flat(resultArgument[0]);
    b.forRange(b.begin(), b.end(), 1, [&](Value row) {
      Value base = b.linear(row, columns);
      Value count = b.convert(countRun(b, base, columns), b.f32Type());
      // Infinite where nothing counts: then no element takes it.
      Value weights = b.broadcast(DSC_FAULT(96, b.div(b.f32(1), count), b.f32(1)));
      b.forVectors(columns, [&](Value at, Value mask) {
        Value place = b.add(base, at);
        Value counted = isCounted(b, b.loadVector(labels, place, mask));
        b.storeVector(b.select(counted, weights, b.splat(0)), out, place, mask);
      });
    });
    b.finish();
  }
};

class LossSeedGenerator : public ScalarLossGenerator {
  Value value(KernelBuilder &b, Operation *op) const override {
    Value count = b.load(b.flat(0), b.index(0)), zero = b.f64(0);
    Value scale = op->getNumOperands() > 1 ? b.load(b.flat(1), b.index(0)) : b.f64(1);
    return b.select(b.equal(count, zero), zero, b.div(scale, count));
  }
};

class TokenMeanGenerator : public ScalarLossGenerator {
  Value value(KernelBuilder &b, Operation *op) const override {
    Value zeros = b.constant(b.vectorType(b.f64Type(), b.lanes()), 0);
    Value sums = reduceRun(
        b, elementsOf(op->getOperand(0)), {zeros},
        [&](Value at, Value mask, ValueRange values) {
          Value x = b.convert(b.loadVector(b.flat(0), at, mask), b.f64Type());
          return Carried{b.add(values[0], x)};
        },
        [&](Value x, Value y) { return b.add(x, y); })[0];
    Value count = b.load(b.flat(1), b.index(0)), zero = b.f64(0);
    return b.select(b.equal(count, zero), zero, b.div(b.reduceAdd(sums), count));
  }
};

} // namespace

GeneratorPointer dsc::createCrossEntropyGenerator() {
  return std::make_unique<CrossEntropyGenerator>();
}
GeneratorPointer dsc::createCrossEntropyGradGenerator() {
  return std::make_unique<CrossEntropyGradGenerator>();
}
GeneratorPointer dsc::createLabelWeightsGenerator() {
  return std::make_unique<LabelWeightsGenerator>();
}
GeneratorPointer dsc::createCountGenerator() { return std::make_unique<CountGenerator>(); }
GeneratorPointer dsc::createLossSeedGenerator() { return std::make_unique<LossSeedGenerator>(); }
GeneratorPointer dsc::createTokenMeanGenerator() { return std::make_unique<TokenMeanGenerator>(); }
