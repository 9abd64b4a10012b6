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
  if (record.evalLoss)
    line += ", \"eval_loss\": " + jsonNumber(*record.evalLoss);
  return line + ", \"tokens_per_second\": " + jsonNumber(record.tokensPerSecond) +
         ", \"step_ms\": " + jsonNumber(record.stepMs) + "}";
}

static Status systemError(const std::string &what, const std::string &path) {
  return inputError(what + " '" + path + "': " + std::generic_category().message(errno));
}

StatusOr<std::unique_ptr<StepLog>> StepLog::create(const std::string &path) {
  std::string folder = std::filesystem::path(path).parent_path().string();
  if (!folder.empty())
    if (Status status = makeFolders(folder); !status)
      return status;
  int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor < 0)
    return systemError("cannot write the log", path);
  return std::unique_ptr<StepLog>(new StepLog(path, descriptor));
}

StepLog::~StepLog() { ::close(descriptor); }

Status StepLog::write(const StepRecord &record) {
  std::string line = stepLine(record) + "\n";
  std::lock_guard lock(mutex);
  for (size_t done = 0; done < line.size();) {
    ssize_t n = ::write(descriptor, line.data() + done, line.size() - done);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return systemError("cannot write the log", path);
    done += static_cast<size_t>(n);
  }
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
