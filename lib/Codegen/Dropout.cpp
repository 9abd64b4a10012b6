//===- Dropout.cpp - kernels of dropout and of its keys --------------------===//
// Items are runs of elements of one sample. A turn of the loop draws four words for each lane of a
// vector of counters: the words of 4 * lanes elements, which are then put in the order of elements.
#include "ElementLoop.h"
#include "Generators.h"
#include "RandomBits.h"
#include "dsc/Dialect/DS/DS.h"
#include "dsc/Support/Hash.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace dsc;

/// Vectors x0 y0 x1 y1 ... of groups of `size` lanes: the first and the second half.
static std::pair<Value, Value> interleave(KernelBuilder &b, Value x, Value y, int64_t size) {
  int64_t lanes = cast<VectorType>(x.getType()).getNumElements();
  SmallVector<int64_t> order;
  for (int64_t group = 0; group < lanes; group += size)
    for (int64_t from : {int64_t(0), lanes})
      for (int64_t i = 0; i < size; ++i)
        order.push_back(from + group + i);
  auto half = [&](int64_t first) -> Value {
    return vector::ShuffleOp::create(b.builder(), b.loc(), x, y,
                                     ArrayRef<int64_t>(order).slice(first, lanes));
  };
  return {half(0), half(lanes)};
}

namespace {

class DropoutGenerator : public KernelGenerator {
public:
  int64_t items(Operation *op) const override {
    return samplesOf(op) * blocksOf(perSample(op), elementBlock);
  }
  void generate(Operation *op, ArrayRef<int64_t> resultArgument, func::FuncOp kernel,
                const Target &target) const override {
    KernelBuilder b(kernel, target);
    DropoutMask mask(cast<ds::DropoutOp>(op).getP().convertToDouble());
    RandomKey key = loadRandomKey(b, 1);
    Value in = b.flat(0), out = b.flat(resultArgument[0]);
    int64_t elements = perSample(op), blocks = blocksOf(elements, elementBlock);
    int64_t lanes = b.lanes(), turn = 4 * lanes;
    b.forRange(b.begin(), b.end(), 1, [&](Value item) {
      Value sample = b.div(item, b.index(blocks));
      Value low = b.linear(b.rem(item, b.index(blocks)), elementBlock);
      Value high = b.min(b.add(low, b.index(elementBlock)), b.index(elements));
      Value base = b.linear(sample, elements);
      // One vector of four: `count` lanes of it exist.
      auto apply = [&](Value at, Value ones, Value lanesMask) {
        Value x = b.loadVector(in, b.add(base, at), lanesMask);
        b.storeVector(emitDropped(b, x, ones, mask.scale()), out, b.add(base, at), lanesMask);
      };
      Value whole = b.sub(high, b.rem(b.sub(high, low), b.index(turn)));
      b.forRange(low, whole, turn, [&](Value at) {
        std::array<Value, 4> ones = onesOf(b, key, mask, sample, at);
        for (int64_t i = 0; i < 4; ++i)
          apply(b.add(at, b.index(i * lanes)), ones[i], Value());
      });
      b.ifThen(b.less(whole, high), [&] {
        std::array<Value, 4> ones = onesOf(b, key, mask, sample, whole);
        for (int64_t i = 0; i < 4; ++i) {
          Value at = b.add(whole, b.index(i * lanes));
          b.ifThen(b.less(at, high), [&] { apply(at, ones[i], b.mask(b.sub(high, at))); });
        }
      });
    });
    b.finish();
  }

private:
  static int64_t samplesOf(Operation *op) {
    return cast<ShapedType>(op->getResult(0).getType()).getShape().front();
  }
  static int64_t perSample(Operation *op) { return elementsOf(op->getResult(0)) / samplesOf(op); }

  /// Ones and zeros of elements [at, at + 4 lanes) of a sample, in four vectors; `at` is a multiple
  /// of 4.
  static std::array<Value, 4> onesOf(KernelBuilder &b, const RandomKey &key,
                                     const DropoutMask &mask, Value sample, Value at) {
    Type integer = b.builder().getI32Type();
    int64_t lanes = b.lanes();
    SmallVector<int32_t> steps;
    for (int64_t i = 0; i < lanes; ++i)
      steps.push_back(i);
    auto type = VectorType::get({lanes}, integer);
    Value lane = arith::ConstantOp::create(b.builder(), b.loc(),
                                           DenseElementsAttr::get(type, ArrayRef<int32_t>(steps)));
    Value first = b.convert(b.div(at, b.index(4)), integer);
    if (key.first)
      first = b.add(first, key.first);
    Value index = b.add(key.sample, b.convert(sample, integer));
    std::array<Value, 4> counter = {b.add(b.broadcast(first, lanes), lane),
                                    b.broadcast(index, lanes), b.broadcast(key.step, lanes),
                                    b.broadcast(key.stream, lanes)};
    std::array<Value, 4> words = emitPhilox(b, counter, key);
    for (Value &word : words)
      word = mask.ones(b, word);
    auto [low01, high01] = interleave(b, words[0], words[1], 1);
    auto [low23, high23] = interleave(b, words[2], words[3], 1);
    auto [a, c] = interleave(b, low01, low23, 2);
    auto [d, e] = interleave(b, high01, high23, 2);
    return {a, c, d, e};
  }
};

class RandomKeyGenerator : public KernelGenerator {
public:
  int64_t items(Operation *) const override { return 1; }
  void generate(Operation *op, ArrayRef<int64_t> resultArgument, func::FuncOp kernel,
                const Target &target) const override {
    KernelBuilder b(kernel, target);
    Value out = b.flat(resultArgument[0]);
    uint32_t stream = static_cast<uint32_t>(nameHash(cast<ds::RandomKeyOp>(op).getPath()));
    b.forRange(b.begin(), b.end(), 1, [&](Value) {
      for (unsigned i = 0; i < 4; ++i)
        b.store(b.load(b.flat(i), b.index(0)), out, b.index(i));
      b.store(b.f64(stream), out, b.index(4));
    });
    b.finish();
  }
};

} // namespace

GeneratorPointer dsc::createDropoutGenerator() { return std::make_unique<DropoutGenerator>(); }
GeneratorPointer dsc::createRandomKeyGenerator() { return std::make_unique<RandomKeyGenerator>(); }
