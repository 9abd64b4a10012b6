//===- Optimizer.cpp - kernels of the updates of one variable --------------===//
// Items are blocks of elements, one pass over weight, gradient and state. Scalars are derived in
// f64 by each run of items, in the order written here, and rounded to f32 once. Averages move by m
// + (1 - beta) (g - m): in f32, beta m + (1 - beta) g would drift to another fixed point.
#include "ElementLoop.h"
#include "Generators.h"
#include "VectorMath.h"
#include "dsc/Dialect/DS/DS.h"
#include "dsc/Support/Fault.h"

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

/// Items of all kernels here.
class UpdateGenerator : public KernelGenerator {
public:
  int64_t items(Operation *op) const override {
    return blocksOf(elementsOf(op->getResult(0)), elementBlock);
  }
};

class AdamUpdateGenerator : public UpdateGenerator {
public:
  void generate(Operation *op, ArrayRef<int64_t> resultArgument, func::FuncOp kernel,
                const Target &target) const override {
    auto adam = cast<ds::AdamUpdateOp>(op);
    KernelBuilder b(kernel, target);
    Value one = b.f64(1), rate = scalar(b, 5), beta1 = scalar(b, 6), beta2 = scalar(b, 7);
    Value t = b.add(b.convert(scalar(b, 9), b.builder().getI64Type()),
                    b.constant(b.builder().getI64Type(), 1));
    Value correction1 = b.sub(one, emitPower(b, beta1, t));
    Value later = DSC_FAULT(61, t, b.add(t, b.constant(b.builder().getI64Type(), 1)));
    Value correction2 = b.sub(one, emitPower(b, beta2, later));
    Value clip = spread(b, scalar(b, 4)), eps = spread(b, scalar(b, 8));
    Value toward1 = spread(b, b.sub(one, beta1)), toward2 = spread(b, b.sub(one, beta2));
    Value step = spread(b, b.div(rate, correction1));
    Value unbias2 = spread(b, b.div(one, correction2));
    Value decay;
    if (adam.getDecay())
      decay = spread(b, DSC_FAULT(62, adam.getDecoupled(), false) ? b.mul(rate, scalar(b, 10))
                                                                  : scalar(b, 10));

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
      w = b.sub(w, change);
      b.storeVector(w, b.flat(resultArgument[0]), at, mask);
      if (adam.getNewHalf())
        b.storeVector(w, b.flat(resultArgument[3]), at, mask);
      b.storeVector(m, b.flat(resultArgument[1]), at, mask);
      b.storeVector(v, b.flat(resultArgument[2]), at, mask);
    });
    b.finish();
  }
};

class SgdUpdateGenerator : public UpdateGenerator {
public:
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
      Value step =
          sgd.getNesterov() ? b.fma(momentum, velocity, DSC_FAULT(63, g, velocity)) : velocity;
      w = b.fma(rate, step, w);
      b.storeVector(w, b.flat(resultArgument[0]), at, mask);
      if (sgd.getNewHalf())
        b.storeVector(w, b.flat(resultArgument[2]), at, mask);
      b.storeVector(velocity, b.flat(resultArgument[1]), at, mask);
    });
    b.finish();
  }
};

class LionUpdateGenerator : public UpdateGenerator {
public:
  void generate(Operation *op, ArrayRef<int64_t> resultArgument, func::FuncOp kernel,
                const Target &target) const override {
    auto lion = cast<ds::LionUpdateOp>(op);
    KernelBuilder b(kernel, target);
    Value one = b.f64(1), rate = scalar(b, 4), zero = b.splat(0);
    Value clip = spread(b, scalar(b, 3)), step = spread(b, rate), back = b.neg(step);
    Value toward1 = spread(b, b.sub(one, scalar(b, 5)));
    Value toward2 = spread(b, b.sub(one, scalar(b, 6)));
    Value decay = lion.getDecay() ? spread(b, b.mul(rate, scalar(b, 7))) : Value();
    forElements(b, elementsOf(op->getResult(0)), [&](Value at, Value mask) {
      Value w = b.loadVector(b.flat(0), at, mask);
      Value g = b.mul(clip, b.loadVector(b.flat(1), at, mask));
      Value m = b.loadVector(b.flat(2), at, mask), distance = b.sub(g, m);
      Value c = b.fma(toward1, distance, m);
      Value change = b.select(b.less(zero, c), step, b.select(b.less(c, zero), back, zero));
      if (decay)
        change = b.fma(decay, w, change);
      b.storeVector(b.sub(w, change), b.flat(resultArgument[0]), at, mask);
      b.storeVector(b.fma(DSC_FAULT(64, toward2, toward1), distance, m), b.flat(resultArgument[1]),
                    at, mask);
    });
    b.finish();
  }
};

