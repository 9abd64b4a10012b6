//===- Compare.cpp - several runs beside each other --------------------------===//
#include "dsc/Report/RunFiles.h"
#include <algorithm>
#include <filesystem>
#include <set>

using namespace dsc;
using namespace dsc::report;

/// The last `parts` parts of a path.
static std::string tail(const std::string &path, size_t parts) {
  std::filesystem::path normal = std::filesystem::path(path).lexically_normal();
  if (!normal.has_filename())
    normal = normal.parent_path();
  std::vector<std::string> names;
  for (const auto &part : normal)
    names.push_back(part.string());
  std::string result;
  for (size_t i = names.size() - std::min(parts, names.size()); i < names.size(); ++i)
    result += (result.empty() || result == "/" ? "" : "/") + names[i];
  return result;
}

static void giveNames(std::vector<Run> &runs) {
  for (size_t parts = 1; parts <= 16; ++parts) {
    std::set<std::string> names;
    for (Run &run : runs) {
      run.name = tail(run.path, parts);
      if (run.name == "log" || run.name == "log.jsonl") // says nothing
        run.name = tail(run.path, parts + 1);
      names.insert(run.name);
    }
    if (names.size() == runs.size())
      return;
  }
  for (size_t i = 0; i < runs.size(); ++i) // the same folder twice
    runs[i].name += " (" + std::to_string(i + 1) + ")";
}

StatusOr<std::vector<Run>> report::readRuns(const std::vector<std::string> &paths) {
  std::vector<Run> runs;
  std::string errors;
  for (const std::string &path : paths) {
    auto run = readRun(path);
    if (run.ok())
      runs.push_back(std::move(*run));
    else
      errors += (errors.empty() ? "" : "\n") + run.status().message();
  }
  if (!errors.empty())
    return inputError(errors);
  giveNames(runs);
  return runs;
}

std::vector<SettingRow> report::compareSettings(const std::vector<Run> &runs) {
  std::set<std::string> keys;
  for (const Run &run : runs)
    for (const auto &[key, value] : run.settings)
      keys.insert(key);
  std::vector<SettingRow> rows;
  for (const std::string &key : keys) {
    SettingRow row{key, {}, false};
    for (const Run &run : runs) {
      auto found = run.settings.find(key);
      row.values.push_back(found == run.settings.end() ? "" : found->second);
      row.differs |= row.values.back() != row.values.front();
    }
    row.differs &= !key.starts_with("log.") && key != "checkpoint.dir";
    rows.push_back(std::move(row));
  }
  return rows;
}

Series report::thin(const Series &series, size_t most) {
  if (series.size() <= most || most < 4)
    return series;
  Series result{series.front()};
  size_t stretches = most / 2 - 1, inner = series.size() - 2;
  auto less = [](const auto &a, const auto &b) { return a.second < b.second; };
  for (size_t i = 0; i < stretches; ++i) {
    auto begin = series.begin() + 1 + static_cast<ptrdiff_t>(inner * i / stretches),
         end = series.begin() + 1 + static_cast<ptrdiff_t>(inner * (i + 1) / stretches);
    auto least = std::min_element(begin, end, less), greatest = std::max_element(begin, end, less);
    result.push_back(*std::min(least, greatest));
    if (least != greatest)
      result.push_back(*std::max(least, greatest));
  }
  result.push_back(series.back());
  return result;
}

double report::median(const Series &series) {
  if (series.empty())
    return 0;
  std::vector<double> values;
  for (const auto &[step, value] : series)
    values.push_back(value);
  auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}
