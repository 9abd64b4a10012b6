//===- Linear.cpp - verifiers, gradients and costs of Ops/Linear.td ---===//
#include "ShapeChecks.h"
#include "dsc/Support/Fault.h"

using namespace mlir;
using namespace dsc;
using namespace dsc::ds;

/// Shape of `rows` with another last dimension.
static SmallVector<int64_t> withLast(ArrayRef<int64_t> leadingDimensions, int64_t last) {
  SmallVector<int64_t> shape(leadingDimensions);
  shape.push_back(last);
  return shape;
}

//===-- linear --===//

LogicalResult LinearOp::verify() {
  ArrayRef<int64_t> input = shapeOf(getInput()), weight = shapeOf(getWeight());
  if (weight.size() != 2 || input.empty())
    return emitOpError("L1: weight must have rank 2 and input at least rank 1, found ")
           << text(weight) << " and " << text(input);
  int64_t inner = weight[getTransposeWeight() ? 1 : 0],
          outer = weight[getTransposeWeight() ? 0 : 1];
  if (input.back() != inner)
    return emitOpError("L1: inner dimensions differ: ") << input.back() << " vs " << inner;
  if (getBias() && failed(expectShape(*this, "L2", "bias", shapeOf(getBias()), {outer})))
    return failure();
  if (failed(expectShape(*this, "L3", "result", shapeOf(getResult()),
                         withLast(leading(getInput()), outer))))
    return failure();
  if (getResidual() &&
      failed(expectShape(*this, "L3", "residual", shapeOf(getResidual()), shapeOf(getResult()))))
    return failure();
  if (getPre()) {
    if (getActivation() == Activation::None)
      return emitOpError("L4: pre is kept without an activation");
    if (failed(expectShape(*this, "L4", "pre", shapeOf(getPre()), shapeOf(getResult()))))
      return failure();
  }
  return expectElementTypes(*this, "L5",
                            {getInput(), getWeight(), getResidual(), getResult(), getPre()},
                            {{"bias", getBias()}});
}

LogicalResult LinearOp::buildBackward(OpBuilder &builder, ValueRange resultGradients,
                                      SmallVectorImpl<Value> &gradients) {
  if (getActivation() != Activation::None || getResidual())
    return emitOpError("L6: a fused linear has no derivative, differentiate before ds-fuse");
  Value gradient = resultGradients[0];
  gradients.push_back(LinearInputGradOp::create(
      builder, getLoc(), getInput().getType(), gradient, getWeight(), /*pre=*/Value(),
      /*residual=*/Value(), getTransposeWeight(), Activation::None));
  gradients.push_back(LinearWeightGradOp::create(builder, getLoc(), getWeight().getType(),
                                                 getInput(), gradient, /*init=*/Value(),
                                                 getTransposeWeight()));
  if (getBias())
    gradients.push_back(BiasGradOp::create(
        builder, getLoc(), getBias().getType(),
        DSC_FAULT(37, gradient, AddOp::create(builder, getLoc(), gradient, gradient).getResult()),
        /*init=*/Value()));
  return success();
}

SmallVector<Value> LinearOp::savedValues() { return {getInput(), getWeight()}; }

int64_t LinearOp::flops() {
  int64_t result = elements(getResult());
  int64_t perElement =
      2 * shapeOf(getInput()).back() + (getBias() ? 1 : 0) + (getResidual() ? 1 : 0);
  switch (getActivation()) {
  case Activation::None:
    break;
  case Activation::Relu:
    perElement += 1;
    break;
  case Activation::Gelu:
    perElement += 5;
    break;
  case Activation::GeluTanh:
    perElement += 9;
    break;
  }
  return result * perElement;
}

ShardingRule LinearOp::shardingRule() {
  SmallVector<StringRef> operands = {".k", getTransposeWeight() ? "nk" : "kn"}, results = {".n"};
  if (getBias())
    operands.push_back("n");
  if (getResidual())
    operands.push_back(".n");
  if (getPre())
    results.push_back(".n");
  return einsum(*this, operands, results);
}
/// Where the sum is cut, the bias counts once.
void LinearOp::cutLoop(OpBuilder &builder, const LoopPart &part) {
  if (getBias() && shardingRule().loops[part.loop].kind == LoopKind::Sum)
    getBiasMutable().assign(OnceOp::create(builder, getLoc(), getBias().getType(), getBias(),
                                           part.rank()));
}

//===-- linear_input_grad --===//

