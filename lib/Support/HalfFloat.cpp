//===- HalfFloat.cpp - f16 and bf16 ------------------------------------------===//
#include "dsc/Support/HalfFloat.h"
#include <algorithm>
#include <bit>
#include <cmath>

using namespace dsc;

float dsc::bfloatToFloat(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

float dsc::halfToFloat(uint16_t bits) {
  uint32_t sign = uint32_t{bits} >> 15 << 31, exponent = bits >> 10 & 31, fraction = bits & 1023;
  if (exponent == 31)
    return std::bit_cast<float>(sign | 0x7f800000u | fraction << 13);
  if (exponent)
    return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  float magnitude = static_cast<float>(fraction) * 0x1p-24f;
  return sign ? -magnitude : magnitude;
}

uint16_t dsc::floatToBfloat(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value))
    return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

uint16_t dsc::floatToHalf(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value), sign = bits >> 16 & 0x8000,
           rest = bits & 0x7fffffff;
  if (rest > 0x7f800000)
    return static_cast<uint16_t>(sign | 0x7e00 | (rest >> 13 & 0x3ff));
  if (rest >= 0x477ff000) // 65520 and above round to infinity
    return static_cast<uint16_t>(sign | 0x7c00);
  if (rest < 0x38800000) { // below 2^-14: adding 1/2 leaves multiples of 2^-24 in the low bits,
                           // rounded to even
    float shifted = std::bit_cast<float>(rest) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000));
  }
  rest += 0xfff + (rest >> 13 & 1);
  return static_cast<uint16_t>(sign | ((rest - 0x38000000) >> 13));
}

/// `value` as a multiple of the last place of a format with `bits` significant bits, whose smallest
/// denormal is 2^`least`; infinite from `limit` on.
static double roundTo(double value, int bits, int least, double limit) {
  if (!std::isfinite(value) || value == 0)
    return value;
  int exponent;
  std::frexp(value, &exponent); // value = m 2^exponent with 1/2 <= |m| < 1
  int place = std::max(exponent - bits, least);
  // Scaling by a power of two is exact.
  double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -place)), place);
  return std::fabs(rounded) < limit ? rounded : std::copysign(HUGE_VAL, value);
}

double dsc::roundToHalf(double value) { return roundTo(value, 11, -24, 0x1p16); }
double dsc::roundToBfloat(double value) { return roundTo(value, 8, -133, 0x1p128); }
