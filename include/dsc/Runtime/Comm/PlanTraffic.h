//===- PlanTraffic.h - what a plan makes its ranks exchange ----------------===//
// Read off the plan alone: what dsc-dump prints, and what a run is held to.
#ifndef DSC_RUNTIME_COMM_PLANTRAFFIC_H
#define DSC_RUNTIME_COMM_PLANTRAFFIC_H

#include "dsc/Plan/Plan.h"
#include "dsc/Runtime/Comm/Communicator.h"

namespace dsc {

/// What one instruction sends and receives on `rank`, each time it runs. Nothing for a local one.
Traffic trafficOf(const plan::Plan &plan, const plan::Program &program,
                  const plan::Instruction &instruction, int64_t rank);

/// What a run of `program`, one of the stage of `rank`, sends and receives there.
Traffic trafficOf(const plan::Plan &plan, const plan::Program &program, int64_t rank);

/// What `rank` sends and receives in a step that is not ended by the guard and leaves no
/// micro-batch out.
Traffic trafficOfStep(const plan::Plan &plan, int64_t rank);

/// A line for each exchange of each stage: how often a step has it, its group, bytes of its
/// buffers, what rank 0 of the stage sends; then each stage's sum. Empty for one rank.
std::string printTraffic(const plan::Plan &plan);

} // namespace dsc

#endif // DSC_RUNTIME_COMM_PLANTRAFFIC_H
