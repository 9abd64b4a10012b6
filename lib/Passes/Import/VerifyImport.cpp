//===- VerifyImport.cpp - ds-verify-import ---------------------------------===//
// The contract of the import phase.
#include "dsc/Dialect/DS/DS.h"
#include "dsc/Passes/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <set>
#include <string>

namespace dsc {
#define GEN_PASS_DEF_DSVERIFYIMPORT
#include "dsc/Passes/Passes.h.inc"
} // namespace dsc

using namespace mlir;
using namespace dsc;

namespace {
struct VerifyImport : dsc::impl::DsVerifyImportBase<VerifyImport> {
  void runOnOperation() override {
    for (auto program : getOperation().getOps<func::FuncOp>()) {
      if (failed(verifySignature(program)) || failed(verifyOps(program)) ||
          failed(verifyReports(program)) || failed(verifyReads(program)))
        return signalPassFailure();
      ++programs;
    }
  }

  /// Programs that keep keys and values are no part of training.
  static bool generates(func::FuncOp program) {
    return llvm::is_contained({"prefill", "decode"}, program.getSymName());
  }

  static bool assignsCache(Operation *op) {
    auto assign = dyn_cast<ds::AssignOp>(op);
    auto variable =
        assign
            ? SymbolTable::lookupNearestSymbolFrom<ds::VariableOp>(assign, assign.getVariableAttr())
            : ds::VariableOp();
    return variable && variable.getRole() == ds::Role::Cache;
  }

  static LogicalResult verifySignature(func::FuncOp program) {
    if (!generates(program) &&
        !llvm::is_contained({"train", "evaluate", "logits"}, program.getSymName()))
      return program.emitOpError("I1: expected @train, @evaluate, @logits, @prefill or @decode");
    if (program.getNumResults() != 0)
      return program.emitOpError("I1: a program hands values out by ds.report and returns nothing");
    for (Type type : program.getArgumentTypes()) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (!tensor || !tensor.getElementType().isInteger(32) || tensor.getRank() < 1 ||
          tensor.getRank() > 2)
        return program.emitOpError("I1: arguments must be ids or labels, found ") << type;
    }
    return success();
  }

  static LogicalResult verifyOps(func::FuncOp program) {
    bool keeps = generates(program);
    WalkResult result = program.walk([keeps](Operation *op) {
      if (isa<ds::AssignOp, ds::GuardOp>(op) && !(keeps && assignsCache(op))) {
        op->emitOpError("I2: a forward program changes nothing");
        return WalkResult::interrupt();
      }
      bool computes = isa<ShardableOpInterface>(op);
      // Of labels, counters and seeds nothing has a gradient.
      if (computes && !keeps &&
          !isa<DifferentiableOpInterface, ds::CountOp, ds::LabelWeightsOp, ds::RandomKeyOp>(op)) {
        op->emitOpError("I3: is no part of a forward pass");
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }

  static LogicalResult verifyReports(func::FuncOp program) {
    std::set<std::string> reported;
    for (auto report : program.getOps<ds::ReportOp>())
      reported.insert(report.getName().str());
    SmallVector<StringRef> expected = {"loss", "tokens"};
    if (program.getSymName() == "prefill")
      expected = {};
    else if (program.getSymName() == "logits" || program.getSymName() == "decode")
      expected = {"logits"};
    for (StringRef name : expected)
      if (!reported.count(name.str()))
        return program.emitOpError("I4: no '") << name << "' is reported";
    return success();
  }

  LogicalResult verifyReads(func::FuncOp program) {
    std::set<std::string> read;
    program.walk([&](ds::ReadOp op) { read.insert(op.getVariable().str()); });
    for (auto variable : getOperation().getOps<ds::VariableOp>()) {
      if (variable.getRole() == ds::Role::Cache)
        continue; // only generation reads them
      if (variable.getRole() == ds::Role::StepState || variable.getRole() == ds::Role::Window)
        continue; // numbers of the step and the sample, which masks are drawn by
      if (variable.getRole() != ds::Role::Parameter)
        return variable.emitOpError("I5: optimizer state and counters come with training, found ")
               << stringifyRole(variable.getRole());
      if (!read.count(variable.getSymName().str()) && program.getSymName() != "prefill")
        return variable.emitOpError("I5: @") << program.getSymName() << " does not read it";
    }
    return success();
  }
};
} // namespace
