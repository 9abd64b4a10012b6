//===- Attention.cpp - verifiers, gradients and costs of Ops/Attention.td ---===//
#include "ShapeChecks.h"
#include "dsc/Support/Fault.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace dsc;
using namespace dsc::ds;

/// A1 and A3.
static LogicalResult verifyHeads(Operation *op, Value qkv, int64_t heads,
                                 const llvm::APFloat &scale) {
  ArrayRef<int64_t> shape = shapeOf(qkv);
  if (shape.size() != 3 || shape[2] % 3 != 0)
    return op->emitOpError("A1: qkv must be [b, t, 3 d], found ") << text(shape);
  int64_t width = shape[2] / 3;
  if (heads <= 0 || width % heads != 0)
    return op->emitOpError("A1: heads must be positive and divide the width: ")
           << heads << " heads, width " << width;
  double factor = scale.convertToDouble();
  if (!(factor > 0) || !std::isfinite(factor))
    return op->emitOpError("A3: scale must be positive, found ") << factor;
  return success();
}

/// A1 to A4, which the op and its gradient share; `outputs` are the tensors of shape [b, t, d].
static LogicalResult verifyAttention(Operation *op, Value qkv,
                                     ArrayRef<std::pair<StringRef, Value>> outputs, Value lse,
                                     int64_t heads, const llvm::APFloat &scale) {
  if (failed(verifyHeads(op, qkv, heads, scale)))
    return failure();
  ArrayRef<int64_t> shape = shapeOf(qkv);
  int64_t width = shape[2] / 3;
  for (auto [what, value] : outputs)
    if (failed(expectShape(op, "A2", what, shapeOf(value), {shape[0], shape[1], width})))
      return failure();
  if (failed(expectShape(op, "A2", "lse", shapeOf(lse), {shape[0], heads, shape[1]})))
    return failure();
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
  return key ? expectRandomKey(op, "A6", "key", key, /*part=*/true) : success();
}

/// A part of the heads: those from `rank` times as many on, whose masks they keep.
template <typename OpTy> static void cutHeads(OpTy op, OpBuilder &builder, const LoopPart &part) {
  if (op.shardingRule().loops[part.loop].name != "h")
    return;
  op.setHeads(llvm::divideCeil(part.whole, part.parts));
  if (!op.getKey())
    return;
  int64_t length = shapeOf(op.getQkv())[1];
  auto type = RankedTensorType::get({6}, builder.getF64Type());
  op.getKeyMutable().assign(PartKeyOp::create(
      builder, op.getLoc(), type, op.getKey(), part.rank(),
      static_cast<int64_t>(op.getHeads()) * length * static_cast<int64_t>(llvm::alignTo(length, 4))));
}

/// A7: one position a token.
static LogicalResult verifyPositions(Operation *op, Value positionIds, Value qkv) {
  if (!positionIds)
    return success();
  return expectShape(op, "A7", "position_ids", shapeOf(positionIds), leading(qkv));
}

/// Pairs (i, j) with j <= i, over samples and heads: at most so many, where documents are packed.
static int64_t pairs(Value lse) {
  ArrayRef<int64_t> shape = shapeOf(lse); // [b, heads, t]
  return shape[0] * shape[1] * (shape[2] * (shape[2] + 1) / 2);
}
static int64_t headWidth(Value qkv, int64_t heads) { return shapeOf(qkv)[2] / 3 / heads; }

//===-- attention --===//

LogicalResult AttentionOp::verify() {
  if (failed(verifyDropout(*this, getKey(), getDropout())) ||
      failed(verifyAttention(*this, getQkv(), {{"result", getResult()}}, getLse(), getHeads(),
                             getScale())))
    return failure();
  return verifyPositions(*this, getPositionIds(), getQkv());
}

