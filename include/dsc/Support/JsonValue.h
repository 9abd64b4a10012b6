//===- JsonValue.h - a JSON value for headers ------------------------------===//
// The JSON library is by far the largest header of this project; what only carries a value along
// includes this one. Who looks inside includes dsc/Support/Json.h.
#ifndef DSC_SUPPORT_JSONVALUE_H
#define DSC_SUPPORT_JSONVALUE_H

#include <memory>
#include <nlohmann/json_fwd.hpp>

namespace dsc {

/// Holds one JSON value, null at first, and copies like it. Never without a value, but after a
/// move.
class JsonValue {
public:
  JsonValue();
  JsonValue(nlohmann::json value);
  JsonValue(const JsonValue &other);
  JsonValue(JsonValue &&other) noexcept;
  JsonValue &operator=(JsonValue other) noexcept;
  ~JsonValue();

  nlohmann::json &operator*() { return *value; }
  const nlohmann::json &operator*() const { return *value; }
  nlohmann::json *operator->() { return value.get(); }
  const nlohmann::json *operator->() const { return value.get(); }

private:
  std::unique_ptr<nlohmann::json> value;
};

} // namespace dsc

#endif // DSC_SUPPORT_JSONVALUE_H
