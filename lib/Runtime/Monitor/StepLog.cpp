//===- StepLog.cpp - JSONL log and run.json ------------------------------------===//
#include "dsc/Runtime/Monitor/StepLog.h"
#include "dsc/Runtime/Monitor/Evaluation.h"
#include "dsc/Support/File.h"
#include "dsc/Support/Numbers.h"
#include <filesystem>

using namespace dsc;

std::string dsc::stepLine(const StepRecord &record) {
  std::string line =
      "{\"step\": " + std::to_string(record.step) +
      ", \"updates\": " + std::to_string(record.updates) +
      ", \"loss\": " + jsonNumber(record.loss) +
      ", \"grad_norm\": " + (record.gradNorm ? jsonNumber(*record.gradNorm) : "null") +
      ", \"learning_rate\": " + jsonNumber(record.learningRate) +
      ", \"tokens\": " + std::to_string(record.tokens) +
      ", \"counted_tokens\": " + std::to_string(record.countedTokens) +
      ", \"skipped\": " + (record.skipped.empty() ? "null" : nlohmann::json(record.skipped).dump());
  if (record.lossScale)
    line += ", \"loss_scale\": " + jsonNumber(*record.lossScale);
  if (record.evalLoss)
    line += ", \"eval_loss\": " + jsonNumber(*record.evalLoss) +
            ", \"eval_perplexity\": " + jsonNumber(perplexityOf(*record.evalLoss));
  if (record.evalLoss && record.evalBitsPerByte)
    line += ", \"eval_bits_per_byte\": " + jsonNumber(*record.evalBitsPerByte);
  return line + ", \"tokens_per_second\": " + jsonNumber(record.tokensPerSecond) +
         ", \"step_ms\": " + jsonNumber(record.stepMs) + "}";
}

StatusOr<std::unique_ptr<StepLog>> StepLog::create(const std::string &path) {
  auto file = AppendFile::open(path, AppendFile::Mode::Anew, "the log");
  if (!file)
    return file.status();
  return std::unique_ptr<StepLog>(new StepLog(std::move(*file)));
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
