//===- Scalar.cpp - kernels of norms, clipping, schedules and counters -----===//
// All in f64. Square sums: items are blocks of 1,024 elements. The others are one item.
#include "ElementLoop.h"
#include "Generators.h"
#include "VectorMath.h"
#include "dsc/Dialect/DS/Schedules.h"
#include "dsc/Support/Fault.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace dsc;

static constexpr int64_t sumBlock = 1024;

static Value scalar(KernelBuilder &b, unsigned argument) {
  return b.load(b.flat(argument), b.index(0));
}

namespace {

class SquareSumGenerator : public KernelGenerator {
public:
  int64_t items(Operation *op) const override {
    return blocksOf(elementsOf(op->getOperand(0)), sumBlock);
  }
  void generate(Operation *op, ArrayRef<int64_t> resultArgument, func::FuncOp kernel,
                const Target &target) const override {
    KernelBuilder b(kernel, target);
    int64_t count = elementsOf(op->getOperand(0)), whole = count / sumBlock;
    Value out = b.flat(resultArgument[0]);
    b.forRange(b.begin(), b.min(b.end(), b.index(whole)), 1, [&](Value block) {
      b.store(squares(b, b.linear(block, sumBlock), sumBlock), out, block);
    });
    if (whole * sumBlock < count)
      b.forRange(b.max(b.begin(), b.index(whole)), b.end(), 1, [&](Value block) {
        b.store(squares(b, b.index(whole * sumBlock), count - whole * sumBlock), out, block);
      });
    b.finish();
  }

private:
  static Value squares(KernelBuilder &b, Value base, int64_t count) {
    Value zeros = b.constant(b.vectorType(b.f64Type(), b.lanes()), 0);
    Value sum = reduceRun(
        b, count, {zeros},
        [&](Value at, Value mask, ValueRange sums) {
          Value x = b.convert(b.loadVector(b.flat(0), b.add(base, at), mask), b.f64Type());
          return Carried{b.fma(x, x, sums[0])};
        },
        [&](Value x, Value y) { return b.add(x, y); })[0];
    return b.reduceAdd(sum);
  }
};

/// The operands differ in size: a loop over their numbers picks each as memref<?xf64>, and one copy
/// of the tree serves all.
class GlobalNormGenerator : public KernelGenerator {
public:
  int64_t items(Operation *) const override { return 1; }
  int64_t workspaceBytes(Operation *op, const Target &) const override {
    int64_t largest = 0;
    for (Value operand : op->getOperands())
      largest = std::max(largest, elementsOf(operand));
    return blocksOf(largest, 2) * 8;
  }
  void generate(Operation *op, ArrayRef<int64_t> resultArgument, func::FuncOp kernel,
                const Target &target) const override {
    KernelBuilder b(kernel, target);
    Value level = b.workspace(0, workspaceBytes(op, target) / 8, b.f64Type());
    auto anySize = MemRefType::get({ShapedType::kDynamic}, b.f64Type());
    level = memref::CastOp::create(b.builder(), b.loc(), anySize, level);
    b.forRange(b.begin(), b.end(), 1, [&](Value) {
      Carried sum = b.forRange(b.index(0), b.index(op->getNumOperands()), 1, {b.f64(0)},
                               [&](Value i, ValueRange sums) {
                                 auto [source, count] = operand(b, op, i, anySize);
                                 halve(b, source, count, level);
                                 Value rest = half(b, count);
                                 treeSum(b, level, rest);
                                 return Carried{b.add(sums[0], b.load(level, b.index(0)))};
                               });
      b.store(b.sqrt(sum[0]), b.flat(resultArgument[0]), b.index(0));
    });
    b.finish();
  }

private:
  static Value half(KernelBuilder &b, Value count) {
    return arith::ShRUIOp::create(b.builder(), b.loc(), b.add(count, b.index(1)), b.index(1));
  }

  /// to[i] = from[2 i] + from[2 i + 1], a last odd entry as it is; `to` may be `from`.
  static void halve(KernelBuilder &b, Value from, Value count, Value to) {
    Value pairs = arith::ShRUIOp::create(b.builder(), b.loc(), count, b.index(1));
    b.forRange(b.index(0), pairs, 1, [&](Value i) {
      Value first = b.add(i, i);
      Value sum = b.add(b.load(from, first), b.load(from, b.add(first, b.index(1))));
      b.store(sum, to, i);
    });
    b.ifThen(b.less(DSC_FAULT(72, b.add(pairs, pairs), count), count),
             [&] { b.store(b.load(from, b.add(pairs, pairs)), to, pairs); });
  }

