//===- JsonValue.cpp - a JSON value for headers ----------------------------===//
#include "dsc/Support/JsonValue.h"
#include "dsc/Support/Json.h"

using namespace dsc;

JsonValue::JsonValue() : JsonValue(nlohmann::json()) {}
JsonValue::JsonValue(nlohmann::json value)
    : value(std::make_unique<nlohmann::json>(std::move(value))) {}
JsonValue::JsonValue(const JsonValue &other) : JsonValue(*other) {}
JsonValue::JsonValue(JsonValue &&other) noexcept = default;
JsonValue &JsonValue::operator=(JsonValue other) noexcept {
  value = std::move(other.value);
  return *this;
}
JsonValue::~JsonValue() = default;
