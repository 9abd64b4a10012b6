//===- VectorMath.cpp - exp, log, tanh, erf, cos and powers ----------------===//
// Polynomials are minimax fits (weighted least squares, reweighted until the error is level) of the
// functions named beside them; coefficients are rounded to f32. Without fused multiply-add the
// reductions stay exact because the high part of ln 2 has 9 bits.
#include "VectorMath.h"
#include "dsc/Dialect/DS/DS.h"
#include "dsc/Support/Fault.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace dsc;

static Value shiftLeft(KernelBuilder &b, Value a, int64_t bits) {
  return arith::ShLIOp::create(b.builder(), b.loc(), a, b.constant(a.getType(), bits));
}

static Value shiftRight(KernelBuilder &b, Value a, int64_t bits) {
  return arith::ShRSIOp::create(b.builder(), b.loc(), a, b.constant(a.getType(), bits));
}

/// c[0] + c[1] x + c[2] x^2 + ..., by Horner's rule.
static Value polynomial(KernelBuilder &b, Value x, ArrayRef<double> c) {
  Type type = x.getType();
  Value sum = b.constant(type, c.back());
  for (double coefficient : llvm::reverse(c.drop_back()))
    sum = b.fma(sum, x, b.constant(type, coefficient));
  return sum;
}

namespace {
/// x = n ln 2 + r with |r| <= ln 2 / 2 (a little more without fused multiply-add).
struct Reduced {
  Value n; ///< i32 with n in its low bits, see `magic`
  Value r;
};
} // namespace

// Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits of the sum.
static constexpr double magic = 12582912.0;
static constexpr int64_t magicBits = 0x4B400000;
static constexpr double log2e = 1.44269504088896341;
static constexpr double ln2High = 0.693359375, ln2Low = -2.12194440054690583e-4;

static Reduced reduceByLn2(KernelBuilder &b, Value x) {
  Type type = x.getType();
  Value sum = b.fma(x, b.constant(type, log2e), b.constant(type, magic));
  Value n = b.sub(sum, b.constant(type, magic));
  Value r = b.fma(n, b.constant(type, -ln2High), x);
  r = b.fma(n, b.constant(type, -ln2Low), r);
  return {b.bitcast(sum, b.builder().getI32Type()), r};
}

/// 2^n from the low bits of `n`, for -127 <= n <= 127; n = -127 gives 0.
static Value powerOfTwo(KernelBuilder &b, Value n) {
  Value bits = b.add(shiftLeft(b, n, 23), b.constant(n.getType(), 0x3F800000));
  return b.bitcast(bits, b.f32Type());
}

/// e^r on |r| <= 0.348: (e^r - 1 - r) / r^2 to 3e-9.
static Value expOfReduced(KernelBuilder &b, Value r) {
  Value q = polynomial(b, r, {0.49999994, 0.166665182, 0.0416684151, 0.00836900156, 0.00138140086});
  Value one = b.constant(r.getType(), 1);
  return b.add(b.fma(b.mul(r, r), q, r), one);
}

Value dsc::emitExp(KernelBuilder &b, Value x) {
  Type type = x.getType();
  // Beyond these the result is 0 or inf anyway. NaN passes both.
  x = b.max(b.constant(type, -104), x);
  x = b.min(b.constant(type, 89), x);
  Reduced reduced = reduceByLn2(b, x);
  // 2^n in two factors, for n down to -150: the second product alone may round.
  Value n = b.sub(reduced.n, b.constant(reduced.n.getType(), magicBits));
  Value half = shiftRight(b, n, 1);
  Value p = expOfReduced(b, reduced.r);
  return b.mul(b.mul(p, powerOfTwo(b, half)), powerOfTwo(b, b.sub(n, half)));
}

Value dsc::emitExpFlushed(KernelBuilder &b, Value x) {
  // At the bound n = -127, for which powerOfTwo is 0.
  Reduced reduced = reduceByLn2(b, b.max(b.constant(x.getType(), -88), x));
  return b.mul(expOfReduced(b, reduced.r), powerOfTwo(b, reduced.n));
}

