//===- OptimizerInsertion.h - what ds-insert-optimizer builds with ---------===//
// One object a run of the pass. Reading the step and laying it out is in InsertOptimizer.cpp, the
// update of one parameter by each optimizer in OptimizerUpdates.cpp.
#ifndef DSC_LIB_PASSES_TRAINING_OPTIMIZERINSERTION_H
#define DSC_LIB_PASSES_TRAINING_OPTIMIZERINSERTION_H

#include "dsc/Dialect/DS/Schedules.h"
#include "dsc/Frontend/Spec.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <map>

namespace dsc {

/// What the updates of one group of parameters share.
struct OptimizerGroup {
  mlir::Value rate, decay;
};

class OptimizerInsertion {
public:
  OptimizerInsertion(mlir::ModuleOp module, mlir::func::FuncOp program, OptimizerKind kind,
                     ds::Schedule schedule, bool linearWarmup, bool decoupled, bool nesterov)
      : module(module), program(program), kind(kind), schedule(schedule),
        linearWarmup(linearWarmup), decoupled(decoupled), nesterov(nesterov),
        builder(program.getBody().front().getTerminator()),
        scalar(mlir::RankedTensorType::get({}, builder.getF64Type())) {}

  mlir::LogicalResult run();

  int64_t parameters = 0, stateBytes = 0;

private:
  using Group = OptimizerGroup;
  mlir::LogicalResult findStepValues();
  mlir::LogicalResult readHyperparameters();
  mlir::FailureOr<mlir::Value> hyperparameter(llvm::StringRef path);
  /// At the optimizer of the spec, where that is known.
  mlir::Location named(const llvm::Twine &name) {
    auto rate = module.lookupSymbol<ds::HyperparameterOp>("train.optimizer.params.lr");
    return mlir::NameLoc::get(builder.getStringAttr(name), rate ? rate.getLoc() : program.getLoc());
  }
  /// Declares `name` after the variables so far and reads it.
  mlir::Value state(const llvm::Twine &name, mlir::RankedTensorType type, ds::Role role);
  void assign(llvm::StringRef name, mlir::Value value, mlir::Location loc) {
    ds::AssignOp::create(builder, loc, name, value);
  }
  void findGroups();
  mlir::Value readIfDeclared(const llvm::Twine &path);
  void update(ds::VariableOp parameter, mlir::Value weight, mlir::Value gradient);
  void updateSgd(llvm::StringRef name, mlir::Value weight, mlir::Value gradient, Group group,
                 mlir::Location loc);
  void updateAdam(llvm::StringRef name, mlir::Value weight, mlir::Value gradient, Group group,
                  mlir::Location loc);
  void updateLion(llvm::StringRef name, mlir::Value weight, mlir::Value gradient, Group group,
                  mlir::Location loc);
  void updateLamb(llvm::StringRef name, mlir::Value weight, mlir::Value gradient, Group group,
                  mlir::Location loc);
  void updateAdafactor(llvm::StringRef name, mlir::Value weight, mlir::Value gradient, Group group,
                       mlir::Location loc);
  mlir::Value norm2(mlir::Value tensor, mlir::Location loc);
  void advanceSteps();

  mlir::ModuleOp module;
  mlir::func::FuncOp program;
  OptimizerKind kind;
  ds::Schedule schedule;
  bool linearWarmup, decoupled, nesterov;
  mlir::OpBuilder builder;
  mlir::RankedTensorType scalar;
  mlir::Operation *lastVariable = nullptr;
  std::map<std::string, mlir::Value> gradients;
  llvm::StringMap<mlir::Value> weights; // reads of parameters that the forward pass made
  mlir::Value loss, count, norm, clip, updates, peak, floor, warmup, total, extra, rate;
  mlir::Value exponent, toward, leastRms, mostRms; // of Adafactor
  mlir::Value beta1, beta2, eps, momentum, decay, leastRatio, mostRatio, valueLimit;
  std::map<int64_t, Group> groups;
};

} // namespace dsc

#endif // DSC_LIB_PASSES_TRAINING_OPTIMIZERINSERTION_H
