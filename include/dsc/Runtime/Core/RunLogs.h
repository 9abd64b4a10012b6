//===- RunLogs.h - everything that a run writes while it goes --------------===//
// docs/Watching.md lists the files.
#ifndef DSC_RUNTIME_CORE_RUNLOGS_H
#define DSC_RUNTIME_CORE_RUNLOGS_H

#include "dsc/Runtime/Core/Session.h"
#include "dsc/Runtime/Monitor/StepLog.h"

namespace dsc {

class RunLogs {
public:
  struct Start {
    int64_t steps = 0;           ///< of the whole run
    int64_t done = 0;            ///< before this start
    std::optional<uint64_t> log; ///< resumed: length of the log that the checkpoint knows of
  };
  /// Opens every file, so that what cannot be written is known before training. `notes`: what a
  /// resumed run found missing. Code Input, or Usage where a setting needs log.dir.
  static StatusOr<std::unique_ptr<RunLogs>> open(Session &session, const Start &start,
                                                 std::vector<std::string> &notes);

  Status step(const StepRecord &record);
  /// The evaluation of the last step, which came late.
  Status evaluated(const StepRecord &record);

  StepLog *log() { return stepLog; } ///< null: there is none
  EventLog &events() { return *eventLog; }
  const std::string &path() const { return logPath; } ///< of the log; empty: none

private:
  RunLogs() = default;
  std::string logPath;
  StepLog *stepLog = nullptr;
  std::unique_ptr<EventLog> eventLog;
  std::vector<std::unique_ptr<StepSink>> sinks;
};

} // namespace dsc

#endif // DSC_RUNTIME_CORE_RUNLOGS_H
