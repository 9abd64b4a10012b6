//===- Norm.cpp - verifiers, gradients and costs of Ops/Norm.td ---===//
#include "ShapeChecks.h"
#include "dsc/Support/Fault.h"
#include <cmath>

using namespace mlir;
using namespace dsc;
using namespace dsc::ds;

/// Statistics have the leading dimensions of `input`.
static LogicalResult expectStatistics(Operation *op, StringRef rule, Value input, Value mean,
                                      Value rstd) {
  if (failed(expectShape(op, rule, "mean", shapeOf(mean), leading(input))))
    return failure();
  return expectShape(op, rule, "rstd", shapeOf(rstd), leading(input));
}

//===-- layer_norm --===//

LogicalResult LayerNormOp::verify() {
  if (shapeOf(getInput()).empty())
    return emitOpError("N1: input has no dimension");
  int64_t width = shapeOf(getInput()).back();
  if (failed(expectShape(*this, "N1", "gain", shapeOf(getGain()), {width})) ||
      failed(expectShape(*this, "N1", "bias", shapeOf(getBias()), {width})))
    return failure();
  double eps = getEps().convertToDouble();
  if (!(eps > 0) || !std::isfinite(eps))
    return emitOpError("N2: eps must be positive, found ") << getEpsAttr();
  if (failed(expectStatistics(*this, "N3", getInput(), getMean(), getRstd())) ||
      failed(expectShape(*this, "N3", "result", shapeOf(getResult()), shapeOf(getInput()))))
    return failure();
  return expectElementTypes(
      *this, "N4", {getInput(), getResult()},
      {{"gain", getGain()}, {"bias", getBias()}, {"mean", getMean()}, {"rstd", getRstd()}});
}

LogicalResult LayerNormOp::buildBackward(OpBuilder &builder, ValueRange resultGradients,
                                         SmallVectorImpl<Value> &gradients) {
  if (resultGradients[1] || resultGradients[2])
    return emitOpError("mean and rstd take no gradient");
  gradients.push_back(LayerNormInputGradOp::create(builder, getLoc(), getInput().getType(),
                                                   resultGradients[0], getInput(), getGain(),
                                                   getMean(), getRstd(), /*residual=*/Value()));
  auto parameters =
      LayerNormParameterGradOp::create(builder, getLoc(), getGain().getType(), getBias().getType(),
                                       resultGradients[0], getInput(), getMean(), getRstd());
  gradients.push_back(DSC_FAULT(38, parameters.getDgain(), parameters.getDbias()));
  gradients.push_back(DSC_FAULT(38, parameters.getDbias(), parameters.getDgain()));
  return success();
}

SmallVector<Value> LayerNormOp::savedValues() {
  return {getInput(), getGain(), getMean(), getRstd()};
}
int64_t LayerNormOp::flops() { return 8 * elements(getInput()); }
ShardingRule LayerNormOp::shardingRule() {
  return einsum(*this, {".c", "c", "c"}, {".c", ".", "."}, "c");
}

//===-- layer_norm_input_grad --===//

LogicalResult LayerNormInputGradOp::verify() {
  if (shapeOf(getInput()).empty())
    return emitOpError("NI1: input has no dimension");
  if (failed(expectShape(*this, "NI1", "gain", shapeOf(getGain()), {shapeOf(getInput()).back()})) ||
      failed(expectStatistics(*this, "NI2", getInput(), getMean(), getRstd())) ||
      failed(expectShape(*this, "NI3", "gradient", shapeOf(getGradient()), shapeOf(getInput()))) ||
      failed(expectShape(*this, "NI3", "result", shapeOf(getResult()), shapeOf(getInput()))))
    return failure();
  if (getResidual() &&
      failed(expectShape(*this, "NI3", "residual", shapeOf(getResidual()), shapeOf(getInput()))))
    return failure();
  return expectElementTypes(*this, "NI4", {getGradient(), getInput(), getResidual(), getResult()},
                            {{"gain", getGain()}, {"mean", getMean()}, {"rstd", getRstd()}});
}
int64_t LayerNormInputGradOp::flops() {
  return (12 + (getResidual() ? 1 : 0)) * elements(getInput());
}
int64_t LayerNormInputGradOp::inPlaceOperand(unsigned) { return 0; }
ShardingRule LayerNormInputGradOp::shardingRule() {
  SmallVector<StringRef> operands = {".c", ".c", "c", ".", "."};
  if (getResidual())
    operands.push_back(".c");
  return einsum(*this, operands, {".c"}, "c");
}

//===-- layer_norm_parameter_grad --===//

LogicalResult LayerNormParameterGradOp::verify() {
  if (failed(expectShape(*this, "NP1", "gradient", shapeOf(getGradient()), shapeOf(getInput()))) ||
      failed(expectStatistics(*this, "NP2", getInput(), getMean(), getRstd())))
    return failure();
  if (shapeOf(getInput()).empty())
    return emitOpError("NP3: input has no dimension");
  int64_t width = shapeOf(getInput()).back();
  if (failed(expectShape(*this, "NP3", "dgain", shapeOf(getDgain()), {width})) ||
      failed(expectShape(*this, "NP3", "dbias", shapeOf(getDbias()), {width})))
    return failure();
  return expectElementTypes(
      *this, "NP4", {getGradient(), getInput()},
      {{"mean", getMean()}, {"rstd", getRstd()}, {"dgain", getDgain()}, {"dbias", getDbias()}});
}
int64_t LayerNormParameterGradOp::flops() { return 5 * elements(getInput()); }
ShardingRule LayerNormParameterGradOp::shardingRule() {
  return einsum(*this, {".c", ".c", ".", "."}, {"c", "c"});
}

#define GET_OP_CLASSES
#include "dsc/Dialect/DS/Ops/Norm.cpp.inc"
