//===- Memory.h - what the process holds of the machine's memory -----------===//
#ifndef DSC_RUNTIME_MONITOR_MEMORY_H
#define DSC_RUNTIME_MONITOR_MEMORY_H

#include "dsc/Runtime/Monitor/Cadence.h"

namespace dsc {

struct MemoryUse {
  uint64_t resident = 0, peak = 0; ///< bytes, now and at most so far; 0: unknown
};
/// From /proc/self/status.
MemoryUse memoryUse();
/// The same from a text like it.
MemoryUse parseMemoryUse(std::string_view status);

/// A line for each step that is shown: {"step": 10, "resident_bytes": 1, "peak_bytes": 2}. Beside
/// the log, since equal runs have equal logs. A resumed run adds to it; of two lines of a step the
/// later counts.
class MemoryLog : public StepSink {
public:
  static StatusOr<std::unique_ptr<MemoryLog>> open(const std::string &path, bool anew,
                                                   Cadence cadence);
  /// RUN.jsonl -> RUN.memory.jsonl.
  static std::string pathFor(const std::string &log);

  Status step(const StepRecord &record) override;
  Status evaluated(const StepRecord &) override { return {}; }

private:
  MemoryLog(std::unique_ptr<AppendFile> file, Cadence cadence)
      : file(std::move(file)), cadence(cadence) {}
  std::unique_ptr<AppendFile> file;
  Cadence cadence;
};

} // namespace dsc

#endif // DSC_RUNTIME_MONITOR_MEMORY_H
