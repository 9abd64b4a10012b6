//===- SpecFuzz.h - any bytes as model.json --------------------------------===//
// Used by the libFuzzer program and by a short run with a fixed seed in the unit tests. What must
// hold: no crash; a Spec or at least one error, never both; every error stands inside the text; a
// resolved spec is a valid spec.
#ifndef DSC_TEST_FUZZ_SPEC_SPECFUZZ_H
#define DSC_TEST_FUZZ_SPEC_SPECFUZZ_H

#include "dsc/Frontend/Frontend.h"
#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace dsc::fuzz {

inline void spec(std::string_view bytes) {
  // Up to a zero byte: the spec; after it, a --set flag.
  size_t end = std::min(bytes.find('\0'), bytes.size());
  ReadOptions options;
  options.needsFiles = false;
  if (end < bytes.size())
    options.overrides.emplace_back(bytes.substr(end + 1));
  // The folder does not exist: a path in the text opens nothing.
  std::string text(bytes.substr(0, end)), folder = "/nonexistent/folder";
  SpecResult result = readSpecText(text, "model.json", folder, options);
  if (result.ok() != result.errors.empty())
    std::abort();
  int64_t lines = 1 + std::count(text.begin(), text.end(), '\n');
  for (const Diagnostic &error : result.errors)
    if (error.message.empty() || error.str().empty() || (!error.commandLine && error.line > lines))
      std::abort();
  printConfig(result);
  if (!result.ok())
    return;
  options.overrides.clear();
  SpecResult again = readSpecText(result.spec->resolved->dump(), "resolved", folder, options);
  if (!again.ok() || *again.spec->resolved != *result.spec->resolved)
    std::abort();
}

} // namespace dsc::fuzz

#endif // DSC_TEST_FUZZ_SPEC_SPECFUZZ_H