LogicalResult AttentionOp::buildBackward(OpBuilder &builder, ValueRange resultGradients,
                                         SmallVectorImpl<Value> &gradients) {
  if (resultGradients[1])
    return emitOpError("lse takes no gradient");
  gradients.push_back(
      AttentionGradOp::create(builder, getLoc(), getQkv().getType(), resultGradients[0], getQkv(),
                              DSC_FAULT(39, getResult(), resultGradients[0]), getLse(), getKey(),
                              getPositionIds(), getHeads(), getScale(), getDropout()));
  gradients.resize(getNumOperands()); // neither key nor positions take any
  return success();
}
SmallVector<Value> AttentionOp::savedValues() {
  SmallVector<Value> saved = {getQkv(), getResult(), getLse()};
  for (Value given : {getKey(), getPositionIds()})
    if (given)
      saved.push_back(given);
  return saved;
}
// Two products a pair, and scale, maximum, exponential, sum.
int64_t AttentionOp::flops() { return pairs(getLse()) * (4 * headWidth(getQkv(), getHeads()) + 4); }
ShardingRule AttentionOp::shardingRule() {
  SmallVector<StringRef> operands = {"bt(xhc)"};
  if (getKey())
    operands.push_back("z");
  if (getPositionIds())
    operands.push_back("bt");
  return einsum(*this, operands, {"bt(hc)", "bht"}, "txcz",
                {{'x', 3}, {'h', static_cast<int64_t>(getHeads())}});
}
void AttentionOp::cutLoop(OpBuilder &builder, const LoopPart &part) {
  cutHeads(*this, builder, part);
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
  return verifyPositions(*this, getPositionIds(), getQkv());
}
// Five products a pair, and scale, exponential, difference, product.
int64_t AttentionGradOp::flops() {
  return pairs(getLse()) * (10 * headWidth(getQkv(), getHeads()) + 4) + 2 * elements(getOutput());
}
ShardingRule AttentionGradOp::shardingRule() {
  SmallVector<StringRef> operands = {"bt(hc)", "bt(xhc)", "bt(hc)", "bht"};
  if (getKey())
    operands.push_back("z");
  if (getPositionIds())
    operands.push_back("bt");
  return einsum(*this, operands, {"bt(xhc)"}, "txcz",
                {{'x', 3}, {'h', static_cast<int64_t>(getHeads())}});
}
void AttentionGradOp::cutLoop(OpBuilder &builder, const LoopPart &part) {
  cutHeads(*this, builder, part);
}

//===-- cached_attention --===//

LogicalResult CachedAttentionOp::verify() {
  ArrayRef<int64_t> shape = shapeOf(getQkv()), cache = shapeOf(getKeys());
  if (failed(verifyHeads(*this, getQkv(), getHeads(), getScale())))
    return failure();
  int64_t width = shape[2] / 3;
  if (cache.size() != 3 || cache[0] < shape[0] || cache[2] != width)
    return emitOpError("A8: keys must be [rows, length, ")
           << width << "] with at least " << shape[0] << " rows, found " << text(cache);
  for (auto [what, value] : {std::pair<StringRef, Value>("values", getValues()),
                             {"new_keys", getNewKeys()},
                             {"new_values", getNewValues()}})
    if (failed(expectShape(*this, "A8", what, shapeOf(value), cache)))
      return failure();
  if (failed(
          expectShape(*this, "A9", "result", shapeOf(getResult()), {shape[0], shape[1], width})) ||
      failed(expectShape(*this, "A9", "position_ids", shapeOf(getPositionIds()),
                         {shape[0], shape[1]})) ||
      failed(expectShape(*this, "A9", "rows", shapeOf(getRows()), {shape[0]})))
    return failure();
  return expectElementTypes(*this, "A4", {getQkv(), getResult()},
                            {{"keys", getKeys()},
                             {"values", getValues()},
                             {"new_keys", getNewKeys()},
                             {"new_values", getNewValues()}});
}
// As if every token stood at the end of its cache.
int64_t CachedAttentionOp::flops() {
  return rows(getQkv()) * static_cast<int64_t>(getHeads()) * shapeOf(getKeys())[1] *
         (4 * headWidth(getQkv(), getHeads()) + 4);
}
int64_t CachedAttentionOp::inPlaceOperand(unsigned result) {
  return result == 0 ? -1 : static_cast<int64_t>(result);
}
bool CachedAttentionOp::mustAlias(unsigned result) { return result != 0; }
// Which rows of the caches a sample has is known when it runs: caches are needed whole.
ShardingRule CachedAttentionOp::shardingRule() {
  return einsum(*this, {"bt(xhc)", "rp(hc)", "rp(hc)", "bt", "b"}, {"bt(hc)", "rp(hc)", "rp(hc)"},
                "btxcrp", {{'x', 3}, {'h', static_cast<int64_t>(getHeads())}});
}

#define GET_OP_CLASSES
#include "dsc/Dialect/DS/Ops/Attention.cpp.inc"
