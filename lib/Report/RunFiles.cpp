//===- RunFiles.cpp - what a run left behind --------------------------------===//
#include "dsc/Report/RunFiles.h"
#include "dsc/Support/File.h"
#include "dsc/Support/Numbers.h"
#include <algorithm>
#include <filesystem>

using namespace dsc;
using namespace dsc::report;
using nlohmann::json;
namespace fs = std::filesystem;

/// file:line:column: error, the line, a caret under the column. Long lines are cut around it.
static std::string damaged(const std::string &path, size_t line, size_t column,
                           std::string_view text, const std::string &what) {
  constexpr size_t shown = 90, before = 60;
  size_t at = std::min(column - 1, text.size()), from = at > before ? at - before : 0;
  std::string excerpt(text.substr(from, shown));
  for (char &c : excerpt)
    if (static_cast<unsigned char>(c) < 32 || static_cast<unsigned char>(c) > 126)
      c = '?'; // one column each
  return path + ":" + std::to_string(line) + ":" + std::to_string(column) + ": error: " + what +
         "\n  " + excerpt + "\n  " + std::string(at - from, ' ') + "^";
}

/// The column of the word or number that ends at `byte`, both counted from 1, as the parser does.
static size_t tokenStart(std::string_view text, size_t byte) {
  auto ofToken = [&](size_t column) {
    return column >= 1 && column <= text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[column - 1])) ||
            std::string_view("+-.").find(text[column - 1]) != std::string_view::npos);
  };
  size_t column = std::max<size_t>(byte, 1);
  while (ofToken(column) && ofToken(column - 1))
    --column;
  return column;
}

/// What doubles count exactly; larger numbers in a log are not meant.
static constexpr double mostCount = 9007199254740992.0;

static int64_t count(double value) {
  return static_cast<int64_t>(std::clamp(value, 0.0, mostCount));
}

namespace {

/// Lines of a file of JSON objects.
class Lines {
public:
  Lines(const std::string &path, std::string_view text) : path(path), rest(text) {}

  /// The next object; nothing at the end or after an error.
  bool next(json &object) {
    while (!rest.empty() && error.empty()) {
      size_t end = rest.find('\n');
      bool whole = end != rest.npos;
      text = rest.substr(0, end);
      rest.remove_prefix(whole ? end + 1 : rest.size());
      ++number;
      try {
        object = json::parse(text);
        if (object.is_object())
          return true;
        fail(1, "this is " + std::string(object.type_name()) + ", expected an object");
      } catch (const json::parse_error &problem) {
        if (!whole && rest.empty()) {
          halfLine = true;
          return false;
        }
        fail(tokenStart(text, problem.byte), "this is no JSON");
      } catch (const json::out_of_range &) { // does not say where
        fail(1, "a number in this line has no double");
      }
    }
    return false;
  }
  void fail(size_t column, const std::string &what) {
    error = damaged(path, number, column, text, what);
  }
  /// The column of a key's value.
  size_t columnOf(const std::string &key) const {
    size_t at = text.find("\"" + key + "\"");
    if (at == text.npos)
      return 1;
    at = text.find_first_not_of(" :", at + key.size() + 2);
    return at == text.npos ? 1 : at + 1;
  }

  std::string error;
  bool halfLine = false;
  size_t number = 0;

private:
  const std::string &path;
  std::string_view rest, text;
};

/// Reads log.jsonl into a Run.
class LogReader {
public:
  LogReader(const std::string &path, std::string_view text, Run &run)
      : path(path), lines(path, text), run(run) {}

