//===- StateChange.h - NAME=VALUE@STEP of --set-state ----------------------===//
// For tests and experiments: a variable that steps carry on (the loss scale, a counter) is given a
// value just before a step, by dsrun and dsc-reference alike.
#ifndef DSC_SUPPORT_STATECHANGE_H
#define DSC_SUPPORT_STATECHANGE_H

#include "dsc/Support/Status.h"
#include <cstdint>
#include <string>
#include <vector>

namespace dsc {

struct StateChange {
  std::string variable; ///< as the plan names it
  double value;
  int64_t step; ///< from 1: before this step
};

/// Reads each of `texts` against the scalar state `variables` of a plan and the number of steps of
/// the run. `loss_scale` is short for `loss_scale.scale`. All mistakes in one error (Usage):
/// another form, an unknown name with those that exist, a value that is negative or not finite, a
/// scale of 0, a step that never comes.
StatusOr<std::vector<StateChange>> parseStateChanges(const std::vector<std::string> &texts,
                                                     const std::vector<std::string> &variables,
                                                     int64_t steps);

} // namespace dsc

#endif // DSC_SUPPORT_STATECHANGE_H
