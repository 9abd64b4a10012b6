//===- Embedding.cpp - kernels of token and position tables ----------------===//
// Forward: items are rows of the result. Gradient of the token table: items are blocks of columns,
// so that every thread meets the tokens in the same order and no row has two writers.
#include "ElementLoop.h"
#include "Generators.h"
#include "dsc/Dialect/DS/DS.h"
#include "dsc/Support/Fault.h"

using namespace mlir;
using namespace dsc;

namespace {

class EmbeddingGenerator : public KernelGenerator {
public:
  int64_t items(Operation *op) const override {
    return elementsOf(cast<ds::EmbeddingOp>(op).getIds());
  }
  void generate(Operation *op, ArrayRef<int64_t> resultArgument, func::FuncOp kernel,
                const Target &target) const override {
    auto embedding = cast<ds::EmbeddingOp>(op);
    KernelBuilder b(kernel, target);
    int64_t columns = columnsOf(embedding.getTable()), length = columnsOf(embedding.getIds());
    Value ids = b.flat(0), table = b.flat(1);
    Value positions = embedding.getPositions() ? b.flat(2) : Value();
    Value positionIds = embedding.getPositionIds() ? b.flat(3) : Value();
    Value out = b.flat(resultArgument[0]);
    auto lookUp = [&](Value row, Value place, bool placed) {
      Value id = b.convert(b.load(ids, row), b.builder().getIndexType());
      Value from = b.linear(id, columns), to = b.linear(row, columns);
      Value position = b.linear(place, columns);
      auto write = [&](bool found) {
        b.forVectors(columns, [&](Value at, Value mask) {
          Value x = found ? b.loadVector(table, b.add(from, at), mask) : b.splat(0);
          if (placed)
            x = b.add(x, b.loadVector(positions, b.add(position, at), mask));
          b.storeVector(x, out, b.add(to, at), mask);
        });
        return Carried{};
      };
      // A row that is elsewhere.
      b.ifElse(
          b.less(id, b.index(0)), [&] { return write(false); }, [&] { return write(true); });
    };
    b.forRange(b.begin(), b.end(), 1, [&](Value row) {
      if (!positionIds)
        return lookUp(row, b.rem(row, b.index(length)), bool(positions));
      Value place = b.convert(b.load(positionIds, row), b.builder().getIndexType());
      auto write = [&](bool placed) {
        lookUp(row, place, placed);
        return Carried{};
      };
      b.ifElse(
          b.less(place, b.index(0)), [&] { return write(false); }, [&] { return write(true); });
    });
    b.finish();
  }
};

class EmbeddingGradGenerator : public KernelGenerator {
public:
  int64_t items(Operation *op) const override {
    return blocksOf(columnsOf(op->getResult(0)), columnBlock);
  }
  void generate(Operation *op, ArrayRef<int64_t> resultArgument, func::FuncOp kernel,
                const Target &target) const override {
    auto grad = cast<ds::EmbeddingGradOp>(op);
    KernelBuilder b(kernel, target);
    int64_t columns = columnsOf(grad.getResult());
    Value gradient = b.flat(0), ids = b.flat(1), out = b.flat(resultArgument[0]);
    ColumnRange range = columnsOfItems(b, columns);
    // With `init` in the result's place already, nothing is to be filled.
    Value init = grad.getInit() && resultArgument[0] != 2 ? b.flat(2) : Value();
    if (!grad.getInit() || init)
      b.forRange(b.index(0), b.index(elementsOf(grad.getResult()) / columns), 1, [&](Value row) {
        Value base = b.linear(row, columns, range.low);
        b.forVectors(range.count, [&](Value at, Value mask) {
          Value start = init ? b.loadVector(init, b.add(base, at), mask) : b.splat(0);
          b.storeVector(start, out, b.add(base, at), mask);
        });
      });
    b.forRange(b.index(0), b.index(elementsOf(grad.getIds())), 1, [&](Value row) {
      Value id = b.convert(b.load(ids, row), b.builder().getIndexType());
      Value from = b.linear(row, columns, range.low), to = b.linear(id, columns, range.low);
      b.ifThen(b.less(b.index(-1), id), [&] {
        b.forVectors(range.count, [&](Value at, Value mask) {
          Value sum = b.add(b.loadVector(out, b.add(to, at), mask),
                            b.loadVector(gradient, b.add(from, at), mask));
          b.storeVector(DSC_FAULT(54, sum, b.loadVector(gradient, b.add(from, at), mask)), out,
                        b.add(to, at), mask);
        });
      });
    });
    b.finish();
  }
};

class PositionGradGenerator : public KernelGenerator {
public:
  int64_t items(Operation *op) const override {
    return elementsOf(op->getResult(0)) / columnsOf(op->getResult(0));
  }
  void generate(Operation *op, ArrayRef<int64_t> resultArgument, func::FuncOp kernel,
                const Target &target) const override {
    auto grad = cast<ds::PositionGradOp>(op);
    KernelBuilder b(kernel, target);
    ArrayRef<int64_t> shape = cast<ShapedType>(grad.getGradient().getType()).getShape();
    int64_t batch = shape[0], length = shape[1], columns = shape[2];
    Value gradient = b.flat(0), out = b.flat(resultArgument[0]);
    Value used = b.min(b.end(), b.index(length));
    b.forRange(b.begin(), used, 1, [&](Value row) {
      b.forVectors(columns, [&](Value at, Value mask) {
        Value place = b.linear(row, columns, at);
        Carried sum = b.forRange(b.index(DSC_FAULT(55, 0, 1)), b.index(batch), 1, {b.splat(0)},
                                 [&](Value i, ValueRange sums) {
                                   Value x = b.loadVector(
                                       gradient, b.linear(i, length * columns, place), mask);
                                   return Carried{b.add(sums[0], x)};
                                 });
        b.storeVector(sum[0], out, place, mask);
      });
    });
    b.forRange(b.max(b.begin(), b.index(length)), b.end(), 1, [&](Value row) {
      b.forVectors(columns, [&](Value at, Value mask) {
        b.storeVector(b.splat(0), out, b.linear(row, columns, at), mask);
      });
    });
    b.finish();
  }
};

} // namespace

GeneratorPointer dsc::createEmbeddingGenerator() { return std::make_unique<EmbeddingGenerator>(); }
GeneratorPointer dsc::createEmbeddingGradGenerator() {
  return std::make_unique<EmbeddingGradGenerator>();
}
GeneratorPointer dsc::createPositionGradGenerator() {
  return std::make_unique<PositionGradGenerator>();
}
