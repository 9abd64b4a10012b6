//===- Differentiate.cpp - ds-differentiate --------------------------------===//
// Reverse mode over a straight line of ops and blocks. No op is named here: each builds its own
// backward. Every order (blocks, saved values, contributions) follows the forward program, so the
// result is deterministic. What leads to no parameter that is trained gets no gradient.
#include "StepProgram.h"
#include "dsc/Passes/Passes.h"
#include "dsc/Support/Fault.h"
#include "llvm/ADT/SetVector.h"

namespace dsc {
#define GEN_PASS_DEF_DSDIFFERENTIATE
#include "dsc/Passes/Passes.h.inc"
} // namespace dsc

using namespace mlir;
using namespace dsc;

namespace {
/// Gradients by value; what is asked for in iteration order never comes from the map itself.
using GradientMap = llvm::DenseMap<Value, Value>;

class Differentiation {
public:
  Differentiation(func::FuncOp program, bool apart)
      : program(program), apart(apart), builder(program.getContext()) {
    if (apart)
      splitReads();
    findActive();
  }

  /// Appends the backward of `loss` before the return.
  LogicalResult run(ds::ReportOp loss);
  /// Reports the gradient of each parameter, in order of declaration.
  LogicalResult report(ModuleOp module);

  int64_t differentiated = 0, saved = 0, added = 0;

private:
  bool isDifferentiated(Value value) const {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type && isa<FloatType>(type.getElementType()) && active.contains(value);
  }
  void splitReads();
  void findActive();
  Operation *lastOp();
  void eraseUnused(Operation *before, ArrayRef<Value> wanted);
  void accumulate(GradientMap &gradients, Value value, Value gradient);
  bool accumulateInPlace(Value earlier, Value gradient);
  LogicalResult differentiateOp(Operation *op, GradientMap &gradients, bool objective = false);
  LogicalResult differentiateBlock(ds::BlockOp block);
  LogicalResult yieldSaved(ds::BlockOp block, Region &backward);

  func::FuncOp program;
  bool apart; ///< each use of a parameter has a gradient of its own until all are reported
  OpBuilder builder;
  GradientMap outer;
  llvm::DenseSet<Value> active; ///< values that a trained parameter has a part in
};
} // namespace

/// Whether the program may change what `read` reads.
static bool isTrained(ds::ReadOp read) {
  auto variable =
      SymbolTable::lookupNearestSymbolFrom<ds::VariableOp>(read, read.getVariableAttr());
  return variable && variable.getRole() == ds::Role::Parameter && !variable.getFrozen();
}

/// Gives each op or block of the program that reads a parameter a read of its own.
void Differentiation::splitReads() {
  Block *body = &program.getBody().front();
  for (auto read : llvm::make_early_inc_range(program.getOps<ds::ReadOp>())) {
    llvm::SetVector<Operation *> users; // in the order of the program
    for (OpOperand &use : read.getResult().getUses())
      users.insert(body->findAncestorOpInBlock(*use.getOwner()));
    SmallVector<Operation *> ordered = users.takeVector();
    llvm::sort(ordered, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    ds::ReadOp last = read;
    for (Operation *user : llvm::drop_begin(ordered, ordered.empty() ? 0 : 1)) {
      builder.setInsertionPointAfter(last);
      last = cast<ds::ReadOp>(builder.clone(*read));
      read.getResult().replaceUsesWithIf(last.getResult(), [&](OpOperand &use) {
        return body->findAncestorOpInBlock(*use.getOwner()) == user;
      });
    }
  }
}

void Differentiation::findActive() {
  // Arguments too: a program that is handed its parameters differentiates by them.
  for (BlockArgument argument : program.getArguments())
    if (isa<FloatType>(getElementTypeOrSelf(argument.getType())))
      active.insert(argument);
  program.walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto isActive = [&](Value value) { return active.contains(value); };
    if (auto yield = dyn_cast<ds::YieldOp>(op)) {
      for (auto [value, result] : llvm::zip(yield.getValues(), yield->getParentOp()->getResults()))
        if (isActive(value))
          active.insert(result);
      return;
    }
    auto read = dyn_cast<ds::ReadOp>(op);
    if (read ? isTrained(read) : !isa<ds::BlockOp>(op) && llvm::any_of(op->getOperands(), isActive))
      active.insert(op->result_begin(), op->result_end());
  });
}

/// The op in front of the place where the builder adds ops, or null.
Operation *Differentiation::lastOp() {
  Block *block = builder.getInsertionBlock();
  Block::iterator place = builder.getInsertionPoint();
  return place == block->begin() ? nullptr : &*std::prev(place);
}

