//===- Passes.td - every pass, by phase ------------------------------------===//
// A record holds what the pass page says: a summary, before and after, what must hold before and what holds
// after, options with default and unit, and at least one statistic. One file a phase.
#ifndef DSC_PASSES_PASSES
#define DSC_PASSES_PASSES

include "dsc/Passes/Import.td"
include "dsc/Passes/Training.td"
include "dsc/Passes/Precision.td"
include "dsc/Passes/Parallel.td"
include "dsc/Passes/Lowering.td"
include "dsc/Passes/Plan.td"

#endif // DSC_PASSES_PASSES
