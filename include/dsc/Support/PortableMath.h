//===- PortableMath.h - log, exp, inverse normal with the same bits anywhere ===//
// Plain IEEE double add, multiply, divide and square root in a fixed order; never fused (the file
// is compiled without contraction). libm picks other code on other CPUs, so its results may differ
// in the last bit.
#ifndef DSC_SUPPORT_PORTABLEMATH_H
#define DSC_SUPPORT_PORTABLEMATH_H

namespace dsc {

/// Natural logarithm of a positive normal number, within 1 ulp.
double portableLog(double x);

/// e^x, within 1 ulp; 0 below -745, inf above 709.78.
double portableExp(double x);

/// The z with P(N(0,1) < z) = p, for 0 < p < 1: Wichura, algorithm AS 241 (PPND16), relative error
/// about 1e-16.
double inverseNormal(double p);

} // namespace dsc

#endif // DSC_SUPPORT_PORTABLEMATH_H