/// Erases what was built behind `before` and is neither used nor among `wanted`.
void Differentiation::eraseUnused(Operation *before, ArrayRef<Value> wanted) {
  auto isWanted = [&](Value value) { return llvm::is_contained(wanted, value); };
  for (Operation *op = lastOp(); op != before;) {
    Operation *previous = op->getPrevNode();
    if (isOpTriviallyDead(op) && llvm::none_of(op->getResults(), isWanted))
      op->erase();
    op = previous;
  }
}

/// True if the op that computed `gradient` now adds onto `earlier`.
bool Differentiation::accumulateInPlace(Value earlier, Value gradient) {
  auto result = dyn_cast<OpResult>(gradient);
  auto op = result ? dyn_cast<InPlaceOpInterface>(result.getOwner()) : InPlaceOpInterface();
  if (!op || !gradient.use_empty())
    return false;
  // One op may contribute twice to a value: the sum of its own results comes after it.
  Operation *before = earlier.getDefiningOp();
  if (before && before->getBlock() == op->getBlock() && !before->isBeforeInBlock(op))
    return false;
  if (!op.accumulateOnto(result.getResultNumber(), earlier))
    return false;
  ++added;
  return true;
}

void Differentiation::accumulate(GradientMap &gradients, Value value, Value gradient) {
  if (!gradient)
    return;
  Value &sum = gradients[value];
  if (!sum || accumulateInPlace(sum, gradient)) {
    sum = gradient;
    return;
  }
  sum = ds::AddOp::create(builder, gradient.getLoc(), DSC_FAULT(8, sum, gradient), gradient);
  ++added;
}

/// Lets `op` build its backward if a gradient reaches it; `objective`: it computes what is
/// minimised.
LogicalResult Differentiation::differentiateOp(Operation *op, GradientMap &gradients,
                                               bool objective) {
  SmallVector<Value> resultGradients;
  for (Value result : op->getResults())
    resultGradients.push_back(gradients.lookup(result));
  if (!objective && llvm::none_of(resultGradients, [](Value gradient) { return bool(gradient); }))
    return success();
  if (isa<ds::ReadOp>(op))
    return success(); // a leaf: report() takes its gradient
  auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
  if (!differentiable)
    return op->emitOpError("D2: a gradient reaches an op that does not know its backward");
  SmallVector<Value> operandGradients, wanted;
  Operation *before = lastOp();
  if (failed(differentiable.buildBackward(builder, resultGradients, operandGradients)))
    return failure();
  for (auto [operand, gradient] : llvm::zip_equal(op->getOperands(), operandGradients)) {
    if (!isDifferentiated(operand))
      continue;
    if (!gradient && !getElementTypeOrSelf(operand).isF64()) // f64: scalars of the training loop
      return op->emitOpError("D5: gives no gradient for an operand of type ")
             << operand.getType() << " that a trained parameter has a part in";
    if (gradient)
      wanted.push_back(gradient);
  }
  eraseUnused(before, wanted);
  for (auto [operand, gradient] : llvm::zip_equal(op->getOperands(), operandGradients))
    if (gradient && isDifferentiated(operand))
      accumulate(gradients, operand, gradient);
  ++differentiated;
  return success();
}

/// Values of `block` that `backward` uses are yielded, and used from outside instead.
LogicalResult Differentiation::yieldSaved(ds::BlockOp block, Region &backward) {
  Block *body = &block.getBody().front();
  llvm::DenseSet<Value> declared, needed;
  for (Operation &op : *body)
    if (auto differentiable = dyn_cast<DifferentiableOpInterface>(op))
      for (Value value : differentiable.savedValues())
        declared.insert(value);
  WalkResult walked = backward.walk([&](Operation *op) {
    for (Value operand : op->getOperands()) {
      if (operand.getParentBlock() != body)
        continue;
      if (!declared.contains(operand)) {
        op->emitOpError("D3: backward reads a value that no forward op has saved, computed by ")
            << operand.getDefiningOp()->getName();
        return WalkResult::interrupt();
      }
      needed.insert(operand);
    }
    return WalkResult::advance();
  });
  if (walked.wasInterrupted())
    return failure();

  SmallVector<Value> yielded(block.getYield().getValues());
  for (Operation &op : *body)
    for (Value result : op.getResults())
      if (needed.contains(result) && !llvm::is_contained(yielded, result))
        yielded.push_back(result);
  saved += yielded.size() - block.getNumResults();

  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(block);
  auto extended = ds::BlockOp::create(builder, block.getLoc(), ValueRange(yielded).getTypes(),
                                      block.getLabelAttr());
  block.getYield().getValuesMutable().assign(yielded);
  extended.getBody().takeBody(block.getBody());
  for (auto [value, result] : llvm::zip(yielded, extended.getResults()))
    value.replaceUsesWithIf(result, [&](OpOperand &use) {
      return backward.isAncestor(use.getOwner()->getParentRegion());
    });
  block.replaceAllUsesWith(extended.getResults().take_front(block.getNumResults()));
  block.erase();
  return success();
}

