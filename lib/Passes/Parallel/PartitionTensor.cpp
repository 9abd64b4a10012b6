//===- PartitionTensor.cpp - ds-partition-tensor ---------------------------===//
// First it is settled what is cut (Sharding, MegatronRule), then types become those of a part and
// ops adapt themselves; a sum behind each cut sum loop is the only thing added.
#include "../Training/StepProgram.h"
#include "MegatronRule.h"
#include "Parts.h"
#include "dsc/Passes/Passes.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

namespace dsc {
#define GEN_PASS_DEF_DSPARTITIONTENSOR
#include "dsc/Passes/Passes.h.inc"
} // namespace dsc

using namespace mlir;
using namespace dsc;

static constexpr StringLiteral rankName = "rank.tensor";

namespace {
class Partition {
public:
  Partition(ModuleOp module, ArrayRef<func::FuncOp> programs, const Shardings &shardings,
            int64_t parts)
      : module(module), programs(programs), shardings(shardings), parts(parts),
        builder(module.getContext()) {}

  void run() {
    cutVariables();
    for (auto [value, cut] : shardings.values())
      value.setType(partType(cast<RankedTensorType>(value.getType()), cut, parts));
    for (auto [op, cut] : shardings.ops())
      cutOp(op, cut);
    for (func::FuncOp program : programs)
      program->walk([&](Operation *op) { joinReductions(op); });
  }

  int64_t reductions = 0;

private:
  void cutVariables();
  void cutOp(Operation *op, const LoopCut &cut);
  void sumResults(Operation *op);
  void joinReductions(Operation *op);
  Value rankOf(func::FuncOp program);
  SmallVector<Value> reduce(OpBuilder &at, Location loc, ValueRange values) {
    ++reductions;
    return SmallVector<Value>(
        ds::AllReduceOp::create(at, loc, ds::Axis::Tensor, values).getResults());
  }

  ModuleOp module;
  ArrayRef<func::FuncOp> programs;
  const Shardings &shardings;
  int64_t parts;
  OpBuilder builder;
  DenseMap<Operation *, Value> ranks; ///< of programs
};
} // namespace

Value Partition::rankOf(func::FuncOp program) {
  Value &rank = ranks[program];
  if (rank)
    return rank;
  OpBuilder at = OpBuilder::atBlockBegin(module.getBody());
  if (!module.lookupSymbol(rankName))
    ds::HyperparameterOp::create(at, program.getLoc(), rankName, llvm::APFloat(0.0));
  at.setInsertionPointToStart(&program.getBody().front());
  auto scalar = RankedTensorType::get({}, at.getF64Type());
  return rank = ds::ReadOp::create(at, program.getLoc(), scalar, rankName);
}

/// Sums and stashes belong to training alone and become local; of the others, which other programs
/// read whole, a part stands beside them.
void Partition::cutVariables() {
  llvm::StringSet<> renamed;
  for (const auto &[name, sharding] : shardings.variables()) {
    auto variable = module.lookupSymbol<ds::VariableOp>(name);
    const Cut &cut = sharding.cut;
    auto whole = cast<RankedTensorType>(variable.getType());
    if (variable.getRole() != ds::Role::Window && variable.getRole() != ds::Role::Stash) {
      builder.setInsertionPointAfter(variable);
      variable = cast<ds::VariableOp>(builder.clone(*variable));
      variable.setSymName((kPartPrefix + name).str());
      renamed.insert(name);
    }
    int64_t outer = cut.outer, inner = cut.inner;
    for (int64_t size : whole.getShape().take_front(cut.dimension))
      outer *= size;
    for (int64_t size : whole.getShape().drop_front(cut.dimension + 1))
      inner *= size;
    variable.setType(partType(whole, cut, parts));
    variable.setCutAxis(ds::Axis::Tensor);
    variable.setLogical(whole.getShape());
    variable.setCut(ArrayRef<int64_t>{outer, cut.count, inner});
    variable->setAttr(ds::kWhyAttr, builder.getStringAttr(sharding.why));
  }
  auto rename = [&](auto op) {
    if (renamed.contains(op.getVariable()))
      op.setVariable((kPartPrefix + op.getVariable()).str());
  };
  for (func::FuncOp program : programs)
    program->walk([&](Operation *op) {
      if (auto read = dyn_cast<ds::ReadOp>(op))
        rename(read);
      else if (auto assign = dyn_cast<ds::AssignOp>(op))
        rename(assign);
    });
}

