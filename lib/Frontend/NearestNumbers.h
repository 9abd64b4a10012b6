//===- NearestNumbers.h - legal numbers near a wrong one -------------------===//
// For fixes in messages: "4 and 8", "4", or nothing where there is none.
#ifndef DSC_LIB_FRONTEND_NEARESTNUMBERS_H
#define DSC_LIB_FRONTEND_NEARESTNUMBERS_H

#include <cstdint>
#include <functional>
#include <string>

namespace dsc {

/// The numbers next below and above `value`, or it, that lie in [1, most] and are `legal`.
std::string nearestLegal(int64_t value, int64_t most, const std::function<bool(int64_t)> &legal);
/// Multiples of `unit` in [unit, most] other than `value` that, where `whole` is given, divide it.
std::string nearestMultiples(int64_t value, int64_t unit, int64_t most, int64_t whole = 0);
std::string nearestDivisors(int64_t value, int64_t whole);
std::string nearestPowersOfTwo(int64_t value);

} // namespace dsc

#endif // DSC_LIB_FRONTEND_NEARESTNUMBERS_H
