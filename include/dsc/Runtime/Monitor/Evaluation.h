//===- Evaluation.h - what validation says, and when it says stop ----------===//
#ifndef DSC_RUNTIME_MONITOR_EVALUATION_H
#define DSC_RUNTIME_MONITOR_EVALUATION_H

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace dsc {

/// Mean loss over validation data: batches' losses, weighted by their counted tokens, added in
/// order.
class EvaluationSum {
public:
  /// `bytes`: ids below 256 stand for one byte of text each, all others for none.
  explicit EvaluationSum(bool bytes = false) : countsBytes(bytes) {}

  /// Before a batch runs: what its labels stand for. A program may reuse their memory.
  void see(std::span<const int32_t> labels);
  /// After it ran: the mean over its counted labels.
  void add(double meanLoss, int64_t counted);

  int64_t tokens() const { return total; }
  double loss() const { return total ? sum / static_cast<double>(total) : 0; } ///< nats a token
  /// All nats, over ln 2 and the bytes that the counted tokens stand for; nothing where those are
  /// unknown or none.
  std::optional<double> bitsPerByte() const;

private:
  bool countsBytes;
  double sum = 0;
  int64_t total = 0, bytes = 0;
};

/// e^loss, the same bits on every machine.
double perplexityOf(double loss);

/// Ends a run whose eval_loss has not fallen for `patience` evaluations in a row. A loss counts as
/// fallen when it is more than `minDelta` below the lowest that counted; one that is not finite
/// never does. All of it follows from the evaluations so far, so a resumed run is told those and
/// stands where it stood.
class EarlyStopping {
public:
  /// `patience` 0: never stops.
  EarlyStopping(int64_t patience, double minDelta) : patience(patience), minDelta(minDelta) {}

  void note(int64_t step, double loss);
  bool stop() const { return patience > 0 && since >= patience; }
  /// "eval_loss has not fallen below 1.5 (step 40) for 3 evaluations"
  std::string reason() const;

private:
  int64_t patience;
  double minDelta;
  double best = 0;
  int64_t bestStep = 0, since = 0; ///< step 0: no finite loss yet
};

} // namespace dsc

#endif // DSC_RUNTIME_MONITOR_EVALUATION_H