  static void treeSum(KernelBuilder &b, Value level, Value count) {
    OpBuilder &builder = b.builder();
    scf::WhileOp::create(
        builder, b.loc(), TypeRange{count.getType()}, ValueRange{count},
        [&](OpBuilder &inner, Location loc, ValueRange state) {
          OpBuilder::InsertionGuard guard(builder);
          builder.setInsertionPoint(inner.getInsertionBlock(), inner.getInsertionPoint());
          scf::ConditionOp::create(builder, loc, b.less(b.index(1), state[0]), state);
        },
        [&](OpBuilder &inner, Location loc, ValueRange state) {
          OpBuilder::InsertionGuard guard(builder);
          builder.setInsertionPoint(inner.getInsertionBlock(), inner.getInsertionPoint());
          halve(b, level, state[0], level);
          Value next = half(b, state[0]);
          scf::YieldOp::create(builder, loc, next);
        });
  }

  /// Operand number i and its size.
  static std::pair<Value, Value> operand(KernelBuilder &b, Operation *op, Value i,
                                         MemRefType anySize) {
    OpBuilder &builder = b.builder();
    SmallVector<int64_t> cases;
    for (unsigned k = 1; k < op->getNumOperands(); ++k)
      cases.push_back(k);
    auto pick = scf::IndexSwitchOp::create(
        builder, b.loc(), TypeRange{anySize, builder.getIndexType()}, i, cases, cases.size());
    for (unsigned k = 0; k < op->getNumOperands(); ++k) {
      Value memory = b.flat(k);
      OpBuilder::InsertionGuard guard(builder);
      builder.createBlock(k == 0 ? &pick.getDefaultRegion() : &pick.getCaseRegions()[k - 1]);
      Value cast = memref::CastOp::create(builder, b.loc(), anySize, memory);
      scf::YieldOp::create(builder, b.loc(),
                           ValueRange{cast, b.index(elementsOf(op->getOperand(k)))});
    }
    return {pick.getResult(0), pick.getResult(1)};
  }
};

class ScalarGenerator : public KernelGenerator {
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

class ClipFactorGenerator : public ScalarGenerator {
  Value value(KernelBuilder &b, Operation *) const override {
    Value norm = scalar(b, 0), limit = scalar(b, 1), one = b.f64(1), zero = b.f64(0);
    Value factor = DSC_FAULT(67, b.min(b.div(limit, norm), one), b.div(limit, norm));
    factor = b.select(b.equal(limit, zero), one, factor);
    return b.select(b.equal(norm, zero), one, factor);
  }
};

class LearningRateGenerator : public ScalarGenerator {
  Value value(KernelBuilder &b, Operation *op) const override {
    auto rate = cast<ds::LearningRateOp>(op);
    return ds::isDeepSpeedSchedule(rate.getSchedule()) ? deepSpeed(b, rate) : ours(b, rate);
  }

  static Value ours(KernelBuilder &b, ds::LearningRateOp op) {
    Value t = scalar(b, 0), peak = scalar(b, 1), floor = scalar(b, 2), warmup = scalar(b, 3),
          total = scalar(b, 4), one = b.f64(1);
    Value since = b.sub(t, warmup), rate = peak;
    auto fallen = [&](Value left) { // `left` of the way from floor to peak, none at the end
      Value value = b.add(floor, b.mul(b.sub(peak, floor), left));
      return b.select(b.less(t, total), value, floor);
    };
    switch (op.getSchedule()) {
    case ds::Schedule::Linear:
      rate = fallen(b.sub(one, b.div(since, b.sub(total, warmup))));
      break;
    case ds::Schedule::Cosine:
      rate = fallen(halfCosine(b, b.div(since, DSC_FAULT(69, b.sub(total, warmup), total))));
      break;
    case ds::Schedule::InverseSqrt: {
      Value scale = scalar(b, 5);
      rate = b.max(floor, b.mul(peak, b.sqrt(b.div(scale, b.add(since, scale)))));
      break;
    }
    case ds::Schedule::Wsd: {
      Value length = scalar(b, 5), start = b.sub(total, length);
      Value falling = fallen(b.sub(one, b.div(b.sub(t, start), length)));
      rate = b.select(b.less(t, start), peak, falling);
      break;
    }
    default:
      break;
    }
    Value rising = b.div(b.mul(peak, DSC_FAULT(68, b.add(t, one), t)), warmup);
    return b.select(b.less(t, warmup), rising, rate);
  }

