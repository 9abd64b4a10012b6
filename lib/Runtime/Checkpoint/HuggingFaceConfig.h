//===- HuggingFaceConfig.h - comparing and writing config.json ---------------===//
#ifndef DSC_LIB_RUNTIME_CHECKPOINT_HUGGINGFACECONFIG_H
#define DSC_LIB_RUNTIME_CHECKPOINT_HUGGINGFACECONFIG_H

#include "dsc/Support/Json.h"
#include <string>
#include <string_view>
#include <vector>

namespace dsc {

/// One line for each key that changes what the network computes and differs between the two; absent
/// keys have transformers' defaults.
std::vector<std::string> compareConfigs(const nlohmann::json &folder, const nlohmann::json &spec);

/// The name of a tensor without the `transformer.` that some folders put in front.
inline std::string_view shortName(std::string_view name) {
  constexpr std::string_view prefix = "transformer.";
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

} // namespace dsc

#endif // DSC_LIB_RUNTIME_CHECKPOINT_HUGGINGFACECONFIG_H
