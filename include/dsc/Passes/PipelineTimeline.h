//===- PipelineTimeline.h - a pipeline's schedule as a drawing -------------===//
#ifndef DSC_PASSES_PIPELINETIMELINE_H
#define DSC_PASSES_PIPELINETIMELINE_H

#include <cstdint>
#include <string>
#include <string_view>

namespace dsc {

/// What `dsc --dry-run` prints of a pipeline: schedule, shape, bubble in per cent, then a line a
/// stage, a column a unit of time (a forward pass takes one, a backward pass two): digits for
/// forward passes of micro-batches, small letters for backward ones, capitals for gradients of
/// parameters where they are apart, a dot where the stage waits. Empty for an unknown schedule.
std::string drawPipeline(std::string_view schedule, int64_t stages, int64_t interleave,
                         int64_t microBatches);

} // namespace dsc

#endif // DSC_PASSES_PIPELINETIMELINE_H
