//===- ChooseRecompute.cpp - which blocks to compute again -----------------===//
// A choice is judged by planning it: the arena is the one that training would use, the work what
// its kernels say. Nothing is estimated, so a budget that is met here is met.
#include "dsc/Dialect/Plan/PlanDialect.h"
#include "dsc/Interfaces/Interfaces.h"
#include "dsc/Passes/Pipelines.h"
#include "dsc/Passes/PlanSummary.h"
#include "dsc/Passes/Recompute.h"
#include "dsc/Support/Numbers.h"
#include "mlir/Pass/PassManager.h"
#include <algorithm>

using namespace mlir;
using namespace dsc;

namespace {
/// One block and one level up: what it saves and what it costs, for the order of trying.
struct Upgrade {
  std::string block;
  bool toFull;
  double work, bytes;
  size_t order = 0; ///< in the program: among equals the first block lives longest
};
} // namespace

/// Labels of the layers, in order; embedding and head have nothing to gain and are left alone.
static std::vector<std::string> layerLabels(ModuleOp module) {
  std::vector<std::string> labels;
  for (RecomputablePair pair : recomputableBlocks(module)) {
    bool hasCore = false;
    pair.forward.walk(
        [&](Operation *op) { hasCore |= op->hasTrait<dsc::OpTrait::AttentionCore>(); });
    if (hasCore)
      labels.push_back(pair.forward.getLabel().str());
  }
  return labels;
}

RecomputeChoice dsc::recomputeChoice(ModuleOp module, const TrainSpec &train) {
  RecomputeChoice choice;
  std::vector<std::string> labels = layerLabels(module);
  switch (train.recompute) {
  case RecomputeMode::None:
  case RecomputeMode::Auto:
    break;
  case RecomputeMode::Full:
    choice.full = labels;
    break;
  case RecomputeMode::Selective:
    choice.selective = labels;
    break;
  case RecomputeMode::Blocks:
    for (int64_t block : train.recomputeBlocks)
      if (block < int64_t(labels.size()))
        choice.full.push_back(labels[block]);
    break;
  }
  return choice;
}

FailureOr<RecomputeCost> dsc::measureRecompute(ModuleOp module, const RecomputeChoice &choice) {
  OwningOpRef<ModuleOp> copy = module.clone();
  PassManager manager(module.getContext());
  LoweringOptions options;
  options.setRecompute(choice);
  buildLoweringPipeline(manager, options);
  buildPlanPipeline(manager);
  if (failed(manager.run(*copy)))
    return failure();
  PlanSummary summary = summarizePlan(*copy, {});
  return RecomputeCost{summary.stepFlops, summary.activations, summary.arena};
}

/// FLOPs of the ops that a level copies and bytes of the values that it frees, both from the
/// forward block alone.
static void weigh(RecomputablePair pair, bool full, double &work, double &bytes) {
  work = bytes = 0;
  llvm::DenseSet<Value> kept;
  for (Operation &op : pair.forward.getBody().front()) {
    bool copied = full || op.hasTrait<dsc::OpTrait::AttentionCore>();
    if (auto cost = dyn_cast<CostOpInterface>(op); cost && copied)
      work += double(cost.flops());
    if (copied)
      for (Value result : op.getResults())
        kept.insert(result);
  }
  for (Value value : pair.forward.getYield().getValues())
    if (kept.contains(value))
      bytes += double(bytesOfValues(ValueRange(value)));
}

/// Upgrades in the order in which they pay; a block becomes full after it has become selective.
static std::vector<Upgrade> upgradesOf(ModuleOp module) {
  std::vector<Upgrade> upgrades;
  for (RecomputablePair pair : recomputableBlocks(module)) {
    double selectiveWork, selectiveBytes, fullWork, fullBytes;
    weigh(pair, false, selectiveWork, selectiveBytes);
    if (selectiveBytes == 0) // no layer
      continue;
    weigh(pair, true, fullWork, fullBytes);
    std::string label = pair.forward.getLabel().str();
    // Where the whole block pays better than its core alone, the core is no step of its own.
    if (fullWork * selectiveBytes < selectiveWork * fullBytes) {
      upgrades.push_back({label, true, fullWork, fullBytes});
      continue;
    }
    upgrades.push_back({label, false, selectiveWork, selectiveBytes});
    upgrades.push_back({label, true, fullWork - selectiveWork, fullBytes - selectiveBytes});
  }
  for (size_t i = 0; i < upgrades.size(); ++i)
    upgrades[i].order = i;
  std::sort(upgrades.begin(), upgrades.end(), [](const Upgrade &a, const Upgrade &b) {
    double left = a.work * b.bytes, right = b.work * a.bytes;
    return left != right ? left < right : a.order < b.order;
  });
  return upgrades;
}

