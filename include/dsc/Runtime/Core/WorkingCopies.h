//===- WorkingCopies.h - two-byte copies of parameters ---------------------===//
#ifndef DSC_RUNTIME_CORE_WORKINGCOPIES_H
#define DSC_RUNTIME_CORE_WORKINGCOPIES_H

#include "dsc/Runtime/Core/Executor.h"

namespace dsc {

/// Gives every working copy of the plan (`half.<parameter>`) its parameter, rounded to nearest,
/// ties to even: what an update would have left there. To be called whenever parameters have been
/// written from outside a step: initialised, loaded, restored.
void refreshWorkingCopies(Executor &executor);

} // namespace dsc

#endif // DSC_RUNTIME_CORE_WORKINGCOPIES_H
