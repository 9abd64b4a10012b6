//===- SplitStages.cpp - ds-split-stages -----------------------------------===//
// What ranks run goes into modules of their own, so that every later pass sees programs of one
// device and nothing else.
#include "../Training/StepProgram.h"
#include "dsc/Dialect/Plan/PlanDialect.h"
#include "dsc/Passes/Passes.h"
#include "llvm/ADT/StringSet.h"

namespace dsc {
#define GEN_PASS_DEF_DSSPLITSTAGES
#include "dsc/Passes/Passes.h.inc"
} // namespace dsc

using namespace mlir;
using namespace dsc;

/// Copies what the programs of `stage` name. Sums and stashes belong to the step and leave the
/// module around it; there everything is whole.
static void takeSymbols(ModuleOp module, ModuleOp stage) {
  llvm::StringSet<> named;
  stage.walk([&](Operation *op) {
    if (auto read = dyn_cast<ds::ReadOp>(op))
      named.insert(read.getVariable());
    else if (auto assign = dyn_cast<ds::AssignOp>(op))
      named.insert(assign.getVariable());
  });
  auto builder = OpBuilder::atBlockBegin(stage.getBody());
  for (Operation &op : llvm::make_early_inc_range(*module.getBody())) {
    auto variable = dyn_cast<ds::VariableOp>(op);
    if (!variable && !isa<ds::HyperparameterOp>(op))
      continue;
    if (named.contains(SymbolTable::getSymbolName(&op).getValue()))
      builder.clone(op);
    if (!variable)
      continue;
    if (variable.getRole() == ds::Role::Window || variable.getRole() == ds::Role::Stash)
      op.erase();
    else
      variable.removeShareAttr();
  }
}

namespace {
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
    auto builder = OpBuilder::atBlockEnd(module.getBody());
    auto stage = ModuleOp::create(builder, module.getLoc(), "stage.0");
    stage->setAttr(plan::kLayoutAttr, builder.getDenseI64ArrayAttr(
                                          SmallVector<int64_t>(layout.begin(), layout.end())));
    Block *body = stage.getBody();
    schedules.front()->moveBefore(body, body->end());
    for (auto program : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (program.getName() == "train" || program.getName().starts_with("train."))
        program->moveBefore(body, body->end());
    takeSymbols(module, stage);
    ++stages;
  }
};
} // namespace
