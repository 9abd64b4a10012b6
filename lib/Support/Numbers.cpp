//===- Numbers.cpp - numbers as text ----------------------------------------===//
#include "dsc/Support/Numbers.h"
#include <charconv>
#include <cmath>

using namespace dsc;

template <typename... Format> static std::string print(Format... arguments) {
  char text[400];
  auto [end, error] = std::to_chars(text, text + sizeof text, arguments...);
  return {text, end};
}

template <typename Float> static std::string shortest(Float value) {
  if (std::isnan(value))
    return "nan"; // to_chars would show the sign bit
  return print(value);
}

std::string dsc::printShortest(double value) { return shortest(value); }
std::string dsc::printShortest(float value) { return shortest(value); }

std::string dsc::print17(double value) {
  return std::isnan(value) ? "nan" : print(value, std::chars_format::general, 17);
}

std::string dsc::jsonNumber(double value) { return std::isfinite(value) ? print17(value) : "null"; }

std::string dsc::printFixed(double value, int decimals) {
  return std::isfinite(value) ? print(value, std::chars_format::fixed, decimals) : shortest(value);
}

std::string dsc::printGrouped(int64_t value) {
  std::string text = print(value);
  size_t first = value < 0 ? 1 : 0;
  for (size_t at = text.size(); at > first + 3; at -= 3)
    text.insert(at - 3, 1, ',');
  return text;
}

std::string dsc::printBytes(uint64_t bytes) {
  static constexpr const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  int unit = 0;
  double value = static_cast<double>(bytes);
  for (; value >= 1024 && unit < 6; ++unit)
    value /= 1024;
  int decimals = unit == 0 || value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return printFixed(value, decimals) + " " + units[unit];
}

template <typename Number> static std::optional<Number> parse(std::string_view text) {
  Number value;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

std::optional<double> dsc::parseDouble(std::string_view text) { return parse<double>(text); }
std::optional<int64_t> dsc::parseInt(std::string_view text) { return parse<int64_t>(text); }

std::optional<int64_t> dsc::checkedMultiply(int64_t a, int64_t b) {
  int64_t product;
  if (a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product))
    return std::nullopt;
  return product;
}
