//===- Communication.cpp - verifiers of Ops/Communication.td ---------------===//
#include "ShapeChecks.h"

using namespace mlir;
using namespace dsc;
using namespace dsc::ds;

/// CO1 of the ops on lists.
static LogicalResult verifyList(Operation *op) {
  if (op->getNumOperands() == 0)
    return op->emitOpError("CO1: there is no input");
  for (auto [index, input, result] :
       llvm::enumerate(op->getOperandTypes(), op->getResultTypes()))
    if (input != result)
      return op->emitOpError("CO1: result ") << index << " is " << result << ", the input is " << input;
  if (op->getNumOperands() != op->getNumResults())
    return op->emitOpError("CO1: ") << op->getNumOperands() << " inputs, " << op->getNumResults()
                                    << " results";
  return success();
}

static LogicalResult verifyBlock(Operation *op, int64_t block) {
  if (block < 1)
    return op->emitOpError("CO2: block must be positive, found ") << block;
  return verifyList(op);
}

static LogicalResult verifyMessage(Operation *op, int64_t stage, int64_t channel) {
  if (stage < 0 || channel < 0)
    return op->emitOpError("CO3: stage ") << stage << " and channel " << channel
                                          << " must not be negative";
  return success();
}

void AllReduceOp::build(OpBuilder &builder, OperationState &state, Axis axis, ValueRange inputs) {
  build(builder, state, inputs.getTypes(), axis, inputs);
}
LogicalResult AllReduceOp::verify() { return verifyList(*this); }
int64_t AllReduceOp::inPlaceOperand(unsigned result) { return result; }
bool AllReduceOp::mustAlias(unsigned) { return true; }

void ReduceScatterOp::build(OpBuilder &builder, OperationState &state, Axis axis,
                            ValueRange inputs, int64_t block) {
  build(builder, state, inputs.getTypes(), axis, inputs, block);
}
LogicalResult ReduceScatterOp::verify() { return verifyBlock(*this, getBlock()); }
int64_t ReduceScatterOp::inPlaceOperand(unsigned result) { return result; }
bool ReduceScatterOp::mustAlias(unsigned) { return true; }

void AllGatherOp::build(OpBuilder &builder, OperationState &state, Axis axis, ValueRange inputs,
                        int64_t block) {
  build(builder, state, inputs.getTypes(), axis, inputs, block);
}
LogicalResult AllGatherOp::verify() { return verifyBlock(*this, getBlock()); }
int64_t AllGatherOp::inPlaceOperand(unsigned result) { return result; }
bool AllGatherOp::mustAlias(unsigned) { return true; }

LogicalResult SendOp::verify() { return verifyMessage(*this, getStage(), getChannel()); }
LogicalResult ReceiveOp::verify() { return verifyMessage(*this, getStage(), getChannel()); }

#define GET_OP_CLASSES
#include "dsc/Dialect/DS/Ops/Communication.cpp.inc"
