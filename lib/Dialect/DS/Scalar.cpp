//===- Scalar.cpp - verifiers, costs and sharding of Ops/Scalar.td ---===//
#include "ShapeChecks.h"
#include "dsc/Dialect/DS/Schedules.h"

using namespace mlir;
using namespace dsc;
using namespace dsc::ds;

LogicalResult SquareSumOp::verify() {
  int64_t blocks = (elements(getInput()) + 1023) / 1024;
  auto expected = RankedTensorType::get({blocks}, Float64Type::get(getContext()));
  if (getResult().getType() != expected)
    return emitOpError("Q1: result is ") << getResult().getType() << ", expected " << expected;
  return success();
}
int64_t SquareSumOp::flops() { return 2 * elements(getInput()); }
// Blocks of 1,024 elements are no loop over dimensions: each dimension is a loop that cannot be cut
// alone.
ShardingRule SquareSumOp::shardingRule() {
  std::string letters = "abcdefghijklm";
  std::string input = letters.substr(0, shapeOf(getInput()).size());
  return einsum(*this, {input}, {"z"}, input + "z");
}

bool SquareSumOp::canCut(unsigned) { return true; }

/// Squares of a part are a part of the sum: of its own blocks, which all ranks count alike.
void SquareSumOp::cutLoop(OpBuilder &builder, const LoopPart &part) {
  auto type = RankedTensorType::get({(elements(getInput()) + 1023) / 1024}, builder.getF64Type());
  getResult().setType(type);
  builder.setInsertionPointAfter(*this);
  Value sum = part.reduce(builder, getResult())[0];
  getResult().replaceAllUsesExcept(sum, sum.getDefiningOp());
}

LogicalResult GlobalNormOp::verify() {
  if (getSquareSums().empty())
    return emitOpError("Q2: no operands");
  for (Value sums : getSquareSums())
    if (tensorOf(sums).getRank() != 1 || !tensorOf(sums).getElementType().isF64())
      return emitOpError("Q2: operands must be one-dimensional f64 tensors, found ")
             << sums.getType();
  return success();
}
int64_t GlobalNormOp::flops() {
  int64_t blocks = 0;
  for (Value sums : getSquareSums())
    blocks += elements(sums);
  return blocks + 1;
}
ShardingRule GlobalNormOp::shardingRule() {
  std::string letters;
  for (size_t i = 0, n = getSquareSums().size(); i < n; ++i)
    letters += static_cast<char>(0x80 + i % 0x80);
  SmallVector<StringRef> operands;
  for (size_t i = 0; i < letters.size(); ++i)
    operands.push_back(StringRef(letters).substr(i, 1));
  return einsum(*this, operands, {""}, letters);
}

int64_t ClipFactorOp::flops() { return 2; }
ShardingRule ClipFactorOp::shardingRule() { return scalarRule(*this); }

LogicalResult LearningRateOp::verify() {
  StringRef name = stringifySchedule(getSchedule());
  bool hasExtra = !scalarsOf(getSchedule()).extra.empty();
  if (bool(getExtra()) != hasExtra)
    return emitOpError("Q3: extra is ")
           << (hasExtra ? "absent" : "given") << " for schedule " << name;
  if (getLinearWarmup() && !isDeepSpeedSchedule(getSchedule()))
    return emitOpError("Q4: linear_warmup is given for schedule ") << name;
  return success();
}
int64_t LearningRateOp::flops() { return 8; }
ShardingRule LearningRateOp::shardingRule() { return scalarRule(*this); }

int64_t IncrementOp::flops() { return 1; }
int64_t IncrementOp::inPlaceOperand(unsigned) { return 0; }
ShardingRule IncrementOp::shardingRule() { return scalarRule(*this); }

int64_t ScaleRateOp::flops() { return 1; }
ShardingRule ScaleRateOp::shardingRule() { return scalarRule(*this); }

int64_t TrustRatioOp::flops() { return 3; }
ShardingRule TrustRatioOp::shardingRule() { return scalarRule(*this); }

int64_t UpdatePowerOp::flops() { return 2; }
ShardingRule UpdatePowerOp::shardingRule() { return scalarRule(*this); }

LogicalResult AdafactorFactorOp::verify() {
  if (static_cast<int64_t>(getElements()) <= 0)
    return emitOpError("Q5: elements is ")
           << static_cast<int64_t>(getElements()) << ", must be positive";
  return success();
}
int64_t AdafactorFactorOp::flops() { return 9; }
ShardingRule AdafactorFactorOp::shardingRule() { return scalarRule(*this); }

ShardingRule ZerosOp::shardingRule() {
  return einsum(*this, {}, {StringRef("abcdefghijklm").take_front(shapeOf(getResult()).size())});
}

int64_t UnscaleOp::flops() { return 1; }
ShardingRule UnscaleOp::shardingRule() { return scalarRule(*this); }

int64_t LossScaleUpdateOp::flops() { return 8; }
ShardingRule LossScaleUpdateOp::shardingRule() { return scalarRule(*this); }

#define GET_OP_CLASSES
#include "dsc/Dialect/DS/Ops/Scalar.cpp.inc"