Value dsc::emitLog(KernelBuilder &b, Value x) {
  Type type = x.getType();
  Value smallest = b.constant(type, 1.17549435082228751e-38);
  Value denormal = b.less(x, smallest);
  Value scaled = b.select(denormal, b.mul(x, b.constant(type, 8388608)), x);
  Value bits = b.bitcast(scaled, b.builder().getI32Type());
  // x = 2^e m with sqrt(1/2) <= m < sqrt(2).
  Value e = shiftRight(b, b.sub(bits, b.constant(bits.getType(), 0x3F3504F3)), 23);
  Value f = b.sub(b.bitcast(b.sub(bits, shiftLeft(b, e, 23)), b.f32Type()), b.constant(type, 1));
  Value exponent = b.sub(b.convert(e, b.f32Type()),
                         b.select(denormal, b.constant(type, 23), b.constant(type, 0)));
  // (log(1 + f) - f + f^2 / 2) / f^3 to 8e-10 of log(1 + f).
  Value p = polynomial(b, f,
                       {0.333333105, -0.249999866, 0.20002231, -0.166692585, 0.142185524,
                        -0.123841286, 0.118735746, -0.1179149, 0.0691608265});
  Value square = b.mul(f, f);
  Value y = b.fma(exponent, b.constant(type, ln2Low), b.mul(b.mul(f, square), p));
  y = b.add(f, b.fma(square, b.constant(type, -0.5), y));
  y = b.fma(exponent, b.constant(type, ln2High), y);
  Value zero = b.constant(type, 0);
  Value infinity = b.constant(type, std::numeric_limits<double>::infinity());
  y = b.select(b.less(x, infinity), y, x);
  y = b.select(b.equal(x, zero), b.neg(infinity), y);
  return b.select(b.less(x, zero), b.constant(type, std::numeric_limits<double>::quiet_NaN()), y);
}

static Value withSignOf(KernelBuilder &b, Value magnitude, Value x) {
  Value negative = b.less(x, b.constant(x.getType(), 0));
  return b.select(negative, b.neg(magnitude), magnitude);
}

Value dsc::emitTanh(KernelBuilder &b, Value x) {
  // tanh x = (e^2x - 1) / (e^2x + 1), with e^2x - 1 to full relative precision near 0.
  // Of |x|: there the errors of numerator and denominator cancel.
  Type type = x.getType();
  Value a = b.min(b.constant(type, 9.1), b.abs(x));
  Reduced reduced = reduceByLn2(b, b.add(a, a));
  Value r = reduced.r;
  Value q = polynomial(
      b, r, {0.5, 0.166666672, 0.0416663475, 0.00833327323, 0.00139414426, 0.000199141636});
  Value minusOne = b.fma(b.mul(r, r), q, r);
  Value scale = powerOfTwo(b, reduced.n);
  Value y = b.fma(scale, minusOne, b.sub(scale, b.constant(type, 1)));
  return withSignOf(b, b.div(y, b.add(y, b.constant(type, 2))), x);
}

/// erf(y) / y - 1 on |y| <= 1, to 2e-9, from z = y^2.
static Value erfNearZero(KernelBuilder &b, Value z) {
  return polynomial(b, z,
                    {0.128379166, -0.37612626, 0.112835854, -0.0268538129, 0.00518832775,
                     -0.000801019312, 7.85385782e-05});
}

/// 1 - erf(a) for a >= 1, as e^-q(a); q to 4e-7 near 1. 0 from a = 9.4 on.
static Value erfcFromOne(KernelBuilder &b, Value a) {
  Value q = polynomial(b, b.min(b.constant(a.getType(), 9.4), a),
                       {-9.67704182e-05, 1.1295166, 0.632674038, 0.109705053, -0.0265069082,
                        0.0049307039, -0.000679300399, 6.63502942e-05, -4.31325589e-06,
                        1.66504748e-07, -2.87712276e-09});
  return emitExpFlushed(b, b.neg(q));
}

Value dsc::emitErf(KernelBuilder &b, Value x) {
  Type type = x.getType();
  Value one = b.constant(type, 1), a = b.abs(x);
  Value near = b.fma(x, erfNearZero(b, b.mul(x, x)), x);
  Value far = withSignOf(b, b.sub(one, erfcFromOne(b, a)), x);
  return b.select(b.less(a, one), near, far);
}

