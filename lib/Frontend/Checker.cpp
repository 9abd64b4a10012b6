//===- Checker.cpp - single values against their rows ----------------------===//
#include "Checker.h"
#include "NotYet.h"
#include <algorithm>
#include <cmath>

using namespace dsc;
using Kind = JsonNode::Kind;

static std::string join(const std::string &path, std::string_view name) {
  return path.empty() ? std::string(name) : path + "." + std::string(name);
}

static std::string choiceList(const std::vector<std::string_view> &choices) {
  std::string result;
  for (size_t i = 0; i < choices.size(); ++i)
    result += (i == 0                    ? ""
               : i + 1 == choices.size() ? " or "
                                         : ", ") +
              ("'" + std::string(choices[i]) + "'");
  return result;
}

static bool sameIgnoringCase(std::string_view a, std::string_view b) {
  auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

/// "parallel.tensor" -> "without it"; used where a whole feature is absent.
static std::string notYet(const SpecKey &key) {
  return key.reason.empty() ? "" : ": " + std::string(key.reason);
}

/// The spelling of a number, cut when long.
static std::string numberText(const JsonNode &node) {
  std::string shown = inQuotes(node.text);
  return shown.substr(1, shown.size() - 2);
}

void Checker::checkRoot(JsonNode &root) {
  if (root.is(Kind::Invalid))
    return;
  if (!root.is(Kind::Object)) {
    errors.error(root.where, "a spec is a JSON object, not " + describe(root));
    root.kind = Kind::Invalid;
    return;
  }
  checkMembers(root, specTree(), "");
}

void Checker::check(JsonNode &node, const SpecSection &section, const std::string &path) {
  if (node.is(Kind::Invalid) || !section.key)
    return;
  const SpecKey &key = *section.key;
  bool fine = key.use == KeyUse::Absent
                  ? checkAvailable(node, key, path)
                  : checkType(node, key, path) && checkAvailable(node, key, path) &&
                        checkRange(node, key, path) && checkChoice(node, key, path);
  if (!fine) {
    node.kind = Kind::Invalid;
    return;
  }
  if (key.use == KeyUse::Absent)
    return;
  if (node.is(Kind::Object) && !key.opaque)
    checkMembers(node, section, path);
  if (node.is(Kind::List) && !section.element.empty() && !key.opaque)
    for (size_t i = 0; i < node.items.size(); ++i)
      check(node.items[i], section.element.front(), path + "[" + std::to_string(i) + "]");
  if (!takesUnfinished)
    checkUnfinished(node, key.path, path);
}

void Checker::checkUnfinished(JsonNode &node, std::string_view key, const std::string &path) {
  const NotYet *entry = findNotYet(key, node);
  if (!entry)
    return;
  bool isShort = !node.is(Kind::Object) && !node.is(Kind::List);
  errors
      .error(node.where, "'" + path + "'" + (isShort ? " = " + toJson(node).dump() : "") +
                             " is not available yet")
      .fix(std::string(entry->instead) + " or remove the key");
  node.kind = Kind::Invalid;
}

bool Checker::checkType(JsonNode &node, const SpecKey &key, const std::string &path) {
  if (key.types & TAny)
    return true;
  unsigned types = key.types;
  bool fine = false;
  switch (node.kind) {
  case Kind::Invalid:
    return true;
  case Kind::Null:
    fine = types & TNull;
    break;
  case Kind::Bool:
    fine = types & TBool;
    break;
  case Kind::Integer:
  case Kind::Number:
    fine = types & TNumber || (types & TInteger && node.asInteger());
    break;
  case Kind::String:
    fine = types & (TString | TPath) || (types & TAuto && node.text == "auto");
    break;
  case Kind::List:
    fine = types & TList;
    break;
  case Kind::Object:
    fine = types & TObject;
    break;
  }
  if (fine) {
    if (node.is(Kind::String) && types & TPath && !(types & TString) && node.text.empty()) {
      errors.error(node.where, "'" + path + "' is an empty path");
      return false;
    }
    if (node.is(Kind::Number) && !(types & TNumber)) {
      node.integer = *node.asInteger();
      node.kind = Kind::Integer;
    }
    return true;
  }
  std::string found = describe(node);
  if (types & (TNumber | TInteger) && (node.is(Kind::Integer) || node.is(Kind::Number)))
    found = numberText(node);
  Diagnostic &d =
      errors.error(node.where, "'" + path + "' must be " + typeNames(key) + ", not " + found);
  if (node.is(Kind::String)) {
    if (types & (TNumber | TInteger) && node.text.size() < 40 && parseJson(node.text).is_number())
      d.fix("write " + node.text + ", without quotes");
    else if (types & TBool && (node.text == "true" || node.text == "false"))
      d.fix("write " + node.text + ", without quotes");
    else if (types & TObject && !(types & TPath) && node.text.ends_with(".json"))
      d.fix("put the contents of " + inQuotes(node.text) + " here");
    else if (node.text == "auto")
      d.note("nothing else says what '" + path + "' should be");
  } else if (node.is(Kind::Null)) {
    if (!key.required)
      d.fix("remove the key" + std::string(key.fallback.empty()
                                               ? ""
                                               : " for the default, " + std::string(key.fallback)));
  } else if (types & TString && (node.is(Kind::Integer) || node.is(Kind::Number))) {
    d.fix("write \"" + node.text + "\"");
  } else if (node.is(Kind::Integer) && types & TBool && (node.integer == 0 || node.integer == 1)) {
    d.fix(node.integer ? "write true" : "write false");
  } else if (types & TInteger && node.is(Kind::Number) && node.number == std::trunc(node.number)) {
    d.fix("write all digits");
  }
  return false;
}

bool Checker::checkAvailable(JsonNode &node, const SpecKey &key, const std::string &path) {
  if (key.use == KeyUse::Absent) {
    if (node.is(Kind::Null) || (node.is(Kind::Bool) && !node.boolean))
      return true;
    if (node.is(Kind::Object))
      if (const JsonNode *enabled = node.find("enabled");
          enabled && enabled->is(Kind::Bool) && !enabled->boolean)
        return true;
    errors.error(node.where, "'" + path + "' is not available yet" + notYet(key))
        .fix("remove '" + path + "'");
    return false;
  }
  if (key.use != KeyUse::Limited)
    return true;
  nlohmann::json only = parseJson(key.only);
  nlohmann::json value = toJson(node);
  if (std::find(only.begin(), only.end(), value) != only.end())
    return true;
  std::string shown =
      node.is(Kind::Object) || node.is(Kind::List) ? std::string() : " = " + value.dump();
  errors.error(node.where, "'" + path + "'" + shown + " is not available yet" + notYet(key))
      .fix("write " + only[0].dump() + " or remove the key");
  return false;
}

bool Checker::checkRange(JsonNode &node, const SpecKey &key, const std::string &path) {
  if (!node.is(Kind::Integer) && !node.is(Kind::Number))
    return true;
  std::string expected = rangeText(key);
  auto outOfRange = [&] {
    errors.error(node.where, "'" + path + "' is " + numberText(node) + ", expected " + expected +
                                 (key.unit.empty() ? "" : " " + std::string(key.unit)));
    return false;
  };
  if (node.underflow) {
    Diagnostic &d = errors.error(node.where, "'" + path + "' is " + numberText(node) +
                                                 ", which is 0 in double precision");
    if (key.min < 0 || !key.aboveMin)
      d.fix("write 0 if that is meant");
    return false;
  }
  bool integral = key.types & TInteger && !(key.types & TNumber);
  if (integral && node.text.rfind("-0", 0) == 0 && node.integer == 0) {
    errors.error(node.where, "'" + path + "' is " + numberText(node) + ", expected " +
                                 (expected.empty() ? "a whole number" : expected));
    return false;
  }
  if (node.huge && integral) {
    if (!expected.empty())
      return outOfRange();
    errors.error(node.where,
                 "'" + path + "' is " + numberText(node) + ", which does not fit 64 bits");
    return false;
  }
  double value = node.number;
  bool low = key.aboveMin ? value > key.min : value >= key.min;
  // 2^64 - 1 rounds to 2^64 as a double, so the largest seeds compare equal to the limit; `huge`
  // caught 2^64.
  bool high = key.belowMax ? value < key.max : value <= key.max;
  return (low && high) || outOfRange();
}

bool Checker::checkChoice(JsonNode &node, const SpecKey &key, const std::string &path) {
  if (!node.is(Kind::String) || key.choices.empty() || (key.types & TAuto && node.text == "auto"))
    return true;
  auto equal = [&](std::string_view choice) {
    return key.ignoreCase ? sameIgnoringCase(choice, node.text) : choice == node.text;
  };
  for (std::string_view choice : key.choices)
    if (equal(choice)) {
      node.text = choice;
      return true;
    }
  for (std::string_view later : key.later)
    if (sameIgnoringCase(later, node.text)) {
      errors.error(node.where, "'" + path + "' = " + inQuotes(node.text) + " is not available yet")
          .fix("use " + choiceList(key.choices));
      return false;
    }
  Diagnostic &d = errors.error(node.where, "'" + path + "' is " + inQuotes(node.text) +
                                               ", expected " + choiceList(key.choices) +
                                               (key.types & TInteger ? " or a whole number" : ""));
  std::string nearest = nearestName(node.text, {key.choices.begin(), key.choices.end()});
  if (!nearest.empty())
    d.fix("did you mean '" + nearest + "'?");
  return false;
}

void Checker::checkMembers(JsonNode &node, const SpecSection &section, const std::string &path) {
  std::map<std::string, const JsonMember *> seen;
  // Canonical names are written back at the end: messages speak of the names in the file.
  std::vector<std::string> canonical(node.members.size());
  for (size_t i = 0; i < node.members.size(); ++i) {
    JsonMember &member = node.members[i];
    const SpecSection *child = section.child(member.key);
    canonical[i] = child && child->key ? std::string(child->key->name()) : member.key;
    if (auto [first, fresh] = seen.emplace(canonical[i], &member); !fresh) {
      member.value.kind = Kind::Invalid;
      if (errors.full()) { // else 100,000 keys take minutes
        errors.error(member.where, "");
        continue;
      }
      const JsonMember &other = *first->second;
      std::string inPath = path.empty() ? "" : " in '" + path + "'";
      std::string message = other.key == member.key
                                ? "duplicate key " + inQuotes(member.key) + inPath
                                : inQuotes(other.key) + " and " + inQuotes(member.key) + inPath +
                                      " are two names of one key";
      errors.error(member.where, message)
          .note("first given in " + other.where.file->name + ":" +
                std::to_string(lineColumn(other.where).line) + ":" +
                std::to_string(lineColumn(other.where).column));
      continue;
    }
    if (!child)
      unknownKey(member, section, path);
    else
      check(member.value, *child, join(path, member.key));
  }
  for (size_t i = 0; i < node.members.size(); ++i)
    node.members[i].key = canonical[i];
  for (const auto &[name, child] : section.children)
    if (child.key && child.key->required && !node.find(name)) {
      // Evaluation can do with validation data alone.
      if (purpose == Purpose::Evaluate && child.key->path == "data.train")
        continue;
      missingKey(*child.key, node.where, path);
    }
}

void Checker::missingKey(const SpecKey &key, const Location &where, const std::string &path) {
  Diagnostic &d =
      errors.error(where, "missing key '" + join(path, key.name()) + "': " + typeNames(key));
  if (key.path == "schema_version")
    d.fix("add \"schema_version\": 1");
  else if (key.path == "model")
    d.fix("add \"model\": \"path/to/config.json\", or the configuration itself");
  else if (key.path == "data.train")
    d.fix("add \"train\": [{\"path\": \"FILE\"}]");
}

/// Canonical paths of keys called `name` anywhere in the table.
static std::vector<std::string> placesOf(std::string_view name) {
  std::vector<std::string> places;
  for (const SpecKey &key : specTable())
    if ((key.name() == name ||
         std::find(key.aliases.begin(), key.aliases.end(), name) != key.aliases.end()) &&
        key.path.find("[]") == std::string_view::npos && key.use == KeyUse::Used)
      places.emplace_back(key.path);
  return places;
}

void Checker::unknownKey(const JsonMember &member, const SpecSection &section,
                         const std::string &path) {
  bool full = errors.full();
  Diagnostic &d = errors.error(member.where, "unknown key " + inQuotes(member.key) +
                                                 (path.empty() ? "" : " in '" + path + "'"));
  if (full) // else 100,000 keys take minutes
    return;
  std::vector<std::string> places = placesOf(member.key);
  if (!places.empty()) {
    d.fix("'" + member.key + "' belongs in '" +
          (places[0].rfind('.') == std::string::npos ? "the top level"
                                                     : places[0].substr(0, places[0].rfind('.'))) +
          "'");
    return;
  }
  std::string nearest = nearestName(member.key, section.names());
  if (!nearest.empty()) {
    d.fix("did you mean '" + nearest + "'?");
    return;
  }
  std::string known;
  size_t count = 0;
  for (const auto &[name, child] : section.children)
    if (child.key && child.key->use == KeyUse::Used)
      known += (count++ ? ", " : "") + name;
  if (count > 0 && count <= 16)
    d.note("keys here: " + known);
}