LogicalResult LinearInputGradOp::verify() {
  ArrayRef<int64_t> gradient = shapeOf(getGradient()), weight = shapeOf(getWeight());
  if (weight.size() != 2 || gradient.empty())
    return emitOpError("LI1: weight must have rank 2 and gradient at least rank 1, found ")
           << text(weight) << " and " << text(gradient);
  int64_t inner = weight[getTransposeWeight() ? 1 : 0],
          outer = weight[getTransposeWeight() ? 0 : 1];
  if (gradient.back() != outer)
    return emitOpError("LI1: outer dimensions differ: ") << gradient.back() << " vs " << outer;
  if (failed(expectShape(*this, "LI2", "result", shapeOf(getResult()),
                         withLast(leading(getGradient()), inner))))
    return failure();
  if (getResidual() &&
      failed(expectShape(*this, "LI2", "residual", shapeOf(getResidual()), shapeOf(getResult()))))
    return failure();
  if (getPre() && failed(expectShape(*this, "LI2", "pre", shapeOf(getPre()), shapeOf(getResult()))))
    return failure();
  if (bool(getPre()) != (getActivation() != Activation::None))
    return emitOpError("LI3: pre and activation come together, found ")
           << (getPre() ? "pre" : "no pre") << " with activation "
           << stringifyActivation(getActivation());
  return expectElementTypes(*this, "LI4",
                            {getGradient(), getWeight(), getPre(), getResidual(), getResult()});
}

int64_t LinearInputGradOp::flops() {
  int64_t perElement = 2 * shapeOf(getGradient()).back() + (getResidual() ? 1 : 0);
  switch (getActivation()) {
  case Activation::None:
    break;
  case Activation::Relu:
    perElement += 3;
    break;
  case Activation::Gelu:
    perElement += 11;
    break;
  case Activation::GeluTanh:
    perElement += 19;
    break;
  }
  return elements(getResult()) * perElement;
}

ShardingRule LinearInputGradOp::shardingRule() {
  SmallVector<StringRef> operands = {".n", getTransposeWeight() ? "nk" : "kn"};
  if (getPre())
    operands.push_back(".k");
  if (getResidual())
    operands.push_back(".k");
  return einsum(*this, operands, {".k"});
}

//===-- linear_weight_grad --===//

LogicalResult LinearWeightGradOp::verify() {
  ArrayRef<int64_t> input = shapeOf(getInput()), gradient = shapeOf(getGradient());
  if (input.empty() || gradient.empty() || leading(getInput()) != leading(getGradient()))
    return emitOpError("LW1: leading dimensions differ: ")
           << text(input) << " vs " << text(gradient);
  SmallVector<int64_t> expected = {input.back(), gradient.back()};
  if (getTransposeWeight())
    std::swap(expected[0], expected[1]);
  if (failed(expectShape(*this, "LW2", "result", shapeOf(getResult()), expected)))
    return failure();
  if (getInit() &&
      failed(expectShape(*this, "LW3", "init", shapeOf(getInit()), shapeOf(getResult()))))
    return failure();
  return expectElementTypes(*this, "LW3", {getInput(), getGradient()},
                            {{"init", getInit()}, {"result", getResult()}});
}
int64_t LinearWeightGradOp::flops() { return 2 * rows(getInput()) * elements(getResult()); }
int64_t LinearWeightGradOp::inPlaceOperand(unsigned) { return getInit() ? 2 : -1; }
bool LinearWeightGradOp::mustAlias(unsigned) { return bool(getInit()); }
bool LinearWeightGradOp::accumulateOnto(unsigned, Value init) {
  if (getInit())
    return false;
  getInitMutable().assign(init);
  return true;
}
ShardingRule LinearWeightGradOp::shardingRule() {
  StringRef result = getTransposeWeight() ? "nk" : "kn";
  SmallVector<StringRef> operands = {".k", ".n"};
  if (getInit())
    operands.push_back(result);
  return einsum(*this, operands, {result});
}

//===-- bias_grad --===//

LogicalResult BiasGradOp::verify() {
  if (shapeOf(getGradient()).empty())
    return emitOpError("LB1: gradient has no dimension");
  if (failed(expectShape(*this, "LB1", "result", shapeOf(getResult()),
                         {shapeOf(getGradient()).back()})))
    return failure();
  if (getInit() &&
      failed(expectShape(*this, "LB2", "init", shapeOf(getInit()), shapeOf(getResult()))))
    return failure();
  return expectElementTypes(*this, "LB2", {getGradient()},
                            {{"init", getInit()}, {"result", getResult()}});
}
int64_t BiasGradOp::flops() { return elements(getGradient()); }
int64_t BiasGradOp::inPlaceOperand(unsigned) { return getInit() ? 1 : -1; }
bool BiasGradOp::mustAlias(unsigned) { return bool(getInit()); }
bool BiasGradOp::accumulateOnto(unsigned, Value init) {
  if (getInit())
    return false;
  getInitMutable().assign(init);
  return true;
}
ShardingRule BiasGradOp::shardingRule() {
  SmallVector<StringRef> operands = {".n"};
  if (getInit())
    operands.push_back("n");
  return einsum(*this, operands, {"n"});
}

#define GET_OP_CLASSES
#include "dsc/Dialect/DS/Ops/Linear.cpp.inc"
