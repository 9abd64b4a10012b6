//===- SplitStages.cpp - ds-split-stages -----------------------------------===//
// What ranks run goes into modules of their own, so that every later pass sees programs of one
// device and nothing else. With several stages the programs of a micro-batch are cut
// (PipelineCut.h) and the schedule says which stage runs which of them when.
#include "../Training/StepProgram.h"
#include "Parts.h"
#include "PipelineCut.h"
#include "dsc/Dialect/Plan/PlanDialect.h"
#include "dsc/Passes/Passes.h"
#include "llvm/ADT/StringSet.h"

namespace dsc {
#define GEN_PASS_DEF_DSSPLITSTAGES
#include "dsc/Passes/Passes.h.inc"
} // namespace dsc

using namespace mlir;
using namespace dsc;

/// Copies what the programs of `stage` name.
static void takeSymbols(ModuleOp module, ModuleOp stage) {
  llvm::StringSet<> named;
  stage.walk([&](Operation *op) {
    if (auto read = dyn_cast<ds::ReadOp>(op))
      named.insert(read.getVariable());
    else if (auto assign = dyn_cast<ds::AssignOp>(op))
      named.insert(assign.getVariable());
  });
  auto builder = OpBuilder::atBlockBegin(stage.getBody());
  for (Operation &op : *module.getBody())
    if (isa<ds::VariableOp, ds::HyperparameterOp>(op) &&
        named.contains(SymbolTable::getSymbolName(&op).getValue()))
      builder.clone(op);
}

/// Sums and stashes belong to the step and leave the module around the stages; there everything is
/// whole.
static void makeWhole(ModuleOp module) {
  for (auto variable : llvm::make_early_inc_range(module.getOps<ds::VariableOp>()))
    if (variable.getRole() == ds::Role::Window || variable.getRole() == ds::Role::Stash)
      variable.erase();
    else
      variable.removeShareAttr();
}

static bool isStepProgram(func::FuncOp program) {
  return program.getName() == "train" || program.getName().starts_with("train.");
}

namespace {
/// A schedule of one device, taken apart: what runs after which micro-batch.
struct Window {
  int64_t microBatches = 0;
  std::vector<std::vector<std::string>> after; ///< programs that move sums, by micro-batch
};

struct SplitStages : dsc::impl::DsSplitStagesBase<SplitStages> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    int64_t ranks = 1;
    for (int64_t size : layout)
      ranks *= size;
    if (ranks < 2 || !findStep(module))
      return;
    auto schedules = llvm::to_vector(module.getOps<ds::ScheduleOp>());
    if (schedules.size() != 1) {
      module.emitError("P1: there is no ds.schedule, run ds-accumulate-gradients{always} first");
      return signalPassFailure();
    }
    constexpr size_t pipelineAxis = 2;
    int64_t count = layout.size() > pipelineAxis ? layout[pipelineAxis] : 1;
    SmallVector<ModuleOp> made;
    for (int64_t stage = 0; stage < count; ++stage) {
      auto builder = OpBuilder::atBlockEnd(module.getBody());
      made.push_back(ModuleOp::create(builder, module.getLoc(), ("stage." + Twine(stage)).str()));
      made.back()->setAttr(plan::kLayoutAttr, builder.getDenseI64ArrayAttr(SmallVector<int64_t>(
                                                  layout.begin(), layout.end())));
    }
    if (count == 1)
      moveAll(schedules.front(), made.front());
    else if (failed(cut(schedules.front(), made)))
      return signalPassFailure();
    for (ModuleOp stage : made)
      takeSymbols(module, stage);
    makeWhole(module);
    for (ModuleOp stage : made)
      settleParts(module, stage);
    stages += made.size();
  }

  void moveAll(ds::ScheduleOp schedule, ModuleOp stage) {
    Block *body = stage.getBody();
    schedule->moveBefore(body, body->end());
    for (auto program : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (isStepProgram(program))
        program->moveBefore(body, body->end());
  }

  LogicalResult cut(ds::ScheduleOp schedule, ArrayRef<ModuleOp> modules);
  LogicalResult makePlan(const Window &window, int64_t stages, PipelinePlan &plan);
  void schedule(const Window &window, const PipelinePlan &plan, const MicroBatchCut &cut,
                int64_t stage, ModuleOp to);
  void declare(const MicroBatchCut &cut, int64_t stage, ModuleOp to);
};
} // namespace

static Window readWindow(ds::ScheduleOp schedule) {
  Window window;
  for (auto [program, times] : llvm::zip_equal(
           schedule.getPrograms().getAsRange<FlatSymbolRefAttr>(), schedule.getRepetitions())) {
    if (program.getValue() == "train.micro") {
      window.microBatches += times;
      window.after.resize(window.microBatches);
    } else if (program.getValue() != "train" && !window.after.empty()) {
      window.after.back().insert(window.after.back().end(), times, program.getValue().str());
    }
  }
  return window;
}

/// As many blocks for each part as can be, the first ones with one more.
static std::vector<int64_t> dealEvenly(int64_t blocks, int64_t parts) {
  std::vector<int64_t> result;
  for (int64_t part = 0; part < parts; ++part)
    result.push_back(blocks / parts + (part < blocks % parts));
  return result;
}

