//===- StageUpdate.cpp - what a stage does once a window -------------------===//
// A value of @train is on the stages that have the sums it comes from. Where stages meet it is on
// each of them: sums of squares and the loss by an all-reduce in which all but one bring zeros, the
// uses of a tied parameter by messages.
#include "PipelineCut.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace dsc;

static constexpr StringLiteral lossName = "loss";

//===----------------------------------------------------------------------===//
// Windows and sums
//===----------------------------------------------------------------------===//

void dsc::writeWindow(func::FuncOp window, const MicroBatchCut &cut, const PipelinePlan &plan,
                      int64_t stage, ModuleOp to) {
  auto builder = OpBuilder::atBlockBegin(to.getBody());
  auto program = cast<func::FuncOp>(builder.clone(*window));
  for (auto assign : llvm::make_early_inc_range(program.getOps<ds::AssignOp>())) {
    std::string name = assign.getVariable().str();
    auto owner = cut.owners.find(name);
    bool ours = owner != cut.owners.end() ? plan.stageOf(owner->second) == stage : !cut.knows(name);
    if (auto copies = cut.counters[stage].find(name); copies != cut.counters[stage].end()) {
      builder.setInsertionPoint(assign);
      for (const std::string &copy : copies->second)
        ds::AssignOp::create(builder, assign.getLoc(), copy, assign.getValue());
    }
    if (!ours)
      assign.erase();
  }
  eraseDead(program);
}

/// The node whose sums `assign` moves.
static const PipelineNode *movedBy(ds::AssignOp assign, const MicroBatchCut &cut) {
  auto owner = cut.owners.find(assign.getVariable().str());
  SmallVector<Value> work{assign.getValue()};
  while (owner == cut.owners.end() && !work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (auto read = dyn_cast_or_null<ds::ReadOp>(op))
      owner = cut.owners.find(read.getVariable().str());
    else if (op)
      work.append(op->operand_begin(), op->operand_end());
  }
  return owner == cut.owners.end() ? nullptr : &owner->second;
}

std::string dsc::writeSums(func::FuncOp source, const MicroBatchCut &cut, const PipelineNode &node,
                           StringRef name, ModuleOp to) {
  auto builder = OpBuilder::atBlockEnd(to.getBody());
  auto program = cast<func::FuncOp>(builder.clone(*source));
  program.setName(name);
  for (auto assign : llvm::make_early_inc_range(program.getOps<ds::AssignOp>()))
    if (const PipelineNode *moved = movedBy(assign, cut); !moved || *moved != node)
      assign.erase();
  eraseDead(program);
  if (!program.getOps<ds::AssignOp>().empty())
    return program.getName().str();
  program.erase();
  return {};
}

//===----------------------------------------------------------------------===//
// Updates
//===----------------------------------------------------------------------===//

namespace {
/// Stages that have a value; none: all have.
using Holders = std::set<int64_t>;

struct Message {
  Value value;
  int64_t from, to, channel;
};

class UpdateCut {
public:
  UpdateCut(func::FuncOp update, const MicroBatchCut &cut, const PipelinePlan &plan,
            int64_t channels)
      : update(update), cut(cut), plan(plan), channels(channels) {}

  LogicalResult findHolders();
  void write(int64_t stage, ModuleOp to);

private:
  bool has(int64_t stage, Value value) const {
    auto found = holders.find(value);
    return found == holders.end() || found->second.count(stage);
  }
  bool isOnAll(Value value) const { return !holders.contains(value); }
  /// Among stages with the same value the one that hands it on.
  int64_t homeOf(Value value) const { return *holders.find(value)->second.begin(); }
  LogicalResult find(Operation *op);
  bool runsOn(int64_t stage, Operation *op) const;
  void exchange(int64_t stage, Operation *op, OpBuilder &builder, IRMapping &mapping);
  bool isNormOfAll(Operation *op) const;
  Value wholeOf(Value value, OpBuilder &builder, IRMapping &mapping);
  void sumOverStages(int64_t stage, OpBuilder &builder, IRMapping &mapping);
  void copyList(int64_t stage, Operation *op, OpBuilder &builder, IRMapping &mapping);

