//===- Optimizer.cpp - verifiers, costs and sharding of Ops/Optimizer.td ---===//
#include "ShapeChecks.h"

using namespace mlir;
using namespace dsc;
using namespace dsc::ds;

/// O1: all of `values` have the type of the weight.
static LogicalResult expectTypeOfWeight(Operation *op, Value weight,
                                        ArrayRef<std::pair<StringRef, Value>> values) {
  for (auto [what, value] : values)
    if (value.getType() != weight.getType())
      return op->emitOpError("O1: ")
             << what << " is " << value.getType() << ", expected " << weight.getType();
  return success();
}

/// O2: the working copy has the shape of the weight and two bytes an element.
static LogicalResult expectHalf(Operation *op, Value weight, Value half) {
  if (!half)
    return success();
  if (failed(expectShape(op, "O2", "new half", shapeOf(half), shapeOf(weight))))
    return failure();
  if (!isHalf(half))
    return op->emitOpError("O2: new half is ") << half.getType() << ", expected f16 or bf16";
  return success();
}

/// Tensors in step with each other, then scalars.
static ShardingRule updateRule(Operation *op, size_t tensors) {
  SmallVector<StringRef> operands(op->getNumOperands(), ""), results(op->getNumResults(), ".");
  std::fill_n(operands.begin(), tensors, ".");
  return einsum(op, operands, results);
}

LogicalResult AdamUpdateOp::verify() {
  if (failed(expectHalf(*this, getWeight(), getNewHalf())))
    return failure();
  return expectTypeOfWeight(*this, getWeight(),
                            {{"gradient", getGradient()},
                             {"m", getM()},
                             {"v", getV()},
                             {"new weight", getNewWeight()},
                             {"new m", getNewM()},
                             {"new v", getNewV()}});
}
int64_t AdamUpdateOp::flops() { return (13 + (getDecay() ? 2 : 0)) * elements(getWeight()); }
int64_t AdamUpdateOp::inPlaceOperand(unsigned result) {
  return result == 0 ? 0 : result < 3 ? int64_t(result) + 1 : -1; // weight, m, v
}
ShardingRule AdamUpdateOp::shardingRule() { return updateRule(*this, 4); }

LogicalResult SgdUpdateOp::verify() {
  if (failed(expectHalf(*this, getWeight(), getNewHalf())))
    return failure();
  return expectTypeOfWeight(*this, getWeight(),
                            {{"gradient", getGradient()},
                             {"velocity", getVelocity()},
                             {"new weight", getNewWeight()},
                             {"new velocity", getNewVelocity()}});
}
int64_t SgdUpdateOp::flops() {
  return (5 + (getDecay() ? 2 : 0) + (getNesterov() ? 2 : 0)) * elements(getWeight());
}
int64_t SgdUpdateOp::inPlaceOperand(unsigned result) {
  return result == 0 ? 0 : result == 1 ? 2 : -1; // weight, velocity
}
ShardingRule SgdUpdateOp::shardingRule() { return updateRule(*this, 3); }

LogicalResult LionUpdateOp::verify() {
  return expectTypeOfWeight(*this, getWeight(),
                            {{"gradient", getGradient()},
                             {"m", getM()},
                             {"new weight", getNewWeight()},
                             {"new m", getNewM()}});
}
int64_t LionUpdateOp::flops() { return (9 + (getDecay() ? 2 : 0)) * elements(getWeight()); }
int64_t LionUpdateOp::inPlaceOperand(unsigned result) { return result == 0 ? 0 : 2; } // weight, m
ShardingRule LionUpdateOp::shardingRule() { return updateRule(*this, 3); }

LogicalResult LambDirectionOp::verify() {
  return expectTypeOfWeight(*this, getWeight(),
                            {{"gradient", getGradient()},
                             {"m", getM()},
                             {"v", getV()},
                             {"direction", getDirection()},
                             {"new m", getNewM()},
                             {"new v", getNewV()}});
}
int64_t LambDirectionOp::flops() { return (11 + (getDecay() ? 2 : 0)) * elements(getWeight()); }
int64_t LambDirectionOp::inPlaceOperand(unsigned result) {
  return result == 0 ? -1 : static_cast<int64_t>(result) + 1; // m, v
}
ShardingRule LambDirectionOp::shardingRule() { return updateRule(*this, 4); }

LogicalResult DescendOp::verify() {
  return expectTypeOfWeight(*this, getWeight(),
                            {{"direction", getDirection()}, {"new weight", getNewWeight()}});
}
int64_t DescendOp::flops() { return (2 + (getDecay() ? 2 : 0)) * elements(getWeight()); }
int64_t DescendOp::inPlaceOperand(unsigned) { return 0; }
ShardingRule DescendOp::shardingRule() { return updateRule(*this, 2); }

LogicalResult ClipValuesOp::verify() {
  if (getResult().getType() != getGradient().getType())
    return emitOpError("O1: result is ")
           << getResult().getType() << ", expected " << getGradient().getType();
  return success();
}
int64_t ClipValuesOp::flops() { return 2 * elements(getGradient()); }
int64_t ClipValuesOp::inPlaceOperand(unsigned) { return 0; }
ShardingRule ClipValuesOp::shardingRule() { return updateRule(*this, 1); }

#define GET_OP_CLASSES
#include "dsc/Dialect/DS/Ops/Optimizer.cpp.inc"
