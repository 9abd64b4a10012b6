//===- ShardingRule.h - loops of an op and the maps of its tensors ---------===//
// Plain data behind ShardableOpInterface, and the einsum-like notation in which ops write it down.
#ifndef DSC_INTERFACES_SHARDINGRULE_H
#define DSC_INTERFACES_SHARDINGRULE_H

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <string>
#include <utility>

namespace dsc {

/// What cutting a loop costs: nothing, a sum over the parts, or a method of the op's own.
enum class LoopKind { Parallel, Sum, Generic };

struct ShardingLoop {
  std::string name; ///< unique within the rule: a letter of the notation, or "r0", "r1" for leading
                    ///< dimensions
  LoopKind kind;
  int64_t size; ///< iterations
};

struct ShardingRule {
  llvm::SmallVector<ShardingLoop> loops;
  llvm::SmallVector<mlir::AffineMap> operands, results; ///< loops to element indices, one a tensor
};

/// A part of a loop: what one of `parts` ranks does.
struct LoopPart {
  unsigned loop; ///< of the rule
  int64_t whole; ///< units of the loop, of which each rank has ceil(whole / parts)
  int64_t parts; ///< ranks
  /// Their coordinate, tensor<f64>, as the program of the op knows it.
  llvm::function_ref<mlir::Value()> rank;
  /// Sums values over the ranks, where the builder stands.
  llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::OpBuilder &, mlir::ValueRange)> reduce;
};

/// The rule of `op` in einsum notation, one string an operand and a result. A letter is a loop, `.`
/// stands for all leading dimensions, `(shc)` for one dimension that folds loops s, h, c (slowest
/// first; the sizes of all but the last come from `sizes`), "" for a scalar. Loops of a result are
/// parallel, the others sums; letters in `generic` are generic. Loops are ordered by first
/// appearance, results before operands.
///     einsum(op, {".k", "kn", "n"}, {".n"})          result = input * weight + bias
ShardingRule einsum(mlir::Operation *op, llvm::ArrayRef<llvm::StringRef> operands,
                    llvm::ArrayRef<llvm::StringRef> results, llvm::StringRef generic = "",
                    llvm::ArrayRef<std::pair<char, int64_t>> sizes = {});

/// The rule of an op on scalars: no loops.
ShardingRule scalarRule(mlir::Operation *op);

} // namespace dsc

#endif // DSC_INTERFACES_SHARDINGRULE_H
