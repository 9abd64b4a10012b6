//===- HalfFloat.h - f16 and bf16 to f32 and back, bit by bit ---------------===//
#ifndef DSC_SUPPORT_HALFFLOAT_H
#define DSC_SUPPORT_HALFFLOAT_H

#include <cstdint>

namespace dsc {

/// Exact.
float halfToFloat(uint16_t bits);
float bfloatToFloat(uint16_t bits);

/// Round to nearest even; overflow to infinity; NaN stays NaN with its upper payload bits, made
/// quiet.
uint16_t floatToHalf(float value);
uint16_t floatToBfloat(float value);

/// The nearest f16 or bf16 to a number, ties to even: one rounding, where by way of float there
/// would be two. Overflow to infinity; NaN and infinities stay.
double roundToHalf(double value);
double roundToBfloat(double value);

} // namespace dsc

#endif // DSC_SUPPORT_HALFFLOAT_H
