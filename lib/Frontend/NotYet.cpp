//===- NotYet.cpp - what a spec may ask for in time ------------------------===//
// The one list. To enable a feature, remove its line and write docs/Spec.md and
// docs/model.schema.json again.
#include "NotYet.h"

using namespace dsc;

static constexpr NotYet list[] = {
    {.path = "parallel.context", .from = 2, .instead = "write 1"},
    {.path = "parallel.sequence_parallel", .anything = true, .instead = "write false"},
    {.path = "parallel.compression", .text = "half", .instead = "write \"none\""},
    {.path = "parallel.compression", .text = "onebit", .instead = "write \"none\""},
    {.path = "parallel.local_sgd", .from = 1, .instead = "write 0"},
    {.path = "parallel.device_speed", .anything = true, .instead = "write []"},
    {.path = "parallel.blocks", .anything = true, .instead = "write {}"},
};

bool NotYet::holds(const JsonNode &node) const {
  switch (node.kind) {
  case JsonNode::Kind::Bool:
    return anything && node.boolean;
  case JsonNode::Kind::Integer:
  case JsonNode::Kind::Number:
    return node.number >= from && node.number <= to;
  case JsonNode::Kind::String:
    return !text.empty() && node.text == text;
  case JsonNode::Kind::List:
    return anything && !node.items.empty();
  case JsonNode::Kind::Object:
    return anything && !node.members.empty();
  default:
    return false;
  }
}

const NotYet *dsc::findNotYet(std::string_view path, const JsonNode &node) {
  for (const NotYet &entry : list)
    if (entry.path == path && entry.holds(node))
      return &entry;
  return nullptr;
}

std::string dsc::notYetText(std::string_view path) {
  std::string result;
  auto number = [](double value) {
    return "`" + std::to_string(static_cast<int64_t>(value)) + "`";
  };
  for (const NotYet &entry : list) {
    if (entry.path != path)
      continue;
    std::string one = !entry.text.empty() ? "`\"" + std::string(entry.text) + "\"`"
                      : entry.anything ? "other than `" + std::string(entry.instead.substr(6)) + "`"
                      : entry.from == entry.to ? number(entry.from)
                                               : number(entry.from) + " and more";
    result += (result.empty() ? "" : ", ") + one;
  }
  return result;
}
