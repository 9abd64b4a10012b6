//===- MegatronRule.cpp - what tensor parallelism cuts ---------------------===//
// Shoeybi et al., "Megatron-LM: training multi-billion parameter language models using model
// parallelism" (2019), found by structure: where a product sums over what another product has made,
// and everything between them is parallel in that dimension, the first is cut by columns and the
// second by rows, and one sum over the ranks behind the second is all that crosses. The head and
// its backward pass are such a pair, too: that cut is the vocabulary's.
#include "MegatronRule.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace dsc;

/// The parameter (or its copy in two bytes) that `value` is, or "".
static StringRef parameterOf(Value value, ModuleOp module) {
  while (auto cast = value.getDefiningOp<ds::CastOp>())
    value = cast.getInput();
  auto read = value.getDefiningOp<ds::ReadOp>();
  if (!read)
    return "";
  auto variable = module.lookupSymbol<ds::VariableOp>(read.getVariable());
  bool parameter = variable && (variable.getRole() == ds::Role::Parameter ||
                                variable.getRole() == ds::Role::WorkingCopy);
  return parameter ? read.getVariable() : "";
}

namespace {
/// One product: the operand that is a parameter, among those that a loop walks.
struct Weight {
  Value value;
  AffineMap map;
  StringRef name;
};

enum class Traced { Found, Refined, No };

class Search {
public:
  Search(ModuleOp module, Shardings &shardings, int64_t parts)
      : module(module), shardings(shardings), parts(parts) {}

  void products(func::FuncOp program);
  void lookUps(func::FuncOp program);

private:
  std::optional<Weight> weight(ShardableOpInterface op, const ShardingRule &rule, unsigned loop);
  Traced trace(Value value, Cut &cut);
  Traced traceOp(Operation *op, Value value, Cut &cut);
  void pair(Weight second, Value between, unsigned dimension);

  ModuleOp module;
  Shardings &shardings;
  int64_t parts;
  Cut refined{};
  SmallVector<std::pair<Weight, Cut>> firsts; ///< weights of first products, as they would be cut
  llvm::SmallPtrSet<Value, 16> seen;
};
} // namespace

std::optional<Weight> Search::weight(ShardableOpInterface op, const ShardingRule &rule,
                                     unsigned loop) {
  for (auto [value, map] : llvm::zip_equal(op->getOperands(), rule.operands))
    if (map.getNumResults() > 1 && map.isFunctionOfDim(loop))
      if (StringRef name = parameterOf(value, module); !name.empty())
        return Weight{value, map, name};
  return std::nullopt;
}

/// Follows a cut of `value` up to the products that make it. A dimension that turns out to be
/// folded gives a coarser cut, with which to start again.
Traced Search::trace(Value value, Cut &cut) {
  if (!seen.insert(value).second)
    return Traced::Found;
  Operation *op = value.getDefiningOp();
  if (!op)
    return Traced::No;
  unsigned index = cast<OpResult>(value).getResultNumber();
  if (auto block = dyn_cast<ds::BlockOp>(op))
    return trace(block.getYield().getValues()[index], cut);
  if (auto read = dyn_cast<ds::ReadOp>(op)) {
    // What the forward pass of another program has left.
    auto variable = module.lookupSymbol<ds::VariableOp>(read.getVariable());
    if (!variable || variable.getRole() != ds::Role::Stash)
      return Traced::No;
    for (Value assigned : shardings.assignedTo(read.getVariable()))
      if (Traced result = trace(assigned, cut); result != Traced::Found)
        return result;
    return Traced::Found;
  }
  return traceOp(op, value, cut);
}

