//===- Schedules.h - who works on which micro-batch when -------------------===//
// A pipeline has `stages` ranks and `stages` x `interleave` parts of the model: part v is on stage
// v mod stages. A schedule gives each stage its rows, one a piece of work, in order. Every schedule
// does micro-batches in order within a part and a kind of work, so sums are those of one device.
#ifndef DSC_LIB_PASSES_PARALLEL_SCHEDULES_H
#define DSC_LIB_PASSES_PARALLEL_SCHEDULES_H

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace dsc {

/// Of one part and micro-batch. Where a schedule knows no Weights, Backward does both.
enum class WorkKind : uint8_t {
  Forward,
  Backward, ///< gradients of activations
  Weights   ///< gradients of parameters
};

struct PipelineShape {
  int64_t stages = 1, interleave = 1, microBatches = 1;
  int64_t parts() const { return stages * interleave; }
  int64_t stageOf(int64_t part) const { return part % stages; }
};

struct PipelineRow {
  WorkKind kind;
  int64_t part, microBatch;
  bool operator==(const PipelineRow &) const = default;
};

/// One of the family: a name and functions of the shape.
struct PipelineFamily {
  const char *name; ///< as in `parallel.schedule`
  bool splitsBackward;
  std::vector<PipelineRow> (*rows)(const PipelineShape &, int64_t stage);
  /// Most micro-batches whose activations a stage holds at a time, those of each of its parts
  /// counted.
  int64_t (*inFlight)(const PipelineShape &, int64_t stage);
  /// Share of the time in which a stage waits, with equal stages, messages that take no time, and
  /// for each part and micro-batch one unit of time forward, one for each half of the backward.
  double (*bubble)(const PipelineShape &);
};

/// gpipe (Huang et al. 2019), 1f1b (PipeDream-Flush, Narayanan et al. 2021), interleaved
/// (Megatron's, same paper), zero_bubble (ZB-H1, Qi et al. 2023); null for other names.
const PipelineFamily *findPipelineFamily(std::string_view name);

/// Most micro-batches of `part` that are between their first and their last row.
int64_t placesOf(const std::vector<PipelineRow> &rows, int64_t part);

/// True if backward follows forward at once for each micro-batch of `part`: one program does both.
bool isFused(const std::vector<PipelineRow> &rows, int64_t part);

/// What happens when all stages run their rows.
struct PipelineTimes {
  /// Start of each row, in units of time, by stage and row.
  std::vector<std::vector<int64_t>> starts;
  int64_t total = 0;
  double bubble = 0; ///< share of `total` in which stages wait
};

/// Runs the rows of all stages with the units of PipelineFamily::bubble. Messages start and go on;
/// one that was sent from a place blocks its sender when it comes to use that place again before
/// the receiver has come to take it (rendezvous). Nothing if they wait for each other for ever.
std::optional<PipelineTimes> simulate(const PipelineShape &shape, const PipelineFamily &family,
                                      const std::vector<std::vector<PipelineRow>> &rows);

} // namespace dsc

#endif // DSC_LIB_PASSES_PARALLEL_SCHEDULES_H
