//===- TileHead.cpp - ds-tile-head -----------------------------------------===//
// Cuts the output head and its loss into runs of rows, so that only one run's logits exist at a
// time. In training each run goes forward and backward before the next one: the seed of the
// backward pass depends on the labels alone and is moved in front of the head.
#include "dsc/Dialect/DS/DS.h"
#include "dsc/Passes/Passes.h"
#include "dsc/Support/Fault.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

namespace dsc {
#define GEN_PASS_DEF_DSTILEHEAD
#include "dsc/Passes/Passes.h.inc"
} // namespace dsc

using namespace mlir;
using namespace dsc;

namespace {
/// The ops of one head; null members do not exist in the program. The loss is one op, or three
/// where the vocabulary is dealt out to ranks: what each knows, a sum, what all know.
struct Head {
  ds::LinearOp linear;
  ds::CrossEntropyOp loss;
  ds::LossPartsOp parts;
  ds::AllReduceOp sum;
  ds::JoinLossOp join;
  ds::CrossEntropyGradOp lossGrad;
  ds::LinearInputGradOp inputGrad;
  ds::LinearWeightGradOp weightGrad;

  Operation *first() { return loss ? loss.getOperation() : parts.getOperation(); }
  Value losses() { return loss ? loss.getLosses() : join.getLosses(); }
  Value lse() { return loss ? loss.getLse() : join.getLse(); }
  Value labels() { return loss ? loss.getLabels() : join.getLabels(); }
  Value smoothing() { return loss ? loss.getSmoothing() : join.getSmoothing(); }
  Value weights() { return loss ? loss.getWeights() : join.getWeights(); }
  void eraseLoss() {
    for (Operation *op : {join.getOperation(), sum.getOperation(), first()})
      if (op)
        op->erase();
  }
};

/// Creates ops that inherit location and label from the op they are a part of.
class Maker {
public:
  explicit Maker(Operation *before) : builder(before) {}
  template <typename OpTy, typename... Args> OpTy make(Operation *origin, Args &&...args) {
    auto op = OpTy::create(builder, origin->getLoc(), std::forward<Args>(args)...);
    if (Attribute label = origin->getAttr("ds.label"))
      op->setAttr("ds.label", label);
    return op;
  }

private:
  OpBuilder builder;
};

struct TileHead : dsc::impl::DsTileHeadBase<TileHead> {
  using DsTileHeadBase::DsTileHeadBase;

  void runOnOperation() override {
    if (blockBytes <= 0) {
      getOperation().emitError("option 'block-bytes' must be positive, got ")
          << int64_t(blockBytes);
      return signalPassFailure();
    }
    SmallVector<Operation *> losses;
    getOperation().walk([&](Operation *op) {
      if (isa<ds::CrossEntropyOp, ds::LossPartsOp>(op))
        losses.push_back(op);
    });
    for (Operation *loss : losses)
      if (std::optional<Head> head = match(loss))
        tile(*head);
  }

  static std::optional<Head> match(Operation *loss);
  static bool matchParts(Head &head);
  static bool hoistBefore(Value value, Operation *position);
  void tile(Head head);
};
} // namespace

/// The sum and the join behind what a rank knows of the loss, if nothing else reads it.
bool TileHead::matchParts(Head &head) {
  for (Value result : head.parts->getResults())
    for (Operation *user : result.getUsers()) {
      auto sum = dyn_cast<ds::AllReduceOp>(user);
      if (!sum || (head.sum && sum != head.sum))
        return false;
      head.sum = sum;
    }
  if (!head.sum || !llvm::equal(head.sum->getOperands(), head.parts->getResults()))
    return false;
  for (Value result : head.sum->getResults())
    for (Operation *user : result.getUsers()) {
      auto join = dyn_cast<ds::JoinLossOp>(user);
      if (!join || (head.join && join != head.join))
        return false;
      head.join = join;
    }
  return head.join && head.join.getParts() == head.sum->getResult(0) &&
         head.join.getChosen() == head.sum->getResult(1);
}

