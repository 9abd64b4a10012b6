//===- Recompute.cpp - ds-recompute ----------------------------------------===//
// Copies forward ops into the backward block that reads their results. After fusion, so that a
// copy is the same kernel as its original and gives the same bits.
#include "dsc/Passes/Recompute.h"
#include "dsc/Dialect/DS/DS.h"
#include "dsc/Passes/Passes.h"
#include "dsc/Support/Fault.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"

namespace dsc {
#define GEN_PASS_DEF_DSRECOMPUTE
#include "dsc/Passes/Passes.h.inc"
} // namespace dsc

using namespace mlir;
using namespace dsc;

std::vector<RecomputablePair> dsc::recomputableBlocks(ModuleOp module) {
  std::vector<RecomputablePair> pairs;
  for (auto program : module.getOps<func::FuncOp>()) {
    llvm::StringMap<ds::BlockOp> backwards;
    for (auto block : program.getOps<ds::BlockOp>())
      backwards[block.getLabel()] = block;
    for (auto block : program.getOps<ds::BlockOp>())
      if (ds::BlockOp backward = backwards.lookup((block.getLabel() + ".backward").str()))
        pairs.push_back({block, backward});
  }
  return pairs;
}

namespace {
/// One forward block and its backward.
class BlockRecomputation {
public:
  BlockRecomputation(RecomputablePair pair, bool full) : pair(pair), full(full) {}
  void run();

  int64_t copied = 0, freed = 0;

private:
  Block *forwardBody() { return &pair.forward.getBody().front(); }
  bool isCopied(Operation *op) { return full || op->hasTrait<dsc::OpTrait::AttentionCore>(); }
  /// What `result` of the forward block is inside of it.
  Value inner(OpResult result) {
    return pair.forward.getYield().getValues()[result.getResultNumber()];
  }
  void collect(Value value);
  Value outside(Value value);
  void copyBeforeFirstReader(Operation *op);
  void dropUnreadResults();

  RecomputablePair pair;
  bool full;
  llvm::DenseSet<Operation *> wanted;
  SmallVector<Value> keptInside; ///< read by copies, and yielded for that
};
} // namespace

/// Notes that `value`, computed inside the forward block, is read by the backward.
void BlockRecomputation::collect(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != forwardBody())
    return;
  if (!isCopied(op)) {
    keptInside.push_back(value);
    return;
  }
  if (wanted.insert(op).second)
    for (Value operand : op->getOperands())
      collect(operand);
}

/// The result of the forward block for an inner value.
Value BlockRecomputation::outside(Value value) {
  for (auto [yielded, result] :
       llvm::zip(pair.forward.getYield().getValues(), pair.forward.getResults()))
    if (yielded == value)
      return result;
  return {};
}

/// Copies `op` in front of the first op of the backward that reads what it computes. Called in
/// reverse order: copies that read it exist already, with its results as their operands.
void BlockRecomputation::copyBeforeFirstReader(Operation *op) {
  Block *body = &pair.backward.getBody().front();
  Operation *first = nullptr;
  SmallVector<std::pair<OpOperand *, unsigned>> uses;
  for (OpResult result : op->getResults()) {
    SmallVector<Value> names{result};
    if (Value yielded = outside(result))
      names.push_back(yielded);
    for (Value name : names)
      for (OpOperand &use : name.getUses()) {
        Operation *reader = body->findAncestorOpInBlock(*use.getOwner());
        if (!reader)
          continue;
        uses.push_back({&use, result.getResultNumber()});
        if (!first || reader->isBeforeInBlock(first))
          first = reader;
      }
  }
  if (!first)
    return;
  OpBuilder builder(first);
  Operation *copy = builder.clone(*op);
  copy->setAttr("ds.label", builder.getStringAttr(pair.forward.getLabel() + ".recompute"));
  for (auto [use, number] : uses)
    use->set(copy->getResult(DSC_FAULT(97, number, number == 2 ? 1 : number)));
  ++copied;
}