  Status read() {
    json line;
    while (lines.next(line))
      take(line);
    if (!lines.error.empty())
      return inputError(lines.error);
    if (!run.steps)
      return inputError("the log '" + path + "' has no step yet");
    if (lines.halfLine)
      run.notes.push_back("line " + std::to_string(lines.number) + " of '" + path +
                          "' is half there and left out: a run may be writing it");
    return {};
  }

private:
  /// A number where it is given; not finite ones are null.
  bool number(const json &line, const char *key, double &value) {
    auto found = line.find(key);
    if (found == line.end() || found->is_null())
      return false;
    if (!found->is_number()) {
      lines.fail(lines.columnOf(key), std::string("'") + key + "' is " + found->type_name() +
                                          ", expected a number or null");
      return false;
    }
    value = found->get<double>();
    return true;
  }

  void take(const json &line) {
    auto found = line.find("step");
    if (found == line.end())
      return lines.fail(1, "there is no 'step'");
    if (!found->is_number_integer() || *found < run.steps + 1 || *found > mostCount)
      return lines.fail(lines.columnOf("step"),
                        "'step' is " + found->dump() + ", expected a whole number above " +
                            std::to_string(run.steps) + ": steps rise from line to line");
    int64_t step = found->get<int64_t>();
    static constexpr const char *keys[] = {
        "loss",      "grad_norm",       "learning_rate",      "loss_scale",
        "eval_loss", "eval_perplexity", "eval_bits_per_byte", "tokens_per_second"};
    auto skipped = line.find("skipped");
    bool empty = skipped != line.end() && *skipped == "empty";
    double value = 0;
    for (const char *key : keys)
      if (number(line, key, value) && !(empty && std::string_view(key) == "loss"))
        run.series[key].emplace_back(step, value);
    if (number(line, "step_ms", value))
      run.seconds += value / 1e3;
    if (number(line, "updates", value))
      run.updates = count(value);
    if (number(line, line.contains("counted_tokens") ? "counted_tokens" : "tokens", value))
      run.countedTokens = count(static_cast<double>(run.countedTokens) + value);
    if (skipped != line.end() && skipped->is_string())
      run.skipped.emplace_back(step, skipped->get<std::string>());
    if (!run.firstStep)
      run.firstStep = step;
    run.steps = step;
  }

  const std::string &path;
  Lines lines;
  Run &run;
};

} // namespace

