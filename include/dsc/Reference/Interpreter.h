//===- Interpreter.h - runs ds IR in float64 -------------------------------===//
// The judge of everything else: what a program of the ds dialect means, computed without rounding
// to f32, tiling or reordering. A result of type f16 or bf16 is rounded to it, from float64 at
// once. Values are dropped after their last use.
#ifndef DSC_REFERENCE_INTERPRETER_H
#define DSC_REFERENCE_INTERPRETER_H

#include "dsc/Reference/Table.h"
#include "mlir/IR/BuiltinOps.h"
#include <map>
#include <string>

namespace dsc::reference {

/// Rounds elements to f16 or bf16 if that is the element type of `type`; else leaves them.
void roundToType(Tensor &tensor, mlir::Type type);

/// How one execution of a program ended.
struct Outcome {
  enum class End {
    Finished, ///< ran to its return
    Empty,    ///< a guard found nothing counted: no variable was changed
    Overflow, ///< as Numeric, but the program skips such a step: only step state was changed
    Numeric,  ///< a guard found a loss or norm that is not finite: no variable was changed
  };
  End end = End::Finished;
  /// What `ds.report` named, up to the end.
  std::map<std::string, Tensor> reports;
  /// Operands of func.return, if the program finished.
  std::vector<Tensor> results;
  /// Where a value was first not finite ("ds.linear in block h.3"); empty if none was.
  std::string firstNonFinite;
};

class Interpreter {
public:
  /// Variables start as their initialiser says: zeros or ones; `normal` ones are zeros until set.
  explicit Interpreter(mlir::ModuleOp module);

  /// Variables by name, across runs; never null. A run replaces tensors, it never changes one.
  std::map<std::string, std::shared_ptr<const Tensor>> variables;
  /// Hyper-parameters by path.
  std::map<std::string, double> hyperparameters;

  /// Runs the function `name` on its arguments in order. Fails, with a diagnostic at the op, on an
  /// unknown function or op, arguments of another shape, or ids out of range; variables may then be
  /// half assigned.
  mlir::FailureOr<Outcome> run(llvm::StringRef name, std::vector<Tensor> arguments);

  /// Runs one training step: the programs of `ds.schedule` in order, each on its rows of the window
  /// (all inputs are [batch, length], `positionIds` for programs that take them); `train` alone
  /// where there is no schedule.
  mlir::FailureOr<Outcome> runStep(Tensor tokens, Tensor labels, Tensor positionIds = {});

  /// Most bytes of values alive at once (variables aside) in all runs so far.
  int64_t peakBytes() const { return peak; }

private:
  using Shared = std::shared_ptr<const Tensor>;
  enum class Flow { Next, Stop, Error };

  Flow runBlock(mlir::Block &block, Outcome &outcome);
  Flow runOp(mlir::Operation *op, Outcome &outcome);
  void define(mlir::Value value, Shared tensor);
  /// The value of operand `value`; the last use frees it.
  Shared use(mlir::Value value);
  void noteNonFinite(mlir::Operation *op, const Tensor &tensor, Outcome &outcome);

  struct Live {
    Shared tensor;
    int64_t usesLeft;
  };
  mlir::ModuleOp module;
  llvm::DenseMap<mlir::Value, Live> live;
  int64_t bytes = 0, peak = 0;
};

} // namespace dsc::reference

#endif // DSC_REFERENCE_INTERPRETER_H
