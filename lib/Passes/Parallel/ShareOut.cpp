//===- ShareOut.cpp - ZeRO in ds-reduce-gradients --------------------------===//
// Sharing out follows the values: what a scattered gradient reaches is shared, until a square sum
// or a weight is gathered.
#include "Reduction.h"
#include "llvm/ADT/MapVector.h"
#include <algorithm>

using namespace mlir;
using namespace dsc;

/// True if element i of every tensor depends on elements i of the others alone.
static bool isElementwise(Operation *op) {
  auto shardable = dyn_cast<ShardableOpInterface>(op);
  if (!shardable)
    return false;
  ShardingRule rule = shardable.shardingRule();
  Type shape;
  auto plain = [&](Type type, AffineMap map) {
    auto tensor = cast<RankedTensorType>(type);
    if (!tensor.getRank())
      return true;
    if (!shape)
      shape = tensor.clone(Float32Type::get(op->getContext()));
    return map.isIdentity() && tensor.clone(Float32Type::get(op->getContext())) == shape;
  };
  for (auto [type, map] : llvm::zip_equal(op->getOperandTypes(), rule.operands))
    if (!plain(type, map))
      return false;
  for (auto [type, map] : llvm::zip_equal(op->getResultTypes(), rule.results))
    if (!plain(type, map))
      return false;
  return llvm::all_of(rule.loops,
                      [](const ShardingLoop &loop) { return loop.kind == LoopKind::Parallel; });
}

/// The sums of a rank's own blocks that `user` reads, made those of all by one collective.
void Reduction::gatherSquares(Operation *user) {
  llvm::SetVector<Value> sums;
  for (Value operand : user->getOperands())
    if (squares.contains(operand))
      sums.insert(operand);
  builder.setInsertionPoint(user);
  auto whole = ds::AllGatherOp::create(builder, user->getLoc(), ds::Axis::Data, sums.getArrayRef(),
                                       /*block=*/1);
  for (auto [index, sum] : llvm::enumerate(sums))
    user->replaceUsesOfWith(sum, whole.getResult(index));
}

LogicalResult Reduction::share(Operation *op) {
  if (isa<ds::SquareSumOp>(op)) {
    op->setAttr(ds::kShareAttr, ds::AxisAttr::get(builder.getContext(), ds::Axis::Data));
    squares.insert(op->getResult(0));
    ++sharedOps;
    return success();
  }
  if (isa<ds::ReportOp>(op))
    return success();
  if (auto assign = dyn_cast<ds::AssignOp>(op)) {
    ds::VariableOp target = variable(assign.getVariable());
    auto axis = ds::AxisAttr::get(builder.getContext(), ds::Axis::Data);
    bool read =
        (target.getRole() == ds::Role::WorkingCopy && zero < 3) ||
        (target.getRole() == ds::Role::Parameter && !readOnlyByUpdates(target.getSymName()));
    if (read)
      toGather.push_back(assign);
    else if (target.getRole() != ds::Role::Window)
      target.setShareAttr(axis);
    return success();
  }
  if (!isElementwise(op))
    return op->emitOpError("R2: cannot be shared out over the data-parallel ranks: it is not "
                           "element-wise");
  op->setAttr(ds::kShareAttr, ds::AxisAttr::get(builder.getContext(), ds::Axis::Data));
  for (Value result : op->getResults())
    if (cast<RankedTensorType>(result.getType()).getRank())
      sharedValues.insert(result);
  ++sharedOps;
  return success();
}

bool Reduction::isGradientSum(StringRef name) {
  ds::VariableOp sum = variable(name);
  return sum && sum.getRole() == ds::Role::Window &&
         cast<RankedTensorType>(sum.getType()).getRank() > 0;
}

/// ZeRO 2: the gradients of a micro-batch are summed over the ranks into each one's share, before
/// they are added to those of earlier ones.
void Reduction::sumMicroBatches() {
  llvm::SmallVector<std::pair<Value, ds::AssignOp>> fresh; // gradients, and where they end
  for (auto assign : micro.getOps<ds::AssignOp>())
    if (isGradientSum(assign.getVariable())) {
      Value gradient = assign.getValue();
      if (auto add = gradient.getDefiningOp<ds::AddOp>())
        if (auto sum = add.getRhs().getDefiningOp<ds::ReadOp>();
            sum && sum.getVariable() == assign.getVariable())
          gradient = add.getLhs();
      fresh.push_back({gradient, assign});
    }
  std::sort(fresh.begin(), fresh.end(), [](auto &a, auto &b) {
    Operation *left = a.first.getDefiningOp(), *right = b.first.getDefiningOp();
    return left != right ? left->isBeforeInBlock(right) : a.second->isBeforeInBlock(b.second);
  });
  for (size_t first = 0, last; first < fresh.size(); first = last) {
    SmallVector<Value> values;
    int64_t bytes = 0;
    for (last = first; last < fresh.size(); ++last) {
      bytes += bytesOf(fresh[last].first);
      if (last > first && (bucketBytes == 0 || bytes > bucketBytes))
        break;
      values.push_back(fresh[last].first);
    }
    builder.setInsertionPointAfter(values.back().getDefiningOp());
    StringAttr label = builder.getStringAttr("gradients." + Twine(buckets++));
    auto sum = ds::ReduceScatterOp::create(builder, NameLoc::get(label, micro.getLoc()),
                                           ds::Axis::Data, values);
    sum->setAttr("ds.label", label);
    for (auto [index, value] : llvm::enumerate(values))
      Value(value).replaceAllUsesExcept(sum.getResult(index), sum);
    // What is added follows: the sums may have been read and added before.
    Operation *at = sum;
    for (size_t i = first; i < last; ++i) {
      ds::AssignOp assign = fresh[i].second;
      if (auto add = assign.getValue().getDefiningOp<ds::AddOp>()) {
        add->setAttr(ds::kShareAttr, axis());
        add->moveAfter(at);
        at = add;
      }
      assign->moveAfter(at); // at once, so that the whole gradient lives no longer
      at = assign;
    }
    reduced += values.size();
  }
  for (auto [gradient, assign] : fresh)
    variable(assign.getVariable()).setShareAttr(axis());
  // The loss goes the same way.
  for (auto assign : micro.getOps<ds::AssignOp>())
    if (assign.getVariable() == lossName) {
      Value loss = assign.getValue();
      if (auto sum = loss.getDefiningOp<ds::IncrementOp>(); sum && sum.getBy())
        loss = sum.getBy();
      builder.setInsertionPointAfterValue(loss);
      sumOverRanks(builder, assign.getLoc(), {loss});
      ++reduced;
      return;
    }
}