/// (1 + erf(x / sqrt 2)) / 2, without cancellation for negative x.
static Value normalCdf(KernelBuilder &b, Value x) {
  Type type = x.getType();
  Value half = b.constant(type, 0.5), one = b.constant(type, 1);
  Value y = b.mul(x, b.constant(type, 0.70710678118654752));
  Value a = b.abs(y);
  Value halfY = b.mul(y, half);
  Value near = b.add(half, b.fma(halfY, erfNearZero(b, b.mul(y, y)), halfY));
  Value tail = b.mul(half, erfcFromOne(b, a));
  Value far = b.select(b.less(y, b.constant(type, 0)), tail, b.sub(one, tail));
  return b.select(b.less(a, one), near, far);
}

// gelu_tanh(x) = x / (1 + e^-2u), u = sqrt(2/pi) (x + 0.044715 x^3): the tanh form rewritten, one
// exponential and one division, and precise for negative x too.
static constexpr double sqrtTwoOverPi = 0.79788456080286535588, cubic = 0.044715;

namespace {
struct Logistic {
  Value e; ///< e^-2u, at most e^80
  Value s; ///< 1 / (1 + e^-2u)
};
} // namespace

static Logistic geluLogistic(KernelBuilder &b, Value x) {
  Type type = x.getType();
  Value slope = b.fma(b.mul(x, x), b.constant(type, -2 * sqrtTwoOverPi * cubic),
                      b.constant(type, -2 * sqrtTwoOverPi));
  Value exponent = b.min(b.constant(type, 80), b.mul(x, slope));
  Value e = emitExpFlushed(b, exponent);
  Value one = b.constant(type, 1);
  return {e, b.div(one, b.add(one, e))};
}

Value dsc::emitActivation(KernelBuilder &b, ds::Activation function, Value x) {
  Type type = x.getType();
  switch (function) {
  case ds::Activation::None:
    return x;
  case ds::Activation::Relu:
    // NaN stays NaN: the second argument is taken when the comparison fails.
    return b.max(b.constant(type, 0), x);
  case ds::Activation::Gelu:
    return b.mul(x, normalCdf(b, x));
  case ds::Activation::GeluTanh:
    return b.mul(x, geluLogistic(b, x).s);
  }
  llvm_unreachable("unknown activation");
}

Value dsc::emitActivationGrad(KernelBuilder &b, ds::Activation function, Value x) {
  Type type = x.getType();
  Value zero = b.constant(type, 0), one = b.constant(type, 1);
  switch (function) {
  case ds::Activation::None:
    return one;
  case ds::Activation::Relu:
    return b.select(b.less(zero, x), one, zero);
  case ds::Activation::Gelu: {
    // Phi(x) + x phi(x)
    Value density = emitExpFlushed(b, b.mul(b.mul(x, x), b.constant(type, -0.5)));
    density = b.mul(density, b.constant(type, 0.39894228040143267794));
    return b.fma(x, density, normalCdf(b, x));
  }
  case ds::Activation::GeluTanh: {
    // s + x s (1 - s) 2 u', where 1 - s = e s
    Logistic l = geluLogistic(b, x);
    Value slope = b.fma(b.mul(x, x), b.constant(type, DSC_FAULT(60, 6, 0) * sqrtTwoOverPi * cubic),
                        b.constant(type, 2 * sqrtTwoOverPi));
    Value rest = b.mul(b.mul(l.e, l.s), b.mul(x, slope));
    return b.fma(rest, l.s, l.s);
  }
  }
  llvm_unreachable("unknown activation");
}

Value dsc::emitCosPi(KernelBuilder &b, Value x) {
  // cos(pi x) = cos y for x < 1/4, -sin y around 1/2, -cos y near 1, |y| <= pi / 4. Taylor series
  // to below 1e-18; the differences taken of x are exact.
  Type type = x.getType();
  Value quarter = b.constant(type, 0.25), half = b.constant(type, 0.5), one = b.constant(type, 1);
  Value low = b.less(x, quarter), high = b.less(b.constant(type, 0.75), x);
  Value fraction = b.select(low, x, b.select(high, b.sub(one, x), b.sub(x, half)));
  Value y = b.mul(fraction, b.constant(type, 3.14159265358979323846));
  Value z = b.mul(y, y);
  auto series = [&](int first) {
    // sum_k (-1)^k z^k / (first + 2 k)!, by factors of the factorials.
    SmallVector<double> coefficients;
    double factorial = 1, sign = 1;
    for (int k = 0; k < 10; ++k) {
      coefficients.push_back(sign / factorial);
      factorial *= (first + 2 * k + 1) * (first + 2 * k + 2);
      sign = -sign;
    }
    return polynomial(b, z, coefficients);
  };
  Value cosine = series(0), sine = b.mul(y, series(1));
  return b.select(low, cosine, b.select(high, b.neg(cosine), b.neg(sine)));
}

