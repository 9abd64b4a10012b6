//===- Explain.cpp - one key of the spec, explained on a terminal ----------===//
#include "NotYet.h"
#include "dsc/Frontend/Diagnostic.h"
#include "dsc/Frontend/SpecTable.h"

using namespace dsc;

static std::string listed(const std::vector<std::string_view> &names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i)
    text += (i ? ", " : "") + std::string(names[i]);
  return text;
}

/// The text broken at spaces into lines of at most 90 columns, each with `indent` in front.
static std::string wrapped(std::string_view text, const std::string &indent) {
  std::string result, line;
  while (!text.empty()) {
    size_t end = std::min(text.find(' '), text.size());
    std::string word(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.empty() && indent.size() + line.size() + 1 + word.size() > 90) {
      result += indent + line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return line.empty() ? result : result + indent + line + "\n";
}

static std::string explanation(const SpecKey &key) {
  std::string text = std::string(key.path) + "\n";
  auto add = [&](const char *title, const std::string &value) {
    if (!value.empty())
      text += "  " + std::string(title) + value + "\n";
  };
  std::string value = typeNames(key);
  if (std::string range = rangeText(key); !range.empty())
    value += ", " + range;
  if (!key.unit.empty())
    value += ", in " + std::string(key.unit);
  switch (key.use) {
  case KeyUse::Used:
  case KeyUse::Ignored:
    add("value:    ", value);
    break;
  case KeyUse::Limited:
    add("accepted: ", std::string(key.only.substr(1, key.only.size() - 2)) + ", nothing else yet");
    break;
  case KeyUse::Absent:
    add("accepted: ", "absent, null, false or {\"enabled\": false}: nothing of it exists yet");
    break;
  }
  if (key.use == KeyUse::Used)
    add("one of:   ", listed(key.choices));
  if (key.required)
    add("default:  ", "none, the key is required");
  else if (key.use == KeyUse::Used)
    add("default:  ", std::string(key.fallback.empty() ? key.inferred : key.fallback));
  add("not yet:  ", notYetText(key.path));
  add("for:      ", listed(key.belongsTo));
  add("also:     ", listed(key.aliases));
  if (key.use == KeyUse::Ignored)
    add("ignored:  ", std::string(key.reason));
  return text + wrapped(key.doc, "  ");
}

/// Keys directly below `path`.
static std::string keysBelow(std::string_view path) {
  std::string text, prefix = std::string(path) + ".", items = std::string(path) + "[].";
  for (const SpecKey &key : specTable())
    for (const std::string &start : {prefix, items})
      if (key.path.rfind(start, 0) == 0 &&
          key.path.find('.', start.size()) == std::string_view::npos)
        text += "    " + std::string(key.path) + "\n";
  return text.empty() ? text : "  keys:\n" + text;
}

std::string dsc::explainSpecKey(std::string_view path) {
  std::string found;
  auto add = [&](const SpecKey &key) {
    found += (found.empty() ? "" : "\n") + explanation(key) + keysBelow(key.path);
  };
  for (const SpecKey &key : specTable())
    if (key.path == path)
      add(key);
  if (!found.empty())
    return found;
  std::string tail = "." + std::string(path);
  for (const SpecKey &key : specTable()) { // by its last parts, or by another name
    bool named = key.path.size() > tail.size() && key.path.ends_with(tail);
    for (std::string_view alias : key.aliases)
      named |= alias == path;
    if (named)
      add(key);
  }
  return found;
}

std::string dsc::nearestSpecKey(std::string_view path) {
  std::vector<std::string> paths, names;
  for (const SpecKey &key : specTable()) {
    paths.emplace_back(key.path);
    names.emplace_back(key.name());
  }
  std::string nearest = nearestName(path, paths);
  return nearest.empty() ? nearestName(path, names) : nearest;
}
