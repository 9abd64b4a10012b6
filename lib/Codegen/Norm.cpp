//===- Norm.cpp - kernels of layer normalisation ---------------------------===//
// Items are rows, or blocks of columns for the parameters' gradients. Row sums run in 4 vectors of
// f32 lanes, added in a fixed tree: an error of about columns / (4 lanes) roundings at most. Sums
// over rows are f32 over 8 rows and f64 beyond.
#include "ElementLoop.h"
#include "Generators.h"
#include "dsc/Dialect/DS/DS.h"
#include "dsc/Support/Fault.h"

using namespace mlir;
using namespace dsc;

/// Totals over a row of `sums` addends; `addends` gets the offset in the row and the mask (null for
/// all lanes) and returns vectors that are 0 in masked lanes.
static SmallVector<Value> rowSums(KernelBuilder &b, int64_t columns, unsigned sums,
                                  llvm::function_ref<SmallVector<Value>(Value, Value)> addends) {
  SmallVector<Value> zeros(sums, b.splat(0));
  Carried totals = reduceRun(
      b, columns, zeros,
      [&](Value at, Value mask, ValueRange state) {
        Carried next = addends(at, mask);
        for (unsigned i = 0; i < sums; ++i)
          next[i] = b.add(state[i], next[i]);
        return next;
      },
      [&](Value x, Value y) { return b.add(x, y); });
  for (Value &total : totals)
    total = b.reduceAdd(total);
  return totals;
}

/// 0 in masked lanes.
static Value zeroMasked(KernelBuilder &b, Value vector, Value mask) {
  return mask ? b.select(mask, vector, b.splat(0)) : vector;
}