/// In programs that set, keep or add sums: all of it happens to shares.
void Reduction::shareSums(func::FuncOp program) {
  for (Operation &op : program.getBody().front()) {
    auto assign = dyn_cast<ds::AssignOp>(op);
    if (!assign || !isGradientSum(assign.getVariable()))
      continue;
    variable(assign.getVariable()).setShareAttr(axis());
    if (Operation *from = assign.getValue().getDefiningOp(); !isa<ds::ReadOp>(from))
      from->setAttr(ds::kShareAttr, axis());
  }
}

/// ZeRO 3: a rank has its share of the parameters too; each block gathers what it reads.
void Reduction::gatherParameters() {
  Block &body = micro.getBody().front();
  llvm::MapVector<Operation *, llvm::SetVector<Value>> wanted; // by the op at top level
  for (auto read : micro.getOps<ds::ReadOp>()) {
    ds::VariableOp parameter = variable(read.getVariable());
    if (!parameter || (parameter.getRole() != ds::Role::Parameter &&
                       parameter.getRole() != ds::Role::WorkingCopy))
      continue;
    for (Operation *user : read->getUsers())
      wanted[body.findAncestorOpInBlock(*user)].insert(read.getResult());
  }
  for (auto &[user, values] : wanted) {
    builder.setInsertionPoint(user);
    auto whole =
        ds::AllGatherOp::create(builder, user->getLoc(), ds::Axis::Data, values.getArrayRef());
    if (auto block = dyn_cast<ds::BlockOp>(user))
      whole->setAttr("ds.label", builder.getStringAttr(block.getLabel() + ".parameters"));
    for (auto [index, value] : llvm::enumerate(values))
      Value(value).replaceUsesWithIf(whole.getResult(index), [&, here = user](OpOperand &use) {
        return use.getOwner() != whole && here->isAncestor(use.getOwner());
      });
    for (Value value : values)
      variable(value.getDefiningOp<ds::ReadOp>().getVariable()).setShareAttr(axis());
  }
}

/// True if no forward or backward pass reads the variable: then nobody needs all of it.
bool Reduction::readOnlyByUpdates(StringRef name) {
  if (zero >= 3)
    return true;
  bool read = false;
  for (auto program : {window, micro})
    program.walk([&](ds::ReadOp op) { read |= op.getVariable() == name && !op->use_empty(); });
  return !read;
}

/// One collective brings the new weights to all, behind the last update.
void Reduction::gatherWeights() {
  if (toGather.empty())
    return;
  Block &body = update.getBody().front();
  builder.setInsertionPoint(body.getTerminator());
  SmallVector<Value> values;
  for (ds::AssignOp assign : toGather)
    values.push_back(assign.getValue());
  auto whole = ds::AllGatherOp::create(
      builder, NameLoc::get(builder.getStringAttr("weights"), update.getLoc()), ds::Axis::Data,
      values);
  whole->setAttr("ds.label", builder.getStringAttr("weights"));
  for (auto [assign, result] : llvm::zip_equal(toGather, whole.getResults())) {
    assign->moveBefore(body.getTerminator());
    assign.getValueMutable().assign(result);
  }
}

LogicalResult Reduction::shareOut() {
  // Masters that are shared out are so for everything that reads them: a norm of LAMB's, say.
  for (auto read : update.getOps<ds::ReadOp>()) {
    ds::VariableOp from = variable(read.getVariable());
    if (from && from.getRole() == ds::Role::Parameter && !from.getFrozen() &&
        readOnlyByUpdates(from.getSymName()))
      sharedValues.insert(read.getResult());
  }
  for (Operation &op : llvm::make_early_inc_range(update.getBody().front())) {
    if (llvm::any_of(op.getOperands(), [&](Value v) { return squares.contains(v); }))
      gatherSquares(&op);
    if (llvm::any_of(op.getOperands(), [&](Value v) { return sharedValues.contains(v); }))
      if (failed(share(&op)))
        return failure();
  }
  gatherWeights();
  return success();
}
