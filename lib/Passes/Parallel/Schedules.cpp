//===- Schedules.cpp - who works on which micro-batch when -----------------===//
// Each schedule is a few lines; what they have in common is checked by simulating them.
#include "Schedules.h"
#include <algorithm>
#include <map>
#include <tuple>

using namespace dsc;

using Rows = std::vector<PipelineRow>;

static Rows gpipeRows(const PipelineShape &shape, int64_t stage) {
  Rows rows;
  for (WorkKind kind : {WorkKind::Forward, WorkKind::Backward})
    for (int64_t m = 0; m < shape.microBatches; ++m)
      rows.push_back({kind, stage, m});
  return rows;
}

/// Stage s starts with as many micro-batches as are needed to keep the stages behind it busy.
static Rows oneForwardOneBackwardRows(const PipelineShape &shape, int64_t stage) {
  Rows rows;
  int64_t ahead = std::min(shape.stages - 1 - stage, shape.microBatches);
  for (int64_t m = 0; m < ahead; ++m)
    rows.push_back({WorkKind::Forward, stage, m});
  for (int64_t m = 0; m < shape.microBatches; ++m) {
    if (m + ahead < shape.microBatches)
      rows.push_back({WorkKind::Forward, stage, m + ahead});
    rows.push_back({WorkKind::Backward, stage, m});
  }
  return rows;
}

/// As 1f1b, and stage s is s micro-batches late with the gradients of parameters: those before it
/// get theirs of activations sooner, and it has work left when they come to an end.
static Rows zeroBubbleRows(const PipelineShape &shape, int64_t stage) {
  Rows rows;
  int64_t next = 0;
  for (const PipelineRow &row : oneForwardOneBackwardRows(shape, stage)) {
    rows.push_back(row);
    if (row.kind == WorkKind::Backward && row.microBatch >= stage)
      rows.push_back({WorkKind::Weights, stage, next++});
  }
  while (next < shape.microBatches)
    rows.push_back({WorkKind::Weights, stage, next++});
  return rows;
}

/// Work k of a stage's forward (or backward) work: groups of `stages` micro-batches go through one
/// part after the other.
static PipelineRow interleavedWork(const PipelineShape &shape, int64_t stage, WorkKind kind,
                                   int64_t k) {
  int64_t group = shape.stages * shape.interleave;
  int64_t chunk = k % group / shape.stages;
  if (kind == WorkKind::Backward)
    chunk = shape.interleave - 1 - chunk;
  return {kind, chunk * shape.stages + stage, k / group * shape.stages + k % shape.stages};
}

static int64_t interleavedAhead(const PipelineShape &shape, int64_t stage) {
  return std::min(2 * (shape.stages - 1 - stage) + (shape.interleave - 1) * shape.stages,
                  shape.microBatches * shape.interleave);
}

static Rows interleavedRows(const PipelineShape &shape, int64_t stage) {
  Rows rows;
  int64_t work = shape.microBatches * shape.interleave, ahead = interleavedAhead(shape, stage);
  for (int64_t k = 0; k < ahead; ++k)
    rows.push_back(interleavedWork(shape, stage, WorkKind::Forward, k));
  for (int64_t k = 0; k < work; ++k) {
    if (k + ahead < work)
      rows.push_back(interleavedWork(shape, stage, WorkKind::Forward, k + ahead));
    rows.push_back(interleavedWork(shape, stage, WorkKind::Backward, k));
  }
  return rows;
}

/// Stages wait while the first micro-batch comes to the last of them and while the last one's
/// gradients come back to the first.
static double fillBubble(const PipelineShape &shape) {
  double idle = double(shape.stages - 1);
  return idle / (double(shape.microBatches * shape.interleave) + idle);
}

/// (stages - 1)(forward + backward - weights) where 1f1b has their sum.
static double zeroBubbleBubble(const PipelineShape &shape) {
  double idle = double(shape.stages - 1);
  return idle / (3 * double(shape.microBatches) + idle);
}