void Partition::cutOp(Operation *op, const LoopCut &cut) {
  auto shardable = cast<ShardableOpInterface>(op);
  bool sums = shardable.shardingRule().loops[cut.loop].kind == LoopKind::Sum;
  Location loc = op->getLoc();
  auto rank = [&] { return rankOf(op->getParentOfType<func::FuncOp>()); };
  auto sumUp = [&](OpBuilder &at, ValueRange values) { return reduce(at, loc, values); };
  builder.setInsertionPoint(op);
  shardable.cutLoop(builder, {cut.loop, cut.count, parts, rank, sumUp});
  if (sums)
    sumResults(op);
}

/// A sum that is to be stored in two bytes crosses in four and is rounded once, as on one device.
void Partition::sumResults(Operation *op) {
  builder.setInsertionPointAfter(op);
  SmallVector<Value> results(op->getResults());
  SmallVector<Type> stored(op->getResultTypes());
  for (Value result : results)
    if (auto type = cast<RankedTensorType>(result.getType()); type.getElementTypeBitWidth() < 32)
      result.setType(type.clone(builder.getF32Type()));
  SmallVector<Value> sums = reduce(builder, op->getLoc(), results);
  for (auto [result, sum, type] : llvm::zip_equal(results, sums, stored)) {
    Operation *reader = sum.getDefiningOp();
    if (type != sum.getType())
      sum = ds::CastOp::create(builder, op->getLoc(), type, sum);
    result.replaceAllUsesExcept(sum, reader);
  }
}

/// Sums that are met by one op, and by nothing else, become one message.
void Partition::joinReductions(Operation *op) {
  llvm::SmallSetVector<ds::AllReduceOp, 8> sums;
  for (Value operand : op->getOperands())
    if (auto sum = operand.getDefiningOp<ds::AllReduceOp>();
        sum && sum.getAxis() == ds::Axis::Tensor && sum->getBlock() == op->getBlock() &&
        llvm::all_of(sum->getUsers(), [&](Operation *user) { return user == op; }))
      sums.insert(sum);
  if (sums.size() < 2)
    return;
  SmallVector<Value> inputs;
  for (ds::AllReduceOp sum : sums)
    llvm::append_range(inputs, sum.getInputs());
  builder.setInsertionPoint(op);
  auto joined = ds::AllReduceOp::create(builder, op->getLoc(), ds::Axis::Tensor, inputs);
  auto next = joined.getResults().begin();
  for (ds::AllReduceOp sum : sums) {
    for (Value result : sum.getResults())
      result.replaceAllUsesWith(*next++);
    sum.erase();
    --reductions;
  }
  ++reductions;
}

void dsc::settleParts(ModuleOp module, ModuleOp stage) {
  SmallVector<ds::VariableOp> settled;
  for (auto variable : stage.getOps<ds::VariableOp>())
    if (variable.getSymName().starts_with(kPartPrefix))
      settled.push_back(variable);
  auto plain = [](StringRef name) { return name.drop_front(kPartPrefix.size()).str(); };
  stage->walk([&](Operation *op) {
    auto rename = [&](auto use) {
      if (use.getVariable().starts_with(kPartPrefix))
        use.setVariable(plain(use.getVariable()));
    };
    if (auto read = dyn_cast<ds::ReadOp>(op))
      rename(read);
    else if (auto assign = dyn_cast<ds::AssignOp>(op))
      rename(assign);
  });
  for (ds::VariableOp variable : settled)
    variable.setSymName(plain(variable.getSymName()));
  for (auto variable : llvm::make_early_inc_range(module.getOps<ds::VariableOp>()))
    if (variable.getSymName().starts_with(kPartPrefix))
      variable.erase();
}

namespace {
struct PartitionTensor : dsc::impl::DsPartitionTensorBase<PartitionTensor> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (ranks < 2 || !findStep(module))
      return;
    SmallVector<func::FuncOp> programs;
    for (auto program : module.getOps<func::FuncOp>())
      if (!program.isExternal() &&
          (program.getName() == "train" || program.getName().starts_with("train.")))
        programs.push_back(program);
    Shardings shardings(programs);
    applyMegatronRule(module, programs, shardings, ranks);
    Partition partition(module, programs, shardings, ranks);
    partition.run();
    variables += shardings.variables().size();
    ops += shardings.ops().size();
    reductions += partition.reductions;
  }
};
} // namespace