  func::FuncOp update;
  const MicroBatchCut &cut;
  const PipelinePlan &plan;
  int64_t channels;
  Value loss;
  Operation *norm = nullptr; ///< of the gradients of all stages; from here on all have the loss
  llvm::DenseMap<Value, Holders> holders;
  llvm::DenseMap<Operation *, Holders> runners; ///< of ops that not all stages run
  llvm::DenseMap<Operation *, SmallVector<Message>> messages;
};
} // namespace

static bool reportsLoss(Operation *op) {
  auto report = dyn_cast<ds::ReportOp>(op);
  return report && report.getName() == lossName;
}

/// Norms of one variable (LAMB's) stay on its stages.
bool UpdateCut::isNormOfAll(Operation *op) const {
  return isa<ds::GlobalNormOp>(op) && llvm::any_of(op->getOperands(), [&](Value value) {
           return !isOnAll(value) && holders.lookup(value) != holders.lookup(op->getOperand(0));
         });
}

LogicalResult UpdateCut::find(Operation *op) {
  if (auto read = dyn_cast<ds::ReadOp>(op)) {
    if (auto owner = cut.owners.find(read.getVariable().str()); owner != cut.owners.end())
      holders[read.getResult()] = {plan.stageOf(owner->second)};
    return success();
  }
  if (isList(op)) {
    for (auto [operand, result] : llvm::zip(op->getOperands(), op->getResults()))
      if (!isOnAll(operand))
        holders[result] = Holders(holders[operand]);
    return success();
  }
  if (isNormOfAll(op)) {
    norm = op;
    return success();
  }
  Holders all;
  SmallVector<Value> partial;
  for (Value operand : op->getOperands())
    if (!isOnAll(operand) && !(norm && operand == loss)) {
      all.insert(holders[operand].begin(), holders[operand].end());
      if (!llvm::is_contained(partial, operand))
        partial.push_back(operand);
    }
  if (all.empty() || reportsLoss(op))
    return success();
  bool moves = isa<ds::AssignOp, ds::ReportOp>(op);
  if (!moves && !isMemoryEffectFree(op))
    return op->emitOpError("P4: needs what only some stages have");
  // From the last stage on backward: who waits for a message has sent its own before, or sends it
  // when that one has come.
  std::map<int64_t, SmallVector<Value>, std::greater<>> byHome;
  for (Value operand : partial)
    byHome[homeOf(operand)].push_back(operand);
  for (auto &[home, operands] : byHome)
    for (Value operand : operands) {
      for (int64_t stage : all)
        if (!has(stage, operand))
          messages[op].push_back({operand, home, stage, channels++});
      holders[operand] = all;
    }
  runners[op] = all;
  for (Value result : op->getResults())
    holders[result] = all;
  return success();
}

LogicalResult UpdateCut::findHolders() {
  for (auto report : update.getOps<ds::ReportOp>())
    if (report.getName() == lossName)
      loss = report.getValue();
  for (Operation &op : update.front().without_terminator())
    if (failed(find(&op)))
      return failure();
  if (!loss || !norm)
    return update.emitOpError("P4: has no ")
           << (loss ? "norm" : "loss") << ", run ds-clip-gradients first";
  return success();
}

bool UpdateCut::runsOn(int64_t stage, Operation *op) const {
  if (isa<ds::ReadOp>(op))
    return has(stage, op->getResult(0));
  if (isList(op))
    return llvm::any_of(op->getOperands(), [&](Value v) { return has(stage, v); });
  // A sum that lives on another stage has no place here.
  if (auto assign = dyn_cast<ds::AssignOp>(op))
    if (auto owner = cut.owners.find(assign.getVariable().str());
        owner != cut.owners.end() && plan.stageOf(owner->second) != stage)
      return false;
  auto found = runners.find(op);
  return found == runners.end() || found->second.count(stage);
}

