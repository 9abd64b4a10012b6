//===- Fuse.cpp - ds-fuse --------------------------------------------------===//
// Folds element-wise neighbours into the op that produces their operand, so that a row is finished
// while it is in cache. Works inside one ds.block at a time: producer and consumer stand in the
// same basic block. A fused op stands where its consumer stood, since that is where all operands
// exist.
#include "dsc/Dialect/DS/DS.h"
#include "dsc/Passes/Passes.h"
#include "dsc/Support/Fault.h"

namespace dsc {
#define GEN_PASS_DEF_DSFUSE
#include "dsc/Passes/Passes.h.inc"
} // namespace dsc

using namespace mlir;
using namespace dsc;
using ds::Activation;

/// The op of type `OpTy` in the block of `user` that defines `value`, or null.
template <typename OpTy> static OpTy producer(Value value, Operation *user) {
  auto op = value.getDefiningOp<OpTy>();
  return op && op->getBlock() == user->getBlock() ? op : OpTy();
}

static void copyLabel(Operation *from, Operation *to) {
  if (Attribute label = from->getAttr("ds.label"))
    to->setAttr("ds.label", label);
}

/// activation(linear(x)): the linear op applies it; `pre` stays alive only if something else reads
/// it.
static bool foldActivation(ds::ActivationOp op) {
  auto linear = producer<ds::LinearOp>(op.getInput(), op);
  if (!linear || linear.getActivation() != Activation::None || linear.getResidual())
    return false;
  Type preType = linear.getResult().hasOneUse() ? Type() : linear.getResult().getType();
  OpBuilder builder(linear);
  auto fused = ds::LinearOp::create(builder, linear.getLoc(), op.getType(), preType,
                                    linear.getInput(), linear.getWeight(), linear.getBias(),
                                    Value(), linear.getTransposeWeight(), op.getFunction());
  copyLabel(linear, fused);
  op.replaceAllUsesWith(fused.getResult());
  op.erase();
  if (preType)
    linear.getResult().replaceAllUsesWith(fused.getPre());
  linear.erase();
  return true;
}

/// activation_grad(linear_input_grad(g, w), x): the product's epilogue multiplies by the derivative
/// at x.
static bool foldActivationGrad(ds::ActivationGradOp op) {
  auto grad = producer<ds::LinearInputGradOp>(op.getGradient(), op);
  if (!grad || !grad->hasOneUse() || grad.getPre() || grad.getResidual())
    return false;
  OpBuilder builder(op);
  auto fused = ds::LinearInputGradOp::create(
      builder, grad.getLoc(), op.getType(), grad.getGradient(), grad.getWeight(), op.getInput(),
      Value(), grad.getTransposeWeight(), DSC_FAULT(24, op.getFunction(), Activation::Relu));
  copyLabel(grad, fused);
  op.replaceAllUsesWith(fused.getResult());
  op.erase();
  grad.erase();
  return true;
}

/// True if `value` is read before `position`, in its block or a region in it.
static bool isReadBefore(Value value, Operation *position) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    Operation *here = position->getBlock()->findAncestorOpInBlock(*user);
    return here && here->isBeforeInBlock(position);
  });
}

/// Adds `residual` to the first result of the op that defines `value`. False if that op cannot take
/// one.
static bool foldResidual(ds::AddOp add, Value value, Value residual) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != add->getBlock() || !value.hasOneUse() || value == residual)
    return false;
  // The fused op stands where the sum stood, so nobody may need its other result before that.
  if (llvm::any_of(op->getResults().drop_front(), [&](Value v) { return isReadBefore(v, add); }))
    return false;
  OpBuilder builder(add);
  Operation *fused = nullptr;
  if (auto linear = dyn_cast<ds::LinearOp>(op);
      linear && !linear.getResidual() && value == linear.getResult())
    fused = ds::LinearOp::create(builder, op->getLoc(), add.getType(),
                                 linear.getPre() ? linear.getPre().getType() : Type(),
                                 linear.getInput(), linear.getWeight(), linear.getBias(), residual,
                                 linear.getTransposeWeight(), linear.getActivation());
  else if (auto grad = dyn_cast<ds::LinearInputGradOp>(op); grad && !grad.getResidual())
    fused = ds::LinearInputGradOp::create(builder, op->getLoc(), add.getType(), grad.getGradient(),
                                          grad.getWeight(), grad.getPre(), residual,
                                          grad.getTransposeWeight(), grad.getActivation());
  else if (auto norm = dyn_cast<ds::LayerNormInputGradOp>(op); norm && !norm.getResidual())
    fused = ds::LayerNormInputGradOp::create(
        builder, op->getLoc(), add.getType(), norm.getGradient(), norm.getInput(), norm.getGain(),
        norm.getMean(), norm.getRstd(), DSC_FAULT(25, residual, Value()));
  if (!fused)
    return false;
  copyLabel(op, fused);
  if (auto linear = dyn_cast<ds::LinearOp>(op); linear && linear.getPre())
    linear.getPre().replaceAllUsesWith(cast<ds::LinearOp>(fused).getPre());
  add.replaceAllUsesWith(fused->getResult(0));
  add.erase();
  op->erase();
  return true;
}

/// cast(update(...)): the update writes the working copy beside the weight.
static bool foldCast(ds::CastOp cast) {
  Operation *update = cast.getInput().getDefiningOp();
  if (!update || !update->hasTrait<dsc::OpTrait::WritesHalf>() ||
      cast.getInput() != update->getResult(0) || update->getBlock() != cast->getBlock())
    return false;
  // Rebuilt with one result more, unless it has that already.
  SmallVector<Type> types(update->getResultTypes());
  if (types.back() == cast.getType())
    return false;
  types.push_back(cast.getType());
  OperationState state(update->getLoc(), update->getName());
  state.addOperands(update->getOperands());
  state.addAttributes(update->getAttrs());
  state.addTypes(types);
  Operation *fused = OpBuilder(update).create(state);
  cast.replaceAllUsesWith(fused->getResults().back());
  update->replaceAllUsesWith(fused->getResults().drop_back());
  cast.erase();
  update->erase();
  return true;
}

namespace {
struct Fuse : dsc::impl::DsFuseBase<Fuse> {
  void runOnOperation() override {
    // Multiplications before sums: a product that already has a residual takes no activation any
    // more.
    SmallVector<Operation *> elementwise, sums;
    getOperation().walk([&](Operation *op) {
      if (isa<ds::ActivationOp, ds::ActivationGradOp>(op))
        elementwise.push_back(op);
      else if (isa<ds::AddOp>(op))
        sums.push_back(op);
    });
    SmallVector<ds::CastOp> roundings;
    getOperation().walk([&](ds::CastOp cast) { roundings.push_back(cast); });
    for (ds::CastOp cast : roundings)
      casts += foldCast(cast);
    for (Operation *op : elementwise) {
      if (auto activation = dyn_cast<ds::ActivationOp>(op))
        activations += foldActivation(activation);
      else
        activationGrads += foldActivationGrad(cast<ds::ActivationGradOp>(op));
    }
    // The later operand is the one whose rows are still in cache.
    for (Operation *op : sums) {
      auto add = cast<ds::AddOp>(op);
      Value first = add.getLhs(), second = add.getRhs();
      Operation *a = first.getDefiningOp(), *b = second.getDefiningOp();
      if (a && (!b || b->getBlock() != add->getBlock() ||
                (a->getBlock() == add->getBlock() && b->isBeforeInBlock(a))))
        std::swap(first, second);
      residuals += foldResidual(add, second, first) || foldResidual(add, first, second);
    }
  }
};
} // namespace