LogicalResult Differentiation::differentiateBlock(ds::BlockOp block) {
  if (llvm::none_of(block.getResults(), [&](Value result) { return outer.contains(result); }))
    return success();

  // Built apart first: the results of the backward block are known only at its end.
  Region region;
  region.emplaceBlock();
  SmallVector<Value> captured, gradients;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&region.front());
    GradientMap inner;
    for (auto [value, result] : llvm::zip(block.getYield().getValues(), block.getResults()))
      accumulate(inner, value, outer.lookup(result));
    Block &body = block.getBody().front();
    for (Operation &op : llvm::reverse(body.without_terminator()))
      if (failed(differentiateOp(&op, inner)))
        return failure();

    // In order of first use.
    llvm::SetVector<Value> outside;
    for (Operation &op : body)
      for (Value operand : op.getOperands())
        if (operand.getParentBlock() != &body)
          outside.insert(operand);
    for (Value value : outside) {
      Value gradient = inner.lookup(value);
      if (!gradient)
        continue;
      // Onto what later blocks contributed, where the op inside can do so.
      Value earlier = outer.lookup(value);
      if (earlier && gradient.getParentRegion() == &region && accumulateInPlace(earlier, gradient))
        outer.erase(value);
      captured.push_back(value);
      gradients.push_back(gradient);
    }
    ds::YieldOp::create(builder, block.getLoc(), gradients);
  }
  auto backward = ds::BlockOp::create(builder, block.getLoc(), ValueRange(gradients).getTypes(),
                                      builder.getStringAttr(block.getLabel() + ".backward"));
  backward.getBody().takeBody(region);
  for (auto [value, gradient] : llvm::zip(captured, backward.getResults()))
    accumulate(outer, value, gradient);
  return yieldSaved(block, backward.getBody());
}

LogicalResult Differentiation::run(ds::ReportOp loss) {
  auto objective = loss.getValue().getDefiningOp<DifferentiableOpInterface>();
  if (!objective || !objective.isObjective())
    return loss.emitOpError("D1: the reported loss is not computed by an op that is an objective");
  Block *body = &program.getBody().front();
  builder.setInsertionPoint(body->getTerminator());
  SmallVector<Operation *> forward; // up to the objective, last first
  for (Operation *op = objective; op; op = op->getPrevNode())
    forward.push_back(op);
  for (Operation *op : forward) {
    auto block = dyn_cast<ds::BlockOp>(op);
    if (failed(block ? differentiateBlock(block) : differentiateOp(op, outer, op == objective)))
      return failure();
  }
  return success();
}

LogicalResult Differentiation::report(ModuleOp module) {
  GradientMap unused;
  for (auto variable : module.getOps<ds::VariableOp>()) {
    if (variable.getRole() != ds::Role::Parameter || variable.getFrozen())
      continue;
    Value sum;
    SmallVector<ds::ReadOp> reads(program.getOps<ds::ReadOp>());
    if (apart) // as the backward pass meets them: of a tied weight the head first
      std::reverse(reads.begin(), reads.end());
    for (ds::ReadOp read : reads) {
      Value gradient = read.getVariable() == variable.getSymName() ? outer.lookup(read) : Value();
      if (!gradient)
        continue;
      sum = sum ? ds::AddOp::create(builder, read.getLoc(), sum, gradient).getResult() : gradient;
    }
    if (!sum)
      return variable.emitOpError("D4: no gradient reaches the parameter from the loss");
    ds::ReportOp::create(builder, variable.getLoc(),
                         builder.getStringAttr(kGradientPrefix + variable.getSymName()), sum);
  }
  return success();
}

namespace {
struct Differentiate : dsc::impl::DsDifferentiateBase<Differentiate> {
  using Base::Base;

  void runOnOperation() override {
    func::FuncOp program = findStep(getOperation());
    if (!program)
      return;
    ds::ReportOp loss = findReport(program, "loss");
    if (!loss) {
      program.emitOpError("D1: no 'loss' is reported");
      return signalPassFailure();
    }
    Differentiation differentiation(program, apart);
    if (failed(differentiation.run(loss)) || failed(differentiation.report(getOperation())))
      return signalPassFailure();
    opsDifferentiated += differentiation.differentiated;
    valuesSaved += differentiation.saved;
    gradientsAdded += differentiation.added;
  }
};
} // namespace
