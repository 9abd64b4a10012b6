//===- StepLog.h - the JSONL log: one object a step ------------------------===//
#ifndef DSC_RUNTIME_MONITOR_STEPLOG_H
#define DSC_RUNTIME_MONITOR_STEPLOG_H

#include "dsc/Support/Status.h"
#include <cstdint>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace dsc {

struct StepRecord {
  int64_t step = 0, updates = 0;  ///< attempted from 1; applied so far
  double loss = 0;                ///< mean over counted tokens, before the update
  std::optional<double> gradNorm; ///< before clipping; none where skipped
  double learningRate = 0;
  int64_t tokens = 0;              ///< counted, this step
  std::optional<double> lossScale; ///< of this step's gradients, where the plan scales the loss
  std::string skipped;             ///< empty (null in the log), "overflow" or "empty"
  std::optional<double> evalLoss;  ///< where evaluated after this step
  double tokensPerSecond = 0, stepMs = 0;
};

/// The line without its end: keys step, updates, loss, grad_norm, learning_rate, tokens, skipped,
/// [loss_scale], [eval_loss], tokens_per_second, step_ms. Floats have 17 digits; NaN and infinities
/// are null.
std::string stepLine(const StepRecord &record);

/// A line of stepLine() without eval_loss, completed. Unchanged where it is no such line.
std::string withEvalLoss(const std::string &line, double evalLoss);

/// Appends lines to a file, each handed to the system before write() returns. While the disk is
/// full lines wait in memory and are tried again with the next: a save that fills the disk, and
/// gives the space back when it fails, costs no line.
class StepLog {
public:
  /// Starts the file anew.
  static StatusOr<std::unique_ptr<StepLog>> create(const std::string &path);

  /// Continues a file after the line of `step`: what follows is cut off, so that the log becomes
  /// that of a run that was never interrupted. `bytes`: where that line should end; if it does not,
  /// lines are looked through. `note` says what was found missing, empty if nothing.
  static StatusOr<std::unique_ptr<StepLog>> resume(const std::string &path, int64_t step,
                                                   uint64_t bytes, std::string &note);
  ~StepLog();
  Status write(const StepRecord &record);
  /// Adds the loss to the last line.
  Status completeLast(double evalLoss);
  /// Length of the file, lines that wait included.
  uint64_t size() const {
    std::lock_guard lock(mutex);
    return length + waiting.size();
  }
  /// Returns when all lines are on the disk; from any thread.
  Status sync();

private:
  StepLog(std::string path, int descriptor) : path(std::move(path)), descriptor(descriptor) {}
  /// Writes what waits; 0 or the system's error.
  int flush();
  std::string path;
  int descriptor;
  uint64_t length = 0;
  std::string waiting;
  mutable std::mutex mutex; ///< a save's thread syncs
};

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
