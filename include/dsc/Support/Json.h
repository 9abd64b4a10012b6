//===- Json.h - strict JSON from files that nobody vouches for -------------===//
#ifndef DSC_SUPPORT_JSON_H
#define DSC_SUPPORT_JSON_H

#include "dsc/Support/Status.h"
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

// Compiled once, in lib/Support/Json.cpp: with these and the parser in every file that uses JSON, a
// tenth of a build went into them.
extern template std::string nlohmann::basic_json<>::dump(int, char, bool, error_handler_t) const;
extern template std::string
nlohmann::basic_json<nlohmann::ordered_map>::dump(int, char, bool, error_handler_t) const;

namespace dsc {

/// The value of `text`; one that `is_discarded()` where this is no JSON.
nlohmann::json parseJson(std::string_view text);

/// Parses `text`, keeping the order of keys. Refused: duplicate keys, more than `maxDepth` levels,
/// numbers that are not finite, anything after the value. `what` names the text in the error
/// ("model.safetensors header").
StatusOr<nlohmann::ordered_json> parseStrictJson(std::string_view text, const std::string &what,
                                                 int maxDepth = 32);

} // namespace dsc

#endif // DSC_SUPPORT_JSON_H
