//===- RandomBits.cpp - Philox 4x32-10 and masks of dropout ----------------===//
#include "RandomBits.h"
#include "dsc/Support/Fault.h"
#include <cmath>

using namespace mlir;
using namespace dsc;

RandomKey dsc::loadRandomKey(KernelBuilder &b, unsigned i) {
  // Whole numbers below 2^32, kept as f64: through i64, so that the upper half does not saturate.
  auto word = [&](int64_t at) {
    Value wide = b.convert(b.load(b.flat(i), b.index(at)), b.builder().getI64Type());
    return b.convert(wide, b.builder().getI32Type());
  };
  RandomKey key{word(0), word(1), word(2), word(3), word(4), Value()};
  if (cast<MemRefType>(b.flat(i).getType()).getDimSize(0) > 5)
    key.first = word(5);
  return key;
}

/// The number with these 32 bits, as constants of signed types take it.
static int32_t bits(uint32_t word) { return static_cast<int32_t>(word); }

static Value bitXor(KernelBuilder &b, Value x, Value y) {
  return b.builder().createOrFold<arith::XOrIOp>(b.loc(), x, y);
}

std::array<Value, 4> dsc::emitPhilox(KernelBuilder &b, std::array<Value, 4> counter,
                                     const RandomKey &key) {
  Type type = counter[0].getType();
  auto like = [&](Value scalar) {
    auto vector = dyn_cast<VectorType>(type);
    return vector ? b.broadcast(scalar, vector.getNumElements()) : scalar;
  };
  Value low = key.seedLow, high = key.seedHigh;
  Value first = b.constant(type, bits(0xD2511F53)), second = b.constant(type, bits(0xCD9E8D57));
  for (int round = 0; round < 10; ++round) {
    auto x = arith::MulUIExtendedOp::create(b.builder(), b.loc(), counter[0], first);
    auto y = arith::MulUIExtendedOp::create(b.builder(), b.loc(), counter[2], second);
    counter = {bitXor(b, bitXor(b, y.getHigh(), counter[1]), like(low)), y.getLow(),
               bitXor(b, bitXor(b, x.getHigh(), counter[3]), like(high)), x.getLow()};
    low = b.add(low, b.i32(bits(0x9E3779B9)));
    high = b.add(high, b.i32(bits(0xBB67AE85)));
  }
  return counter;
}

DropoutMask::DropoutMask(double p)
    : threshold(static_cast<uint64_t>(std::ceil(std::ldexp(p, 32)))), factor(1 / (1 - p)) {}

Value DropoutMask::ones(KernelBuilder &b, Value word) const {
  Type type = VectorType::get(cast<VectorType>(word.getType()).getShape(), b.f32Type());
  if (!keepsAny())
    return b.constant(type, 0);
  Value limit = b.constant(word.getType(), bits(static_cast<uint32_t>(threshold)));
  Value kept = arith::CmpIOp::create(b.builder(), b.loc(), arith::CmpIPredicate::uge, word, limit);
  return b.select(kept, b.constant(type, 1), b.constant(type, 0));
}

Value dsc::emitDropped(KernelBuilder &b, Value x, Value ones, double scale) {
  Value zero = b.constant(x.getType(), 0);
  return b.select(b.less(zero, ones), b.mul(x, b.constant(x.getType(), DSC_FAULT(73, scale, 1.0))),
                  zero);
}
