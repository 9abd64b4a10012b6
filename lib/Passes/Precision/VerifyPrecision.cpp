//===- VerifyPrecision.cpp - ds-verify-precision ---------------------------===//
// The contract of the precision phase; lowering relies on it without looking again.
#include "dsc/Dialect/DS/DS.h"
#include "dsc/Interfaces/Interfaces.h"
#include "dsc/Passes/Passes.h"
#include "dsc/Passes/PrecisionPolicy.h"
#include "dsc/Plan/Plan.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <map>

namespace dsc {
#define GEN_PASS_DEF_DSVERIFYPRECISION
#include "dsc/Passes/Passes.h.inc"
} // namespace dsc

using namespace mlir;
using namespace dsc;

namespace {
struct VerifyPrecision : dsc::impl::DsVerifyPrecisionBase<VerifyPrecision> {
  void runOnOperation() override {
    half = Type();
    WalkResult result = getOperation().walk([&](Operation *op) {
      return failed(verifyOp(op)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (result.wasInterrupted() || failed(verifyCopies()))
      signalPassFailure();
  }

  static Type elementOf(Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor ? tensor.getElementType() : Type();
  }

  LogicalResult verifyOneHalf(Operation *op, Type type) {
    Type element = elementOf(type);
    if (!element || (!element.isF16() && !element.isBF16()))
      return success();
    if (half && half != element)
      return op->emitOpError("Y1: holds ") << element << ", others hold " << half;
    half = element;
    return success();
  }

  LogicalResult verifyStorage(Operation *op, const Twine &what, Type type, Storage storage) {
    Type element = elementOf(type);
    if (!element || element.isF64() || element.isInteger())
      return success();
    ++checked;
    bool narrow = element.isF16() || element.isBF16();
    if ((storage == Storage::Half && !narrow) || (storage == Storage::Wide && narrow))
      return op->emitOpError("Y2: ") << what << " is " << element << ", the policy says "
                                     << (storage == Storage::Half ? "two bytes" : "f32");
    return success();
  }

  LogicalResult verifyOp(Operation *op) {
    for (Type type : op->getResultTypes())
      if (failed(verifyOneHalf(op, type)))
        return failure();
    if (auto variable = dyn_cast<ds::VariableOp>(op))
      return verifyOneHalf(op, variable.getType());
    if (!isa<ShardableOpInterface>(op))
      return success();
    for (OpOperand &operand : op->getOpOperands())
      if (failed(verifyStorage(op, "operand " + Twine(operand.getOperandNumber()),
                               operand.get().getType(), storageOf(operand))))
        return failure();
    for (OpResult result : op->getResults())
      if (failed(verifyStorage(op, "result " + Twine(result.getResultNumber()), result.getType(),
                               storageOf(result))))
        return failure();
    return success();
  }

  LogicalResult verifyCopies() {
    for (auto copy : getOperation().getOps<ds::VariableOp>()) {
      if (copy.getRole() != ds::Role::WorkingCopy)
        continue;
      StringRef name = copy.getSymName();
      if (!name.consume_front(plan::workingCopyPrefix))
        return copy.emitOpError("Y3: a working copy is named half.<parameter>");
      auto parameter = getOperation().lookupSymbol<ds::VariableOp>(name);
      if (!parameter || parameter.getRole() != ds::Role::Parameter)
        return copy.emitOpError("Y3: '") << name << "' is no parameter";
      auto own = cast<RankedTensorType>(copy.getType());
      if (parameter.getType() !=
          RankedTensorType::get(own.getShape(), Float32Type::get(&getContext())))
        return copy.emitOpError("Y3: is ") << own << ", the parameter is " << parameter.getType();
      for (auto program : getOperation().getOps<func::FuncOp>())
        if (failed(verifyAssignments(program, name, copy.getSymName())))
          return failure();
    }
    return success();
  }

  static LogicalResult verifyAssignments(func::FuncOp program, StringRef parameter,
                                         StringRef copy) {
    int64_t parameters = 0, copies = 0;
    program.walk([&](ds::AssignOp assign) {
      parameters += assign.getVariable() == parameter;
      copies += assign.getVariable() == copy;
    });
    if (parameters == copies && copies <= 1)
      return success();
    return program.emitOpError("Y4: assigns '") << parameter << "' " << parameters << " times and '"
                                                << copy << "' " << copies << " times";
  }

  Type half;
};
} // namespace