/// Rebuilds the forward block with those results that are still read.
void BlockRecomputation::dropUnreadResults() {
  ds::BlockOp forward = pair.forward;
  SmallVector<Value> yielded, results;
  for (auto [value, result] : llvm::zip(forward.getYield().getValues(), forward.getResults()))
    if (!result.use_empty()) {
      yielded.push_back(value);
      results.push_back(result);
    }
  for (Value value : keptInside)
    if (!llvm::is_contained(yielded, value)) {
      yielded.push_back(value);
      results.push_back(Value());
    }
  OpBuilder builder(forward);
  auto rebuilt = ds::BlockOp::create(builder, forward.getLoc(), ValueRange(yielded).getTypes(),
                                     forward.getLabelAttr());
  forward.getYield().getValuesMutable().assign(yielded);
  rebuilt.getBody().takeBody(forward.getBody());
  for (auto [old, inside, result] : llvm::zip(results, yielded, rebuilt.getResults())) {
    if (old)
      old.replaceAllUsesWith(result);
    // Copies read the inner values so far.
    inside.replaceUsesWithIf(result, [&](OpOperand &use) {
      return pair.backward.getBody().isAncestor(use.getOwner()->getParentRegion());
    });
  }
  freed += int64_t(forward.getNumResults()) - int64_t(rebuilt.getNumResults());
  forward.erase();
  pair.forward = rebuilt;
}

/// A product keeps its pre-activation for the backward alone.
static void dropUnreadPreActivations(Block &body) {
  for (auto linear : llvm::make_early_inc_range(body.getOps<ds::LinearOp>())) {
    if (!linear.getPre() || !linear.getPre().use_empty())
      continue;
    OpBuilder builder(linear);
    auto plain = ds::LinearOp::create(builder, linear.getLoc(), linear.getResult().getType(),
                                      Type(), linear.getInput(), linear.getWeight(),
                                      linear.getBias(), linear.getResidual(),
                                      linear.getTransposeWeight(), linear.getActivation());
    if (Attribute label = linear->getAttr("ds.label"))
      plain->setAttr("ds.label", label);
    linear.getResult().replaceAllUsesWith(plain.getResult());
    linear.erase();
  }
}

void BlockRecomputation::run() {
  for (OpResult result : pair.forward->getResults())
    if (llvm::any_of(result.getUsers(), [&](Operation *user) {
          return pair.backward.getBody().isAncestor(user->getParentRegion());
        }))
      collect(inner(result));
  for (Operation &op : llvm::reverse(*forwardBody()))
    if (wanted.contains(&op))
      copyBeforeFirstReader(&op);
  if (!copied)
    return;
  dropUnreadResults();
  dropUnreadPreActivations(*forwardBody());
  dropUnreadPreActivations(pair.backward.getBody().front());
}

namespace {
struct Recompute : dsc::impl::DsRecomputeBase<Recompute> {
  using Base::Base;

  void runOnOperation() override {
    llvm::StringSet<> fullNames, selectiveNames;
    std::vector<RecomputablePair> pairs = recomputableBlocks(getOperation());
    if (failed(read("full", full, pairs, fullNames)) ||
        failed(read("selective", selective, pairs, selectiveNames)))
      return signalPassFailure();
    for (RecomputablePair pair : pairs) {
      StringRef label = pair.forward.getLabel();
      bool whole = fullNames.contains(label);
      if (!whole && !selectiveNames.contains(label))
        continue;
      BlockRecomputation recomputation(pair, whole);
      recomputation.run();
      opsCopied += recomputation.copied;
      valuesFreed += recomputation.freed;
    }
  }

  /// R1; spells `*` out.
  LogicalResult read(StringRef option, ArrayRef<std::string> given,
                     ArrayRef<RecomputablePair> pairs, llvm::StringSet<> &names) {
    for (const std::string &name : given) {
      bool found = name == "*";
      for (RecomputablePair pair : pairs)
        if (name == "*" || name == pair.forward.getLabel()) {
          names.insert(ds::BlockOp(pair.forward).getLabel());
          found = true;
        }
      if (!found)
        return getOperation().emitError("R1: option '")
               << option << "' names '" << name << "', which is no block with a backward";
    }
    return success();
  }
};
} // namespace
