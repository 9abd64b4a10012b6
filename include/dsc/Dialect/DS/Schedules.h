//===- Schedules.h - which hyper-parameters a schedule reads ---------------===//
// Said once, for the importer that declares them and the pass that reads them.
#ifndef DSC_DIALECT_DS_SCHEDULES_H
#define DSC_DIALECT_DS_SCHEDULES_H

#include "dsc/Dialect/DS/DS.h"

namespace dsc::ds {

/// Paths of the hyper-parameters behind the operands of ds.learning_rate; `extra` is empty where
/// the schedule has none.
struct ScheduleScalars {
  llvm::StringRef peak, floor, warmup, total, extra;
};

inline ScheduleScalars scalarsOf(Schedule schedule) {
  ScheduleScalars scalars{"train.optimizer.params.lr", "train.scheduler.params.min_lr",
                          "train.scheduler.params.warmup_steps",
                          "train.scheduler.params.total_steps", ""};
  switch (schedule) {
  case Schedule::Constant:
  case Schedule::Linear:
  case Schedule::Cosine:
    break;
  case Schedule::InverseSqrt:
    scalars.extra = "train.scheduler.params.timescale";
    break;
  case Schedule::Wsd:
    scalars.extra = "train.scheduler.params.decay_steps";
    break;
  case Schedule::WarmupLR:
  case Schedule::WarmupDecayLR:
    scalars.peak = "train.scheduler.params.warmup_max_lr";
    scalars.floor = "train.scheduler.params.warmup_min_lr";
    break;
  case Schedule::WarmupCosineLR:
    scalars.floor = "train.scheduler.params.cos_min_ratio";
    scalars.extra = "train.scheduler.params.warmup_min_ratio";
    break;
  }
  return scalars;
}

/// DeepSpeed's schedules, whose warm-up is its own: logarithmic or linear, from 0 at the first
/// update.
inline bool isDeepSpeedSchedule(Schedule schedule) {
  return schedule == Schedule::WarmupLR || schedule == Schedule::WarmupDecayLR ||
         schedule == Schedule::WarmupCosineLR;
}

} // namespace dsc::ds

#endif // DSC_DIALECT_DS_SCHEDULES_H
