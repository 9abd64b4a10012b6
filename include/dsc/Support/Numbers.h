//===- Numbers.h - numbers as text, whatever the locale --------------------===//
#ifndef DSC_SUPPORT_NUMBERS_H
#define DSC_SUPPORT_NUMBERS_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dsc {

/// The shortest text that reads back as the same number: 0.1, 1e-08, 3. "inf", "-inf", "nan"
/// otherwise.
std::string printShortest(double value);
std::string printShortest(float value);

/// 17 significant digits in scientific or plain form, trailing zeros dropped: reads back exactly.
std::string print17(double value);

/// As print17, but "null" where JSON has no number for it.
std::string jsonNumber(double value);

/// With a fixed number of decimals: printFixed(3.14159, 2) is 3.14.
std::string printFixed(double value, int decimals);

/// 1,234,567.
std::string printGrouped(int64_t value);

/// 512 B, 4.4 KiB, 1.21 GiB.
std::string printBytes(uint64_t bytes);

/// The whole text as a number, or nothing.
std::optional<double> parseDouble(std::string_view text);
std::optional<int64_t> parseInt(std::string_view text);

/// a * b, or nothing when it does not fit or a factor is negative.
std::optional<int64_t> checkedMultiply(int64_t a, int64_t b);

} // namespace dsc

#endif // DSC_SUPPORT_NUMBERS_H