  static Value deepSpeed(KernelBuilder &b, ds::LearningRateOp op) {
    Value t = scalar(b, 0), peak = scalar(b, 1), floor = scalar(b, 2), total = scalar(b, 4);
    Value warmup = b.max(scalar(b, 3), b.f64(2)), one = b.f64(1), zero = b.f64(0);
    Value risen = op.getLinearWarmup()
                      ? b.div(t, warmup)
                      : b.div(emitLogDouble(b, b.add(t, one)), emitLogDouble(b, warmup));
    Value warming = b.less(t, warmup);
    if (op.getSchedule() == ds::Schedule::WarmupCosineLR) {
      Value least = scalar(b, 5);
      Value length = b.max(b.sub(total, warmup), zero);
      Value done = b.min(b.div(b.add(b.sub(t, warmup), one), length), one);
      Value falling = b.add(floor, b.mul(b.sub(one, floor), halfCosine(b, b.max(done, zero))));
      Value rising = b.add(least, b.mul(b.sub(one, least), risen));
      return b.mul(peak, b.select(warming, rising, falling));
    }
    Value after = one;
    if (op.getSchedule() == ds::Schedule::WarmupDecayLR)
      after = b.max(b.div(b.sub(total, t), b.max(b.sub(total, warmup), one)), zero);
    return b.add(floor, b.mul(b.sub(peak, floor), b.select(warming, risen, after)));
  }