static constexpr PipelineFamily families[] = {
    {"gpipe", false, gpipeRows,
     [](const PipelineShape &shape, int64_t) { return shape.microBatches; }, fillBubble},
    {"1f1b", false, oneForwardOneBackwardRows,
     [](const PipelineShape &shape, int64_t stage) {
       return std::min(shape.stages - stage, shape.microBatches);
     },
     fillBubble},
    {"interleaved", false, interleavedRows,
     [](const PipelineShape &shape, int64_t stage) {
       return std::min(interleavedAhead(shape, stage) + 1, shape.microBatches * shape.interleave);
     },
     fillBubble},
    {"zero_bubble", true, zeroBubbleRows,
     [](const PipelineShape &shape, int64_t) { return std::min(shape.stages, shape.microBatches); },
     zeroBubbleBubble}};

const PipelineFamily *dsc::findPipelineFamily(std::string_view name) {
  for (const PipelineFamily &family : families)
    if (name == family.name)
      return &family;
  return nullptr;
}

int64_t dsc::placesOf(const Rows &rows, int64_t part) {
  std::map<int64_t, size_t> last; // row of each micro-batch
  for (size_t i = 0; i < rows.size(); ++i)
    if (rows[i].part == part)
      last[rows[i].microBatch] = i;
  int64_t now = 0, most = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].part != part)
      continue;
    if (rows[i].kind == WorkKind::Forward)
      most = std::max(most, ++now);
    now -= last[rows[i].microBatch] == i;
  }
  return most;
}

bool dsc::isFused(const Rows &rows, int64_t part) {
  for (size_t i = 0; i < rows.size(); ++i)
    if (rows[i].part == part && rows[i].kind == WorkKind::Forward)
      if (i + 1 == rows.size() ||
          rows[i + 1] != PipelineRow{WorkKind::Backward, part, rows[i].microBatch})
        return false;
  return true;
}

std::optional<PipelineTimes> dsc::simulate(const PipelineShape &shape, const PipelineFamily &family,
                                           const std::vector<Rows> &rows) {
  using Work = std::tuple<WorkKind, int64_t, int64_t>; // kind, part, micro-batch
  std::map<Work, int64_t> started, ended;
  PipelineTimes times;
  std::vector<int64_t> clock(rows.size(), 0);
  std::vector<std::vector<int64_t>> places(rows.size());
  for (size_t stage = 0; stage < rows.size(); ++stage)
    for (int64_t part = 0; part < shape.parts(); ++part)
      places[stage].push_back(placesOf(rows[stage], part));
  times.starts.resize(rows.size());
  // What must have happened before a row starts, with the time at which it did.
  auto ready = [&](size_t stage, const PipelineRow &row) -> std::optional<int64_t> {
    int64_t at = clock[stage];
    bool known = true;
    auto after = [&](const std::map<Work, int64_t> &when, WorkKind kind, int64_t part, int64_t m) {
      if (part < 0 || part >= shape.parts() || m < 0)
        return;
      auto found = when.find({kind, part, m});
      known &= found != when.end();
      if (found != when.end())
        at = std::max(at, found->second);
    };
    int64_t reused = row.microBatch - places[stage][static_cast<size_t>(row.part)];
    if (row.kind == WorkKind::Forward) {
      after(ended, WorkKind::Forward, row.part - 1, row.microBatch);
      after(started, WorkKind::Forward, row.part + 1, reused);
    } else if (row.kind == WorkKind::Backward) {
      after(ended, WorkKind::Forward, row.part, row.microBatch);
      after(ended, WorkKind::Backward, row.part + 1, row.microBatch);
      after(started, WorkKind::Backward, row.part - 1, reused);
    } else {
      after(ended, WorkKind::Backward, row.part, row.microBatch);
    }
    return known ? std::optional(at) : std::nullopt;
  };
  int64_t busy = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t stage = 0; stage < rows.size(); ++stage)
      while (times.starts[stage].size() < rows[stage].size()) {
        const PipelineRow &row = rows[stage][times.starts[stage].size()];
        std::optional<int64_t> at = ready(stage, row);
        if (!at)
          break;
        int64_t cost = row.kind == WorkKind::Backward && !family.splitsBackward ? 2 : 1;
        Work work{row.kind, row.part, row.microBatch};
        started[work] = *at;
        ended[work] = clock[stage] = *at + cost;
        times.starts[stage].push_back(*at);
        times.total = std::max(times.total, clock[stage]);
        busy += cost;
        moved = true;
      }
  }
  for (size_t stage = 0; stage < rows.size(); ++stage)
    if (times.starts[stage].size() < rows[stage].size())
      return std::nullopt;
  times.bubble = 1 - double(busy) / double(times.total * shape.stages);
  return times;
}
