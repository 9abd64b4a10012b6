//===- Inference.h - logits from trained weights ---------------------------===//
#ifndef DSC_RUNTIME_CORE_INFERENCE_H
#define DSC_RUNTIME_CORE_INFERENCE_H

#include "dsc/Runtime/Core/Session.h"
#include <span>
#include <vector>

namespace dsc {

/// Program `logits`: one row of token ids to logits at each of its positions.
class LogitsProgram {
public:
  static StatusOr<LogitsProgram> open(Executor &executor);

  int64_t length() const { return positions; } ///< tokens that fit
  int64_t vocabulary() const { return entries; }

  /// Runs `ids` (at most length(), each below vocabulary()), the rest filled with 0: attention is
  /// causal, so what follows changes nothing. Row p of the result, [ids.size(), vocabulary()],
  /// holds the logits after ids[0..p]; valid until the executor runs again.
  std::span<const float> run(std::span<const int32_t> ids);

private:
  Executor *executor = nullptr;
  size_t program = 0;
  int32_t *tokens = nullptr;
  const float *logits = nullptr;
  int64_t positions = 0, entries = 0;
};

/// A program's row of the caches: tokens one after the other, each with the logits after it.
/// Programs `prefill`, which takes many tokens of one row and gives no logits, and `decode`, which
/// takes one token of each row.
class CachedProgram {
public:
  static StatusOr<CachedProgram> open(Executor &executor);
  /// Whether the plan has caches.
  static bool exists(const Executor &executor);

  int64_t rows() const { return cacheRows; }
  int64_t length() const { return positions; } ///< tokens that fit in a row
  int64_t vocabulary() const { return entries; }

  /// The row is empty again.
  void clear(int64_t row) { used[static_cast<size_t>(row)] = 0; }
  /// Tokens that the row holds.
  int64_t held(int64_t row) const { return used[static_cast<size_t>(row)]; }
  /// Appends `ids` to the row; together with what it holds at most length().
  void prefill(int64_t row, std::span<const int32_t> ids);
  /// Appends ids[r] to row r; -1 leaves a row as it is.
  void decode(std::span<const int32_t> ids);
  /// After decode: logits after the token of a row, [vocabulary()].
  std::span<const float> logits(int64_t row) const {
    return {logitsAt + row * entries, static_cast<size_t>(entries)};
  }

private:
  struct Inputs {
    size_t program = 0;
    int32_t *tokens = nullptr, *positions = nullptr, *rows = nullptr;
    int64_t samples = 0, count = 0; ///< tokens are [samples, count]
  };
  static Status openInputs(Executor &executor, const char *name, Inputs &inputs);

  Executor *executor = nullptr;
  Inputs prefilling, decoding;
  const float *logitsAt = nullptr;
  int64_t cacheRows = 0, positions = 0, entries = 0;
  std::vector<int64_t> used;
};

/// dsrun PLAN --logits=OUT --input=IDS: ids [n] or [rows, n] of int32 or int64 to float32 [n, V] or
/// [rows, n, V]. `cached`: token by token, through the caches.
Status writeLogits(Session &session, const std::string &idsPath, const std::string &outPath,
                   bool cached = false);

} // namespace dsc

#endif // DSC_RUNTIME_CORE_INFERENCE_H
