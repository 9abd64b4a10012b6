//===- SplitBackward.cpp - backward blocks in two --------------------------===//
// What other blocks wait for comes first; what leads to gradients of parameters alone may wait. An
// op of the second half reads what it needs of the first through results of the first block.
#include "PipelineCut.h"

using namespace mlir;
using namespace dsc;

static constexpr StringLiteral backwardSuffix = ".backward";

/// True if only sums read the value: at once, added onto what was there, or summed over ranks
/// first.
static bool isGradientOfParameter(Value value) {
  return llvm::all_of(value.getUses(), [](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isList(user))
      return isGradientOfParameter(user->getResult(use.getOperandNumber()));
    return isa<ds::AssignOp>(user) ||
           (isa<ds::AddOp>(user) && isGradientOfParameter(user->getResult(0)));
  });
}

/// Ops of the block that results for other blocks depend on.
static llvm::DenseSet<Operation *> neededByOthers(ds::BlockOp block) {
  llvm::DenseSet<Operation *> needed;
  SmallVector<Value> work;
  for (auto [value, result] : llvm::zip(block.getYield().getValues(), block.getResults()))
    if (!isGradientOfParameter(result))
      work.push_back(value);
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (op && op->getBlock() == &block.getBody().front() && needed.insert(op).second)
      work.append(op->operand_begin(), op->operand_end());
  }
  return needed;
}

/// A block in front of `old` with the ops of it that `ours` accepts, moved, and what they yield.
template <typename Ours>
static ds::BlockOp takeOps(ds::BlockOp old, ArrayRef<Value> yielded, Ours ours) {
  OpBuilder builder(old);
  auto block = ds::BlockOp::create(builder, old.getLoc(), ValueRange(yielded).getTypes(),
                                   old.getLabelAttr());
  Block *body = builder.createBlock(&block.getBody());
  for (Operation &op : llvm::make_early_inc_range(old.getBody().front().without_terminator()))
    if (ours(&op))
      op.moveBefore(body, body->end());
  builder.setInsertionPointToEnd(body);
  ds::YieldOp::create(builder, old.getLoc(), yielded);
  return block;
}

/// The second half, or the whole block if nobody waits for any of it.
static ds::BlockOp split(ds::BlockOp block) {
  llvm::DenseSet<Operation *> needed = neededByOthers(block);
  if (needed.empty())
    return block;
  SmallVector<Value> first, second;
  SmallVector<Value> firstResults, secondResults;
  for (auto [value, result] : llvm::zip(block.getYield().getValues(), block.getResults())) {
    bool early = !value.getDefiningOp() || needed.contains(value.getDefiningOp());
    (early ? first : second).push_back(value);
    (early ? firstResults : secondResults).push_back(result);
  }
  if (second.empty())
    return {};
  for (Operation &op : block.getBody().front().without_terminator())
    if (!needed.contains(&op))
      for (Value operand : op.getOperands())
        if (operand.getDefiningOp() && needed.contains(operand.getDefiningOp()) &&
            !llvm::is_contained(first, operand))
          first.push_back(operand);
  ds::BlockOp early = takeOps(block, first, [&](Operation *op) { return needed.contains(op); });
  ds::BlockOp late = takeOps(block, second, [](Operation *) { return true; });
  for (auto [old, result] : llvm::zip(firstResults, early.getResults()))
    old.replaceAllUsesWith(result);
  for (auto [old, result] : llvm::zip(secondResults, late.getResults()))
    old.replaceAllUsesWith(result);
  for (auto [inner, result] : llvm::zip(first, early.getResults()))
    inner.replaceUsesWithIf(result, [&](OpOperand &use) {
      return late.getBody().isAncestor(use.getOwner()->getParentRegion());
    });
  block.erase();
  return late;
}

llvm::DenseSet<Operation *> dsc::splitBackwardBlocks(func::FuncOp micro) {
  std::string last;
  SmallVector<ds::BlockOp> backward;
  for (auto block : micro.getOps<ds::BlockOp>())
    if (block.getLabel().ends_with(backwardSuffix))
      backward.push_back(block);
    else
      last = block.getLabel().str();
  llvm::DenseSet<Operation *> late;
  for (ds::BlockOp block : backward)
    if (block.getLabel() != last + backwardSuffix.str())
      if (ds::BlockOp half = split(block))
        late.insert(half);
  return late;
}
