//===- Cadence.h - which steps are shown ------------------------------------===//
#ifndef DSC_RUNTIME_MONITOR_CADENCE_H
#define DSC_RUNTIME_MONITOR_CADENCE_H

#include "dsc/Runtime/Monitor/StepLog.h"
#include <algorithm>

namespace dsc {

/// log.every: every so many steps, the first of this start, the last, and those that are evaluated.
class Cadence {
public:
  /// `steps` 0: the last is not known.
  Cadence(int64_t every, int64_t steps) : every(std::max<int64_t>(every, 1)), steps(steps) {}

  /// To be asked once a step.
  bool shows(const StepRecord &record) {
    bool first = !asked;
    asked = true;
    return first || record.step % every == 0 || (steps && record.step >= steps) || record.evalLoss;
  }

private:
  int64_t every, steps;
  bool asked = false;
};

} // namespace dsc

#endif // DSC_RUNTIME_MONITOR_CADENCE_H
