//===- ResolverAccess.h - templates of Resolver ----------------------------===//
#ifndef DSC_LIB_FRONTEND_RESOLVERACCESS_H
#define DSC_LIB_FRONTEND_RESOLVERACCESS_H

#include "Resolver.h"

namespace dsc {

template <typename T> Resolved<T> Resolver::start(std::string_view path, const JsonNode *&node) {
  Resolved<T> result;
  node = find(path);
  result.where = place(path);
  result.broken = node && node->is(JsonNode::Kind::Invalid);
  result.given = node && !result.broken;
  result.origin = result.given ? shortPlace(node->where) : "default";
  return result;
}

template <typename T>
void Resolver::infer(Resolved<T> &value, std::string_view path, T inferred,
                     const std::string &from) {
  value.value = inferred;
  value.origin = "inferred from " + from;
  record(path, inferred, value.origin);
}

template <typename T>
std::string Resolver::shown(std::string_view path, const Resolved<T> &value) const {
  return std::string(path.substr(path.rfind('.') + 1)) + " " + nlohmann::json(value.value).dump() +
         " (" + value.origin + ")";
}

} // namespace dsc

#endif // DSC_LIB_FRONTEND_RESOLVERACCESS_H
