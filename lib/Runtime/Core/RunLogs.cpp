//===- RunLogs.cpp - everything that a run writes while it goes ------------===//
#include "dsc/Runtime/Core/RunLogs.h"
#include "dsc/Runtime/Monitor/CsvLog.h"
#include "dsc/Runtime/Monitor/Memory.h"
#include "dsc/Runtime/Monitor/TensorBoard.h"
#include "dsc/Support/File.h"
#include <filesystem>

using namespace dsc;

/// log.dir/run.json.
static Status noteRun(Session &session, const std::string &folder) {
  RunInfo info;
  info.spec = session.spec();
  info.planHash = session.planHash();
  info.isa = session.executor().isa();
  info.threads = session.executor().threads();
  info.versions = {{"dsrun", session.options().version}, {"compiler", session.compiler()}};
  return writeRunInfo(folder + "/run.json", info);
}

StatusOr<std::unique_ptr<RunLogs>> RunLogs::open(Session &session, const Start &start,
                                                 std::vector<std::string> &notes) {
  std::unique_ptr<RunLogs> logs(new RunLogs);
  std::string note, folder = session.text("log.dir");
  std::optional<int64_t> after = start.log ? std::optional(start.done) : std::nullopt;
  Cadence cadence(session.integer("log.every", 10), start.steps);
  auto add = [&](auto opened) {
    if (!opened.ok())
      return opened.status();
    logs->sinks.push_back(std::move(*opened));
    if (!note.empty())
      notes.push_back(std::exchange(note, {}));
    return Status();
  };
  if (!folder.empty()) {
    folder = session.outputPath(folder);
    logs->logPath = folder + "/log.jsonl";
  }
  if (!session.options().log.empty())
    logs->logPath = session.options().log;
  if (const std::string &path = logs->logPath; !path.empty()) {
    if (Status status =
            add(after ? StepLog::resume(path, *after, *start.log, note) : StepLog::create(path));
        !status.ok())
      return status;
    logs->stepLog = static_cast<StepLog *>(logs->sinks.back().get());
    // Beside a file; a pipe or a terminal has no folder of its own.
    if (std::error_code ignored; std::filesystem::is_regular_file(path, ignored))
      if (Status status = add(MemoryLog::open(MemoryLog::pathFor(path), !after, cadence));
          !status.ok())
        return status;
  }
  // After the log, which is refused while another run writes it: that run's settings stay.
  if (!folder.empty())
    if (Status status = noteRun(session, folder); !status.ok())
      return status;
  for (const char *key : {"log.csv", "log.tensorboard"})
    if (folder.empty() && session.boolean(key, false))
      return Status(ErrorCode::Usage, std::string(key) +
                                          " needs a folder, but the plan has no "
                                          "log.dir: name one with --set log.dir=DIR");
  if (session.boolean("log.csv", false))
    if (Status status = add(CsvLog::open(folder + "/log.csv", after, note)); !status.ok())
      return status;
  if (session.boolean("log.tensorboard", false))
    if (Status status = add(TensorBoardLog::open(folder, start.done + 1, cadence)); !status.ok())
      return status;
  logs->eventLog = std::make_unique<EventLog>(EventLog::pathFor(logs->logPath), /*anew=*/!after);
  if (after)
    logs->eventLog->write(start.done, "resumed",
                          "from checkpoint step-" + std::to_string(start.done));
  return logs;
}

Status RunLogs::step(const StepRecord &record) {
  for (auto &sink : sinks)
    if (Status status = sink->step(record); !status.ok())
      return status;
  return {};
}

Status RunLogs::evaluated(const StepRecord &record) {
  for (auto &sink : sinks)
    if (Status status = sink->evaluated(record); !status.ok())
      return status;
  return {};
}