LogicalResult SplitStages::makePlan(const Window &window, int64_t count, PipelinePlan &plan) {
  ModuleOp module = getOperation();
  plan.shape = {count, interleave, window.microBatches};
  plan.family = findPipelineFamily(pipelineSchedule.getValue());
  bool interleaves = pipelineSchedule == "interleaved";
  if (!plan.family || interleave < 1 || (interleave > 1) != interleaves)
    return module.emitError("P2: schedule '")
           << pipelineSchedule << "' with " << int64_t(interleave)
           << " parts a stage; known are gpipe, 1f1b and zero_bubble with 1, interleaved with more";
  if (interleaves && window.microBatches % count)
    return module.emitError("P2: schedule 'interleaved' of ")
           << count << " stages takes a multiple of as many micro-batches, not "
           << window.microBatches;
  plan.blocks.assign(blocks.begin(), blocks.end());
  if (plan.blocks.empty()) {
    int64_t forward = 0;
    for (auto block : module.lookupSymbol<func::FuncOp>("train.micro").getOps<ds::BlockOp>())
      forward += !block.getLabel().ends_with(".backward");
    plan.blocks = dealEvenly(forward - 2, plan.shape.parts());
  }
  if (llvm::any_of(plan.blocks, [](int64_t number) { return number < 1; }))
    return module.emitError("P2: a part of the model has no block; ")
           << plan.shape.parts() << " parts need at least as many blocks";
  for (int64_t stage = 0; stage < count; ++stage) {
    plan.rows.push_back(plan.family->rows(plan.shape, stage));
    int64_t held = 0;
    for (int64_t part = stage; part < plan.shape.parts(); part += count)
      held = std::max(held, plan.places(part));
    if (held > plan.family->inFlight(plan.shape, stage))
      return module.emitError("P5: stage ")
             << stage << " holds " << held << " micro-batches, more than theory says";
  }
  if (!simulate(plan.shape, *plan.family, plan.rows))
    return module.emitError("P5: the stages would wait for each other for ever");
  return success();
}

LogicalResult SplitStages::cut(ds::ScheduleOp old, ArrayRef<ModuleOp> modules) {
  ModuleOp module = getOperation();
  auto micro = module.lookupSymbol<func::FuncOp>("train.micro");
  auto begin = module.lookupSymbol<func::FuncOp>("train.window");
  if (!micro || !begin)
    return module.emitError("P1: there is no @train.window or no @train.micro, run "
                            "ds-accumulate-gradients{always} first");
  Window window = readWindow(old);
  PipelinePlan plan;
  if (failed(makePlan(window, int64_t(modules.size()), plan)))
    return failure();
  MicroBatchCut cut(micro, plan, modules);
  if (failed(cut.run()) || failed(writeUpdates(findStep(module), cut, plan, modules, cut.channels)))
    return failure();
  for (auto [stage, to] : llvm::enumerate(modules)) {
    writeWindow(begin, cut, plan, int64_t(stage), to);
    schedule(window, plan, cut, int64_t(stage), to);
    declare(cut, int64_t(stage), to);
    for (const MicroBatchCut::Stash &stash : cut.stashes[stage])
      places += stash.places;
  }
  old.erase();
  for (auto program : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (isStepProgram(program))
      program.erase();
  return success();
}

/// Rows of a stage. What moves the sums of a micro-batch follows the program that has completed
/// them.
void SplitStages::schedule(const Window &window, const PipelinePlan &plan, const MicroBatchCut &cut,
                           int64_t stage, ModuleOp to) {
  std::set<PipelineNode> owners; // of sums, on this stage
  for (auto &[variable, node] : cut.owners)
    if (plan.stageOf(node) == stage)
      owners.insert(node);
  std::map<std::pair<PipelineNode, std::string>, std::string> sums;
  auto sumsOf = [&](const PipelineNode &node, const std::string &program) -> std::string {
    auto [entry, inserted] = sums.try_emplace({node, program});
    if (inserted && owners.count(node)) {
      StringRef whole = cut.programs.at(node);
      std::string name = owners.size() > 1
                             ? (program + whole.drop_front(StringRef("train").size())).str()
                             : program;
      entry->second =
          writeSums(getOperation().lookupSymbol<func::FuncOp>(program), cut, node, name, to);
    }
    return entry->second;
  };
  OpBuilder builder(&getContext());
  SmallVector<Attribute> programs;
  auto add = [&](StringRef name) {
    if (!name.empty())
      programs.push_back(FlatSymbolRefAttr::get(&getContext(), name));
  };
  add("train.window");
  for (const PipelineRow &row : plan.rows[stage]) {
    PipelineNode node = plan.nodeOf(row);
    bool fused = row.kind == WorkKind::Backward && node.kind == WorkKind::Forward;
    if (fused) // one program with the row before
      continue;
    add(cut.programs.at(node));
    for (const std::string &program : window.after[row.microBatch])
      add(sumsOf(node, program));
  }
  add("train");
  builder.setInsertionPointToStart(to.getBody());
  ds::ScheduleOp::create(builder, to.getLoc(), builder.getArrayAttr(programs),
                         SmallVector<int64_t>(programs.size(), 1));
}

/// Stashes, and further copies of variables that count micro-batches.
void SplitStages::declare(const MicroBatchCut &cut, int64_t stage, ModuleOp to) {
  auto builder = OpBuilder::atBlockBegin(to.getBody());
  for (auto &[name, copies] : cut.counters[stage])
    for (const std::string &copy : copies)
      if (copy != name) {
        auto variable = getOperation().lookupSymbol<ds::VariableOp>(name);
        cast<ds::VariableOp>(builder.clone(*variable)).setSymName(copy);
      }
  for (const MicroBatchCut::Stash &stash : cut.stashes[stage]) {
    auto variable = ds::VariableOp::create(builder, stash.loc, stash.name,
                                           cast<RankedTensorType>(stash.type), ds::Role::Stash);
    variable.setPlaces(stash.places);
  }
}
