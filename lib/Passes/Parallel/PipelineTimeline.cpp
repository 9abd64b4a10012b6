//===- PipelineTimeline.cpp - a pipeline's schedule as a drawing -----------===//
#include "dsc/Passes/PipelineTimeline.h"
#include "Schedules.h"
#include "dsc/Support/Numbers.h"
#include <algorithm>

using namespace dsc;

/// A longer drawing is cut: what repeats in the middle says nothing new.
static constexpr size_t mostColumns = 120;

static char letterOf(WorkKind kind, int64_t microBatch) {
  return kind == WorkKind::Forward    ? char('0' + microBatch % 10)
         : kind == WorkKind::Backward ? char('a' + microBatch % 26)
                                      : char('A' + microBatch % 26);
}

std::string dsc::drawPipeline(std::string_view schedule, int64_t stages, int64_t interleave,
                              int64_t microBatches) {
  const PipelineFamily *family = findPipelineFamily(schedule);
  if (!family)
    return {};
  PipelineShape shape{stages, interleave, microBatches};
  std::vector<std::vector<PipelineRow>> rows;
  for (int64_t stage = 0; stage < stages; ++stage)
    rows.push_back(family->rows(shape, stage));
  std::optional<PipelineTimes> times = simulate(shape, *family, rows);
  if (!times)
    return {};
  std::string text = "pipeline " + std::string(schedule) + ", " + std::to_string(stages) +
                     " stages" +
                     (interleave > 1 ? " of " + std::to_string(interleave) + " parts" : "") + ", " +
                     std::to_string(microBatches) + " micro-batches: bubble " +
                     printFixed(100 * times->bubble, 1) + " % of the time\n";
  for (int64_t stage = 0; stage < stages; ++stage) {
    std::string line(size_t(times->total), '.');
    for (size_t i = 0; i < rows[stage].size(); ++i) {
      const PipelineRow &row = rows[stage][i];
      bool both = row.kind == WorkKind::Backward && !family->splitsBackward;
      std::fill_n(line.begin() + times->starts[stage][i], both ? 2 : 1,
                  letterOf(row.kind, row.microBatch));
    }
    if (line.size() > mostColumns)
      line = line.substr(0, mostColumns) + "...";
    text += "  stage " + std::to_string(stage) + "  " + line + "\n";
  }
  return text;
}