Value dsc::emitLogDouble(KernelBuilder &b, Value x) {
  // x = 2^e (1 + f) with 1 + f near [sqrt(1/2), sqrt(2)); s = f / (2 + f), |s| < 0.1716;
  // log(1 + f) = f - (h - s (h + r)) with h = f^2 / 2 and r = sum_k 2 s^2k / (2 k + 1).
  Type type = x.getType(), integer = b.builder().getI64Type();
  Value bits = b.bitcast(x, integer);
  Value e = shiftRight(b, b.sub(bits, b.constant(integer, 0x3FE6A09E00000000)), 52);
  Value one = b.constant(type, 1);
  Value f = b.sub(b.bitcast(b.sub(bits, shiftLeft(b, e, 52)), b.f64Type()), one);
  Value s = b.div(f, b.add(f, b.constant(type, 2))), z = b.mul(s, s);
  SmallVector<double> series;
  for (int k = 1; k <= 12; ++k)
    series.push_back(2.0 / (2 * k + 1));
  Value r = b.mul(z, polynomial(b, z, series));
  Value h = b.mul(b.mul(f, f), b.constant(type, 0.5)), exponent = b.convert(e, b.f64Type());
  Value low = b.mul(exponent, b.constant(type, 1.90821492927058770002e-10));
  Value inner = b.sub(b.sub(h, b.add(b.mul(s, b.add(h, r)), low)), f);
  return b.sub(b.mul(exponent, b.constant(type, 6.93147180369123816490e-01)), inner);
}

Value dsc::emitExpDouble(KernelBuilder &b, Value x) {
  // x = n ln 2 + r with |r| <= ln 2 / 2; e^r by its Taylor series to below 2^-56, 2^n by its bits.
  Type type = x.getType(), integer = b.builder().getI64Type();
  Value nearest = b.sub(b.mul(x, b.constant(type, 1.44269504088896340736)), b.constant(type, 0.5));
  Value n = b.convert(nearest, integer); // cuts off: x is not positive
  Value whole = b.convert(n, b.f64Type());
  Value r = b.sub(x, b.mul(whole, b.constant(type, 6.93147180369123816490e-01)));
  r = b.sub(r, b.mul(whole, b.constant(type, 1.90821492927058770002e-10)));
  SmallVector<double> series;
  double factorial = 1;
  for (int k = 0; k <= 14; ++k) {
    series.push_back(1 / factorial);
    factorial *= k + 1;
  }
  Value bits = shiftLeft(b, b.add(n, b.constant(integer, 1023)), 52);
  return b.mul(polynomial(b, r, series), b.bitcast(bits, b.f64Type()));
}

Value dsc::emitPower(KernelBuilder &b, Value base, Value exponent) {
  Type type = base.getType(), integer = exponent.getType();
  OpBuilder &builder = b.builder();
  Value one = b.constant(type, 1), zero = b.constant(integer, 0);
  auto loop = scf::WhileOp::create(
      builder, b.loc(), TypeRange{type, type, integer}, ValueRange{one, base, exponent},
      [&](OpBuilder &inner, Location loc, ValueRange state) {
        Value more = arith::CmpIOp::create(inner, loc, arith::CmpIPredicate::sgt, state[2], zero);
        scf::ConditionOp::create(inner, loc, more, state);
      },
      [&](OpBuilder &inner, Location loc, ValueRange state) {
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPoint(inner.getInsertionBlock(), inner.getInsertionPoint());
        Value bit = b.bitAnd(state[2], b.constant(integer, 1));
        Value result = b.select(b.equal(bit, zero), state[0], b.mul(state[0], state[1]));
        scf::YieldOp::create(
            builder, loc,
            ValueRange{result, b.mul(state[1], state[1]), shiftRight(b, state[2], 1)});
      });
  return loop.getResult(0);
}
