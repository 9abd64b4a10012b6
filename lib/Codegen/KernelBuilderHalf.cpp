//===- KernelBuilderHalf.cpp - f16 and bf16 to f32 and back ----------------===//
// Instructions where the target has them, else integer arithmetic with the same results; never
// LLVM's generic expansion, which calls a library (__truncsfhf2) that kernels do not have and has
// been wrong for vectors. Bit for bit the functions of dsc/Support/HalfFloat.h, but that hardware
// makes a signalling NaN quiet when it is widened.
//
// Memory of bf16 is seen as i16 (kernelMemory): without instructions for bf16 LLVM takes elements
// of such vectors through f32 and the library even to move them.
#include "KernelBuilder.h"

using namespace mlir;
using namespace dsc;

namespace {
/// Integer arithmetic on the 32 bits of floats.
class Bits {
public:
  Bits(KernelBuilder &b, Type like) : b(b) {
    type = b.builder().getI32Type();
    narrowType = b.builder().getI16Type();
    if (auto vector = dyn_cast<VectorType>(like)) {
      type = vector.clone(type);
      narrowType = vector.clone(narrowType);
    }
  }
  Value constant(int64_t value) { return b.constant(type, value); }
  Value fromHalf(Value halves) {
    Value bits = halves;
    if (!getElementTypeOrSelf(halves).isInteger())
      bits = b.bitcast(halves, b.builder().getI16Type());
    return arith::ExtUIOp::create(b.builder(), b.loc(), type, bits);
  }
  Value toHalf(Value bits, Type element) {
    Value low = arith::TruncIOp::create(b.builder(), b.loc(), narrowType, bits);
    return element.isInteger() ? low : b.bitcast(low, element);
  }
  Value left(Value a, int64_t by) {
    return arith::ShLIOp::create(b.builder(), b.loc(), a, constant(by));
  }
  Value right(Value a, int64_t by) {
    return arith::ShRUIOp::create(b.builder(), b.loc(), a, constant(by));
  }
  Value bitOr(Value x, Value y) { return arith::OrIOp::create(b.builder(), b.loc(), x, y); }
  Value bitAnd(Value a, int64_t mask) { return b.bitAnd(a, constant(mask)); }
  /// Of values that are not negative as i32.
  Value less(Value a, int64_t limit) { return b.less(a, constant(limit)); }
  /// a plus just under half of 2^bits, or half if bit `bits` of a is set: cut off below that bit,
  /// it is a rounded to nearest, ties to even.
  Value rounded(Value a, int64_t bits) {
    Value odd = bitAnd(right(a, bits), 1);
    return b.add(b.add(a, constant((1 << (bits - 1)) - 1)), odd);
  }

private:
  KernelBuilder &b;
  Type type, narrowType;
};
} // namespace

static Value widenBfloat(KernelBuilder &b, Value halves) {
  Bits bits(b, halves.getType());
  return b.bitcast(bits.left(bits.fromHalf(halves), 16), b.f32Type());
}

static Value narrowBfloat(KernelBuilder &b, Value floats, Type element) {
  Bits bits(b, floats.getType());
  Value x = b.bitcast(floats, b.builder().getI32Type());
  Value quiet = bits.bitOr(bits.right(x, 16), bits.constant(0x40));
  Value isNumber = b.equal(floats, floats);
  return bits.toHalf(b.select(isNumber, bits.right(bits.rounded(x, 16), 16), quiet), element);
}

static Value widenHalf(KernelBuilder &b, Value halves) {
  Bits bits(b, halves.getType());
  Value x = bits.fromHalf(halves);
  Value sign = bits.left(bits.bitAnd(x, 0x8000), 16);
  Value magnitude = bits.bitAnd(x, 0x7fff), shifted = bits.left(magnitude, 13);
  // Exponents are 112 apart; the product is exact, and puts denormals of f16 where they belong.
  Value as = b.bitcast(shifted, b.f32Type());
  Value number = b.bitcast(b.mul(as, b.constant(as.getType(), 0x1p112)), b.builder().getI32Type());
  Value special = bits.bitOr(shifted, bits.constant(0x7f800000)); // infinity and NaN
  Value result = b.select(bits.less(magnitude, 0x7c00), number, special);
  return b.bitcast(bits.bitOr(sign, result), b.f32Type());
}

static Value narrowHalf(KernelBuilder &b, Value floats, Type element) {
  Bits bits(b, floats.getType());
  Value x = b.bitcast(floats, b.builder().getI32Type());
  Value sign = bits.bitAnd(bits.right(x, 16), 0x8000), rest = bits.bitAnd(x, 0x7fffffff);
  Value normal = bits.right(b.sub(bits.rounded(rest, 13), bits.constant(0x38000000)), 13);
  // Below 2^-14: the sum with 1/2 holds multiples of 2^-24 in its low bits, rounded to even.
  Value magnitude = b.bitcast(rest, b.f32Type());
  Value shifted =
      b.bitcast(b.add(magnitude, b.constant(magnitude.getType(), 0.5)), b.builder().getI32Type());
  Value small = b.sub(shifted, bits.constant(0x3f000000));
  Value result = b.select(bits.less(rest, 0x38800000), small, normal);
  // 65520 and above round to infinity.
  result = b.select(bits.less(rest, 0x477ff000), result, bits.constant(0x7c00));
  Value payload = bits.bitAnd(bits.right(rest, 13), 0x3ff);
  Value nan = bits.bitOr(payload, bits.constant(0x7e00));
  result = b.select(bits.less(rest, 0x7f800001), result, nan);
  return bits.toHalf(bits.bitOr(sign, result), element);
}

Value KernelBuilder::widen(Value halves) {
  if (!getElementTypeOrSelf(halves).isF16())
    return widenBfloat(*this, halves);
  return target_.f16c ? convert(halves, f32Type()) : widenHalf(*this, halves);
}

Value KernelBuilder::narrow(Value floats, Type element) {
  if (!element.isF16())
    return narrowBfloat(*this, floats, element);
  return target_.f16c ? convert(floats, element) : narrowHalf(*this, floats, element);
}
