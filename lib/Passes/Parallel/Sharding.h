//===- Sharding.h - which dimension of which value is cut over an axis -----===//
// Propagation on the loops of ops: a cut of one dimension is a cut of a loop, and that of every
// other tensor that the loop walks. Names of ops play no part.
#ifndef DSC_LIB_PASSES_PARALLEL_SHARDING_H
#define DSC_LIB_PASSES_PARALLEL_SHARDING_H

#include "dsc/Dialect/DS/DS.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include <map>
#include <optional>
#include <string>

namespace dsc {

/// A dimension seen as [outer, count, inner]: each of N ranks has ceil(count / N) of the middle.
struct Cut {
  unsigned dimension;
  int64_t outer, count, inner;
  bool operator==(const Cut &) const = default;
};

/// The same of a loop.
struct LoopCut {
  unsigned loop;
  int64_t outer, count, inner;
  bool operator==(const LoopCut &) const = default;
};

/// Loops that make up a dimension, slowest first.
llvm::SmallVector<unsigned> loopsOfDimension(const ShardingRule &rule, mlir::AffineMap map,
                                             unsigned dimension);
/// What a cut of the tensor with this map is to the loops; none if it cuts across them.
std::optional<LoopCut> loopCutOf(const ShardingRule &rule, mlir::AffineMap map, const Cut &cut);
/// What a cut of a loop is to the tensor with this map; none if it is needed whole.
std::optional<Cut> cutOf(const ShardingRule &rule, mlir::AffineMap map, const LoopCut &cut);
/// Type and shape of the part of one of `parts` ranks.
mlir::RankedTensorType partType(mlir::RankedTensorType whole, const Cut &cut, int64_t parts);

/// The cut of a variable and who asked for it.
struct VariableCut {
  Cut cut;
  std::string why;
};

/// Cuts of everything that the programs of a step name, along one axis.
class Shardings {
public:
  explicit Shardings(llvm::ArrayRef<mlir::func::FuncOp> programs);

  /// Cuts `value` and all that follows from it, on behalf of `why`. If anything cannot be cut,
  /// nothing is, and the reason is returned; otherwise "".
  std::string cut(mlir::Value value, const Cut &cut, llvm::StringRef why);

  std::optional<Cut> cutOfValue(mlir::Value value) const;
  const VariableCut *variable(llvm::StringRef name) const;
  const std::map<std::string, VariableCut> &variables() const { return variableCuts; }
  /// In the order in which they were reached.
  const llvm::MapVector<mlir::Operation *, LoopCut> &ops() const { return loops; }
  const llvm::MapVector<mlir::Value, Cut> &values() const { return cuts; }
  /// What is assigned to a variable in the programs, and what is read from it.
  llvm::ArrayRef<mlir::Value> assignedTo(llvm::StringRef variable) const;

private:
  std::string assign(mlir::Value value, const Cut &cut);
  std::string assignVariable(llvm::StringRef name, const Cut &cut);
  std::string spread(mlir::Value value, const Cut &cut);
  std::string visit(mlir::Operation *op, mlir::Value value, const Cut &cut);
  void undo(size_t values, size_t ops, llvm::ArrayRef<std::string> variables);

  struct Uses {
    llvm::SmallVector<mlir::Value> read, assigned;
  };
  std::map<std::string, Uses> uses;
  llvm::MapVector<mlir::Value, Cut> cuts;
  llvm::MapVector<mlir::Operation *, LoopCut> loops;
  std::map<std::string, VariableCut> variableCuts;
  llvm::SmallVector<mlir::Value> work;
  llvm::SmallVector<std::string> added;
  std::string cause;
};

} // namespace dsc

#endif // DSC_LIB_PASSES_PARALLEL_SHARDING_H
