//===- Overrides.cpp - --set PATH=VALUE ------------------------------------===//
// A value is JSON where it reads as JSON and the key is not a text; otherwise the text as it
// stands, so that
// `--set train.scheduler.type=cosine` needs no quotes. The last of several flags for one path
// counts.
#include "Checker.h"
#include <algorithm>
#include <filesystem>

using namespace dsc;
using Kind = JsonNode::Kind;

void Overrides::parse(const std::vector<std::string> &texts) {
  for (const std::string &text : texts) {
    Flag flag;
    flag.source = std::make_unique<SourceFile>(SourceFile{"--set", text, true});
    flag.equals = text.find('=');
    if (flag.equals == std::string::npos || flag.equals == 0) {
      errors.error({flag.source.get(), 0}, "--set needs PATH=VALUE")
          .fix("for example --set train.steps=100");
      flag.equals = std::string::npos;
    }
    flags.push_back(std::move(flag));
  }
}

void Overrides::apply(JsonNode &root, bool modelPath) {
  for (const Flag &flag : flags) {
    if (flag.equals == std::string::npos)
      continue;
    if ((flag.source->text.substr(0, flag.equals) == "model") == modelPath)
      applyFlag(root, flag);
  }
}

static void retarget(JsonNode &node, const SourceFile *file) {
  node.where.file = file;
  for (JsonNode &item : node.items)
    retarget(item, file);
  for (JsonMember &member : node.members) {
    member.where.file = file;
    retarget(member.value, file);
  }
}

/// A path given relative to the current folder, as seen from the folder of the spec.
static std::string fromFolder(const std::string &path, const std::string &folder) {
  std::filesystem::path given(path);
  std::error_code code;
  if (path.empty() || given.is_absolute() || std::filesystem::equivalent(folder, ".", code))
    return path;
  std::filesystem::path result = std::filesystem::proximate(given, folder, code);
  return code ? path : result.generic_string();
}

JsonNode Overrides::value(const Flag &flag, const SpecKey *key) {
  const SourceFile *source = flag.source.get();
  size_t at = flag.equals + 1;
  std::string raw = source->text.substr(at);
  JsonNode plain;
  plain.kind = Kind::String;
  plain.where = {source, at};
  plain.text = raw;
  unsigned types = key ? key->types : static_cast<unsigned>(TAny);

  // Blanks in place of the path keep the places of what is inside the value.
  SourceFile padded{source->name, std::string(at, ' ') + raw, true};
  DiagnosticList mistakes;
  std::optional<JsonNode> parsed = parseJson(padded, mistakes);
  bool text = types & (TString | TPath) && !(types & TAny);
  JsonNode result;
  if (parsed && mistakes.empty() &&
      (!text ||
       !(parsed->is(Kind::Integer) || parsed->is(Kind::Number) || parsed->is(Kind::Bool)) ||
       types & (TNumber | TInteger | TBool))) {
    result = std::move(*parsed);
    retarget(result, source);
  } else if (!text && !raw.empty() &&
             std::string_view("0123456789+-.{[\"").find(raw[0]) != std::string_view::npos &&
             !mistakes.empty()) {
    errors.error({source, at}, mistakes.take().front().message);
    plain.kind = Kind::Invalid;
    result = std::move(plain);
  } else {
    result = std::move(plain);
  }
  if (types & TPath && result.is(Kind::String))
    result.text = fromFolder(result.text, folder);
  return result;
}

void Overrides::applyFlag(JsonNode &root, const Flag &flag) {
  const std::string &text = flag.source->text;
  JsonNode *node = &root;
  const SpecSection *section = &specTree();
  if (std::count(text.begin(), text.begin() + flag.equals, '.') > 16) {
    errors.error({flag.source.get(), 0}, "the path of --set is deeper than any key");
    return;
  }
  for (size_t at = 0; at <= flag.equals;) {
    size_t end = std::min(text.find_first_of(".[", at), flag.equals);
    std::string part = text.substr(at, end - at);
    Location where{flag.source.get(), at};
    if (!part.empty() && part.back() == ']')
      part.pop_back();
    if (part.empty()) {
      if (end < flag.equals && text[end] == '[') { // ".0" and "[0]" are the same
        at = end + 1;
        continue;
      }
      errors.error(where, "an empty name in the path of --set");
      return;
    }
    if (node->is(Kind::Invalid))
      return;
    if (node->is(Kind::List)) {
      bool number = part.size() < 6 && std::all_of(part.begin(), part.end(),
                                                   [](char c) { return c >= '0' && c <= '9'; });
      if (!number || static_cast<size_t>(std::stoul(part)) >= node->items.size()) {
        errors.error(where, "'" + text.substr(0, at ? at - 1 : 0) + "' has " +
                                std::to_string(node->items.size()) +
                                (node->items.size() == 1 ? " item" : " items") + ", there is no " +
                                inQuotes(part));
        return;
      }
      node = &node->items[std::stoul(part)];
      section = section && !section->element.empty() ? &section->element.front() : nullptr;
    } else {
      if (node->is(Kind::Null) && section && !section->element.empty() && !part.empty() &&
          part.find_first_not_of("0123456789") == part.npos) {
        std::string list = text.substr(0, at ? at - 1 : 0);
        Diagnostic &d = errors.error(where, "'" + list + "' is not in the spec: it has no item " +
                                                inQuotes(part) + " to change");
        if (section->key && section->key->fallback.starts_with("["))
          d.fix("give the whole list, such as --set " + list + "=" +
                std::string(section->key->fallback));
        else
          d.fix("give the whole list");
        return;
      }
      if (node->is(Kind::Null)) {
        node->kind = Kind::Object;
        node->where = where;
      }
      if (!node->is(Kind::Object)) {
        errors.error(where, "'" + text.substr(0, at ? at - 1 : 0) + "' is " + describe(*node) +
                                " and has no " + inQuotes(part));
        return;
      }
      const SpecSection *child = section ? section->child(part) : nullptr;
      // Another name of the same key is replaced, not doubled.
      JsonMember *member = nullptr;
      for (JsonMember &m : node->members)
        if (m.key == part || (child && section->child(m.key) == child))
          member = &m;
      if (!member) {
        JsonNode fresh;
        fresh.where = where;
        node->members.push_back({part, where, std::move(fresh)});
        member = &node->members.back();
      }
      node = &member->value;
      section = child;
      if (end >= flag.equals) {
        member->key = part;
        member->where = where;
      }
    }
    if (end >= flag.equals) {
      *node = value(flag, section ? section->key : nullptr);
      return;
    }
    at = end + 1;
  }
}