  /// From 1 to 0 along a half cosine; `done` in [0, 1].
  static Value halfCosine(KernelBuilder &b, Value done) {
    return b.div(b.add(b.f64(1), emitCosPi(b, done)), b.f64(2));
  }
};

class IncrementGenerator : public ScalarGenerator {
  Value value(KernelBuilder &b, Operation *op) const override {
    auto increment = cast<ds::IncrementOp>(op);
    Value by = increment.getBy() ? scalar(b, 1) : b.f64(increment.getStep().convertToDouble());
    return b.add(scalar(b, 0), by);
  }
};

class UnscaleGenerator : public ScalarGenerator {
  Value value(KernelBuilder &b, Operation *) const override {
    return b.div(scalar(b, 0), scalar(b, 1));
  }
};

class ZerosGenerator : public KernelGenerator {
public:
  int64_t items(Operation *op) const override {
    return blocksOf(elementsOf(op->getResult(0)), elementBlock);
  }
  void generate(Operation *op, ArrayRef<int64_t> resultArgument, func::FuncOp kernel,
                const Target &target) const override {
    KernelBuilder b(kernel, target);
    Value out = b.flat(resultArgument[0]);
    Type element = cast<ShapedType>(op->getResult(0).getType()).getElementType();
    forElements(b, elementsOf(op->getResult(0)), [&](Value at, Value mask) {
      b.storeVector(b.constant(b.vectorType(element, b.lanes()), 0), out, at, mask);
    });
    b.finish();
  }
};

/// Branches are selects: every operand is a scalar, and nothing divides by zero.
class LossScaleUpdateGenerator : public KernelGenerator {
public:
  int64_t items(Operation *) const override { return 1; }
  void generate(Operation *op, ArrayRef<int64_t> resultArgument, func::FuncOp kernel,
                const Target &target) const override {
    KernelBuilder b(kernel, target);
    auto update = cast<ds::LossScaleUpdateOp>(op);
    b.forRange(b.begin(), b.end(), 1, [&](Value) {
      Value count = scalar(b, 0), loss = scalar(b, 1), norm = scalar(b, 2), scale = scalar(b, 3),
            good = scalar(b, 4), used = scalar(b, 5), floored = scalar(b, 6), window = scalar(b, 7),
            hysteresis = scalar(b, 8), floor = scalar(b, 9), cap = scalar(b, 10);
      Value zero = b.f64(0), one = b.f64(1), two = b.f64(2);
      // x - x is 0 where x is finite, NaN where it is not.
      Value finite = b.bitAnd(b.equal(b.sub(loss, loss), zero), b.equal(b.sub(norm, norm), zero));
      Value empty = b.equal(count, zero);

      Value spent = b.less(DSC_FAULT(70, b.add(used, one), used), hysteresis); // hysteresis is left
      Value halved = b.select(spent, scale, b.max(b.div(scale, two), floor));
      Value usedMore = b.select(spent, b.add(used, one), used);
      Value atFloor = b.select(b.less(floor, scale), zero, b.add(floored, one));

      // A multiple of the window is divided exactly, so cutting off the fraction changes nothing.
      Value next = b.add(good, one), quotient = b.div(next, window);
      Value whole =
          arith::FPToSIOp::create(b.builder(), b.loc(), b.builder().getI64Type(), quotient);
      whole = arith::SIToFPOp::create(b.builder(), b.loc(), b.f64Type(), whole);
      Value grow = b.equal(b.mul(whole, window), next);
      Value grown =
          b.select(grow, DSC_FAULT(71, b.min(b.mul(scale, two), cap), b.mul(scale, two)), scale);
      Value usedLess = update.getConsecutive() ? zero : b.select(grow, zero, used);

      Value results[] = {b.select(finite, grown, halved), b.select(finite, next, zero),
                         b.select(finite, usedLess, usedMore), b.select(finite, zero, atFloor)};
      Value before[] = {scale, good, used, floored};
      for (int i = 0; i < 4; ++i)
        b.store(b.select(empty, before[i], results[i]), b.flat(resultArgument[i]), b.index(0));
    });
    b.finish();
  }
};

class ScaleRateGenerator : public ScalarGenerator {
  Value value(KernelBuilder &b, Operation *) const override {
    return b.mul(scalar(b, 0), scalar(b, 1));
  }
};

class TrustRatioGenerator : public ScalarGenerator {
  Value value(KernelBuilder &b, Operation *) const override {
    Value weight = scalar(b, 0), direction = scalar(b, 1), one = b.f64(1), zero = b.f64(0);
    Value ratio = b.max(scalar(b, 2), DSC_FAULT(66, b.min(b.div(weight, direction), scalar(b, 3)),
                                                b.div(weight, direction)));
    ratio = b.select(b.less(zero, weight), ratio, one);
    return b.select(b.less(zero, direction), ratio, one);
  }
};

class UpdatePowerGenerator : public ScalarGenerator {
  Value value(KernelBuilder &b, Operation *) const override {
    Value logarithm = emitLogDouble(b, b.add(scalar(b, 0), b.f64(1)));
    return emitExpDouble(b, b.max(b.f64(-708), b.mul(scalar(b, 1), logarithm)));
  }
};

class AdafactorFactorGenerator : public ScalarGenerator {
  Value value(KernelBuilder &b, Operation *op) const override {
    auto elements = static_cast<double>(cast<ds::AdafactorFactorOp>(op).getElements());
    Value rate = scalar(b, 0), one = b.f64(1), root = b.f64(std::sqrt(elements));
    Value size = b.max(scalar(b, 4), b.div(scalar(b, 1), root));
    Value step = b.mul(rate, b.sqrt(b.add(scalar(b, 3), one))); // 1 / 0 is infinite: no limit
    Value relative = b.min(b.div(one, step), one);
    Value excess = b.div(b.div(scalar(b, 2), root), scalar(b, 5));
    Value limit = DSC_FAULT(102, b.max(excess, one), one);
    return b.div(b.mul(size, relative), limit);
  }
};

} // namespace

GeneratorPointer dsc::createSquareSumGenerator() { return std::make_unique<SquareSumGenerator>(); }
GeneratorPointer dsc::createGlobalNormGenerator() {
  return std::make_unique<GlobalNormGenerator>();
}
GeneratorPointer dsc::createClipFactorGenerator() {
  return std::make_unique<ClipFactorGenerator>();
}
GeneratorPointer dsc::createLearningRateGenerator() {
  return std::make_unique<LearningRateGenerator>();
}
GeneratorPointer dsc::createIncrementGenerator() { return std::make_unique<IncrementGenerator>(); }
GeneratorPointer dsc::createScaleRateGenerator() { return std::make_unique<ScaleRateGenerator>(); }
GeneratorPointer dsc::createTrustRatioGenerator() {
  return std::make_unique<TrustRatioGenerator>();
}
GeneratorPointer dsc::createUpdatePowerGenerator() {
  return std::make_unique<UpdatePowerGenerator>();
}
GeneratorPointer dsc::createAdafactorFactorGenerator() {
  return std::make_unique<AdafactorFactorGenerator>();
}
GeneratorPointer dsc::createZerosGenerator() { return std::make_unique<ZerosGenerator>(); }
GeneratorPointer dsc::createUnscaleGenerator() { return std::make_unique<UnscaleGenerator>(); }
GeneratorPointer dsc::createLossScaleUpdateGenerator() {
  return std::make_unique<LossScaleUpdateGenerator>();
}
