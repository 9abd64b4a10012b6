//===- MicroBatchCut.cpp - @train.micro, dealt out to stages ---------------===//
// Ops keep their order. What depends on variables and the rows of data alone is had wherever it is
// needed; all else is computed once, on the stage of its block.
#include "PipelineCut.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace dsc;

static constexpr StringLiteral backwardSuffix = ".backward";

void dsc::eraseDead(func::FuncOp program) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(program.getBody().front())))
    if (isOpTriviallyDead(&op))
      op.erase();
}

bool dsc::isList(Operation *op) {
  return isa<ds::AllReduceOp, ds::ReduceScatterOp, ds::AllGatherOp>(op);
}

Operation *dsc::createList(OpBuilder &builder, Operation *list, ValueRange values) {
  OperationState state(list->getLoc(), list->getName());
  state.addOperands(values);
  state.addTypes(values.getTypes());
  state.addAttributes(list->getAttrs());
  return builder.create(state);
}

PipelineNode PipelinePlan::nodeOf(const PipelineRow &row) const {
  bool fused = row.kind == WorkKind::Backward && fuses(row.part);
  return {row.part, fused ? WorkKind::Forward : row.kind};
}

/// Values outside of `op` that it or its region reads, in order.
static llvm::SetVector<Value> operandsOf(Operation *op) {
  llvm::SetVector<Value> values;
  op->walk<WalkOrder::PreOrder>([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (operand.getParentBlock() == op->getBlock())
        values.insert(operand);
  });
  return values;
}

//===----------------------------------------------------------------------===//
// Where ops run
//===----------------------------------------------------------------------===//

/// The first forward block belongs to the first part, the last one to the last.
LogicalResult MicroBatchCut::findParts() {
  SmallVector<ds::BlockOp> forward;
  for (auto block : micro.getOps<ds::BlockOp>())
    if (!block.getLabel().ends_with(backwardSuffix))
      forward.push_back(block);
  int64_t wanted = 0, between = int64_t(forward.size()) - 2;
  for (int64_t count : plan.blocks)
    wanted += count;
  if (between != wanted || int64_t(plan.blocks.size()) != plan.shape.parts())
    return micro.emitOpError("P2: ")
           << wanted << " blocks in " << plan.blocks.size() << " parts for a model of "
           << std::max<int64_t>(between, 0) << " and " << plan.shape.parts() << " parts";
  int64_t part = 0, left = plan.blocks.front();
  for (auto [index, block] : llvm::enumerate(forward)) {
    bool end = index == 0 || index + 1 == forward.size();
    for (; !end && left == 0; left = plan.blocks[part])
      ++part;
    left -= !end;
    partOf[block.getLabel()] = index + 1 == forward.size() ? plan.shape.parts() - 1 : part;
  }
  lastBlock = forward.back().getLabel().str();
  return success();
}

FailureOr<PipelineNode> MicroBatchCut::nodeOfBlock(ds::BlockOp block) {
  StringRef label = block.getLabel();
  bool backward = label.consume_back(backwardSuffix);
  auto part = partOf.find(label);
  if (part == partOf.end())
    return block.emitOpError("P3: has no forward block '") << label << "'";
  if (weights.contains(block))
    return PipelineNode{part->second, WorkKind::Weights};
  // The last block goes forward and backward at once: logits never wait.
  if (!backward || label == lastBlock)
    return PipelineNode{part->second, WorkKind::Forward};
  return plan.nodeOf({WorkKind::Backward, part->second, 0});
}

bool MicroBatchCut::isEverywhere(Value value) const {
  Operation *op = value.getDefiningOp();
  return !op || !nodes.contains(op);
}

/// Nodes in an order in which values can flow.
int64_t MicroBatchCut::orderOf(const PipelineNode &node) const {
  int64_t parts = plan.shape.parts();
  if (node.kind == WorkKind::Forward)
    return node.part;
  return (node.kind == WorkKind::Weights ? 2 : 1) * parts + parts - 1 - node.part;
}

/// A bucket of gradients of several programs becomes one a program.
void MicroBatchCut::placeList(Operation *op) {
  std::map<PipelineNode, SmallVector<unsigned>> parts;
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    if (!isEverywhere(operand))
      parts[nodes[operand.getDefiningOp()]].push_back(unsigned(index));
  if (parts.size() == 1 && parts.begin()->second.size() == op->getNumOperands())
    nodes[op] = parts.begin()->first;
  if (parts.empty() || nodes.contains(op))
    return;
  OpBuilder builder(op);
  for (auto &[node, indices] : parts) {
    SmallVector<Value> values;
    for (unsigned index : indices)
      values.push_back(op->getOperand(index));
    Operation *part = createList(builder, op, values);
    for (auto [index, result] : llvm::zip_equal(indices, part->getResults()))
      op->getResult(index).replaceAllUsesWith(result);
    nodes[part] = node;
  }
  op->erase();
}

