//===- TensorBoard.cpp - event files that TensorBoard reads -----------------===//
#include "dsc/Runtime/Monitor/TensorBoard.h"
#include "dsc/Runtime/Monitor/Evaluation.h"
#include "dsc/Runtime/Monitor/Memory.h"
#include "dsc/Support/Crc32c.h"
#include "dsc/Support/Numbers.h"
#include <chrono>
#include <cstring>
#include <filesystem>

using namespace dsc;

//===-- protobuf --===//

/// The wire types that events need.
enum Wire { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

template <typename T> static void fixed(std::string &out, T value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value); // little endian, as every CPU of this project
  out.append(bytes, sizeof value);
}

static void varint(std::string &out, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

static void key(std::string &out, int field, Wire wire) {
  varint(out, static_cast<uint64_t>(field) << 3 | static_cast<uint64_t>(wire));
}

static void bytes(std::string &out, int field, std::string_view contents) {
  key(out, field, Bytes);
  varint(out, contents.size());
  out += contents;
}

static std::string event(double wallTime, int64_t step) {
  std::string out;
  key(out, 1, Fixed64);
  fixed(out, wallTime);
  if (step) {
    key(out, 2, Varint);
    varint(out, static_cast<uint64_t>(step));
  }
  return out;
}

std::string tensorboard::record(std::string_view data) {
  std::string out;
  fixed(out, static_cast<uint64_t>(data.size()));
  fixed(out, maskedCrc32c(out));
  out += data;
  fixed(out, maskedCrc32c(data));
  return out;
}

std::string tensorboard::fileVersion(double wallTime) {
  std::string out = event(wallTime, 0);
  bytes(out, 3, "brain.Event:2");
  return out;
}

std::string tensorboard::sessionStart(double wallTime, int64_t step) {
  std::string start, out = event(wallTime, step);
  key(start, 1, Varint);
  varint(start, 1);
  bytes(out, 7, start);
  return out;
}

std::string tensorboard::scalars(double wallTime, int64_t step,
                                 std::span<const std::pair<std::string, double>> values) {
  std::string summary, out = event(wallTime, step);
  for (const auto &[tag, number] : values) {
    std::string value;
    bytes(value, 1, tag);
    key(value, 2, Fixed32);
    fixed(value, static_cast<float>(number));
    bytes(summary, 1, value);
  }
  bytes(out, 5, summary);
  return out;
}

//===-- the log --===//

static double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

static constexpr std::string_view prefix = "events.out.tfevents.";

/// The greatest number of an event file in the folder, or 0.
static int64_t newest(const std::string &folder) {
  int64_t result = 0;
  std::error_code ignored;
  for (const auto &entry : std::filesystem::directory_iterator(folder, ignored)) {
    std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix))
      continue;
    name.erase(0, prefix.size());
    if (auto number = parseInt(std::string_view(name).substr(0, name.find('.'))))
      result = std::max(result, *number);
  }
  return result;
}

StatusOr<std::unique_ptr<TensorBoardLog>> TensorBoardLog::open(const std::string &folder,
                                                               int64_t firstStep, Cadence cadence,
                                                               std::function<double()> clock) {
  if (!clock)
    clock = now;
  std::string number = std::to_string(std::max(static_cast<int64_t>(clock()), newest(folder) + 1));
  if (number.size() < 10)
    number.insert(0, 10 - number.size(), '0');
  auto file = AppendFile::open(folder + "/" + std::string(prefix) + number + ".dsc",
                               AppendFile::Mode::New, "TensorBoard's events");
  if (!file)
    return file.status();
  std::unique_ptr<TensorBoardLog> log(
      new TensorBoardLog(std::move(*file), cadence, std::move(clock)));
  std::string head = tensorboard::record(tensorboard::fileVersion(log->clock())) +
                     tensorboard::record(tensorboard::sessionStart(log->clock(), firstStep));
  if (Status status = log->file->append(head); !status)
    return status;
  return log;
}

static void addEvaluation(std::vector<std::pair<std::string, double>> &values,
                          const StepRecord &record) {
  if (!record.evalLoss)
    return;
  values.emplace_back("eval/loss", *record.evalLoss);
  values.emplace_back("eval/perplexity", perplexityOf(*record.evalLoss));
  if (record.evalBitsPerByte)
    values.emplace_back("eval/bits_per_byte", *record.evalBitsPerByte);
}

Status TensorBoardLog::step(const StepRecord &record) {
  if (!cadence.shows(record))
    return {};
  std::vector<std::pair<std::string, double>> values{{"train/loss", record.loss},
                                                     {"train/learning_rate", record.learningRate}};
  if (record.skipped == "empty")
    values.erase(values.begin()); // nothing was counted: there is no loss
  if (record.gradNorm)
    values.emplace_back("train/grad_norm", *record.gradNorm);
  if (record.lossScale)
    values.emplace_back("train/loss_scale", *record.lossScale);
  values.emplace_back("train/tokens_per_second", record.tokensPerSecond);
  addEvaluation(values, record);
  MemoryUse use = memoryUse();
  values.emplace_back("memory/resident_bytes", static_cast<double>(use.resident));
  values.emplace_back("memory/peak_bytes", static_cast<double>(use.peak));
  return file->append(tensorboard::record(tensorboard::scalars(clock(), record.step, values)));
}

Status TensorBoardLog::evaluated(const StepRecord &record) {
  std::vector<std::pair<std::string, double>> values;
  addEvaluation(values, record);
  if (values.empty())
    return {};
  return file->append(tensorboard::record(tensorboard::scalars(clock(), record.step, values)));
}
