//===- PortableMath.cpp - the same bits on every CPU ------------------------===//
// Compiled with -ffp-contract=off: each operation rounds by itself. std::sqrt is IEEE's, exact to
// the last bit.
#include "dsc/Support/PortableMath.h"
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

using namespace dsc;

// ln 2 in two parts; multiples of the first by an exponent are exact.
static constexpr double ln2High = 0x1.62e42feep-1, ln2Low = 0x1.a39ef35793c76p-33;

template <int N> static double polynomial(const double (&coefficients)[N], double x) {
  double value = coefficients[N - 1];
  for (int i = N - 2; i >= 0; --i)
    value = value * x + coefficients[i];
  return value;
}

double dsc::portableLog(double x) {
  // x = 2^k (1 + f), 1 + f in [sqrt(1/2), sqrt(2)); s = f / (2 + f) gives log(1 + f) = 2 atanh(s) =
  // f - s (f - R) with R = 2 s^2/3 + 2 s^4/5 + ...; f^2/2 is split off so that f itself, exact,
  // carries the leading digits.
  static constexpr double odd[] = {2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,  2.0 / 11, 2.0 / 13,
                                   2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21, 2.0 / 23};
  int64_t bits = std::bit_cast<int64_t>(x);
  int64_t k = (bits - std::bit_cast<int64_t>(0x1.6a09e667f3bcdp-1)) >> 52;
  double f = std::bit_cast<double>(bits - k * (int64_t{1} << 52)) - 1;
  double s = f / (2 + f), z = s * s, half = 0.5 * f * f;
  double r = z * polynomial(odd, z), e = static_cast<double>(k);
  return e * ln2High - ((half - (s * (half + r) + e * ln2Low)) - f);
}

double dsc::portableExp(double x) {
  static constexpr double inverse[] = {
      1.0 / 2,     1.0 / 6,      1.0 / 24,      1.0 / 120,      1.0 / 720,       1.0 / 5040,
      1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800};
  if (std::isnan(x))
    return x;
  if (x > 709.782712893384)
    return std::numeric_limits<double>::infinity();
  if (x < -745.2)
    return 0;
  double k = std::nearbyint(x * 0x1.71547652b82fep+0);
  double high = x - k * ln2High, low = k * ln2Low, r = high - low;
  double value = 1 + (r * r * polynomial(inverse, r) - low + high);
  return std::ldexp(value, static_cast<int>(k)); // exact, or one rounding to a subnormal
}

double dsc::inverseNormal(double p) {
  static constexpr double a[] = {3.3871328727963666080e0,  1.3314166789178437745e+2,
                                 1.9715909503065514427e+3, 1.3731693765509461125e+4,
                                 4.5921953931549871457e+4, 6.7265770927008700853e+4,
                                 3.3430575583588128105e+4, 2.5090809287301226727e+3};
  static constexpr double b[] = {1.0,
                                 4.2313330701600911252e+1,
                                 6.8718700749205790830e+2,
                                 5.3941960214247511077e+3,
                                 2.1213794301586595867e+4,
                                 3.9307895800092710610e+4,
                                 2.8729085735721942674e+4,
                                 5.2264952788528545610e+3};
  static constexpr double c[] = {1.42343711074968357734e0,  4.63033784615654529590e0,
                                 5.76949722146069140550e0,  3.64784832476320460504e0,
                                 1.27045825245236838258e0,  2.41780725177450611770e-1,
                                 2.27238449892691845833e-2, 7.74545014278341407640e-4};
  static constexpr double d[] = {1.0,
                                 2.05319162663775882187e0,
                                 1.67638483018380384940e0,
                                 6.89767334985100004550e-1,
                                 1.48103976427480074590e-1,
                                 1.51986665636164571966e-2,
                                 5.47593808499534494600e-4,
                                 1.05075007164441684324e-9};
  static constexpr double e[] = {6.65790464350110377720e0,  5.46378491116411436990e0,
                                 1.78482653991729133580e0,  2.96560571828504891230e-1,
                                 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                 2.71155556874348757815e-5, 2.01033439929228813265e-7};
  static constexpr double f[] = {1.0,
                                 5.99832206555887937690e-1,
                                 1.36929880922735805310e-1,
                                 1.48753612908506148525e-2,
                                 7.86869131145613259100e-4,
                                 1.84631831751005468180e-5,
                                 1.42151175831644588870e-7,
                                 2.04426310338993978564e-15};
  double q = p - 0.5;
  if (std::fabs(q) <= 0.425) {
    double r = 0.180625 - q * q;
    return q * polynomial(a, r) / polynomial(b, r);
  }
  double r = std::sqrt(-portableLog(q < 0 ? p : 1 - p));
  double z;
  if (r <= 5) {
    r -= 1.6;
    z = polynomial(c, r) / polynomial(d, r);
  } else {
    r -= 5;
    z = polynomial(e, r) / polynomial(f, r);
  }
  return q < 0 ? -z : z;
}
