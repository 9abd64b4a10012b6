//===- Settings.h - what dsrun --set may change ----------------------------===//
// Scalars of the plan and settings of the run are data; shapes and the structure of the step are
// code, and need dsc again.
#ifndef DSC_RUNTIME_CORE_SETTINGS_H
#define DSC_RUNTIME_CORE_SETTINGS_H

#include "dsc/Plan/Plan.h"
#include "dsc/Support/Status.h"
#include <string>
#include <vector>

namespace dsc {

/// A value at a path such as train.optimizer.params.betas.0, or null.
const nlohmann::json *findSetting(const nlohmann::json &spec, const std::string &path);

/// Applies PATH=VALUE to scalars and to manifest["spec"], in order. All mistakes in one error
/// (Usage): unknown path with the nearest name, value of the wrong type or out of range, what is
/// baked into code.
Status applySettings(plan::Plan &plan, const std::vector<std::string> &assignments);

} // namespace dsc

#endif // DSC_RUNTIME_CORE_SETTINGS_H