LogicalResult MicroBatchCut::place(Operation *op) {
  if (isList(op)) {
    placeList(op);
    return success();
  }
  if (auto block = dyn_cast<ds::BlockOp>(op)) {
    FailureOr<PipelineNode> node = nodeOfBlock(block);
    if (failed(node))
      return failure();
    nodes[op] = *node;
    return success();
  }
  std::optional<PipelineNode> node;
  for (Value operand : op->getOperands())
    if (auto found = nodes.find(operand.getDefiningOp());
        operand.getDefiningOp() && found != nodes.end())
      if (!node || orderOf(*node) < orderOf(found->second))
        node = found->second;
  auto assign = dyn_cast<ds::AssignOp>(op);
  if (node) {
    nodes[op] = *node;
    if (assign)
      owners.insert_or_assign(assign.getVariable().str(), *node);
    return success();
  }
  if (assign) {
    counted.insert(assign.getVariable().str());
    return success();
  }
  if (!isMemoryEffectFree(op) && !isa<ds::ReadOp>(op))
    return op->emitOpError("P3: belongs to no stage");
  return success();
}

LogicalResult MicroBatchCut::place() {
  for (Operation &op : llvm::make_early_inc_range(micro.front().without_terminator()))
    if (failed(place(&op)))
      return failure();
  // Which programs count micro-batches with which variable.
  for (Operation &op : micro.front().without_terminator()) {
    std::set<std::string> found;
    if (auto read = dyn_cast<ds::ReadOp>(op); read && counted.count(read.getVariable().str()))
      found.insert(read.getVariable().str());
    for (Value operand : operandsOf(&op))
      if (Operation *source = operand.getDefiningOp(); source && isEverywhere(operand))
        found.insert(countersOf[source].begin(), countersOf[source].end());
    if (auto node = nodes.find(&op); node != nodes.end())
      countersRead[node->second].insert(found.begin(), found.end());
    else
      countersOf[&op] = std::move(found);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// What crosses
//===----------------------------------------------------------------------===//

LogicalResult MicroBatchCut::findCrossings() {
  SmallVector<Value> crossing;
  for (Operation &op : micro.front().without_terminator()) {
    auto node = nodes.find(&op);
    if (node == nodes.end())
      continue;
    for (Value value : operandsOf(&op)) {
      if (isEverywhere(value) || nodes[value.getDefiningOp()] == node->second)
        continue;
      if (orderOf(nodes[value.getDefiningOp()]) > orderOf(node->second))
        return op.emitOpError("P3: reads what a later program computes");
      if (uses[value].empty())
        crossing.push_back(value);
      uses[value].insert(node->second);
    }
  }
  for (Value value : crossing) {
    PipelineNode from = nodes[value.getDefiningOp()];
    std::map<int64_t, PipelineNode> first; // by stage
    for (const PipelineNode &node : uses[value]) {
      auto [entry, inserted] = first.try_emplace(plan.stageOf(node), node);
      if (!inserted && entry->second.part != node.part)
        return value.getDefiningOp()->emitOpError("P3: is read by two parts of one stage");
      if (orderOf(node) < orderOf(entry->second))
        entry->second = node;
    }
    for (auto &[stage, node] : first) {
      if (stage != plan.stageOf(from))
        messages[value].push_back({stage, channels++, node});
      else if (node.part != from.part)
        return value.getDefiningOp()->emitOpError("P3: is read by two parts of one stage");
      if (hasStash(value, stage))
        declareStash(value, stage, node.part);
    }
    if (!first.count(plan.stageOf(from)))
      declareStash(value, plan.stageOf(from), from.part);
  }
  return success();
}

/// A value has a place on its own stage if it leaves its program at all, on another one if several
/// programs read it.
bool MicroBatchCut::hasStash(Value value, int64_t stage) const {
  if (plan.stageOf(nodes.lookup(value.getDefiningOp())) == stage)
    return true;
  return llvm::count_if(uses.find(value)->second,
                        [&](const PipelineNode &node) { return plan.stageOf(node) == stage; }) > 1;
}

std::string MicroBatchCut::stashName(Value value) {
  std::string &name = names[value];
  if (!name.empty())
    return name;
  auto result = cast<OpResult>(value);
  auto block = dyn_cast<ds::BlockOp>(result.getOwner());
  name = "stash." + (block ? block.getLabel() : result.getOwner()->getName().stripDialect()).str();
  if (weights.contains(result.getOwner()))
    name += ".weights";
  if (result.getResultNumber())
    name += "." + std::to_string(result.getResultNumber());
  for (std::string base = name; !taken.insert(name).second;)
    name = base + "." + std::to_string(taken.size());
  return name;
}

void MicroBatchCut::declareStash(Value value, int64_t stage, int64_t part) {
  stashes[stage].push_back({stashName(value), value.getType(), plan.places(part), value.getLoc()});
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

std::string MicroBatchCut::programName(const PipelineNode &node) const {
  static constexpr StringRef whole[] = {"train.forward", "train.backward",
                                        "train.backward.weights"};
  std::string name = whole[size_t(node.kind)].str();
  if (node.kind == WorkKind::Forward && plan.fuses(node.part))
    name = "train.micro";
  if (node.kind == WorkKind::Backward && plan.family->splitsBackward)
    name = "train.backward.input";
  if (plan.shape.interleave > 1)
    name += "." + std::to_string(node.part / plan.shape.stages);
  return name;
}

/// Where a program's copy of a counter lies.
std::string MicroBatchCut::counterName(const PipelineNode &node, StringRef variable) {
  std::vector<std::string> &copies = counters[plan.stageOf(node)][variable.str()];
  size_t index = 0;
  for (auto &[other, read] : countersRead)
    if (other < node && plan.stageOf(other) == plan.stageOf(node) && read.count(variable.str()))
      ++index;
  std::string name = variable.str() + (index ? "." + std::to_string(index) : "");
  if (!llvm::is_contained(copies, name))
    copies.push_back(name);
  return name;
}

/// The layer that a value comes from.
static Attribute labelOf(Value value) {
  auto block = value.getDefiningOp<ds::BlockOp>();
  return block ? Attribute(block.getLabelAttr()) : value.getDefiningOp()->getAttr("ds.label");
}

static void setLabel(Operation *op, Value value) {
  if (Attribute label = labelOf(value))
    op->setAttr("ds.label", label);
}

/// Makes `value` of another node known here.
void MicroBatchCut::fetch(const PipelineNode &node, Value value, OpBuilder &builder,
                          IRMapping &mapping) {
  PipelineNode from = nodes[value.getDefiningOp()];
  int64_t stage = plan.stageOf(node);
  Location loc = value.getLoc();
  for (const Message &message : messages.lookup(value)) {
    if (message.to != stage || message.first != node)
      continue;
    auto receive =
        ds::ReceiveOp::create(builder, loc, value.getType(), plan.stageOf(from), message.channel);
    setLabel(receive, value);
    mapping.map(value, receive.getValue());
    if (hasStash(value, stage))
      ds::AssignOp::create(builder, loc, stashName(value), receive.getValue());
    return;
  }
  mapping.map(value, ds::ReadOp::create(builder, loc, value.getType(), stashName(value)));
}

/// Puts `value`, computed here, where other nodes find it. What is sent is read from its place: the
/// bytes must stay until they have been taken.
void MicroBatchCut::keep(const PipelineNode &node, Value value, OpBuilder &builder,
                         IRMapping &mapping) {
  if (!uses.contains(value))
    return;
  Location loc = value.getLoc();
  std::string name = stashName(value);
  ds::AssignOp::create(builder, loc, name, mapping.lookup(value));
  for (const Message &message : messages.lookup(value)) {
    auto read = ds::ReadOp::create(builder, loc, value.getType(), name);
    setLabel(ds::SendOp::create(builder, loc, read, message.to, message.channel), value);
  }
}

void MicroBatchCut::write(const PipelineNode &node) {
  ModuleOp stage = stages[plan.stageOf(node)];
  auto builder = OpBuilder::atBlockEnd(stage.getBody());
  auto program =
      func::FuncOp::create(builder, micro.getLoc(), programName(node), micro.getFunctionType());
  program.setAllArgAttrs(micro.getAllArgAttrs());
  IRMapping mapping;
  builder.setInsertionPointToStart(program.addEntryBlock());
  mapping.map(micro.getArguments(), program.getArguments());
  for (Operation &op : micro.front()) {
    auto found = nodes.find(&op);
    if (found != nodes.end() && found->second != node)
      continue;
    if (auto assign = dyn_cast<ds::AssignOp>(op);
        assign && found == nodes.end() && !countersRead[node].count(assign.getVariable().str()))
      continue;
    for (Value value : operandsOf(&op))
      if (!mapping.contains(value))
        fetch(node, value, builder, mapping);
    Operation *copy = builder.clone(op, mapping);
    for (Value result : op.getResults())
      keep(node, result, builder, mapping);
    auto rename = [&](auto symbol) {
      if (symbol && countersRead[node].count(symbol.getVariable().str()))
        symbol.setVariable(counterName(node, symbol.getVariable()));
    };
    rename(dyn_cast<ds::ReadOp>(copy));
    rename(dyn_cast<ds::AssignOp>(copy));
  }
  eraseDead(program);
  llvm::BitVector unused(program.getNumArguments());
  for (BlockArgument argument : program.getArguments())
    unused[argument.getArgNumber()] = argument.use_empty();
  (void)program.eraseArguments(unused);
  programs[node] = program.getName().str();
}

LogicalResult MicroBatchCut::run() {
  static constexpr StringRef usual[] = {"tokens", "labels"};
  for (unsigned i = 0; i < std::min(2u, micro.getNumArguments()); ++i)
    if (!micro.getArgAttr(i, "ds.name"))
      micro.setArgAttr(i, "ds.name", StringAttr::get(micro.getContext(), usual[i]));
  if (failed(findParts()))
    return failure();
  if (plan.family->splitsBackward)
    weights = splitBackwardBlocks(micro);
  if (failed(place()) || failed(findCrossings()))
    return failure();
  std::set<PipelineNode> all;
  for (const auto &rows : plan.rows)
    for (const PipelineRow &row : rows)
      all.insert(plan.nodeOf(row));
  for (const PipelineNode &node : all)
    write(node);
  return success();
}
