//===- Resolver.cpp - access to values and their records -------------------===//
#include "Resolver.h"
#include "ResolverAccess.h"

using namespace dsc;
using Kind = JsonNode::Kind;

const JsonNode *Resolver::written(std::string_view path) const {
  const JsonNode *node = &root;
  while (!path.empty() && node) {
    if (node->is(Kind::Invalid))
      return node;
    std::string_view part = path.substr(0, path.find('.'));
    path.remove_prefix(std::min(path.size(), part.size() + 1));
    node = node->find(part);
  }
  return node;
}

const JsonNode *Resolver::find(std::string_view path) const {
  const JsonNode *node = written(path);
  const SpecKey *key = findSpecKey(path);
  bool mayBeAuto = key && key->types & TAuto;
  if (!node || node->is(Kind::Null) ||
      (mayBeAuto && node->is(Kind::String) && node->text == "auto"))
    return nullptr;
  return node;
}

Location Resolver::place(std::string_view path) const {
  const JsonNode *node = &root;
  Location best = root.where;
  while (!path.empty()) {
    std::string_view part = path.substr(0, path.find('.'));
    path.remove_prefix(std::min(path.size(), part.size() + 1));
    node = node->find(part);
    if (!node)
      break;
    best = node->where;
  }
  return best;
}

void Resolver::record(std::string_view path, nlohmann::json value, std::string origin) {
  records[std::string(path)] = {std::move(value), std::move(origin)};
}

Resolved<int64_t> Resolver::integer(std::string_view path) {
  const JsonNode *node;
  Resolved<int64_t> result = start<int64_t>(path, node);
  const SpecKey *key = findSpecKey(path);
  if (result.given)
    result.value = static_cast<int64_t>(node->integer);
  else if (!key->fallback.empty())
    result.value = parseJson(key->fallback).get<int64_t>();
  if (result.given || !key->fallback.empty())
    record(path, result.value, result.origin);
  return result;
}

Resolved<uint64_t> Resolver::seed(std::string_view path) {
  const JsonNode *node;
  Resolved<uint64_t> result = start<uint64_t>(path, node);
  result.value = result.given ? static_cast<uint64_t>(node->integer)
                              : parseJson(findSpecKey(path)->fallback).get<uint64_t>();
  record(path, result.value, result.origin);
  return result;
}

Resolved<double> Resolver::number(std::string_view path) {
  const JsonNode *node;
  Resolved<double> result = start<double>(path, node);
  const SpecKey *key = findSpecKey(path);
  if (result.given)
    result.value = node->number;
  else if (!key->fallback.empty())
    result.value = parseJson(key->fallback).get<double>();
  if (result.given || !key->fallback.empty())
    record(path, result.value, result.origin);
  return result;
}

Resolved<bool> Resolver::boolean(std::string_view path) {
  const JsonNode *node;
  Resolved<bool> result = start<bool>(path, node);
  result.value = result.given ? node->boolean : findSpecKey(path)->fallback == "true";
  record(path, result.value, result.origin);
  return result;
}

Resolved<std::string> Resolver::text(std::string_view path) {
  const JsonNode *node;
  Resolved<std::string> result = start<std::string>(path, node);
  const SpecKey *key = findSpecKey(path);
  if (result.given)
    result.value = node->text;
  else if (!key->fallback.empty())
    result.value = parseJson(key->fallback).get<std::string>();
  if (result.given || !key->fallback.empty())
    record(path, result.value, result.origin);
  return result;
}

void Resolver::resolve() {
  spec.resolved = nlohmann::json::object();
  record("schema_version", 1,
         find("schema_version") ? shortPlace(place("schema_version")) : "default");
  resolveModel();
  resolveInit();
  text("objective.type");
  spec.labelSmoothing = number("objective.label_smoothing").value;
  resolveData();
  resolveTrain();
  resolveParallel();
  resolveRun();
  if (!errors.empty())
    return;
  exportConfig();
  for (const auto &[path, entry] : records) {
    nlohmann::json *at = &*spec.resolved;
    std::string_view rest = path;
    while (!rest.empty()) {
      std::string_view part = rest.substr(0, rest.find('.'));
      rest.remove_prefix(std::min(rest.size(), part.size() + 1));
      at = &(*at)[std::string(part)];
    }
    *at = entry.value;
  }
}

std::vector<Provenance> Resolver::provenance() const {
  std::vector<Provenance> result;
  for (const SpecKey &key : specTable()) {
    std::string path(key.path);
    auto found = records.find(path);
    if (found != records.end()) {
      result.push_back({path, found->second.value.dump(), found->second.origin});
    } else if (key.use == KeyUse::Ignored || key.use == KeyUse::Limited) {
      // Given, understood, without effect: worth a line, so that nobody wonders.
      if (const JsonNode *node = path.find('[') == std::string::npos ? find(path) : nullptr)
        result.push_back(
            {path, toJson(*node).dump(),
             shortPlace(node->where) +
                 (key.use == KeyUse::Ignored ? ", no effect: " + std::string(key.reason) : "")});
    }
  }
  return result;
}
