//===- CsvLog.h - the log as a table ----------------------------------------===//
#ifndef DSC_RUNTIME_MONITOR_CSVLOG_H
#define DSC_RUNTIME_MONITOR_CSVLOG_H

#include "dsc/Runtime/Monitor/StepLog.h"

namespace dsc {

/// The names of the columns, then a row a step: what stepLine() says, under its keys and in its
/// order, with a place for each key whether it is there or not. What is absent or null is empty.
class CsvLog : public StepSink {
public:
  /// `after` absent: starts anew. Else keeps the rows of steps up to it; `note` says what was found
  /// missing. Code Input.
  static StatusOr<std::unique_ptr<CsvLog>> open(const std::string &path,
                                                std::optional<int64_t> after, std::string &note);
  Status step(const StepRecord &record) override { return file->append(row(record)); }
  Status evaluated(const StepRecord &record) override;

  static std::string header();
  static std::string row(const StepRecord &record);

private:
  explicit CsvLog(std::unique_ptr<AppendFile> file) : file(std::move(file)) {}
  std::unique_ptr<AppendFile> file;
};

} // namespace dsc

#endif // DSC_RUNTIME_MONITOR_CSVLOG_H