namespace {

class LayerNormGenerator : public KernelGenerator {
public:
  int64_t items(Operation *op) const override { return elementsOf(op->getResult(1)); }
  void generate(Operation *op, ArrayRef<int64_t> resultArgument, func::FuncOp kernel,
                const Target &target) const override {
    auto norm = cast<ds::LayerNormOp>(op);
    KernelBuilder b(kernel, target);
    int64_t columns = columnsOf(norm.getInput());
    Value input = b.flat(0), gain = b.flat(1), bias = b.flat(2);
    Value out = b.flat(resultArgument[0]), means = b.flat(resultArgument[1]),
          rstds = b.flat(resultArgument[2]);
    Value size = b.f32(columns), eps = b.f32(norm.getEps().convertToDouble());
    b.forRange(b.begin(), b.end(), 1, [&](Value row) {
      Value base = b.linear(row, columns);
      Value sum = rowSums(b, columns, 1, [&](Value at, Value mask) -> SmallVector<Value> {
        return {b.loadVector(input, b.add(base, at), mask)};
      })[0];
      Value mean = b.div(sum, size), meanVector = b.broadcast(mean);
      Value squares = rowSums(b, columns, 1, [&](Value at, Value mask) -> SmallVector<Value> {
        Value x = b.loadVector(input, b.add(base, at), mask);
        Value centred = zeroMasked(b, b.sub(x, meanVector), mask);
        return {b.mul(centred, centred)};
      })[0];
      Value rstd = b.div(b.f32(1), b.sqrt(b.add(b.div(squares, size), eps)));
      Value rstdVector = b.broadcast(rstd);
      b.store(mean, means, row);
      b.store(rstd, rstds, row);
      b.forVectors(columns, [&](Value at, Value mask) {
        Value x = b.loadVector(input, b.add(base, at), mask);
        Value normal = b.mul(b.sub(x, meanVector), rstdVector);
        Value y = b.fma(normal, b.loadVector(gain, at, mask), b.loadVector(bias, at, mask));
        b.storeVector(y, out, b.add(base, at), mask);
      });
    });
    b.finish();
  }
};

class LayerNormInputGradGenerator : public KernelGenerator {
public:
  int64_t items(Operation *op) const override {
    return elementsOf(cast<ds::LayerNormInputGradOp>(op).getMean());
  }
  void generate(Operation *op, ArrayRef<int64_t> resultArgument, func::FuncOp kernel,
                const Target &target) const override {
    auto grad = cast<ds::LayerNormInputGradOp>(op);
    KernelBuilder b(kernel, target);
    int64_t columns = columnsOf(grad.getInput());
    Value gradient = b.flat(0), input = b.flat(1), gain = b.flat(2), means = b.flat(3),
          rstds = b.flat(4), residual = grad.getResidual() ? b.flat(5) : Value();
    Value out = b.flat(resultArgument[0]), size = b.f32(columns);
    b.forRange(b.begin(), b.end(), 1, [&](Value row) {
      Value base = b.linear(row, columns);
      Value mean = b.broadcast(b.load(means, row)), rstd = b.broadcast(b.load(rstds, row));
      auto terms = [&](Value at, Value mask) -> std::pair<Value, Value> {
        Value x = b.loadVector(input, b.add(base, at), mask);
        Value g =
            b.mul(b.loadVector(gradient, b.add(base, at), mask), b.loadVector(gain, at, mask));
        return {g, b.mul(b.sub(x, mean), rstd)};
      };
      SmallVector<Value> sums = rowSums(b, columns, 2, [&](Value at, Value mask) {
        auto [g, normal] = terms(at, mask);
        return SmallVector<Value>{g, b.mul(g, normal)}; // g is 0 in masked lanes
      });
      Value meanG = b.broadcast(b.div(sums[0], size));
      Value meanGX = b.broadcast(b.div(sums[1], size));
      b.forVectors(columns, [&](Value at, Value mask) {
        auto [g, normal] = terms(at, mask);
        Value inner = DSC_FAULT(45, b.sub(b.sub(g, meanG), b.mul(normal, meanGX)), b.sub(g, meanG));
        Value y = residual ? b.fma(rstd, inner, b.loadVector(residual, b.add(base, at), mask))
                           : b.mul(rstd, inner);
        b.storeVector(y, out, b.add(base, at), mask);
      });
    });
    b.finish();
  }
};

class LayerNormParameterGradGenerator : public KernelGenerator {
public:
  int64_t items(Operation *op) const override {
    return blocksOf(elementsOf(op->getResult(0)), columnBlock);
  }
  int64_t workspaceBytes(Operation *op, const Target &) const override {
    return 2 * padded(op) * 8;
  }
  void generate(Operation *op, ArrayRef<int64_t> resultArgument, func::FuncOp kernel,
                const Target &target) const override {
    auto grad = cast<ds::LayerNormParameterGradOp>(op);
    KernelBuilder b(kernel, target);
    int64_t columns = columnsOf(grad.getInput()), rows = elementsOf(grad.getMean());
    Value gradient = b.flat(0), input = b.flat(1), means = b.flat(2), rstds = b.flat(3);
    Value gains = b.workspace(0, padded(op), b.f64Type());
    Value biases = b.workspace(padded(op) * 8, padded(op), b.f64Type());
    ColumnRange range = columnsOfItems(b, columns);
    int64_t lanes = b.lanes();
    Value zeros = b.constant(b.vectorType(b.f64Type(), lanes), 0);
    b.forRange(b.index(0), range.count, lanes, [&](Value at) {
      b.storeVector(zeros, gains, at);
      b.storeVector(zeros, biases, at);
    });

    auto addRows = [&](Value first, int64_t count) {
      SmallVector<Value> mean, rstd, base;
      for (int64_t i = 0; i < count; ++i) {
        Value row = b.add(first, b.index(i));
        mean.push_back(b.broadcast(b.load(means, row)));
        rstd.push_back(b.broadcast(b.load(rstds, row)));
        base.push_back(b.linear(row, columns, range.low));
      }
      b.forVectors(range.count, [&](Value at, Value mask) {
        Value gain, bias;
        for (int64_t i = 0; i < count; ++i) {
          Value x = b.loadVector(input, b.add(base[i], at), mask);
          Value g = b.loadVector(gradient, b.add(base[i], at), mask);
          Value normal = DSC_FAULT(46, b.mul(b.sub(x, mean[i]), rstd[i]), b.sub(x, mean[i]));
          gain = gain ? b.fma(g, normal, gain) : b.mul(g, normal);
          bias = bias ? b.add(bias, g) : g;
        }
        for (auto [sum, into] : {std::pair(gain, gains), std::pair(bias, biases)}) {
          Value total = b.loadVector(into, at, Value(), lanes);
          b.storeVector(b.add(total, b.convert(sum, b.f64Type())), into, at);
        }
      });
    };
    int64_t group = 8, whole = rows / group * group;
    b.forRange(b.index(0), b.index(whole), group, [&](Value row) { addRows(row, group); });
    if (whole < rows)
      addRows(b.index(whole), rows - whole);

    b.forVectors(range.count, [&](Value at, Value mask) {
      for (auto [from, result] : {std::pair(gains, 0), std::pair(biases, 1)}) {
        Value sum = b.convert(b.loadVector(from, at, Value(), lanes), b.f32Type());
        b.storeVector(sum, b.flat(resultArgument[result]), b.add(range.low, at), mask);
      }
    });
    b.finish();
  }

private:
  /// Columns, rounded up to whole vectors of any target.
  static int64_t padded(Operation *op) { return blocksOf(elementsOf(op->getResult(0)), 16) * 16; }
};

} // namespace

GeneratorPointer dsc::createLayerNormGenerator() { return std::make_unique<LayerNormGenerator>(); }
GeneratorPointer dsc::createLayerNormInputGradGenerator() {
  return std::make_unique<LayerNormInputGradGenerator>();
}
GeneratorPointer dsc::createLayerNormParameterGradGenerator() {
  return std::make_unique<LayerNormParameterGradGenerator>();
}
