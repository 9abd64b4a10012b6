//===- OptimizerAdafactor.cpp - kernels of Adafactor's moments and steps ---===//
// Sums and means are f64, element loops f32. What is added in which order is part of the ops'
// records: no result depends on how items are dealt out to threads.
#include "ElementLoop.h"
#include "Generators.h"
#include "dsc/Dialect/DS/DS.h"
#include "dsc/Support/Fault.h"

using namespace mlir;
using namespace dsc;

static constexpr int64_t sumBlock = 1024;

static Value scalar(KernelBuilder &b, unsigned argument) {
  return b.load(b.flat(argument), b.index(0));
}

/// f64 scalar as an f32 vector.
static Value spread(KernelBuilder &b, Value value) {
  return b.broadcast(b.convert(value, b.f32Type()));
}

/// Entries of the `level` that treeOf needs for `count` leaves.
static int64_t levelOf(int64_t count) { return blocksOf(count, 2); }

/// Adds leaves [0, count) by the fixed tree: level by level, entry 2 i with entry 2 i + 1, a last
/// odd entry as it is. `load` and `store` reach the entries of a level in memory.
static Value treeOf(KernelBuilder &b, int64_t count, function_ref<Value(Value)> leaf,
                    function_ref<Value(Value)> load, function_ref<void(Value, Value)> store) {
  if (count == 1)
    return leaf(b.index(0));
  for (function_ref<Value(Value)> below = leaf; count > 1;
       count = blocksOf(count, 2), below = load) {
    b.forRange(b.index(0), b.index(count / 2), 1, [&](Value i) {
      Value first = b.add(i, i);
      store(b.add(below(first), below(b.add(first, b.index(1)))), i);
    });
    if (count % 2)
      store(below(b.index(count - 1)), b.index(count / 2));
  }
  return load(b.index(0));
}

