//===- VerifyTraining.cpp - ds-verify-training -----------------------------===//
// The contract of the training phase; lowering relies on it without looking again.
#include "StepProgram.h"
#include "dsc/Passes/Passes.h"

namespace dsc {
#define GEN_PASS_DEF_DSVERIFYTRAINING
#include "dsc/Passes/Passes.h.inc"
} // namespace dsc

using namespace mlir;
using namespace dsc;

namespace {
struct VerifyTraining : dsc::impl::DsVerifyTrainingBase<VerifyTraining> {
  void runOnOperation() override {
    func::FuncOp step = findStep(getOperation());
    for (auto program : getOperation().getOps<func::FuncOp>())
      if (failed(program == step ? verifyStep(program) : verifyOther(program)))
        return signalPassFailure();
  }

  ds::Role roleOf(ds::AssignOp assign) {
    return getOperation().lookupSymbol<ds::VariableOp>(assign.getVariable()).getRole();
  }

  /// Other programs of a step may pass values on within it, and nothing more.
  LogicalResult verifyOther(func::FuncOp program) {
    WalkResult result = program.walk([&](Operation *op) {
      auto assign = dyn_cast<ds::AssignOp>(op);
      if (!isa<ds::GuardOp>(op) &&
          (!assign || roleOf(assign) == ds::Role::Window || roleOf(assign) == ds::Role::Cache))
        return WalkResult::advance();
      op->emitOpError("W5: stands outside @train");
      return WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  }

  LogicalResult verifyStep(func::FuncOp program) {
    for (StringRef name : {"loss", "tokens", "grad_norm", "learning_rate"})
      if (!findReport(program, name))
        return program.emitOpError("W1: no '") << name << "' is reported";
    if (failed(verifyGradients(program)) || failed(verifyAssignments(program)))
      return failure();
    return verifyGuard(program);
  }

  LogicalResult verifyGradients(func::FuncOp program) {
    std::map<std::string, Value> gradients = reportedGradients(program);
    for (auto variable : getOperation().getOps<ds::VariableOp>()) {
      if (variable.getRole() != ds::Role::Parameter || variable.getFrozen())
        continue;
      auto found = gradients.find(variable.getSymName().str());
      if (found == gradients.end())
        return variable.emitOpError("W2: its gradient is not reported");
      if (found->second.getType() != variable.getType())
        return variable.emitOpError("W2: its gradient is ")
               << found->second.getType() << ", the parameter is " << variable.getType();
      gradients.erase(found);
    }
    if (!gradients.empty())
      return program.emitOpError("W2: '")
             << gradients.begin()->first << "' has a gradient and is no parameter that is trained";
    return success();
  }

  LogicalResult verifyAssignments(func::FuncOp program) {
    std::map<std::string, int64_t> counts;
    program.walk([&](ds::AssignOp assign) { ++counts[assign.getVariable().str()]; });
    for (auto variable : getOperation().getOps<ds::VariableOp>()) {
      if (variable.getRole() == ds::Role::Window || variable.getRole() == ds::Role::Cache)
        continue; // theirs are the other programs
      int64_t count = counts[variable.getSymName().str()], expected = variable.getFrozen() ? 0 : 1;
      if (count != expected)
        return variable.emitOpError("W3: assigned ")
               << count << " times in @train, expected " << (expected ? "once" : "never");
      ++assignments;
    }
    return success();
  }

  static LogicalResult verifyGuard(func::FuncOp program) {
    ds::GuardOp guard;
    for (Operation &op : program.getBody().front()) {
      if (auto found = dyn_cast<ds::GuardOp>(op)) {
        if (guard)
          return found.emitOpError("W4: a second guard");
        guard = found;
      }
      if (isa<ds::ReportOp>(op) && guard)
        return op.emitOpError("W4: stands after the guard");
    }
    if (!guard)
      return program.emitOpError("W4: no guard");
    return success();
  }
};
} // namespace
