//===- ResumeLog.cpp - a log continued after a stop; what happened beside -----===//
#include "dsc/Runtime/Monitor/StepLog.h"
#include "dsc/Support/File.h"
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

using namespace dsc;

static constexpr std::string_view afterEvaluation = ", \"tokens_per_second\": ";

std::string dsc::withEvaluation(const std::string &line, const StepRecord &evaluated) {
  StepRecord record;
  std::string bare = stepLine(record);
  record.evalLoss = evaluated.evalLoss;
  record.evalBitsPerByte = evaluated.evalBitsPerByte;
  std::string with = stepLine(record); // what the evaluation adds, wherever stepLine puts it
  if (with == bare)
    return line;
  std::string added = with.substr(with.find(", \"eval_loss\": "), with.size() - bare.size());
  size_t place = line.find(afterEvaluation);
  return place == line.npos ? line : std::string(line).insert(place, added);
}

/// The step that a line is about, or -1.
static int64_t stepOf(std::string_view line) {
  auto json = parseJson(line);
  auto step = json.is_object() ? json.find("step") : json.end();
  return json.is_object() && step != json.end() && step->is_number_integer() ? step->get<int64_t>()
                                                                             : -1;
}

/// The line that ends at `end` (after its line feed), without it; empty if none does.
static std::string_view lineBefore(std::string_view text, size_t end) {
  if (end == 0 || end > text.size() || text[end - 1] != '\n')
    return {};
  size_t start = end < 2 ? text.npos : text.rfind('\n', end - 2);
  start = start == text.npos ? 0 : start + 1;
  return text.substr(start, end - 1 - start);
}

/// Where to cut so that whole lines of steps up to `step` stay, and the step of the last of them
/// (0: no line).
static size_t findCut(std::string_view text, int64_t step, uint64_t expected, int64_t &last) {
  if (expected && expected <= text.size() && stepOf(lineBefore(text, expected)) == step) {
    last = step;
    return expected;
  }
  size_t cut = 0;
  last = 0;
  for (size_t end; (end = text.find('\n', cut)) != text.npos; cut = end + 1) {
    int64_t found = stepOf(text.substr(cut, end - cut));
    if (found < 0 || found > step)
      break;
    last = found;
  }
  return cut;
}

StatusOr<std::unique_ptr<StepLog>> StepLog::resume(const std::string &path, int64_t step,
                                                   uint64_t bytes, std::string &note) {
  std::error_code absent;
  size_t cut = 0;
  int64_t last = 0;
  if (std::filesystem::is_regular_file(path, absent)) {
    auto file = MappedFile::open(path);
    if (!file)
      return file.status();
    cut = findCut(file->bytes(), step, bytes, last);
  } else if (!std::filesystem::exists(path, absent)) {
    note =
        "there is no log '" + path + "' to continue: it starts after step " + std::to_string(step);
    return create(path);
  } else { // a pipe, a terminal
    return create(path);
  }
  if (last != step)
    note = "the log '" + path + "' ends at step " + std::to_string(last) +
           ", it continues after step " + std::to_string(step);
  auto opened = AppendFile::open(path, AppendFile::Mode::Continue, "the log");
  if (!opened)
    return opened.status();
  if (Status status = (*opened)->cut(cut); !status)
    return status;
  return std::unique_ptr<StepLog>(new StepLog(std::move(*opened)));
}

Status StepLog::evaluated(const StepRecord &record) {
  std::string line;
  size_t start;
  {
    auto mapped = MappedFile::open(file->path());
    if (!mapped)
      return mapped.status();
    std::string_view last = lineBefore(mapped->bytes(), mapped->size());
    start = mapped->size() - last.size() - 1;
    line = last;
  }
  if (line.empty() || line.find("\"eval_loss\"") != line.npos)
    return {};
  if (Status status = file->cut(start); !status)
    return status;
  return file->append(withEvaluation(line, record) + "\n");
}

std::string dsc::besideLog(const std::string &log, const std::string &what) {
  if (log.empty())
    return {};
  constexpr std::string_view ending = ".jsonl";
  std::string base = log.ends_with(ending) ? log.substr(0, log.size() - ending.size()) : log;
  return base + "." + what + ".jsonl";
}

EventLog::EventLog(std::string path, bool anew) : path(std::move(path)) {
  if (anew && !this->path.empty())
    ::unlink(this->path.c_str());
}

std::string EventLog::pathFor(const std::string &log) { return besideLog(log, "events"); }

void EventLog::write(int64_t step, const std::string &event, const std::string &message) {
  if (path.empty())
    return;
  nlohmann::ordered_json line{{"step", step}, {"event", event}, {"message", message}};
  std::string text =
      line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0)
    return;
  [[maybe_unused]] ssize_t written = ::write(file, text.data(), text.size());
  ::close(file);
}
