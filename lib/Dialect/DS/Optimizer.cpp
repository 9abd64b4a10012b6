//===- Optimizer.cpp - verifiers, costs and sharding of Ops/Optimizer.td ---===//
#include "ShapeChecks.h"
#include <numeric>

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

int64_t FactorSumsOp::rowsOfGroup(int64_t columns) {
  return 32 * (32 / std::gcd<int64_t>(columns, 32));
}
int64_t FactorSumsOp::groupsOf(int64_t rows, int64_t columns) {
  int64_t group = rowsOfGroup(columns);
  return (rows + group - 1) / group;
}
LogicalResult FactorSumsOp::verify() {
  ArrayRef<int64_t> shape = shapeOf(getGradient());
  if (shape.size() != 2)
    return emitOpError("O3: gradient is ") << text(shape) << ", expected two dimensions";
  if (failed(expectShape(*this, "O4", "row sums", shapeOf(getRowSums()), {1, shape[0]})) ||
      failed(expectShape(*this, "O4", "column sums", shapeOf(getColumnSums()),
                         {groupsOf(shape[0], shape[1]), shape[1]})))
    return failure();
  for (Value sums : getResults())
    if (!tensorOf(sums).getElementType().isF64())
      return emitOpError("O4: sums are ") << sums.getType() << ", expected f64";
  return success();
}
int64_t FactorSumsOp::flops() { return 3 * elements(getGradient()); }
// Groups of rows are no loop over dimensions.
ShardingRule FactorSumsOp::shardingRule() { return einsum(*this, {"ab"}, {"zy", "xw"}, "abzyxw"); }

LogicalResult FactorMomentOp::verify() {
  ArrayRef<int64_t> sums = shapeOf(getSums());
  if (sums.size() != 2 || !tensorOf(getSums()).getElementType().isF64() ||
      shapeOf(getMoment()) != sums.drop_front())
    return emitOpError("O5: sums are ")
           << getSums().getType() << ", the moment is " << getMoment().getType();
  if (getNewMoment().getType() != getMoment().getType())
    return emitOpError("O6: new moment is ")
           << getNewMoment().getType() << ", expected " << getMoment().getType();
  if (static_cast<int64_t>(getTerms()) <= 0)
    return emitOpError("O7: terms is ") << static_cast<int64_t>(getTerms()) << ", must be positive";
  return success();
}
int64_t FactorMomentOp::flops() { return elements(getSums()) + 3 * elements(getMoment()); }
int64_t FactorMomentOp::inPlaceOperand(unsigned) { return 1; } // moment
ShardingRule FactorMomentOp::shardingRule() {
  return einsum(*this, {"zn", "n", "", ""}, {"n"}, "z");
}

int64_t MomentMeanOp::flops() { return elements(getMoment()) + 1; }
ShardingRule MomentMeanOp::shardingRule() {
  std::string letters = std::string("abcdefghijklm").substr(0, shapeOf(getMoment()).size());
  return einsum(*this, {letters}, {""}, letters);
}

LogicalResult FactoredDirectionOp::verify() {
  ArrayRef<int64_t> shape = shapeOf(getGradient());
  if (getDirection().getType() != getGradient().getType() || shape.size() != 2)
    return emitOpError("O8: direction is ")
           << getDirection().getType() << ", the gradient is " << getGradient().getType();
  if (failed(expectShape(*this, "O9", "row", shapeOf(getRow()), {shape[0]})))
    return failure();
  return expectShape(*this, "O9", "column", shapeOf(getColumn()), {shape[1]});
}
int64_t FactoredDirectionOp::flops() { return 5 * elements(getGradient()); }
int64_t FactoredDirectionOp::inPlaceOperand(unsigned) { return 0; } // gradient
ShardingRule FactoredDirectionOp::shardingRule() {
  return einsum(*this, {"rc", "r", "c", "", "", ""}, {"rc"});
}

LogicalResult AdafactorDirectionOp::verify() {
  for (auto [what, value] : {std::pair<StringRef, Value>{"v", getV()},
                             {"direction", getDirection()},
                             {"new v", getNewV()}})
    if (value.getType() != getGradient().getType())
      return emitOpError("O10: ") << what << " is " << value.getType() << ", expected "
                                  << getGradient().getType();
  return success();
}
int64_t AdafactorDirectionOp::flops() { return 8 * elements(getGradient()); }
int64_t AdafactorDirectionOp::inPlaceOperand(unsigned result) { return result; } // gradient, v
ShardingRule AdafactorDirectionOp::shardingRule() { return updateRule(*this, 2); }

#define GET_OP_CLASSES
#include "dsc/Dialect/DS/Ops/Optimizer.cpp.inc"
