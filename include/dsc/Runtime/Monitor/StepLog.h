//===- StepLog.h - the JSONL log: one object a step ------------------------===//
#ifndef DSC_RUNTIME_MONITOR_STEPLOG_H
#define DSC_RUNTIME_MONITOR_STEPLOG_H

#include "dsc/Runtime/Monitor/AppendFile.h"
#include "dsc/Support/Json.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace dsc {

struct StepRecord {
  int64_t step = 0, updates = 0;  ///< attempted from 1; applied so far
  double loss = 0;                ///< mean over counted tokens, before the update
  std::optional<double> gradNorm; ///< before clipping; none where skipped
  double learningRate = 0;
  int64_t samples = 0, consumedSamples = 0; ///< sequences of the step; with those of all before
  int64_t tokens = 0;                       ///< positions of the window: samples x seq_length
  int64_t countedTokens = 0; ///< labels of the window that count: what the loss is a mean over
  std::optional<double> lossScale; ///< of this step's gradients, where the plan scales the loss
  std::string skipped;             ///< empty (null in the log), "overflow" or "empty"
  std::optional<double> evalLoss;  ///< where evaluated after this step: nats a token
  std::optional<double> evalBitsPerByte;  ///< where tokens are bytes too
  double tokensPerSecond = 0, stepMs = 0; ///< of counted tokens; without evaluation and saving
};

/// The line without its end: keys step, updates, loss, grad_norm, learning_rate, tokens,
/// counted_tokens, skipped, [loss_scale], [eval_loss, eval_perplexity, [eval_bits_per_byte]],
/// tokens_per_second, step_ms. Floats have 17 digits; NaN and infinities are null.
std::string stepLine(const StepRecord &record);

/// A line of stepLine() without an evaluation, completed by that of `evaluated`. Unchanged where it
/// is no such line.
std::string withEvaluation(const std::string &line, const StepRecord &evaluated);

/// Something that is told of every step.
class StepSink {
public:
  virtual ~StepSink() = default;
  virtual Status step(const StepRecord &record) = 0;
  /// The evaluation of the last step, which came late: a signal had cut it off.
  virtual Status evaluated(const StepRecord &record) = 0;
};

/// The log: a line a step, on its way to the disk before step() returns (AppendFile).
class StepLog : public StepSink {
public:
  /// Starts the file anew.
  static StatusOr<std::unique_ptr<StepLog>> create(const std::string &path);

  /// Continues a file after the line of `step`: what follows is cut off, so that the log becomes
  /// that of a run that was never interrupted. `bytes`: where that line should end; if it does not,
  /// lines are looked through. `note` says what was found missing, empty if nothing.
  static StatusOr<std::unique_ptr<StepLog>> resume(const std::string &path, int64_t step,
                                                   uint64_t bytes, std::string &note);
  Status step(const StepRecord &record) override { return file->append(stepLine(record) + "\n"); }
  /// Adds the evaluation to the last line, unless that has one.
  Status evaluated(const StepRecord &record) override;
  /// Length of the file, lines that wait included.
  uint64_t size() const { return file->size(); }
  /// Returns when all lines are on the disk; from any thread.
  Status sync() { return file->sync(); }

private:
  explicit StepLog(std::unique_ptr<AppendFile> file) : file(std::move(file)) {}
  std::unique_ptr<AppendFile> file;
};

/// The file beside a log that is about `what`: RUN.jsonl -> RUN.<what>.jsonl; none beside none.
std::string besideLog(const std::string &log, const std::string &what);

/// What happened beside the steps (resumed, a save failed): one object a line in a file beside the
/// log, so that the log keeps to one object a step. Made when there is something to say; a resumed
/// run adds to it.
class EventLog {
public:
  /// `path` empty: says nothing. `anew`: removes what a run before left.
  EventLog(std::string path, bool anew);
  /// {"step": ..., "event": ..., "message": ...}. An error is left at that: the console has it too.
  void write(int64_t step, const std::string &event, const std::string &message);
  /// RUN.jsonl -> RUN.events.jsonl.
  static std::string pathFor(const std::string &log);

private:
  std::string path;
};

/// log.dir/run.json: what ran, written once at the start.
struct RunInfo {
  nlohmann::json spec; ///< resolved
  std::string planHash, isa;
  int64_t threads = 0;
  nlohmann::json versions = nlohmann::json::object(); ///< {"dsrun": ..., "compiler": ...}
};
Status writeRunInfo(const std::string &path, const RunInfo &info);

} // namespace dsc

#endif // DSC_RUNTIME_MONITOR_STEPLOG_H