namespace {

/// Items are groups of rows: each row is read once, for its own sum and for those of its columns.
class FactorSumsGenerator : public KernelGenerator {
public:
  int64_t items(Operation *op) const override {
    return cast<ShapedType>(op->getResult(1).getType()).getDimSize(0);
  }
  void generate(Operation *op, ArrayRef<int64_t> resultArgument, func::FuncOp kernel,
                const Target &target) const override {
    KernelBuilder b(kernel, target);
    int64_t columns = columnsOf(op->getOperand(0)), rows = elementsOf(op->getOperand(0)) / columns;
    int64_t group = ds::FactorSumsOp::rowsOfGroup(columns), whole = columns / sumBlock * sumBlock;
    Value input = b.flat(0), ofRows = b.flat(resultArgument[0]);
    Value ofColumns = b.flat(resultArgument[1]);
    Value zeros = b.constant(b.vectorType(b.f64Type(), b.lanes()), 0);
    b.forRange(b.begin(), b.end(), 1, [&](Value item) {
      Value base = b.linear(item, columns);
      b.forVectors(columns, [&](Value at, Value mask) {
        b.storeVector(zeros, ofColumns, b.add(base, at), mask);
      });
      Value low = b.linear(item, group);
      Value high = b.min(b.add(low, b.index(DSC_FAULT(101, group, group - 1))), b.index(rows));
      b.forRange(low, high, 1, [&](Value row) {
        Value start = b.linear(row, columns);
        auto run = [&](Value first, int64_t count) {
          Carried sums = reduceRun(
              b, count, {zeros},
              [&](Value at, Value mask, ValueRange sums) {
                Value column = b.add(first, at), to = b.add(base, column);
                Value x = b.convert(b.loadVector(input, b.add(start, column), mask), b.f64Type());
                Value sum = b.loadVector(ofColumns, to, mask, b.lanes());
                b.storeVector(b.fma(x, x, sum), ofColumns, to, mask);
                return Carried{b.fma(x, x, sums[0])};
              },
              [&](Value x, Value y) { return b.add(x, y); });
          return b.reduceAdd(sums[0]);
        };
        Value sum = b.f64(0);
        if (whole)
          sum = b.forRange(b.index(0), b.index(whole), sumBlock, {sum},
                           [&](Value first, ValueRange sums) {
                             return Carried{b.add(sums[0], run(first, sumBlock))};
                           })[0];
        if (whole < columns)
          sum = b.add(sum, run(b.index(whole), columns - whole));
        b.store(sum, ofRows, row);
      });
    });
    b.finish();
  }
};

/// Items are blocks of columns of the sums.
class FactorMomentGenerator : public KernelGenerator {
  static int64_t groups(Operation *op) {
    return cast<ShapedType>(op->getOperand(0).getType()).getDimSize(0);
  }

public:
  int64_t items(Operation *op) const override {
    return blocksOf(elementsOf(op->getResult(0)), columnBlock);
  }
  int64_t workspaceBytes(Operation *op, const Target &target) const override {
    return groups(op) == 1 ? 0 : levelOf(groups(op)) * target.lanes() * 8;
  }
  void generate(Operation *op, ArrayRef<int64_t> resultArgument, func::FuncOp kernel,
                const Target &target) const override {
    KernelBuilder b(kernel, target);
    auto factor = cast<ds::FactorMomentOp>(op);
    int64_t columns = elementsOf(op->getResult(0)), lanes = b.lanes();
    Value clip = scalar(b, 2), toward = spread(b, scalar(b, 3));
    Value scale = b.div(DSC_FAULT(103, b.mul(clip, clip), clip),
                        b.f64(static_cast<double>(factor.getTerms())));
    scale = b.broadcast(scale, lanes);
    Value level;
    if (groups(op) > 1)
      level = b.workspace(0, levelOf(groups(op)) * lanes, b.f64Type());
    ColumnRange range = columnsOfItems(b, columns);
    b.forVectors(range.count, [&](Value i, Value mask) {
      Value column = b.add(range.low, i);
      Value sum = treeOf(
          b, groups(op),
          [&](Value group) {
            return b.loadVector(b.flat(0), b.linear(group, columns, column), mask, lanes);
          },
          [&](Value entry) { return b.loadVector(level, b.linear(entry, lanes), {}, lanes); },
          [&](Value value, Value entry) { b.storeVector(value, level, b.linear(entry, lanes)); });
      Value mean = b.convert(b.mul(sum, scale), b.f32Type());
      Value moment = b.loadVector(b.flat(1), column, mask);
      moment = b.fma(toward, b.sub(mean, moment), moment);
      b.storeVector(moment, b.flat(resultArgument[0]), column, mask);
    });
    b.finish();
  }
};

/// One item: a moment is as long as a side of a matrix.
class MomentMeanGenerator : public KernelGenerator {
public:
  int64_t items(Operation *) const override { return 1; }
  int64_t workspaceBytes(Operation *op, const Target &) const override {
    return blocksOf(elementsOf(op->getOperand(0)), sumBlock) * 8;
  }
  void generate(Operation *op, ArrayRef<int64_t> resultArgument, func::FuncOp kernel,
                const Target &target) const override {
    KernelBuilder b(kernel, target);
    int64_t count = elementsOf(op->getOperand(0)), whole = count / sumBlock;
    Value blocks = b.workspace(0, blocksOf(count, sumBlock), b.f64Type());
    Value zeros = b.constant(b.vectorType(b.f64Type(), b.lanes()), 0);
    auto blockSum = [&](Value first, int64_t size) {
      Carried sums = reduceRun(
          b, size, {zeros},
          [&](Value at, Value mask, ValueRange sums) {
            Value x = b.loadVector(b.flat(0), b.add(first, at), mask);
            return Carried{b.add(sums[0], b.convert(x, b.f64Type()))};
          },
          [&](Value x, Value y) { return b.add(x, y); });
      return b.reduceAdd(sums[0]);
    };
    b.forRange(b.begin(), b.end(), 1, [&](Value) {
      if (whole)
        b.forRange(b.index(0), b.index(whole), 1, [&](Value block) {
          b.store(blockSum(b.linear(block, sumBlock), sumBlock), blocks, block);
        });
      if (whole * sumBlock < count)
        b.store(blockSum(b.index(whole * sumBlock), count - whole * sumBlock), blocks,
                b.index(whole));
      auto load = [&](Value i) { return b.load(blocks, i); };
      Value sum = treeOf(b, blocksOf(count, sumBlock), load, load,
                         [&](Value value, Value i) { b.store(value, blocks, i); });
      b.store(b.div(sum, b.f64(static_cast<double>(count))), b.flat(resultArgument[0]), b.index(0));
    });
    b.finish();
  }
};

/// Items are rows.
class FactoredDirectionGenerator : public KernelGenerator {
public:
  int64_t items(Operation *op) const override { return elementsOf(op->getOperand(1)); }
  void generate(Operation *op, ArrayRef<int64_t> resultArgument, func::FuncOp kernel,
                const Target &target) const override {
    KernelBuilder b(kernel, target);
    int64_t columns = columnsOf(op->getOperand(0));
    Value eps = scalar(b, 5), clip = spread(b, scalar(b, 4)), least = spread(b, b.mul(eps, eps));
    Value scale = b.div(b.f64(1), b.max(scalar(b, 3), eps));
    b.forRange(b.begin(), b.end(), 1, [&](Value row) {
      Value ofRow = spread(b, b.mul(b.convert(b.load(b.flat(1), row), b.f64Type()), scale));
      Value start = b.linear(row, columns);
      b.forVectors(columns, [&](Value column, Value mask) {
        Value at = b.add(start, column);
        Value v = b.max(least, b.mul(ofRow, b.loadVector(b.flat(2), column, mask)));
        Value g = b.mul(clip, b.loadVector(b.flat(0), at, mask));
        b.storeVector(b.div(g, b.sqrt(v)), b.flat(resultArgument[0]), at, mask);
      });
    });
    b.finish();
  }
};

class AdafactorDirectionGenerator : public KernelGenerator {
public:
  int64_t items(Operation *op) const override {
    return blocksOf(elementsOf(op->getResult(0)), elementBlock);
  }
  void generate(Operation *op, ArrayRef<int64_t> resultArgument, func::FuncOp kernel,
                const Target &target) const override {
    KernelBuilder b(kernel, target);
    Value eps = scalar(b, 4), least = spread(b, b.mul(eps, eps));
    Value clip = spread(b, scalar(b, 2)), toward = spread(b, scalar(b, 3));
    forElements(b, elementsOf(op->getResult(0)), [&](Value at, Value mask) {
      Value g = b.mul(clip, b.loadVector(b.flat(0), at, mask));
      Value v = b.loadVector(b.flat(1), at, mask);
      v = b.fma(toward, b.fma(g, g, b.neg(v)), v);
      b.storeVector(b.div(g, b.sqrt(b.max(least, v))), b.flat(resultArgument[0]), at, mask);
      b.storeVector(v, b.flat(resultArgument[1]), at, mask);
    });
    b.finish();
  }
};

} // namespace

GeneratorPointer dsc::createFactorSumsGenerator() {
  return std::make_unique<FactorSumsGenerator>();
}
GeneratorPointer dsc::createFactorMomentGenerator() {
  return std::make_unique<FactorMomentGenerator>();
}
GeneratorPointer dsc::createMomentMeanGenerator() {
  return std::make_unique<MomentMeanGenerator>();
}
GeneratorPointer dsc::createFactoredDirectionGenerator() {
  return std::make_unique<FactoredDirectionGenerator>();
}
GeneratorPointer dsc::createAdafactorDirectionGenerator() {
  return std::make_unique<AdafactorDirectionGenerator>();
}
