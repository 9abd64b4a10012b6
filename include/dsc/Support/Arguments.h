//===- Arguments.h - what CLI11 makes of a command line, mended ------------===//
// For tools without LLVM. CLI11 takes the argument after `--flag=` for the value of `--flag`, so
// that a shell variable that is empty swallows the next flag without a word; here that value is
// empty.
#ifndef DSC_SUPPORT_ARGUMENTS_H
#define DSC_SUPPORT_ARGUMENTS_H

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace dsc {

/// Throws CLI::ParseError, as `app.parse(argc, argv)` does.
inline void parseArguments(CLI::App &app, int argc, char **argv) {
  std::vector<std::string> arguments;
  bool flags = true;
  for (int i = 1; i < argc; ++i) {
    std::string text = argv[i];
    flags = flags && text != "--";
    if (flags && text.starts_with("--") && text.find('=') == text.size() - 1) {
      text.pop_back();
      arguments.push_back(std::move(text));
      arguments.emplace_back();
    } else {
      arguments.push_back(std::move(text));
    }
  }
  std::reverse(arguments.begin(), arguments.end()); // as CLI11 wants them
  app.parse(std::move(arguments));
}

/// For options whose empty value would pass for an option that is not there.
inline CLI::Validator notEmpty() {
  return CLI::Validator(
      [](std::string &value) { return std::string(value.empty() ? "the value is empty" : ""); },
      "");
}

/// CLI::Range lets NaN through: it is neither too small nor too large.
inline CLI::Validator notNan() {
  return CLI::Validator(
      [](std::string &value) {
        double number = 0;
        bool nan = CLI::detail::lexical_cast(value, number) && std::isnan(number);
        return nan ? "Value " + value + " is not a number" : std::string();
      },
      "");
}

/// Of 64 bits, without a sign: what is more would be taken for the largest, what is below 0 wraps.
inline CLI::Validator unsigned64() {
  return CLI::Validator(
      [](std::string &value) {
        uint64_t number = 0;
        auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
        bool fine = error == std::errc() && end == value.data() + value.size();
        return fine ? std::string() : "Value " + value + " not in range 0 to 18446744073709551615";
      },
      "");
}

} // namespace dsc

#endif // DSC_SUPPORT_ARGUMENTS_H
