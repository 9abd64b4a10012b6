//===- Dropout.cpp - verifiers, gradients and costs of Ops/Dropout.td ---===//
#include "ShapeChecks.h"
#include "dsc/Support/Fault.h"

using namespace mlir;
using namespace dsc;
using namespace dsc::ds;

//===-- random_key --===//

LogicalResult RandomKeyOp::verify() {
  if (failed(expectRandomKey(*this, "X1", "result", getResult())))
    return failure();
  if (getPath().empty())
    return emitOpError("X2: the path is empty");
  return success();
}
ShardingRule RandomKeyOp::shardingRule() { return einsum(*this, {"", "", "", ""}, {"z"}, "z"); }

//===-- dropout --===//

LogicalResult DropoutOp::verify() {
  if (failed(expectRandomKey(*this, "X3", "key", getKey(), /*part=*/true)))
    return failure();
  if (getResult().getType() != getInput().getType())
    return emitOpError("X4: result is ")
           << getResult().getType() << ", expected " << getInput().getType();
  if (shapeOf(getInput()).empty())
    return emitOpError("X4: input has no dimension");
  double p = getP().convertToDouble();
  if (!(p >= 0 && p <= 1))
    return emitOpError("X5: p must lie in [0, 1], found ") << p;
  return success();
}
LogicalResult DropoutOp::buildBackward(OpBuilder &builder, ValueRange resultGradients,
                                       SmallVectorImpl<Value> &gradients) {
  gradients.push_back(DropoutOp::create(builder, getLoc(), getType(), resultGradients[0], getKey(),
                                        DSC_FAULT(42, getP(), llvm::APFloat(0.0))));
  gradients.push_back(Value()); // key
  return success();
}
SmallVector<Value> DropoutOp::savedValues() { return {getKey()}; }
// Comparison and product; the integer work of the generator is no FLOP.
int64_t DropoutOp::flops() { return 2 * elements(getResult()); }
int64_t DropoutOp::inPlaceOperand(unsigned) { return 0; }
ShardingRule DropoutOp::shardingRule() { return einsum(*this, {".", "z"}, {"."}, "z"); }

#define GET_OP_CLASSES
#include "dsc/Dialect/DS/Ops/Dropout.cpp.inc"
