//===- HuggingFaceConfig.h - comparing and writing config.json ---------------===//
#ifndef DSC_LIB_RUNTIME_CHECKPOINT_HUGGINGFACECONFIG_H
#define DSC_LIB_RUNTIME_CHECKPOINT_HUGGINGFACECONFIG_H

#include "dsc/Support/Json.h"
#include <string>
#include <vector>

namespace dsc {

/// One line for each key that changes what the network computes and differs between the two; absent
/// keys have transformers' defaults.
std::vector<std::string> compareConfigs(const nlohmann::json &folder, const nlohmann::json &spec);

} // namespace dsc

#endif // DSC_LIB_RUNTIME_CHECKPOINT_HUGGINGFACECONFIG_H
