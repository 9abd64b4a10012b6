//===- JsonTree.cpp - nodes, files, and trees as plain JSON ----------------===//
#include "dsc/Frontend/JsonTree.h"
#include <cmath>
#include <filesystem>
#include <fstream>

using namespace dsc;

const JsonNode *JsonNode::find(std::string_view key) const {
  for (auto m = members.rbegin(); m != members.rend(); ++m)
    if (m->key == key)
      return &m->value;
  return nullptr;
}
JsonNode *JsonNode::find(std::string_view key) {
  return const_cast<JsonNode *>(std::as_const(*this).find(key));
}

std::optional<__int128> JsonNode::asInteger() const {
  if (kind == Kind::Integer)
    return integer;
  // Above 2^53 a spelling such as 1e17 no longer says which integer is meant.
  if (kind == Kind::Number && std::trunc(number) == number &&
      std::fabs(number) <= 9007199254740992.0)
    return static_cast<__int128>(number);
  return std::nullopt;
}

std::string dsc::toString(__int128 value) {
  if (value == 0)
    return "0";
  bool negative = value < 0;
  unsigned __int128 rest = negative ? -static_cast<unsigned __int128>(value) : value;
  std::string digits;
  for (; rest; rest /= 10)
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(rest % 10)));
  return (negative ? "-" : "") + digits;
}

std::string dsc::readSourceFile(const std::string &path, SourceFile &result,
                                const JsonLimits &limits) {
  result.name = path;
  std::error_code code;
  auto status = std::filesystem::status(path, code);
  if (status.type() == std::filesystem::file_type::not_found)
    return "no such file";
  if (code)
    return code.message();
  if (status.type() == std::filesystem::file_type::directory)
    return "is a folder, not a file";
  // A device or a pipe could have no end.
  if (status.type() != std::filesystem::file_type::regular)
    return "is not a regular file";
  auto size = std::filesystem::file_size(path, code);
  if (!code && size > limits.bytes)
    return "has " + std::to_string(size) + " bytes, more than the limit of " +
           std::to_string(limits.bytes);
  std::ifstream stream(path, std::ios::binary);
  if (!stream)
    return "cannot be opened for reading";
  result.text.resize(limits.bytes + 1);
  stream.read(result.text.data(), static_cast<std::streamsize>(result.text.size()));
  if (stream.bad())
    return "cannot be read";
  result.text.resize(static_cast<size_t>(stream.gcount()));
  result.text.shrink_to_fit();
  if (result.text.rfind("\xEF\xBB\xBF", 0) == 0)
    result.text.erase(0, 3);
  return "";
}

nlohmann::json dsc::toJson(const JsonNode &node) {
  switch (node.kind) {
  case JsonNode::Kind::Invalid:
  case JsonNode::Kind::Null:
    return nullptr;
  case JsonNode::Kind::Bool:
    return node.boolean;
  case JsonNode::Kind::Integer:
    if (node.huge)
      return node.number;
    return node.integer < 0 ? nlohmann::json(static_cast<int64_t>(node.integer))
                            : nlohmann::json(static_cast<uint64_t>(node.integer));
  case JsonNode::Kind::Number:
    return node.number;
  case JsonNode::Kind::String:
    return node.text;
  case JsonNode::Kind::List: {
    nlohmann::json list = nlohmann::json::array();
    for (const JsonNode &item : node.items)
      list.push_back(toJson(item));
    return list;
  }
  case JsonNode::Kind::Object: {
    nlohmann::json object = nlohmann::json::object();
    for (const JsonMember &member : node.members)
      object[member.key] = toJson(member.value);
    return object;
  }
  }
  return nullptr;
}

std::string dsc::describe(const JsonNode &node) {
  switch (node.kind) {
  case JsonNode::Kind::Invalid:
  case JsonNode::Kind::Null:
    return "null";
  case JsonNode::Kind::Bool:
    return node.boolean ? "true" : "false";
  case JsonNode::Kind::Integer:
  case JsonNode::Kind::Number: {
    std::string shown = inQuotes(node.text);
    return "the number " + shown.substr(1, shown.size() - 2);
  }
  case JsonNode::Kind::String:
    return "a string";
  case JsonNode::Kind::List:
    return "a list";
  case JsonNode::Kind::Object:
    return "an object";
  }
  return "null";
}