std::optional<Head> TileHead::match(Operation *loss) {
  Head head{};
  head.linear = loss->getOperand(0).getDefiningOp<ds::LinearOp>();
  head.loss = dyn_cast<ds::CrossEntropyOp>(loss);
  head.parts = dyn_cast<ds::LossPartsOp>(loss);
  if (!head.linear || head.linear.getBias() || head.linear.getResidual() || head.linear.getPre() ||
      head.linear.getActivation() != ds::Activation::None ||
      head.linear->getBlock() != loss->getBlock() || (head.parts && !matchParts(head)))
    return std::nullopt;
  for (Operation *user : head.linear.getResult().getUsers()) {
    if (user == loss)
      continue;
    auto grad = dyn_cast<ds::CrossEntropyGradOp>(user);
    if (!grad || head.lossGrad || grad.getLse() != head.lse() ||
        (head.loss && grad.getLabels() != head.labels()) ||
        bool(grad.getRank()) != bool(head.parts) || grad.getWeights() != head.weights())
      return std::nullopt;
    head.lossGrad = grad;
  }
  if (!head.lossGrad)
    return head;
  for (Operation *user : head.lossGrad.getResult().getUsers()) {
    if (auto grad = dyn_cast<ds::LinearInputGradOp>(user);
        grad && !head.inputGrad && !grad.getPre() && !grad.getResidual() &&
        grad.getWeight() == head.linear.getWeight() &&
        grad.getTransposeWeight() == head.linear.getTransposeWeight())
      head.inputGrad = grad;
    else if (auto weight = dyn_cast<ds::LinearWeightGradOp>(user);
             weight && !head.weightGrad && weight.getInput() == head.linear.getInput() &&
             weight.getTransposeWeight() == head.linear.getTransposeWeight())
      head.weightGrad = weight;
    else
      return std::nullopt;
  }
  return head;
}

/// Moves what computes `value` in front of `position`, unless it depends on `position` or has
/// effects.
bool TileHead::hoistBefore(Value value, Operation *position) {
  llvm::SetVector<Operation *> needed;
  SmallVector<Value> work{value};
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (!op || op->getBlock() != position->getBlock() || op->isBeforeInBlock(position))
      continue;
    if (op == position || (!isMemoryEffectFree(op) && !isa<ds::ReadOp>(op)))
      return false;
    if (needed.insert(op))
      work.append(op->operand_begin(), op->operand_end());
  }
  SmallVector<Operation *> ordered = needed.takeVector();
  llvm::sort(ordered, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *op : ordered)
    op->moveBefore(position);
  return true;
}

static int64_t tensorRank(Value value) { return cast<RankedTensorType>(value.getType()).getRank(); }

