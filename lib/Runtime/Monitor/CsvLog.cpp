//===- CsvLog.cpp - the log as a table --------------------------------------===//
#include "dsc/Runtime/Monitor/CsvLog.h"
#include "dsc/Support/File.h"
#include "dsc/Support/Numbers.h"
#include <cmath>
#include <filesystem>

using namespace dsc;
using Json = nlohmann::ordered_json;

/// Every key that a line can have, in order: those of a record that has them all.
static const std::vector<std::string> &columns() {
  static const std::vector<std::string> names = [] {
    StepRecord full;
    full.lossScale = full.evalLoss = full.evalBitsPerByte = 1;
    std::vector<std::string> result;
    Json json = Json::parse(stepLine(full));
    for (const auto &[key, value] : json.items())
      result.push_back(key);
    return result;
  }();
  return names;
}

std::string CsvLog::header() {
  std::string line;
  for (const std::string &name : columns())
    line += (line.empty() ? "" : ",") + name;
  return line + "\n";
}

std::string CsvLog::row(const StepRecord &record) {
  Json json = Json::parse(stepLine(record));
  std::string line;
  for (const std::string &name : columns()) {
    if (name != columns().front())
      line += ',';
    auto value = json.find(name);
    if (value == json.end() || value->is_null())
      continue;
    line += value->is_string()         ? value->get<std::string>()
            : value->is_number_float() ? print17(value->get<double>())
                                       : value->dump();
  }
  return line + "\n";
}

/// Length of the header and the rows of steps up to `after`; 0 if the table is another.
static size_t keep(std::string_view text, int64_t after, int64_t &last) {
  std::string head = CsvLog::header();
  last = 0;
  if (!text.starts_with(head))
    return 0;
  size_t at = head.size();
  for (size_t end; (end = text.find('\n', at)) != text.npos; at = end + 1) {
    auto step = parseInt(text.substr(at, text.find(',', at) - at));
    if (!step || *step > after)
      break;
    last = *step;
  }
  return at;
}

StatusOr<std::unique_ptr<CsvLog>> CsvLog::open(const std::string &path,
                                               std::optional<int64_t> after, std::string &note) {
  std::error_code ignored;
  size_t kept = 0;
  int64_t last = 0;
  if (after && std::filesystem::is_regular_file(path, ignored)) {
    auto mapped = MappedFile::open(path);
    if (!mapped)
      return mapped.status();
    kept = keep(mapped->bytes(), *after, last);
  }
  if (after && last != *after)
    note = "the table '" + path + "' ends at step " + std::to_string(last) +
           ", it continues after step " + std::to_string(*after);
  auto file = AppendFile::open(path, kept ? AppendFile::Mode::Continue : AppendFile::Mode::Anew,
                               "the table");
  if (!file)
    return file.status();
  std::unique_ptr<CsvLog> log(new CsvLog(std::move(*file)));
  Status status = kept ? log->file->cut(kept) : log->file->append(header());
  if (!status)
    return status;
  return log;
}

Status CsvLog::evaluated(const StepRecord &record) {
  std::string line;
  size_t start;
  {
    auto mapped = MappedFile::open(file->path());
    if (!mapped)
      return mapped.status();
    std::string_view text = mapped->bytes();
    start = text.size() < 2 ? text.npos : text.rfind('\n', text.size() - 2);
    if (start == text.npos)
      return {}; // the header alone
    line = text.substr(++start);
  }
  StepRecord full = record;
  full.evalBitsPerByte = full.evalBitsPerByte.value_or(NAN); // keeps its place, empty
  std::string evaluation = row(full), result;
  size_t at = 0, other = 0;
  for (const std::string &name : columns()) {
    size_t end = line.find_first_of(",\n", at), otherEnd = evaluation.find_first_of(",\n", other);
    if (end == line.npos || otherEnd == evaluation.npos)
      return {};
    bool replaced = name.starts_with("eval_");
    result += replaced ? evaluation.substr(other, otherEnd - other) : line.substr(at, end - at);
    result += name == columns().back() ? '\n' : ',';
    at = end + 1;
    other = otherEnd + 1;
  }
  if (Status status = file->cut(start); !status)
    return status;
  return file->append(result);
}
