//===- Inference.h - logits and text from trained weights ------------------===//
#ifndef DSC_RUNTIME_CORE_INFERENCE_H
#define DSC_RUNTIME_CORE_INFERENCE_H

#include "dsc/Runtime/Core/Session.h"
#include <span>

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

/// dsrun PLAN --logits=OUT --input=IDS: ids [n] or [rows, n] of int32 or int64 to float32 [n, V] or
/// [rows, n, V].
Status writeLogits(Session &session, const std::string &idsPath, const std::string &outPath);

struct GenerateOptions {
  std::string prompt;
  int64_t newTokens = 200;
  double temperature = 0.8;
  uint64_t seed = 1;
};

/// dsrun PLAN --generate=PROMPT: prints the prompt and what follows to stdout as it comes, until
/// end-of-text, `newTokens` or a signal. Byte vocabulary only.
Status generate(Session &session, const GenerateOptions &options);

} // namespace dsc

#endif // DSC_RUNTIME_CORE_INFERENCE_H
