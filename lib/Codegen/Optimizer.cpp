//===- Optimizer.cpp - kernels of the updates of one variable --------------===//
// Items are blocks of elements, one pass over weight, gradient and state. Scalars are derived in
// f64 by each run of items, in the order written here, and rounded to f32 once. Averages move by m
// + (1 - beta) (g - m): in f32, beta m + (1 - beta) g would drift to another fixed point.
#include "ElementLoop.h"
#include "Generators.h"
#include "VectorMath.h"
#include "dsc/Dialect/DS/DS.h"

using namespace mlir;
using namespace dsc;

static Value scalar(KernelBuilder &b, unsigned argument) {
  return b.load(b.flat(argument), b.index(0));
}

/// f64 scalar as an f32 vector.
static Value spread(KernelBuilder &b, Value value) {
  return b.broadcast(b.convert(value, b.f32Type()));
}

namespace {

class AdamUpdateGenerator : public KernelGenerator {
public:
  int64_t items(Operation *op) const override {
    return blocksOf(elementsOf(op->getResult(0)), elementBlock);
  }
  void generate(Operation *op, ArrayRef<int64_t> resultArgument, func::FuncOp kernel,
                const Target &target) const override {
    auto adam = cast<ds::AdamUpdateOp>(op);
    KernelBuilder b(kernel, target);
    Value one = b.f64(1), rate = scalar(b, 5), beta1 = scalar(b, 6), beta2 = scalar(b, 7);
    Value t = b.add(b.convert(scalar(b, 9), b.builder().getI64Type()),
                    b.constant(b.builder().getI64Type(), 1));
    Value correction1 = b.sub(one, emitPower(b, beta1, t));
    Value correction2 = b.sub(one, emitPower(b, beta2, t));
    Value clip = spread(b, scalar(b, 4)), eps = spread(b, scalar(b, 8));
    Value toward1 = spread(b, b.sub(one, beta1)), toward2 = spread(b, b.sub(one, beta2));
    Value step = spread(b, b.div(rate, correction1));
    Value unbias2 = spread(b, b.div(one, correction2));
    Value decay;
    if (adam.getDecay())
      decay = spread(b, adam.getDecoupled() ? b.mul(rate, scalar(b, 10)) : scalar(b, 10));

    forElements(b, elementsOf(op->getResult(0)), [&](Value at, Value mask) {
      Value w = b.loadVector(b.flat(0), at, mask);
      Value g = b.mul(clip, b.loadVector(b.flat(1), at, mask));
      Value m = b.loadVector(b.flat(2), at, mask), v = b.loadVector(b.flat(3), at, mask);
      if (decay && !adam.getDecoupled())
        g = b.fma(decay, w, g);
      m = b.fma(toward1, b.sub(g, m), m);
      v = b.fma(toward2, b.fma(g, g, b.neg(v)), v);
      Value scale = b.add(b.sqrt(b.mul(v, unbias2)), eps);
      Value change = b.div(b.mul(step, m), scale);
      if (decay && adam.getDecoupled())
        change = b.fma(decay, w, change); // so that w is rounded once
      b.storeVector(b.sub(w, change), b.flat(resultArgument[0]), at, mask);
      b.storeVector(m, b.flat(resultArgument[1]), at, mask);
      b.storeVector(v, b.flat(resultArgument[2]), at, mask);
    });
    b.finish();
  }
};

class SgdUpdateGenerator : public KernelGenerator {
public:
  int64_t items(Operation *op) const override {
    return blocksOf(elementsOf(op->getResult(0)), elementBlock);
  }
  void generate(Operation *op, ArrayRef<int64_t> resultArgument, func::FuncOp kernel,
                const Target &target) const override {
    auto sgd = cast<ds::SgdUpdateOp>(op);
    KernelBuilder b(kernel, target);
    Value clip = spread(b, scalar(b, 3)), rate = spread(b, b.neg(scalar(b, 4)));
    Value momentum = spread(b, scalar(b, 5));
    Value decay = sgd.getDecay() ? spread(b, scalar(b, 6)) : Value();
    forElements(b, elementsOf(op->getResult(0)), [&](Value at, Value mask) {
      Value w = b.loadVector(b.flat(0), at, mask);
      Value g = b.mul(clip, b.loadVector(b.flat(1), at, mask));
      if (decay)
        g = b.fma(decay, w, g);
      Value velocity = b.fma(momentum, b.loadVector(b.flat(2), at, mask), g);
      Value step = sgd.getNesterov() ? b.fma(momentum, velocity, g) : velocity;
      b.storeVector(b.fma(rate, step, w), b.flat(resultArgument[0]), at, mask);
      b.storeVector(velocity, b.flat(resultArgument[1]), at, mask);
    });
    b.finish();
  }
};

} // namespace

GeneratorPointer dsc::createAdamUpdateGenerator() {
  return std::make_unique<AdamUpdateGenerator>();
}
GeneratorPointer dsc::createSgdUpdateGenerator() { return std::make_unique<SgdUpdateGenerator>(); }