class LambDirectionGenerator : public UpdateGenerator {
public:
  void generate(Operation *op, ArrayRef<int64_t> resultArgument, func::FuncOp kernel,
                const Target &target) const override {
    auto lamb = cast<ds::LambDirectionOp>(op);
    KernelBuilder b(kernel, target);
    Value one = b.f64(1), beta1 = scalar(b, 5), beta2 = scalar(b, 6);
    Value t = b.add(b.convert(scalar(b, 8), b.builder().getI64Type()),
                    b.constant(b.builder().getI64Type(), 1));
    Value unbias1 = spread(b, b.div(one, b.sub(one, emitPower(b, beta1, t))));
    Value unbias2 = spread(b, b.div(one, b.sub(one, emitPower(b, beta2, t))));
    Value clip = spread(b, scalar(b, 4)), eps = spread(b, scalar(b, 7));
    Value toward1 = spread(b, b.sub(one, beta1)), toward2 = spread(b, b.sub(one, beta2));
    Value decay = lamb.getDecay() ? spread(b, scalar(b, 9)) : Value();
    forElements(b, elementsOf(op->getResult(0)), [&](Value at, Value mask) {
      Value w = b.loadVector(b.flat(0), at, mask);
      Value g = b.mul(clip, b.loadVector(b.flat(1), at, mask));
      Value m = b.loadVector(b.flat(2), at, mask), v = b.loadVector(b.flat(3), at, mask);
      m = b.fma(toward1, b.sub(g, m), m);
      v = b.fma(toward2, b.fma(g, g, b.neg(v)), v);
      Value scale = b.add(b.sqrt(b.mul(v, unbias2)), eps);
      Value direction = b.div(b.mul(unbias1, m), scale);
      if (decay)
        direction = b.fma(decay, w, direction);
      b.storeVector(direction, b.flat(resultArgument[0]), at, mask);
      b.storeVector(m, b.flat(resultArgument[1]), at, mask);
      b.storeVector(v, b.flat(resultArgument[2]), at, mask);
    });
    b.finish();
  }
};

class DescendGenerator : public UpdateGenerator {
public:
  void generate(Operation *op, ArrayRef<int64_t> resultArgument, func::FuncOp kernel,
                const Target &target) const override {
    auto descend = cast<ds::DescendOp>(op);
    KernelBuilder b(kernel, target);
    Value rate = scalar(b, 2), step = spread(b, b.mul(rate, scalar(b, 3)));
    Value decay = descend.getDecay() ? spread(b, b.mul(rate, scalar(b, 4))) : Value();
    forElements(b, elementsOf(op->getResult(0)), [&](Value at, Value mask) {
      Value w = b.loadVector(b.flat(0), at, mask);
      Value change = b.mul(step, b.loadVector(b.flat(1), at, mask));
      if (decay)
        change = b.fma(decay, w, change);
      b.storeVector(b.sub(w, change), b.flat(resultArgument[0]), at, mask);
    });
    b.finish();
  }
};

class ClipValuesGenerator : public UpdateGenerator {
public:
  void generate(Operation *op, ArrayRef<int64_t> resultArgument, func::FuncOp kernel,
                const Target &target) const override {
    KernelBuilder b(kernel, target);
    Value limit = scalar(b, 2), infinity = b.f64(std::numeric_limits<double>::infinity());
    Value bound = b.select(b.equal(limit, b.f64(0)), infinity, b.div(limit, scalar(b, 1)));
    bound = spread(b, bound);
    Value lower = b.neg(bound);
    forElements(b, elementsOf(op->getResult(0)), [&](Value at, Value mask) {
      Value g = b.loadVector(b.flat(0), at, mask);
      b.storeVector(DSC_FAULT(65, b.max(lower, b.min(bound, g)), b.min(bound, g)),
                    b.flat(resultArgument[0]), at, mask);
    });
    b.finish();
  }
};

} // namespace

GeneratorPointer dsc::createAdamUpdateGenerator() {
  return std::make_unique<AdamUpdateGenerator>();
}
GeneratorPointer dsc::createSgdUpdateGenerator() { return std::make_unique<SgdUpdateGenerator>(); }
GeneratorPointer dsc::createLionUpdateGenerator() {
  return std::make_unique<LionUpdateGenerator>();
}
GeneratorPointer dsc::createLambDirectionGenerator() {
  return std::make_unique<LambDirectionGenerator>();
}
GeneratorPointer dsc::createDescendGenerator() { return std::make_unique<DescendGenerator>(); }
GeneratorPointer dsc::createClipValuesGenerator() {
  return std::make_unique<ClipValuesGenerator>();
}