void TileHead::tile(Head head) {
  auto logitsType = cast<RankedTensorType>(head.linear.getResult().getType());
  Type element = logitsType.getElementType();
  int64_t vocabulary = logitsType.getShape().back();
  int64_t rows = logitsType.getNumElements() / vocabulary;
  int64_t rowBytes = vocabulary * llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
  if (rows * rowBytes <= blockBytes || rows == 1)
    return;
  if (head.lossGrad && !hoistBefore(head.lossGrad.getSeed(), head.linear))
    return;
  Value gradSmoothing = head.lossGrad ? Value(head.lossGrad.getSmoothing()) : Value();
  Value weights = head.weights();
  // Numbers of labels as the rank counts them are made beside each op that reads them.
  Value ownLabels = head.parts ? Value(head.parts.getLabels()) : Value();
  Value gradLabels = head.lossGrad ? Value(head.lossGrad.getLabels()) : Value();
  for (Value value : {head.smoothing(), gradSmoothing, weights, ownLabels, gradLabels})
    if (value && !hoistBefore(value, head.linear))
      return;
  if (head.weightGrad && head.weightGrad.getInit() &&
      !hoistBefore(head.weightGrad.getInit(), head.linear))
    return;

  // Equal runs, whole register tiles where that still fits.
  int64_t limit = std::max<int64_t>(1, blockBytes / rowBytes);
  int64_t run = llvm::divideCeil(rows, llvm::divideCeil(rows, limit));
  if (int64_t rounded = llvm::alignTo(run, 16); rounded <= limit)
    run = rounded;

  Maker maker(head.linear);
  auto matrix = [&](Value like, int64_t count) -> Type {
    auto type = cast<RankedTensorType>(like.getType());
    SmallVector<int64_t> shape{count};
    if (tensorRank(like) == tensorRank(head.linear.getResult()))
      shape.push_back(type.getShape().back());
    return RankedTensorType::get(shape, type.getElementType());
  };
  SmallVector<Value> losses, lses, inputGrads;
  Value weightGrad = head.weightGrad ? head.weightGrad.getInit() : Value();
  for (int64_t start = 0; start < rows; start += run, ++runs) {
    int64_t count = std::min(run, rows - start);
    Value input = head.linear.getInput();
    Value inputRun = maker.make<ds::SliceRowsOp>(head.linear, matrix(input, count), input, start);
    auto rowsOf = [&](Value rowwise, int64_t from) -> Value {
      return rowwise
                 ? maker.make<ds::SliceRowsOp>(head.first(), matrix(rowwise, count), rowwise, from)
                       .getResult()
                 : Value();
    };
    Value labelsRun = rowsOf(head.labels(), DSC_FAULT(27, start, int64_t(0)));
    Value weightsRun = rowsOf(weights, start);
    auto logits =
        maker.make<ds::LinearOp>(head.linear, matrix(head.linear.getResult(), count), Type(),
                                 inputRun, head.linear.getWeight(), Value(), Value(),
                                 head.linear.getTransposeWeight(), ds::Activation::None);
    auto lossType = cast<RankedTensorType>(matrix(head.losses(), count));
    Value lse;
    if (head.loss) {
      auto loss = maker.make<ds::CrossEntropyOp>(head.loss, lossType, lossType, logits.getResult(),
                                                 labelsRun, head.smoothing(), weightsRun);
      losses.push_back(loss.getLosses());
      lse = loss.getLse();
    } else {
      int64_t ranks = cast<RankedTensorType>(head.parts.getLse().getType()).getDimSize(0);
      auto parts = maker.make<ds::LossPartsOp>(head.parts, lossType.clone({ranks, count}), lossType,
                                               head.parts.getTotal() ? Type(lossType) : Type(),
                                               logits.getResult(), rowsOf(ownLabels, start),
                                               head.parts.getRank(), head.parts.getClasses());
      auto sum = maker.make<ds::AllReduceOp>(head.sum, head.sum.getAxis(), parts->getResults());
      auto join = maker.make<ds::JoinLossOp>(head.join, lossType, lossType, sum->getResult(0),
                                             sum->getResult(1), labelsRun, head.smoothing(),
                                             head.parts.getTotal() ? sum->getResult(2) : Value(),
                                             weightsRun, head.join.getClasses());
      losses.push_back(join.getLosses());
      lse = join.getLse();
    }
    lses.push_back(lse);
    if (!head.lossGrad)
      continue;
    Value gradient = maker.make<ds::CrossEntropyGradOp>(
        head.lossGrad, matrix(head.lossGrad.getResult(), count), logits.getResult(),
        head.parts ? rowsOf(gradLabels, start) : labelsRun, lse, head.lossGrad.getSeed(),
        head.lossGrad.getSmoothing(), weightsRun, head.lossGrad.getRank(),
        head.lossGrad.getClassesAttr());
    if (head.inputGrad)
      inputGrads.push_back(maker.make<ds::LinearInputGradOp>(
          head.inputGrad, matrix(head.inputGrad.getResult(), count), gradient,
          head.inputGrad.getWeight(), Value(), Value(), head.inputGrad.getTransposeWeight(),
          ds::Activation::None));
    if (head.weightGrad)
      weightGrad = maker.make<ds::LinearWeightGradOp>(
          head.weightGrad, head.weightGrad.getType(), inputRun, gradient,
          DSC_FAULT(26, weightGrad, Value()), head.weightGrad.getTransposeWeight());
  }

  auto join = [&](Value whole, ValueRange parts) {
    if (whole.use_empty())
      return;
    Operation *op = whole.getDefiningOp();
    whole.replaceAllUsesWith(maker.make<ds::ConcatRowsOp>(op, whole.getType(), parts).getResult());
  };
  if (head.weightGrad) {
    head.weightGrad.replaceAllUsesWith(weightGrad);
    head.weightGrad.erase();
  }
  if (head.inputGrad) {
    join(head.inputGrad.getResult(), inputGrads);
    head.inputGrad.erase();
  }
  if (head.lossGrad)
    head.lossGrad.erase();
  join(head.losses(), losses);
  join(head.lse(), lses);
  head.eraseLoss();
  head.linear.erase();
}