static RecomputeChoice choiceOf(const std::vector<Upgrade> &upgrades, size_t count) {
  RecomputeChoice choice;
  for (size_t i = 0; i < count; ++i)
    (upgrades[i].toFull ? choice.full : choice.selective).push_back(upgrades[i].block);
  std::erase_if(choice.selective,
                [&](const std::string &label) { return llvm::is_contained(choice.full, label); });
  return choice;
}

FailureOr<std::optional<RecomputeChoice>> dsc::chooseRecompute(ModuleOp module, int64_t budget,
                                                               RecomputeCost &smallest) {
  std::vector<Upgrade> upgrades = upgradesOf(module);
  auto measure = [&](const RecomputeChoice &choice) { return measureRecompute(module, choice); };
  FailureOr<RecomputeCost> all = measure(choiceOf(upgrades, upgrades.size()));
  if (failed(all))
    return failure();
  smallest = *all;
  if (smallest.arena > budget)
    return std::optional<RecomputeChoice>(); // too little for any choice
  size_t low = 0, high = upgrades.size();
  while (low < high) {
    size_t middle = (low + high) / 2;
    FailureOr<RecomputeCost> cost = measure(choiceOf(upgrades, middle));
    if (failed(cost))
      return failure();
    if (cost->arena <= budget)
      high = middle;
    else
      low = middle + 1;
  }
  // The last steps taken are the dearest: each is taken back if the rest still fits.
  upgrades.resize(high);
  constexpr size_t tries = 8;
  for (size_t tried = 0, i = upgrades.size(); i-- > 0 && tried < tries; ++tried) {
    std::vector<Upgrade> fewer = upgrades;
    fewer.erase(fewer.begin() + ptrdiff_t(i));
    FailureOr<RecomputeCost> cost = measure(choiceOf(fewer, fewer.size()));
    if (failed(cost))
      return failure();
    if (cost->arena <= budget)
      upgrades = std::move(fewer);
  }
  return std::optional<RecomputeChoice>(choiceOf(upgrades, upgrades.size()));
}

static bool sameChoice(const RecomputeChoice &a, const RecomputeChoice &b) {
  return a.full == b.full && a.selective == b.selective;
}

FailureOr<std::string> dsc::printRecomputeChoices(ModuleOp module, const RecomputeChoice &chosen) {
  std::vector<std::string> labels = layerLabels(module);
  std::vector<std::pair<const char *, RecomputeChoice>> rows = {
      {"none", {}}, {"selective", {{}, labels}}, {"full", {labels, {}}}};
  if (llvm::none_of(rows, [&](auto &row) { return sameChoice(row.second, chosen); }))
    rows.push_back({"as chosen", chosen});
  auto right = [](std::string value, size_t width) {
    return std::string(value.size() < width ? width - value.size() : 0, ' ') + value;
  };
  std::string text = "recomputation" + right("FLOPs per step", 21) + right("more", 9) +
                     right("activations", 18) + right("arena", 18) + "\n";
  int64_t base = 0;
  for (const auto &[name, choice] : rows) {
    FailureOr<RecomputeCost> cost = measureRecompute(module, choice);
    if (failed(cost))
      return failure();
    base = base ? base : std::max<int64_t>(1, cost->flops);
    double more = 100 * double(cost->flops - base) / double(base);
    std::string label = "  " + std::string(name);
    label.resize(13, ' ');
    text += label + right(printGrouped(cost->flops), 21) + right(printFixed(more, 1) + "%", 9) +
            right(printGrouped(cost->activations), 18) + right(printGrouped(cost->arena), 18) +
            (sameChoice(choice, chosen) ? "   chosen" : "") + "\n";
  }
  if (rows.size() == 3)
    return text;
  auto list = [&](const char *name, const std::vector<std::string> &blocks) {
    text += blocks.empty() ? "" : "  " + std::string(name) + ":";
    for (const std::string &label : labels) // in the order of the model
      if (llvm::is_contained(blocks, label))
        text += " " + label;
    text += blocks.empty() ? "" : "\n";
  };
  list("whole", chosen.full);
  list("attention core", chosen.selective);
  return text;
}