static bool isFile(const std::string &path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

/// A file beside the log whose damage costs its line only: `take` gets each object.
template <typename Take> static void readBeside(const std::string &path, Run &run, Take take) {
  if (!isFile(path))
    return;
  auto file = MappedFile::open(path);
  if (!file) {
    run.notes.push_back(file.status().message());
    return;
  }
  size_t damaged = 0, number = 0;
  for (std::string_view rest = file->bytes(); !rest.empty();) {
    size_t end = std::min(rest.find('\n'), rest.size());
    json object = parseJson(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    ++number;
    auto step = object.is_object() ? object.find("step") : object.end();
    if (object.is_object() && step != object.end() && step->is_number_integer() &&
        take(step->template get<int64_t>(), object))
      continue;
    damaged += !rest.empty(); // the last may be half there
  }
  if (damaged)
    run.notes.push_back(std::to_string(damaged) + " of " + std::to_string(number) + " lines of '" +
                        path + "' are damaged and left out");
}

static void readEvents(const std::string &path, Run &run) {
  readBeside(path, run, [&](int64_t step, const json &object) {
    auto event = object.find("event"), message = object.find("message");
    if (event == object.end() || !event->is_string())
      return false;
    std::string text =
        message != object.end() && message->is_string() ? message->get<std::string>() : "";
    if (*event == "checkpoint")
      run.checkpoints.push_back(step);
    else
      run.events.push_back({step, event->get<std::string>(), text});
    if (*event == "resumed")
      run.resumed.push_back(step);
    return true;
  });
  // A run that went back saves some steps again.
  for (auto *list : {&run.checkpoints, &run.resumed}) {
    std::sort(list->begin(), list->end());
    list->erase(std::unique(list->begin(), list->end()), list->end());
    std::erase_if(*list, [&](int64_t step) { return step > run.steps; });
  }
}

static void readMemory(const std::string &path, Run &run) {
  readBeside(path, run, [&](int64_t step, const json &object) {
    bool good = true;
    for (const char *key : {"resident_bytes", "peak_bytes"}) {
      auto value = object.find(key);
      good &= value != object.end() && value->is_number();
      if (!good)
        break;
      Series &series = run.series[key];
      while (!series.empty() && series.back().first >= step) // resumed from before
        series.pop_back();
      series.emplace_back(step, value->get<double>());
    }
    return good;
  });
  for (const char *key : {"resident_bytes", "peak_bytes"})
    if (auto found = run.series.find(key); found != run.series.end())
      std::erase_if(found->second, [&](const auto &point) { return point.first > run.steps; });
}

static void flatten(const json &value, const std::string &path,
                    std::map<std::string, std::string> &out) {
  if (!value.is_structured() || value.empty()) {
    out[path] = value.is_string() ? value.get<std::string>()
                                  : value.dump(-1, ' ', false, json::error_handler_t::replace);
    return;
  }
  size_t index = 0;
  for (const auto &[key, element] : value.items()) {
    std::string name = value.is_array() ? std::to_string(index++) : key;
    flatten(element, path.empty() ? name : path + "." + name, out);
  }
}

static Status readSettings(const std::string &path, Run &run) {
  if (!isFile(path)) {
    run.notes.push_back("there is no '" + path + "': the settings are not known");
    return {};
  }
  auto file = MappedFile::open(path);
  if (!file)
    return file.status();
  try {
    json info = json::parse(file->bytes());
    if (!info.is_object())
      return inputError("'" + path + "' holds " + info.type_name() + ", expected an object");
    if (auto spec = info.find("spec"); spec != info.end())
      flatten(*spec, "", run.settings);
    for (auto [key, name] : {std::pair("plan_hash", "plan"),
                             {"isa", "isa"},
                             {"threads", "threads"},
                             {"versions", "versions"}})
      if (auto found = info.find(key); found != info.end())
        flatten(*found, name, run.settings);
  } catch (const json::parse_error &problem) {
    std::string_view text = file->bytes();
    size_t at = std::min(std::max<size_t>(problem.byte, 1) - 1, text.size());
    size_t start = at ? text.rfind('\n', at - 1) : text.npos;
    start = start == text.npos ? 0 : start + 1;
    auto line = static_cast<size_t>(std::count(text.begin(), text.begin() + at, '\n')) + 1;
    return inputError(damaged(path, line, at - start + 1,
                              text.substr(start, text.find('\n', start) - start),
                              "this is no JSON"));
  } catch (const json::out_of_range &) {
    return inputError("'" + path + "' holds a number that has no double");
  }
  return {};
}

/// RUN.jsonl -> RUN.<what>.jsonl, as the runtime has it.
static std::string beside(std::string log, const std::string &what) {
  if (log.ends_with(".jsonl"))
    log.resize(log.size() - 6);
  return log + "." + what + ".jsonl";
}

StatusOr<Run> report::readRun(const std::string &path) {
  Run run;
  run.path = path;
  std::error_code ignored;
  bool folder = fs::is_directory(path, ignored);
  if (!folder && !fs::exists(path, ignored))
    return inputError("there is no folder '" + path + "'");
  std::string log = folder ? joinPath(path, "log.jsonl") : path;
  if (folder && !isFile(log))
    return inputError("the folder '" + path +
                      "' has no log.jsonl: give the folder that the spec names as log.dir");
  auto file = MappedFile::open(log);
  if (!file)
    return file.status();
  if (Status status = LogReader(log, file->bytes(), run).read(); !status)
    return status;
  std::string runInfo =
      folder ? joinPath(path, "run.json") : (fs::path(path).parent_path() / "run.json").string();
  if (folder || isFile(runInfo))
    if (Status status = readSettings(runInfo, run); !status)
      return status;
  readEvents(beside(log, "events"), run);
  readMemory(beside(log, "memory"), run);
  return run;
}
