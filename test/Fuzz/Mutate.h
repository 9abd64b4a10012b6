//===- Mutate.h - small fixed-seed fuzzing for the unit tests -------------------===//
// The long runs are libFuzzer's (-DDSC_BUILD_FUZZERS=ON); this keeps their property in every test
// run.
#ifndef DSC_TEST_FUZZ_MUTATE_H
#define DSC_TEST_FUZZ_MUTATE_H

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace dsc::fuzz {

/// Calls `target` with `rounds` damaged versions of the samples: bytes changed, ranges cut,
/// doubled, swapped in.
template <typename Target>
void mutate(const std::vector<std::string> &samples, int rounds, Target target) {
  std::mt19937 random(1);
  auto below = [&](size_t n) { return n ? random() % n : 0; };
  static const std::string words[] = {"0",          "-1",  "9", "18446744073709551615",
                                      "4294967296", "\"",  "{", "}",
                                      "[",          "]",   ",", ":",
                                      "(",          ")",   " ", "F32",
                                      "<i4",        "True"};
  for (int round = 0; round < rounds; ++round) {
    std::string bytes = samples[below(samples.size())];
    for (size_t change = 0, changes = 1 + below(4); change < changes; ++change) {
      size_t at = below(bytes.size() + 1),
             length = below(std::min<size_t>(bytes.size() - at, 16) + 1);
      switch (below(7)) {
      case 0:
        if (at < bytes.size())
          bytes[at] = static_cast<char>(random());
        break;
      case 1:
        if (at < bytes.size())
          bytes[at] = static_cast<char>(bytes[at] ^ 1 << below(8));
        break;
      case 2:
        bytes.erase(at, length);
        break;
      case 3:
        bytes.insert(at, bytes.substr(at, length));
        break;
      case 4:
        bytes.replace(at, length, words[below(std::size(words))]);
        break;
      case 5:
        bytes.resize(at);
        break;
      default: {
        const std::string &other = samples[below(samples.size())];
        bytes.replace(at, length, other.substr(std::min(at, other.size()), length));
      }
      }
    }
    target(std::string_view(bytes));
  }
}

} // namespace dsc::fuzz

#endif // DSC_TEST_FUZZ_MUTATE_H
