//===- ResolvePipeline.cpp - schedule and stages of `parallel` -------------===//
// A part is what lies between two cuts of the model; a stage has `interleave` of them.
#include "ResolverAccess.h"
#include <algorithm>
#include <set>

using namespace dsc;
using Kind = JsonNode::Kind;

namespace {
/// Floating-point operations a token, forward; backward has twice as many of each.
struct Costs {
  int64_t embedding, block, head;
  Costs(const ModelSpec &m, int64_t length)
      : embedding(2 * m.width),
        block(2 * (4 * m.width * m.width + 2 * m.width * m.inner) + 2 * length * m.width),
        head(2 * m.width * m.vocabSize) {}
};
} // namespace

/// One block each; every further one to the part that has least to do, the earlier of equals. For
/// blocks of equal cost no split has a cheaper most expensive part.
static std::vector<int64_t> balance(int64_t blocks, int64_t parts, const Costs &costs) {
  std::vector<int64_t> result(parts, 1);
  std::set<std::pair<int64_t, int64_t>> work;
  for (int64_t i = 0; i < parts; ++i)
    work.emplace((i == 0 ? costs.embedding : 0) + costs.block + (i + 1 == parts ? costs.head : 0),
                 i);
  for (int64_t rest = blocks - parts; rest > 0; --rest) {
    auto [cost, part] = *work.begin();
    work.erase(work.begin());
    work.emplace(cost + costs.block, part);
    ++result[part];
  }
  return result;
}

static std::string listed(const std::vector<int64_t> &numbers) {
  std::string text = "[";
  for (size_t i = 0; i < numbers.size() && i < 16; ++i)
    text += (i ? ", " : "") + std::to_string(numbers[i]);
  return text + (numbers.size() > 16 ? ", ...]" : "]");
}

void Resolver::resolvePipeline() {
  static const std::pair<std::string_view, PipelineSchedule> schedules[] = {
      {"gpipe", PipelineSchedule::GPipe},
      {"1f1b", PipelineSchedule::OneForwardOneBackward},
      {"interleaved", PipelineSchedule::Interleaved},
      {"zero_bubble", PipelineSchedule::ZeroBubble}};
  ParallelSpec &p = spec.parallel;
  Resolved<std::string> schedule = text("parallel.schedule");
  for (auto [name, value] : schedules)
    if (schedule.value == name)
      p.schedule = value;
  pipeline = integer("parallel.pipeline");
  interleave = integer("parallel.interleave");
  const JsonNode *list = find("parallel.stages");
  if (list && list->is(Kind::List) && !pipeline.given && !pipeline.broken && !interleave.broken) {
    auto parts = static_cast<int64_t>(list->items.size());
    infer(pipeline, "parallel.pipeline",
          std::max<int64_t>(1, parts % interleave.value ? 1 : parts / interleave.value),
          "parallel.stages");
  }
  p.layout.pipeline = pipeline.value;
  p.interleave = interleave.value;
  if (pipeline.broken || interleave.broken || schedule.broken || layers.broken ||
      (list && list->is(Kind::Invalid))) {
    pipeline.broken = true;
    return;
  }
  size_t before = errors.size();
  if (interleave.value > 1 && p.schedule != PipelineSchedule::Interleaved)
    errors
        .error(interleave.where, "'parallel.interleave' is " + std::to_string(interleave.value) +
                                     ", but " + shown("parallel.schedule", schedule) +
                                     " has one part a rank")
        .fix("write \"schedule\": \"interleaved\", or remove 'interleave'");
  else if (interleave.value > 1 && pipeline.value == 1)
    errors
        .error(interleave.where,
               "'parallel.interleave' is " + std::to_string(interleave.value) +
                   ", but there is one stage: " + shown("parallel.pipeline", pipeline))
        .fix("add \"pipeline\": 2 to 'parallel', or remove 'interleave'");
  int64_t parts = pipeline.value * interleave.value;
  if (parts > layers.value) {
    bool several = interleave.value > 1;
    errors
        .error(pipeline.given ? pipeline.where
               : list         ? list->where
                              : interleave.where,
               "there are fewer blocks than stages: " + shown("n_layer", layers) + " vs " +
                   shown("pipeline", pipeline) +
                   (several
                        ? " × " + shown("interleave", interleave) + " = " + std::to_string(parts)
                        : ""))
        .fix(!several || layers.value < interleave.value
                 ? "at most " + std::to_string(layers.value) + (several ? " parts" : " stages")
                 : "at most " + std::to_string(layers.value / interleave.value) +
                       " stages, or an 'interleave' of at most " +
                       std::to_string(std::max<int64_t>(1, layers.value / pipeline.value)));
  }
  if (errors.size() == before) {
    p.stages =
        balance(layers.value, parts, Costs(spec.model, std::max(spec.data.seqLength, int64_t(1))));
    if (list)
      resolveStages(*list);
    else
      record("parallel.stages", p.stages,
             parts == 1 ? "inferred from model.n_layer"
                        : "inferred from the costs of embedding, blocks and head");
  }
  pipeline.broken |= errors.size() != before;
  if (schedule.given && pipeline.value == 1 && !pipeline.broken)
    warnings.error(schedule.where, "'parallel.schedule' has no effect: there is one stage");
  else if (p.schedule == PipelineSchedule::Interleaved && interleave.value == 1 && !pipeline.broken)
    warnings
        .error(schedule.where, "'parallel.schedule' is \"interleaved\", but " +
                                   shown("interleave", interleave) +
                                   ": with one part a rank it is \"1f1b\"")
        .fix("add \"interleave\": 2 to 'parallel'");
}

/// A list given in place of the balanced stages.
void Resolver::resolveStages(const JsonNode &list) {
  std::vector<int64_t> given;
  int64_t sum = 0;
  for (const JsonNode &item : list.items) {
    if (item.is(Kind::Invalid)) {
      pipeline.broken = true;
      return;
    }
    given.push_back(static_cast<int64_t>(item.integer));
    sum += given.back();
  }
  std::vector<int64_t> &stages = spec.parallel.stages;
  auto count = [](size_t n) { return std::to_string(n) + (n == 1 ? " stage" : " stages"); };
  if (given.size() != stages.size()) {
    bool several = interleave.value > 1;
    errors
        .error(list.where, "'parallel.stages' has " + count(given.size()) + ", expected " +
                               std::to_string(stages.size()) + ": " + shown("pipeline", pipeline) +
                               (several ? " × " + shown("interleave", interleave) : ""))
        .fix(
            "write " + listed(stages) +
            (several || given.empty() ? "" : ", or \"pipeline\": " + std::to_string(given.size())));
    return;
  }
  if (sum != layers.value) {
    errors
        .error(list.where, "'parallel.stages' has " + std::to_string(sum) +
                               " blocks in all, expected " + shown("n_layer", layers))
        .fix("write " + listed(stages) + ", or \"auto\", which is the same");
    return;
  }
  stages = given;
  record("parallel.stages", stages, shortPlace(list.where));
}
