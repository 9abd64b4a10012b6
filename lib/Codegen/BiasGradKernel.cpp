//===- BiasGradKernel.cpp - column sums ------------------------------------===//
// Rows are summed in order within blocks of 32 and the blocks are added in order: error grows with
// the number of blocks rather than of rows, and a block of rows stays in cache while a thread's
// columns pass over it.
#include "Generators.h"
#include "KernelBuilder.h"
#include "dsc/Dialect/DS/DS.h"
#include "dsc/Support/Fault.h"

using namespace mlir;
using namespace dsc;

namespace {

constexpr int64_t kColumns = 32, kRows = 32;

class BiasGradGenerator final : public KernelGenerator {
  static int64_t columns(Operation *op) {
    return cast<RankedTensorType>(op->getOperand(0).getType()).getShape().back();
  }

  int64_t items(Operation *op) const override { return (columns(op) + kColumns - 1) / kColumns; }

  void generate(Operation *op, ArrayRef<int64_t> resultArgument, func::FuncOp kernel,
                const Target &target) const override {
    auto grad = cast<ds::BiasGradOp>(op);
    KernelBuilder b(kernel, target);
    const int64_t n = columns(op), edge = n % kColumns;
    const int64_t rows = cast<RankedTensorType>(grad.getGradient().getType()).getNumElements() / n;
    Value gradient = b.flat(0), result = b.flat(resultArgument[0]);

    auto sumBlock = [&](Value row, Value column, int64_t width) {
      const int64_t lanes = b.lanes(), vectors = (width + lanes - 1) / lanes;
      auto count = [&](int64_t v) { return std::min(width - v * lanes, lanes); };
      auto at = [&](Value offset, int64_t v) { return b.add(offset, b.index(v * lanes)); };
      Value high = b.min(b.add(row, b.index(kRows)), b.index(rows));
      Carried sums =
          b.forRange(row, high, 1, Carried(vectors, b.splat(0)), [&](Value r, ValueRange partial) {
            Carried next;
            Value offset = b.linear(r, n, column);
            for (int64_t v = 0; v < vectors; ++v)
              next.push_back(b.add(partial[v], b.loadLanes(gradient, at(offset, v), count(v))));
            return next;
          });
      auto addStored = [&] {
        Carried total;
        for (int64_t v = 0; v < vectors; ++v)
          total.push_back(b.add(b.loadLanes(result, at(column, v), count(v)), sums[v]));
        return total;
      };
      if (grad.getInit())
        sums = addStored();
      else
        sums = b.ifElse(
            DSC_FAULT(44, b.equal(row, b.index(0)), b.equal(row, row)), [&] { return sums; },
            addStored);
      for (int64_t v = 0; v < vectors; ++v)
        b.storeLanes(sums[v], result, at(column, v), count(v));
    };

    b.forRange(b.index(0), b.index(rows), kRows, [&](Value row) {
      Value whole = b.min(b.end(), b.index(n / kColumns));
      b.forRange(b.begin(), whole, 1,
                 [&](Value item) { sumBlock(row, b.linear(item, kColumns), kColumns); });
      if (edge)
        b.ifThen(b.less(whole, b.end()), [&] { sumBlock(row, b.index(n - edge), edge); });
    });
    b.finish();
  }
};

} // namespace

GeneratorPointer dsc::createBiasGradGenerator() { return std::make_unique<BiasGradGenerator>(); }
