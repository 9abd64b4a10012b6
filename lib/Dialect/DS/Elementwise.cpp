//===- Elementwise.cpp - verifiers, gradients and costs of Ops/Elementwise.td ---===//
#include "ShapeChecks.h"
#include "dsc/Support/Fault.h"

using namespace mlir;
using namespace dsc;
using namespace dsc::ds;

// FLOPs an element, as counted in reports: a transcendental function counts as one.
static int64_t activationFlops(Activation function) {
  return function == Activation::Relu ? 1 : function == Activation::Gelu ? 5 : 9;
}

//===-- add --===//

LogicalResult AddOp::buildBackward(OpBuilder &builder, ValueRange resultGradients,
                                   SmallVectorImpl<Value> &gradients) {
  Value gradient = resultGradients[0];
  gradients.assign(
      {gradient,
       DSC_FAULT(35, gradient, AddOp::create(builder, getLoc(), gradient, gradient).getResult())});
  return success();
}
SmallVector<Value> AddOp::savedValues() { return {}; }
int64_t AddOp::flops() { return elements(getResult()); }
// Not the residual stream, which an earlier norm has saved, but what was computed to be added to
// it.
int64_t AddOp::inPlaceOperand(unsigned) { return 1; }
ShardingRule AddOp::shardingRule() { return einsum(*this, {".", "."}, {"."}); }

//===-- activation --===//

LogicalResult ActivationOp::verify() {
  if (getFunction() == Activation::None)
    return emitOpError("E1: function is none");
  return success();
}
LogicalResult ActivationOp::buildBackward(OpBuilder &builder, ValueRange resultGradients,
                                          SmallVectorImpl<Value> &gradients) {
  gradients.push_back(ActivationGradOp::create(builder, getLoc(), getType(), resultGradients[0],
                                               getInput(),
                                               DSC_FAULT(36, getFunction(), Activation::Relu)));
  return success();
}
SmallVector<Value> ActivationOp::savedValues() { return {getInput()}; }
int64_t ActivationOp::flops() { return activationFlops(getFunction()) * elements(getResult()); }
int64_t ActivationOp::inPlaceOperand(unsigned) { return 0; }
ShardingRule ActivationOp::shardingRule() { return einsum(*this, {"."}, {"."}); }

//===-- activation_grad --===//

LogicalResult ActivationGradOp::verify() {
  if (getFunction() == Activation::None)
    return emitOpError("E1: function is none");
  return success();
}
int64_t ActivationGradOp::flops() {
  return (2 * activationFlops(getFunction()) + 1) * elements(getResult());
}
int64_t ActivationGradOp::inPlaceOperand(unsigned) { return 0; }
ShardingRule ActivationGradOp::shardingRule() { return einsum(*this, {".", "."}, {"."}); }

//===-- cast --===//

LogicalResult CastOp::verify() {
  Type from = tensorOf(getInput()).getElementType(), to = tensorOf(getResult()).getElementType();
  if (from == to || from.isF64() || to.isF64())
    return emitOpError("E2: element types must be two different ones of f32, f16 and bf16, found ")
           << from << " and " << to;
  return success();
}
LogicalResult CastOp::buildBackward(OpBuilder &builder, ValueRange resultGradients,
                                    SmallVectorImpl<Value> &gradients) {
  gradients.push_back(CastOp::create(builder, getLoc(), getInput().getType(), resultGradients[0]));
  return success();
}
SmallVector<Value> CastOp::savedValues() { return {}; }
/// cast(cast(x)) is x where the first cast was exact and the second undoes it.
OpFoldResult CastOp::fold(FoldAdaptor) {
  auto first = getInput().getDefiningOp<CastOp>();
  bool exact = first && isHalf(first.getInput()) && !isHalf(first.getResult());
  return exact && first.getInput().getType() == getType() ? first.getInput() : Value();
}
ShardingRule CastOp::shardingRule() { return einsum(*this, {"."}, {"."}); }

#define GET_OP_CLASSES
#include "dsc/Dialect/DS/Ops/Elementwise.cpp.inc"