/// What is sent of `value`. Of a sum that data-parallel ranks have shares of, all of it, in a place
/// where it can stay until it has been taken.
Value UpdateCut::wholeOf(Value value, OpBuilder &builder, IRMapping &mapping) {
  Value here = mapping.lookup(value);
  auto read = value.getDefiningOp<ds::ReadOp>();
  auto variable =
      read ? SymbolTable::lookupNearestSymbolFrom<ds::VariableOp>(read, read.getVariableAttr())
           : ds::VariableOp();
  if (!variable || !variable.getShareAttr())
    return here;
  Location loc = value.getLoc();
  std::string name = "stash." + read.getVariable().str();
  auto module = here.getDefiningOp()->getParentOfType<ModuleOp>();
  auto declaration = OpBuilder::atBlockBegin(module.getBody());
  ds::VariableOp::create(declaration, loc, name, cast<RankedTensorType>(value.getType()),
                         ds::Role::Stash);
  auto whole = ds::AllGatherOp::create(builder, loc, *variable.getShare(), ValueRange{here});
  whole->setAttr("ds.label", builder.getStringAttr("gradients"));
  ds::AssignOp::create(builder, loc, name, whole.getResult(0));
  return ds::ReadOp::create(builder, loc, value.getType(), name);
}

/// Messages in front of an op whose operands meet here. What a stage sends must not be written over
/// before it has been taken: the last stage has by then received the other's answer, and the first
/// one writes its sum over what it received.
void UpdateCut::exchange(int64_t stage, Operation *op, OpBuilder &builder, IRMapping &mapping) {
  for (const Message &message : messages.lookup(op)) {
    Location loc = message.value.getLoc();
    Operation *created = nullptr;
    if (message.from == stage) {
      created = ds::SendOp::create(builder, loc, wholeOf(message.value, builder, mapping),
                                   message.to, message.channel);
    } else if (message.to == stage) {
      auto receive = ds::ReceiveOp::create(builder, loc, message.value.getType(), message.from,
                                           message.channel);
      mapping.map(message.value, receive.getValue());
      created = receive;
    }
    if (created)
      created->setAttr("ds.label", builder.getStringAttr("gradients"));
  }
}

/// Square sums and the loss, zeros where they are elsewhere: x + 0 is x, so all have the same bits.
void UpdateCut::sumOverStages(int64_t stage, OpBuilder &builder, IRMapping &mapping) {
  SmallVector<Value> values{loss}, local;
  for (Value operand : norm->getOperands())
    if (!isOnAll(operand) && !llvm::is_contained(values, operand))
      values.push_back(operand);
  for (Value value : values) {
    bool ours = !isOnAll(value) && homeOf(value) == stage;
    local.push_back(
        ours ? mapping.lookup(value)
             : ds::ZerosOp::create(builder, norm->getLoc(), value.getType()).getResult());
  }
  auto sum = ds::AllReduceOp::create(builder, norm->getLoc(), ds::Axis::Pipeline, local);
  sum->setAttr("ds.label", builder.getStringAttr("stages"));
  mapping.map(values, sum.getResults());
  for (auto report : update.getOps<ds::ReportOp>())
    if (report.getName() == lossName)
      builder.clone(*report, mapping);
}

/// The values of a list that this stage has.
void UpdateCut::copyList(int64_t stage, Operation *op, OpBuilder &builder, IRMapping &mapping) {
  SmallVector<Value> operands, results;
  for (auto [operand, result] : llvm::zip(op->getOperands(), op->getResults()))
    if (has(stage, operand)) {
      operands.push_back(mapping.lookup(operand));
      results.push_back(result);
    }
  mapping.map(results, createList(builder, op, operands)->getResults());
}

void UpdateCut::write(int64_t stage, ModuleOp to) {
  auto builder = OpBuilder::atBlockEnd(to.getBody());
  auto program =
      func::FuncOp::create(builder, update.getLoc(), update.getName(), update.getFunctionType());
  IRMapping mapping;
  builder.setInsertionPointToStart(program.addEntryBlock());
  for (Operation &op : update.front()) {
    if (!runsOn(stage, &op) || reportsLoss(&op))
      continue;
    if (isList(&op)) {
      copyList(stage, &op, builder, mapping);
      continue;
    }
    if (&op == norm)
      sumOverStages(stage, builder, mapping);
    exchange(stage, &op, builder, mapping);
    builder.clone(op, mapping);
  }
  eraseDead(program);
}

LogicalResult dsc::writeUpdates(func::FuncOp update, const MicroBatchCut &cut,
                                const PipelinePlan &plan, ArrayRef<ModuleOp> stages,
                                int64_t channels) {
  UpdateCut updates(update, cut, plan, channels);
  if (failed(updates.findHolders()))
    return failure();
  for (auto [stage, module] : llvm::enumerate(stages))
    updates.write(int64_t(stage), module);
  return success();
}
