//===- Diagnostic.cpp - rendering of errors and near names -----------------===//
#include "dsc/Frontend/Diagnostic.h"
#include <algorithm>
#include <cstdio>
#include <tuple>

using namespace dsc;

static bool isContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

static int64_t countCharacters(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return !isContinuation(c); });
}

/// Start and end of the line that holds the byte.
static std::pair<size_t, size_t> lineBounds(const std::string &text, size_t offset) {
  size_t begin = offset == 0 ? std::string::npos : text.rfind('\n', offset - 1);
  begin = begin == std::string::npos ? 0 : begin + 1;
  size_t end = text.find('\n', offset);
  end = end == std::string::npos ? text.size() : end;
  if (end > begin && text[end - 1] == '\r' && end > offset)
    --end;
  return {begin, end};
}

LineColumn dsc::lineColumn(const Location &where) {
  const std::string &text = where.file->text;
  size_t offset = std::min(where.offset, text.size());
  size_t begin = lineBounds(text, offset).first;
  return {1 + std::count(text.begin(), text.begin() + offset, '\n'),
          1 + countCharacters(std::string_view(text).substr(begin, offset - begin))};
}

std::string dsc::shortPlace(const Location &where) {
  if (!where.file)
    return "";
  if (where.file->commandLine)
    return "--set";
  return where.file->name + ":" + std::to_string(lineColumn(where).line);
}

static std::string escaped(std::string_view text) {
  std::string result;
  for (char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      char code[8];
      std::snprintf(code, sizeof code, "\\x%02x", static_cast<unsigned char>(c));
      result += code;
    } else {
      result += c;
    }
  }
  return result;
}

std::string dsc::inQuotes(std::string_view text) {
  constexpr size_t longest = 80;
  std::string shown(text.substr(0, longest));
  while (text.size() > shown.size() && !shown.empty() && isContinuation(text[shown.size()]))
    shown.pop_back();
  return "'" + escaped(shown) + (text.size() > shown.size() ? "..." : "") + "'";
}

std::string Diagnostic::str() const {
  std::string result;
  if (commandLine)
    result = "command line: ";
  else if (line > 0)
    result = file + ":" + std::to_string(line) + ":" + std::to_string(column) + ": ";
  else if (!file.empty())
    result = file + ": ";
  result += (isWarning ? "warning: " : "error: ") + message + "\n";
  if (!sourceLine.empty())
    result += "  " + sourceLine + "\n  " + std::string(caret, ' ') + "^\n";
  for (const Note &n : notes)
    result += n.kind + ": " + n.text + "\n";
  return result;
}

/// The line around `where` as one printable window of at most about 100 characters, and the caret
/// in it.
static void setSourceLine(Diagnostic &diagnostic, const Location &where) {
  constexpr size_t before = 70, after = 50;
  const std::string &text = where.file->text;
  size_t offset = std::min(where.offset, text.size());
  auto [begin, end] = lineBounds(text, offset);
  end = std::max(end, offset);
  std::string prefix = where.file->commandLine ? "--set " : "";
  // Indentation says nothing here.
  while (begin < offset && (text[begin] == ' ' || text[begin] == '\t'))
    ++begin;
  size_t from = begin, to = end;
  if (end - begin > before + after) {
    from = offset - begin > before ? offset - before : begin;
    to = std::min(end, offset + after);
    while (from < offset && isContinuation(text[from]))
      ++from;
    while (to < end && isContinuation(text[to]))
      ++to;
  }
  std::string left =
      prefix + (from > begin ? "..." : "") + escaped(text.substr(from, offset - from));
  diagnostic.sourceLine =
      left + escaped(text.substr(offset, to - offset)) + (to < end ? "..." : "");
  diagnostic.caret = countCharacters(left);
}

Diagnostic &DiagnosticList::error(const Location &where, std::string message) {
  if (full()) {
    ++dropped;
    return overflow = Diagnostic();
  }
  Diagnostic diagnostic;
  diagnostic.message = std::move(message);
  if (where.file) {
    LineColumn at = lineColumn(where);
    diagnostic.file = where.file->name;
    diagnostic.line = at.line;
    diagnostic.column = at.column;
    diagnostic.commandLine = where.file->commandLine;
    setSourceLine(diagnostic, where);
    if (std::find(fileOrder.begin(), fileOrder.end(), where.file) == fileOrder.end())
      fileOrder.push_back(where.file);
  }
  entries.push_back({std::move(diagnostic), where.file, where.offset, entries.size()});
  return entries.back().diagnostic;
}

std::vector<Diagnostic> DiagnosticList::take() {
  auto rank = [&](const Entry &e) {
    return std::find(fileOrder.begin(), fileOrder.end(), e.file) - fileOrder.begin();
  };
  std::sort(entries.begin(), entries.end(), [&](const Entry &a, const Entry &b) {
    return std::make_tuple(rank(a), a.offset, a.order) <
           std::make_tuple(rank(b), b.offset, b.order);
  });
  std::vector<Diagnostic> result;
  for (Entry &e : entries)
    result.push_back(std::move(e.diagnostic));
  if (dropped) {
    Diagnostic more;
    more.message = "and " + std::to_string(dropped) + " more errors";
    result.push_back(std::move(more));
  }
  entries.clear();
  return result;
}

/// Optimal string alignment distance.
static size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> previous(b.size() + 1), row(b.size() + 1), beforePrevious;
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    beforePrevious = previous;
    previous = row;
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] =
          std::min({previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], beforePrevious[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string dsc::nearestName(std::string_view name, const std::vector<std::string> &candidates) {
  // Longer names than any key are no slip of the finger, and a hostile file could make them costly.
  if (name.size() > 64)
    return "";
  std::string best;
  size_t bestDistance = 1 + std::max<size_t>(1, name.size() / 3);
  for (const std::string &candidate : candidates) {
    size_t distance = editDistance(name, candidate);
    if (distance < bestDistance) {
      bestDistance = distance;
      best = candidate;
    }
  }
  return best;
}
