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

struct SamplingOptions {
  double temperature = 0.8;     ///< 0: always the most likely token
  int64_t topK = 0;             ///< only so many of the most likely; 0: all
  double topP = 1;              ///< only the most likely that together reach this probability
  double repetitionPenalty = 1; ///< on tokens that the text has already; 1: none
  uint64_t seed = 1;
};

/// Draws token ids, in these steps:
///   penalty r      the logit l of a token that was seen becomes l / r if positive, else l r
///                  (N. S. Keskar et al., "CTRL", 2019)
///   temperature T  weight of k = exp((l_k - l_best) / T); 0: the greatest logit, and no more steps
///   top k          the k greatest weights stay
///   top p          of these, in falling order, as few as reach p of their sum, at least one
///   draw           k with probability weight_k / sum: the first whose running sum, by id, exceeds
///                  u times the sum
/// In each order the lower id comes first among equals. All in double with portable exp; u of the
/// n-th draw is Philox(seed, n, 0x73616d706c65).
class Sampler {
public:
  Sampler(int64_t vocabulary, const SamplingOptions &options)
      : vocabulary(vocabulary), options(options) {}

  /// `logits` has at least `vocabulary` entries; those beyond are padding and never drawn. `seen`:
  /// the text so far, for the penalty. Error (Numeric) when a logit is NaN or +inf, or all are
  /// -inf; (Internal) when there are too few.
  StatusOr<int32_t> draw(std::span<const float> logits, std::span<const int32_t> seen = {});

private:
  Status readLogits(std::span<const float> logits, std::span<const int32_t> seen);
  void keepBest(size_t best);

  int64_t vocabulary;
  SamplingOptions options;
  uint64_t draws = 0;
  std::vector<double> values, weights;
  std::vector<int32_t> order;
};

/// Prompts of a file: one a line. A byte-order mark, carriage returns at the ends of lines and
/// blank lines are left out.
std::vector<std::string> readPrompts(std::string_view text);

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
