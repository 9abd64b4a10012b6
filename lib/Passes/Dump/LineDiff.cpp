//===- LineDiff.cpp - which lines a pass changed ---------------------------===//
#include "LineDiff.h"
#include <algorithm>
#include <cctype>
#include <string>
#include <unordered_map>

using namespace dsc;

/// The line with `%12` as `%` and `%lse_12` as `%lse_`: renumbering is no change.
static std::string withoutNumbers(std::string_view line) {
  std::string text;
  bool inName = false;
  auto digit = [&](size_t i) { return i < line.size() && line[i] >= '0' && line[i] <= '9'; };
  for (size_t i = 0; i < line.size(); ++i) {
    text += line[i];
    if (line[i] == '%')
      inName = true;
    else if (inName && line[i] != '_' && line[i] != '.' &&
             !isalnum(static_cast<unsigned char>(line[i])))
      inName = false;
    if (!inName || (line[i] != '%' && line[i] != '_'))
      continue;
    size_t end = i + 1;
    while (digit(end))
      ++end;
    bool ends = end == line.size() || (line[end] != '_' && line[end] != '.' &&
                                       !isalnum(static_cast<unsigned char>(line[end])));
    if (ends)
      i = end - 1;
  }
  return text;
}

/// Each distinct line as a number.
static std::vector<uint32_t> numbered(std::string_view text,
                                      std::unordered_map<std::string, uint32_t> &numbers) {
  std::vector<uint32_t> lines;
  while (!text.empty()) {
    size_t end = text.find('\n');
    std::string line = withoutNumbers(text.substr(0, end));
    lines.push_back(numbers.try_emplace(std::move(line), numbers.size()).first->second);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return lines;
}

/// For each line of `a` the line of `b` it is kept as, or -1; increasing.
static std::vector<int64_t> match(const std::vector<uint32_t> &a, const std::vector<uint32_t> &b,
                                  int64_t limit) {
  int64_t n = a.size(), m = b.size();
  std::vector<int64_t> kept(n, -1);
  int64_t prefix = 0, suffix = 0;
  while (prefix < n && prefix < m && a[prefix] == b[prefix]) {
    kept[prefix] = prefix;
    ++prefix;
  }
  while (suffix < n - prefix && suffix < m - prefix && a[n - 1 - suffix] == b[m - 1 - suffix]) {
    kept[n - 1 - suffix] = m - 1 - suffix;
    ++suffix;
  }
  int64_t rows = n - prefix - suffix, columns = m - prefix - suffix;
  int64_t most = std::min<int64_t>(rows + columns, limit);
  std::vector<int32_t> reach(2 * most + 2, 0);
  std::vector<std::vector<int32_t>> trace;
  int64_t edits = -1;
  for (int64_t d = 0; d <= most && edits < 0; ++d) {
    trace.emplace_back(reach.begin() + (most - d), reach.begin() + (most + d + 1));
    for (int64_t k = -d; k <= d; k += 2) {
      bool down = k == -d || (k != d && reach[most + k - 1] < reach[most + k + 1]);
      int64_t x = down ? reach[most + k + 1] : reach[most + k - 1] + 1;
      int64_t y = x - k;
      while (x < rows && y < columns && a[prefix + x] == b[prefix + y])
        ++x, ++y;
      reach[most + k] = x;
      if (x >= rows && y >= columns) {
        edits = d;
        break;
      }
    }
  }
  if (edits < 0)
    return kept;
  int64_t x = rows, y = columns;
  for (int64_t d = edits; d > 0; --d) {
    // trace[d] holds diagonals -d .. d as they were before round d.
    const std::vector<int32_t> &before = trace[d];
    auto at = [&](int64_t k) -> int64_t { return before[k + d]; };
    int64_t k = x - y;
    bool down = k == -d || (k != d && at(k - 1) < at(k + 1));
    int64_t fromK = down ? k + 1 : k - 1;
    int64_t fromX = at(fromK), fromY = fromX - fromK;
    while (x > fromX && y > fromY && x > 0 && y > 0 && a[prefix + x - 1] == b[prefix + y - 1]) {
      --x, --y;
      kept[prefix + x] = prefix + y;
    }
    x = fromX;
    y = fromY;
  }
  while (x > 0 && y > 0) {
    --x, --y;
    kept[prefix + x] = prefix + y;
  }
  return kept;
}

std::vector<DiffRun> dsc::diffLines(std::string_view before, std::string_view after,
                                    uint32_t limit) {
  std::unordered_map<std::string, uint32_t> numbers; // looked up, never walked
  std::vector<uint32_t> a = numbered(before, numbers), b = numbered(after, numbers);
  std::vector<int64_t> kept = match(a, b, limit);
  std::vector<DiffRun> runs{{0, 0, 0}};
  int64_t next = 0; // line of `b`
  for (size_t i = 0; i <= a.size(); ++i) {
    int64_t target = i < a.size() ? kept[i] : int64_t(b.size());
    if (target < 0) {
      ++runs.back().removed;
      continue;
    }
    runs.back().added += target - next;
    next = target;
    if (i == a.size())
      break;
    if (runs.back().removed || runs.back().added)
      runs.push_back({0, 0, 0});
    ++runs.back().equal;
    ++next;
  }
  return runs;
}
