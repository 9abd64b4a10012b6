//===- VectorMath.h - exp, tanh, log, erf and activations as vector code ---===//
// Written out in arithmetic, so that no kernel calls a library and every CPU of one instruction
// set computes the same bits. f32 functions take a scalar or a vector; the largest error over all
// floats, in units in the last place, is what test/Unit/Codegen/VectorMathTest.cpp measures and
// docs/Rationale/Kernels.md lists.
#ifndef DSC_LIB_CODEGEN_VECTORMATH_H
#define DSC_LIB_CODEGEN_VECTORMATH_H

#include "KernelBuilder.h"

namespace dsc {
namespace ds {
enum class Activation : uint32_t;
enum class Schedule : uint32_t;
} // namespace ds

/// e^x for every float: denormal results, overflow to inf, 0 for -inf, NaN for NaN. 1 ulp.
Value emitExp(KernelBuilder &b, Value x);
/// e^x for x <= 88 (or NaN), results below 2^-126 rounded to 0 or 2^-126: half the work. 1 ulp
/// above.
Value emitExpFlushed(KernelBuilder &b, Value x);
/// Natural logarithm; -inf for 0, NaN below, inf for inf. 1 ulp.
Value emitLog(KernelBuilder &b, Value x);
/// Hyperbolic tangent. 2.5 ulp.
Value emitTanh(KernelBuilder &b, Value x);
/// Error function. 2 ulp.
Value emitErf(KernelBuilder &b, Value x);

/// function(x); `None` gives x.
Value emitActivation(KernelBuilder &b, ds::Activation function, Value x);
/// function'(x); `None` gives 1.
Value emitActivationGrad(KernelBuilder &b, ds::Activation function, Value x);

/// cos(pi x) of an f64 scalar in [0, 1], to 2 units in the last place.
Value emitCosPi(KernelBuilder &b, Value x);
/// Natural logarithm of a positive, normal f64 scalar, to 1 unit in the last place.
Value emitLogDouble(KernelBuilder &b, Value x);
/// e^x of an f64 scalar in [-708, 0], to 2 units in the last place; 1 for 0.
Value emitExpDouble(KernelBuilder &b, Value x);
/// base^exponent of an f64 scalar base in [0, 1] and an i64 exponent >= 0 by repeated squaring,
/// lowest bit first: relative error at most 2 exponent 2^-53.
Value emitPower(KernelBuilder &b, Value base, Value exponent);

} // namespace dsc

#endif // DSC_LIB_CODEGEN_VECTORMATH_H
