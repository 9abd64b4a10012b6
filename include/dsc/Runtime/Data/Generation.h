//===- Generation.h - from logits to tokens to text ------------------------===//
#ifndef DSC_RUNTIME_DATA_GENERATION_H
#define DSC_RUNTIME_DATA_GENERATION_H

#include "dsc/Support/Status.h"
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dsc {

/// Draws token ids. Temperature 0: the greatest logit, the lowest id of equals. Otherwise id k with
/// probability exp(l_k / temperature) / sum, in double with portable exp; the random number of the
/// n-th draw is Philox(seed, n, 0x73616d706c65).
class Sampler {
public:
  Sampler(int64_t vocabulary, double temperature, uint64_t seed)
      : vocabulary(vocabulary), temperature(temperature), seed(seed) {}

  /// `logits` has at least `vocabulary` entries; those beyond are padding and never drawn. Error
  /// (Numeric) when a logit is NaN or +inf, or all are -inf; (Internal) when there are too few.
  StatusOr<int32_t> draw(std::span<const float> logits);

private:
  int64_t vocabulary;
  double temperature;
  uint64_t seed;
  uint64_t draws = 0;
  std::vector<double> weights;
};

/// Bytes in any pieces to whole UTF-8 characters: what is incomplete waits, what can never become a
/// character turns into U+FFFD at once (one for each maximal part, as Unicode recommends). Pieces
/// joined equal the whole decoded.
class Utf8Stream {
public:
  std::string push(std::string_view bytes);
  /// What still waits, as U+FFFD.
  std::string finish();

private:
  std::string pending;
};

/// Byte vocabulary. Text to ids (no end-of-text), ids to bytes (ids from 256 on give nothing).
std::vector<int32_t> encodeBytes(std::string_view text);
std::string tokenBytes(int32_t id);

} // namespace dsc

#endif // DSC_RUNTIME_DATA_GENERATION_H
