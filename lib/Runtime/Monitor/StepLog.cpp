//===- StepLog.cpp - JSONL log and run.json ------------------------------------===//
#include "dsc/Runtime/Monitor/StepLog.h"
#include "dsc/Support/File.h"
#include "dsc/Support/Numbers.h"
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <system_error>
#include <unistd.h>

using namespace dsc;

std::string dsc::stepLine(const StepRecord &record) {
  std::string line =
      "{\"step\": " + std::to_string(record.step) +
      ", \"updates\": " + std::to_string(record.updates) +
      ", \"loss\": " + jsonNumber(record.loss) +
      ", \"grad_norm\": " + (record.gradNorm ? jsonNumber(*record.gradNorm) : "null") +
      ", \"learning_rate\": " + jsonNumber(record.learningRate) +
      ", \"tokens\": " + std::to_string(record.tokens) +
      ", \"skipped\": " + (record.skipped.empty() ? "null" : nlohmann::json(record.skipped).dump());
  if (record.lossScale)
    line += ", \"loss_scale\": " + jsonNumber(*record.lossScale);
  if (record.evalLoss)
    line += ", \"eval_loss\": " + jsonNumber(*record.evalLoss);
  return line + ", \"tokens_per_second\": " + jsonNumber(record.tokensPerSecond) +
         ", \"step_ms\": " + jsonNumber(record.stepMs) + "}";
}

static Status systemError(const std::string &what, const std::string &path, int code) {
  return inputError(what + " '" + path + "': " + std::generic_category().message(code));
}

/// Opens for appending, makes the folder if need be.
static StatusOr<int> openLog(const std::string &path, int flags) {
  std::string folder = std::filesystem::path(path).parent_path().string();
  if (!folder.empty())
    if (Status status = makeFolders(folder); !status)
      return status;
  int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | flags, 0666);
  if (descriptor < 0)
    return systemError("cannot write the log", path, errno);
  return descriptor;
}

StatusOr<std::unique_ptr<StepLog>> StepLog::create(const std::string &path) {
  auto descriptor = openLog(path, O_TRUNC);
  if (!descriptor)
    return descriptor.status();
  return std::unique_ptr<StepLog>(new StepLog(path, *descriptor));
}

StepLog::~StepLog() { ::close(descriptor); }

int StepLog::flush() {
  size_t done = 0;
  int code = 0;
  while (done < waiting.size()) {
    ssize_t n = ::write(descriptor, waiting.data() + done, waiting.size() - done);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0) {
      code = errno;
      break;
    }
    done += static_cast<size_t>(n);
  }
  length += done;
  waiting.erase(0, done);
  return code;
}

Status StepLog::write(const StepRecord &record) {
  constexpr size_t most = size_t{16} << 20;
  std::lock_guard lock(mutex);
  waiting += stepLine(record);
  waiting += '\n';
  int code = flush();
  bool full = code == ENOSPC || code == EDQUOT;
  if (!code || (full && waiting.size() <= most))
    return {};
  return systemError("cannot write the log", path, code);
}

Status StepLog::sync() {
  {
    std::lock_guard lock(mutex);
    if (int code = flush())
      return systemError("cannot write the log", path, code);
  }
  // A pipe or a terminal has nothing to sync.
  if (::fdatasync(descriptor) != 0 && errno != EINVAL)
    return systemError("cannot write the log", path, errno);
  return {};
}

Status dsc::writeRunInfo(const std::string &path, const RunInfo &info) {
  std::string folder = std::filesystem::path(path).parent_path().string();
  if (!folder.empty())
    if (Status status = makeFolders(folder); !status)
      return status;
  nlohmann::ordered_json out;
  out["plan_hash"] = info.planHash;
  out["isa"] = info.isa;
  out["threads"] = info.threads;
  out["versions"] = info.versions;
  out["spec"] = info.spec;
  return writeFileAtomically(
      path, out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}