Traced Search::traceOp(Operation *op, Value value, Cut &cut) {
  auto shardable = dyn_cast<ShardableOpInterface>(op);
  if (!shardable)
    return Traced::No;
  ShardingRule rule = shardable.shardingRule();
  AffineMap map = rule.results[cast<OpResult>(value).getResultNumber()];
  std::optional<LoopCut> loop = loopCutOf(rule, map, cut);
  SmallVector<unsigned> folded = loopsOfDimension(rule, map, cut.dimension);
  if (!loop || (folded.size() == 1 && rule.loops[loop->loop].kind != LoopKind::Parallel)) {
    for (unsigned inner : folded) {
      if (folded.size() < 2 || rule.loops[inner].kind != LoopKind::Parallel)
        continue;
      refined = *cutOf(rule, map, {inner, 1, rule.loops[inner].size, 1});
      return Traced::Refined;
    }
    return Traced::No;
  }
  if (rule.loops[loop->loop].kind != LoopKind::Parallel)
    return Traced::No;
  bool sums =
      llvm::any_of(rule.loops, [](const ShardingLoop &l) { return l.kind == LoopKind::Sum; });
  if (sums)
    if (std::optional<Weight> first = weight(shardable, rule, loop->loop)) {
      firsts.push_back({*first, *cutOf(rule, first->map, *loop)});
      return Traced::Found;
    }
  bool any = false;
  for (auto [operand, operandMap] : llvm::zip_equal(op->getOperands(), rule.operands)) {
    std::optional<Cut> above = cutOf(rule, operandMap, *loop);
    if (!above || !parameterOf(operand, module).empty())
      continue;
    Traced result = trace(operand, *above);
    if (result == Traced::No)
      return result;
    if (result == Traced::Refined) {
      // In terms of this op's result.
      std::optional<LoopCut> inner = loopCutOf(rule, operandMap, refined);
      std::optional<Cut> here = inner ? cutOf(rule, map, *inner) : std::nullopt;
      if (!here)
        return Traced::No;
      refined = *here;
      return result;
    }
    any = true;
  }
  return any ? Traced::Found : Traced::No;
}

/// A product that sums over `dimension` of `between`.
void Search::pair(Weight second, Value between, unsigned dimension) {
  auto type = cast<RankedTensorType>(between.getType());
  Cut cut{dimension, 1, type.getDimSize(dimension), 1};
  Traced result = Traced::No;
  for (int attempt = 0; attempt < 2; ++attempt) {
    firsts.clear();
    seen.clear();
    result = trace(between, cut);
    if (result != Traced::Refined)
      break;
    cut = refined;
  }
  if (result != Traced::Found || firsts.empty() || cut.count < parts ||
      shardings.cutOfValue(between))
    return;
  StringRef first = firsts.front().first.name;
  std::string why = first == second.name
                        ? "vocabulary of the head: logits stay where they are"
                        : "columns of " + first.str() + ", rows of " + second.name.str();
  (void)shardings.cut(between, cut, why);
}

void Search::products(func::FuncOp program) {
  program->walk([&](ShardableOpInterface op) {
    ShardingRule rule = op.shardingRule();
    for (unsigned loop = 0; loop < rule.loops.size(); ++loop) {
      if (rule.loops[loop].kind != LoopKind::Sum)
        continue;
      std::optional<Weight> second = weight(op, rule, loop);
      if (!second)
        continue;
      for (auto [value, map] : llvm::zip_equal(op->getOperands(), rule.operands)) {
        if (value == second->value)
          continue;
        if (std::optional<Cut> whole = cutOf(rule, map, {loop, 1, rule.loops[loop].size, 1}))
          pair(*second, value, whole->dimension);
      }
    }
  });
}

/// Tables of which an op sums rows that nothing else walks: it looks them up.
void Search::lookUps(func::FuncOp program) {
  program->walk([&](ShardableOpInterface op) {
    ShardingRule rule = op.shardingRule();
    for (unsigned loop = 0; loop < rule.loops.size(); ++loop) {
      if (rule.loops[loop].kind != LoopKind::Sum || rule.loops[loop].size < parts)
        continue;
      std::optional<Weight> table = weight(op, rule, loop);
      unsigned walkers =
          llvm::count_if(rule.operands, [&](AffineMap map) { return map.isFunctionOfDim(loop); });
      if (!table || walkers != 1 || shardings.cutOfValue(table->value))
        continue;
      (void)shardings.cut(table->value,
                          *cutOf(rule, table->map, {loop, 1, rule.loops[loop].size, 1}),
                          "vocabulary of " + table->name.str() + ": each looks up its own rows");
    }
  });
}

void dsc::applyMegatronRule(ModuleOp module, ArrayRef<func::FuncOp> programs, Shardings &shardings,
                            int64_t parts) {
  Search search(module, shardings, parts);
  for (func::FuncOp program : programs)
    search.products(program);
  for (func::FuncOp program : programs)
    search.lookUps(program);
}
