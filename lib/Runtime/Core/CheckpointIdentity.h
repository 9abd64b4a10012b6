//===- CheckpointIdentity.h - does a checkpoint belong to this run? --------===//
#ifndef DSC_LIB_RUNTIME_CORE_CHECKPOINTIDENTITY_H
#define DSC_LIB_RUNTIME_CORE_CHECKPOINTIDENTITY_H

#include "dsc/Plan/Plan.h"
#include "dsc/Runtime/Checkpoint/Checkpoint.h"

namespace dsc {

/// Every variable whose contents live across steps, in the plan's order; `indices` in its table.
std::vector<StateTensor> stateOf(const plan::Plan &plan, std::vector<size_t> &indices);

/// The settings that a checkpoint notes: all but where files go.
nlohmann::json notedSettings(const nlohmann::json &spec);

struct IdentityCheck {
  std::vector<std::string> differences; ///< the state cannot be used
  std::vector<std::string> changes;     ///< allowed, but the run is another from here on
};

/// Compares what a checkpoint says with a run: tensors, settings, data. `windowsPerEpoch` 0: not
/// compared.
IdentityCheck compareIdentity(const CheckpointInfo &info, const std::vector<StateTensor> &tensors,
                              const nlohmann::json &spec, const std::string &planHash,
                              int64_t windowsPerEpoch);

} // namespace dsc

#endif // DSC_LIB_RUNTIME_CORE_CHECKPOINTIDENTITY_H
