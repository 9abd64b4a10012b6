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
  int64_t tokens = 0;             ///< counted, this step
  std::string skipped;            ///< empty (null in the log), "overflow" or "empty"
  std::optional<double> evalLoss; ///< where evaluated after this step
  double tokensPerSecond = 0, stepMs = 0;
};

/// The line without its end: keys step, updates, loss, grad_norm, learning_rate, tokens, skipped,
/// [eval_loss], tokens_per_second, step_ms. Floats have 17 digits; NaN and infinities are null.
std::string stepLine(const StepRecord &record);

/// Appends lines to a file, each handed to the system before write() returns. Starts the file anew.
class StepLog {
public:
  static StatusOr<std::unique_ptr<StepLog>> create(const std::string &path);
  ~StepLog();
  Status write(const StepRecord &record);

private:
  StepLog(std::string path, int descriptor) : path(std::move(path)), descriptor(descriptor) {}
  std::string path;
  int descriptor;
  std::mutex mutex;
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
