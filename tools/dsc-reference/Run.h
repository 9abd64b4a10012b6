//===- Run.h - a training run in float64 -----------------------------------===//
// The same spec, data, start weights, log and exit codes as dsc and dsrun; what computes is the
// interpreter.
#ifndef DSC_TOOLS_DSC_REFERENCE_RUN_H
#define DSC_TOOLS_DSC_REFERENCE_RUN_H

#include "dsc/Frontend/Spec.h"
#include "dsc/Reference/Interpreter.h"
#include "dsc/Runtime/Checkpoint/HuggingFace.h"
#include "dsc/Runtime/Data/BatchStream.h"
#include "dsc/Runtime/Monitor/Evaluation.h"
#include "dsc/Support/StateChange.h"
#include "mlir/IR/BuiltinOps.h"
#include <optional>
#include <string>

namespace dsc {

struct ReferenceOptions {
  int64_t steps = -1; ///< -1: as the spec says
  std::string log, save, weights;
  std::vector<std::string> setState; ///< NAME=VALUE@STEP
};

/// From now on SIGINT and SIGTERM end the run after the running step; a second one ends it at once.
void noteSignals();
/// The signal that came, or 0.
int signalCaught();

class ReferenceRun {
public:
  /// `module` holds what the training passes left: @train and, with validation data, @evaluate.
  ReferenceRun(const Spec &spec, mlir::ModuleOp module, const ReferenceOptions &options)
      : spec(spec), options(options), module(module), interpreter(module) {}

  /// Trains, logs, evaluates, saves. Code Numeric when loss or norm is not finite, after saving the
  /// weights of the last good step.
  Status train();
  /// Loss over the validation data, printed.
  Status evaluate();

private:
  Status openData();
  Status startWeights(const std::string &fallback);
  Status load(const std::string &folder);
  void initialise();
  /// Rounds parameters to their two-byte copies, as dsrun does when weights come from outside a
  /// step.
  void refreshWorkingCopies();
  Status step(int64_t number, class StepLog *log, class Progress &progress);
  Status readStateChanges();
  Status stopNumeric(int64_t number, const reference::Outcome &outcome);
  /// Over at most `evaluation.batches` batches; absent if nothing counts or a signal came.
  StatusOr<std::optional<EvaluationSum>> validationLoss();
  Status save();
  int64_t updates() const;
  std::vector<std::string> parameters();

  const Spec &spec;
  const ReferenceOptions &options;
  mlir::ModuleOp module;
  reference::Interpreter interpreter;
  DataConfig config;
  std::unique_ptr<BatchStream> stream;
  std::optional<BatchRamp> ramp;
  std::unique_ptr<EvaluationStream> validation;
  std::optional<WeightSource> source;
  std::vector<StateChange> stateChanges;
  int64_t steps = 0;
  int64_t validationBatches = 0;
  EarlyStopping stopping{0, 0};
};

/// Checks the gradient of every differentiable op of the forward pass `program` against central
/// differences, once for each set of shapes and attributes; prints a line each. False if one is off
/// by more than 1e-6.
bool checkGradients(mlir::ModuleOp module, llvm::StringRef program);

} // namespace dsc

#endif // DSC_TOOLS_DSC_REFERENCE_RUN_H
