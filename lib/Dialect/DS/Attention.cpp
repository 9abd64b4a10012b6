//===- Attention.cpp - verifiers, gradients and costs of Ops/Attention.td ---===//
#include "ShapeChecks.h"
#include "dsc/Support/Fault.h"
#include <cmath>

using namespace mlir;
using namespace dsc;
using namespace dsc::ds;

/// A1 to A4, which the op and its gradient share; `outputs` are the tensors of shape [b, t, d].
static LogicalResult verifyAttention(Operation *op, Value qkv,
                                     ArrayRef<std::pair<StringRef, Value>> outputs, Value lse,
                                     int64_t heads, const llvm::APFloat &scale) {
  ArrayRef<int64_t> shape = shapeOf(qkv);
  if (shape.size() != 3 || shape[2] % 3 != 0)
    return op->emitOpError("A1: qkv must be [b, t, 3 d], found ") << text(shape);
  int64_t width = shape[2] / 3;
  if (heads <= 0 || width % heads != 0)
    return op->emitOpError("A1: heads must be positive and divide the width: ")
           << heads << " heads, width " << width;
  for (auto [what, value] : outputs)
    if (failed(expectShape(op, "A2", what, shapeOf(value), {shape[0], shape[1], width})))
      return failure();
  if (failed(expectShape(op, "A2", "lse", shapeOf(lse), {shape[0], heads, shape[1]})))
    return failure();
  double factor = scale.convertToDouble();
  if (!(factor > 0) || !std::isfinite(factor))
    return op->emitOpError("A3: scale must be positive, found ") << factor;
  SmallVector<Value> stored = {qkv};
  for (auto [what, value] : outputs)
    stored.push_back(value);
  return expectElementTypes(op, "A4", stored, {{"lse", lse}});
}

/// A6: a key where there is dropout, and only there.
static LogicalResult verifyDropout(Operation *op, Value key, const llvm::APFloat &dropout) {
  double p = dropout.convertToDouble();
  if (!(p >= 0 && p <= 1))
    return op->emitOpError("A6: dropout must lie in [0, 1], found ") << p;
  if (bool(key) != (p > 0))
    return op->emitOpError("A6: key is ") << (key ? "given" : "absent") << " with dropout " << p;
  return key ? expectRandomKey(op, "A6", "key", key) : success();
}

/// Pairs (i, j) with j <= i, over samples and heads.
static int64_t pairs(Value lse) {
  ArrayRef<int64_t> shape = shapeOf(lse); // [b, heads, t]
  return shape[0] * shape[1] * (shape[2] * (shape[2] + 1) / 2);
}
static int64_t headWidth(Value qkv, int64_t heads) { return shapeOf(qkv)[2] / 3 / heads; }

//===-- attention --===//

LogicalResult AttentionOp::verify() {
  if (failed(verifyDropout(*this, getKey(), getDropout())))
    return failure();
  return verifyAttention(*this, getQkv(), {{"result", getResult()}}, getLse(), getHeads(),
                         getScale());
}

LogicalResult AttentionOp::buildBackward(OpBuilder &builder, ValueRange resultGradients,
                                         SmallVectorImpl<Value> &gradients) {
  if (resultGradients[1])
    return emitOpError("lse takes no gradient");
  gradients.push_back(
      AttentionGradOp::create(builder, getLoc(), getQkv().getType(), resultGradients[0], getQkv(),
                              DSC_FAULT(39, getResult(), resultGradients[0]), getLse(), getKey(),
                              getHeads(), getScale(), getDropout()));
  if (getKey())
    gradients.push_back(Value());
  return success();
}
SmallVector<Value> AttentionOp::savedValues() {
  SmallVector<Value> saved = {getQkv(), getResult(), getLse()};
  if (getKey())
    saved.push_back(getKey());
  return saved;
}
// Two products a pair, and scale, maximum, exponential, sum.
int64_t AttentionOp::flops() { return pairs(getLse()) * (4 * headWidth(getQkv(), getHeads()) + 4); }
ShardingRule AttentionOp::shardingRule() {
  SmallVector<StringRef> operands = {"bt(xhc)"};
  if (getKey())
    operands.push_back("z");
  return einsum(*this, operands, {"bt(hc)", "bht"}, "txcz",
                {{'x', 3}, {'h', static_cast<int64_t>(getHeads())}});
}

//===-- attention_grad --===//

LogicalResult AttentionGradOp::verify() {
  if (failed(verifyDropout(*this, getKey(), getDropout())) ||
      failed(verifyAttention(*this, getQkv(),
                             {{"gradient", getGradient()}, {"output", getOutput()}}, getLse(),
                             getHeads(), getScale())))
    return failure();
  if (getResult().getType() != getQkv().getType())
    return emitOpError("A5: result is ")
           << getResult().getType() << ", expected " << getQkv().getType();
  return success();
}
// Five products a pair, and scale, exponential, difference, product.
int64_t AttentionGradOp::flops() {
  return pairs(getLse()) * (10 * headWidth(getQkv(), getHeads()) + 4) + 2 * elements(getOutput());
}
ShardingRule AttentionGradOp::shardingRule() {
  SmallVector<StringRef> operands = {"bt(hc)", "bt(xhc)", "bt(hc)", "bht"};
  if (getKey())
    operands.push_back("z");
  return einsum(*this, operands, {"bt(xhc)"}, "txcz",
                {{'x', 3}, {'h', static_cast<int64_t>(getHeads())}});
}

#define GET_OP_CLASSES
#include "dsc/Dialect/DS/Ops/Attention.cpp.inc"
