//===- ShardingRule.cpp - reads the einsum notation of sharding rules ------===//
// The notation is written by ops, never by users: a mistake in it is our bug and ends the program.
#include "dsc/Interfaces/ShardingRule.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;
using namespace dsc;

namespace {
/// Collects loops while the dimensions of one tensor after another are read.
class RuleBuilder {
public:
  RuleBuilder(Operation *op, StringRef generic, ArrayRef<std::pair<char, int64_t>> sizes)
      : op(op), generic(generic), sizes(sizes) {}

  AffineMap tensor(StringRef notation, Type type, bool result) {
    ArrayRef<int64_t> shape = cast<RankedTensorType>(type).getShape();
    SmallVector<SmallVector<unsigned>> folded; // loops of each dimension
    size_t fixed = 0;
    for (size_t i = 0; i < notation.size(); ++i) {
      if (notation[i] == '.')
        continue;
      if (notation[i] == '(')
        i = notation.find(')', i);
      ++fixed;
    }
    if (fixed > shape.size())
      llvm::report_fatal_error("sharding rule has more dimensions than its tensor");
    size_t dimension = 0;
    for (size_t i = 0; i < notation.size(); ++i) {
      if (notation[i] == '.') {
        for (size_t lead = 0, n = shape.size() - fixed; lead < n; ++lead)
          folded.push_back({loop("r" + std::to_string(lead), 0, shape[dimension++], result)});
      } else if (notation[i] == '(') {
        folded.emplace_back();
        int64_t rest = shape[dimension++];
        for (++i; notation[i] != ')'; ++i) {
          int64_t size = notation[i + 1] == ')' ? rest : sizeOf(notation[i]);
          rest /= std::max<int64_t>(size, 1);
          folded.back().push_back(loop(std::string(1, notation[i]), notation[i], size, result));
        }
      } else {
        folded.push_back(
            {loop(std::string(1, notation[i]), notation[i], shape[dimension++], result)});
      }
    }
    if (folded.size() != shape.size())
      llvm::report_fatal_error("sharding rule has fewer dimensions than its tensor");
    SmallVector<AffineExpr> indices;
    for (ArrayRef<unsigned> loopsOfDimension : folded) {
      AffineExpr index = getAffineConstantExpr(0, op->getContext());
      int64_t stride = 1;
      for (unsigned id : llvm::reverse(loopsOfDimension)) {
        index = getAffineDimExpr(id, op->getContext()) * stride + index;
        stride *= rule.loops[id].size;
      }
      indices.push_back(index);
    }
    // The number of loops is known only at the end: finish() rebuilds the maps.
    return AffineMap::get(64, 0, indices, op->getContext());
  }

  AffineMap finish(AffineMap map) const {
    return AffineMap::get(rule.loops.size(), 0, map.getResults(), op->getContext());
  }

  ShardingRule rule;

private:
  unsigned loop(std::string name, char letter, int64_t size, bool result) {
    for (auto [id, known] : llvm::enumerate(rule.loops))
      if (known.name == name)
        return id;
    LoopKind kind = result ? LoopKind::Parallel : LoopKind::Sum;
    if (letter && generic.contains(letter))
      kind = LoopKind::Generic;
    rule.loops.push_back({std::move(name), kind, size});
    return rule.loops.size() - 1;
  }

  int64_t sizeOf(char letter) const {
    for (auto [known, size] : sizes)
      if (known == letter)
        return size;
    llvm::report_fatal_error("sharding rule folds a loop of unknown size");
  }

  Operation *op;
  StringRef generic;
  ArrayRef<std::pair<char, int64_t>> sizes;
};
} // namespace

ShardingRule dsc::einsum(Operation *op, ArrayRef<StringRef> operands, ArrayRef<StringRef> results,
                         StringRef generic, ArrayRef<std::pair<char, int64_t>> sizes) {
  if (operands.size() != op->getNumOperands() || results.size() != op->getNumResults())
    llvm::report_fatal_error("sharding rule does not name every tensor of its op");
  RuleBuilder builder(op, generic, sizes);
  for (auto [notation, type] : llvm::zip_equal(results, op->getResultTypes()))
    builder.rule.results.push_back(builder.tensor(notation, type, /*result=*/true));
  for (auto [notation, type] : llvm::zip_equal(operands, op->getOperandTypes()))
    builder.rule.operands.push_back(builder.tensor(notation, type, /*result=*/false));
  for (AffineMap &map : builder.rule.results)
    map = builder.finish(map);
  for (AffineMap &map : builder.rule.operands)
    map = builder.finish(map);
  return std::move(builder.rule);
}

ShardingRule dsc::scalarRule(Operation *op) {
  SmallVector<StringRef> operands(op->getNumOperands(), ""), results(op->getNumResults(), "");
  return einsum(op, operands, results);
}
