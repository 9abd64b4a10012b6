//===- Sharding.cpp - propagation of cuts over loops -----------------------===//
#include "Sharding.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace dsc;

//===----------------------------------------------------------------------===//
// Loops and dimensions
//===----------------------------------------------------------------------===//

static void collect(AffineExpr expr, int64_t stride,
                    SmallVectorImpl<std::pair<int64_t, unsigned>> &found) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    found.push_back({stride, dim.getPosition()});
  } else if (auto binary = dyn_cast<AffineBinaryOpExpr>(expr)) {
    if (binary.getKind() == AffineExprKind::Add) {
      collect(binary.getLHS(), stride, found);
      collect(binary.getRHS(), stride, found);
    } else if (auto factor = dyn_cast<AffineConstantExpr>(binary.getRHS())) {
      collect(binary.getLHS(), stride * factor.getValue(), found);
    }
  }
}

SmallVector<unsigned> dsc::loopsOfDimension(const ShardingRule &rule, AffineMap map,
                                            unsigned dimension) {
  SmallVector<std::pair<int64_t, unsigned>> found;
  collect(map.getResult(dimension), 1, found);
  llvm::sort(found, [](auto &a, auto &b) {
    return std::pair(-a.first, a.second) < std::pair(-b.first, b.second);
  });
  SmallVector<unsigned> loops;
  for (auto [stride, loop] : found)
    loops.push_back(loop);
  return loops;
}

/// Calls `body` with each loop of a dimension and the sizes of all slower and all faster ones.
template <typename Body>
static void forLoops(const ShardingRule &rule, ArrayRef<unsigned> loops, Body body) {
  int64_t slower = 1, faster = 1;
  for (unsigned loop : loops)
    faster *= rule.loops[loop].size;
  for (unsigned loop : loops) {
    faster /= std::max<int64_t>(rule.loops[loop].size, 1);
    if (body(loop, slower, faster))
      return;
    slower *= rule.loops[loop].size;
  }
}

std::optional<LoopCut> dsc::loopCutOf(const ShardingRule &rule, AffineMap map, const Cut &cut) {
  std::optional<LoopCut> found;
  SmallVector<unsigned> loops = loopsOfDimension(rule, map, cut.dimension);
  forLoops(rule, loops, [&](unsigned loop, int64_t slower, int64_t faster) {
    if (cut.outer % slower || cut.inner % faster ||
        (cut.outer / slower) * cut.count * (cut.inner / faster) != rule.loops[loop].size)
      return false;
    found = LoopCut{loop, cut.outer / slower, cut.count, cut.inner / faster};
    return true;
  });
  return found;
}

std::optional<Cut> dsc::cutOf(const ShardingRule &rule, AffineMap map, const LoopCut &cut) {
  std::optional<Cut> found;
  for (unsigned dimension = 0; dimension < map.getNumResults() && !found; ++dimension) {
    SmallVector<unsigned> loops = loopsOfDimension(rule, map, dimension);
    forLoops(rule, loops, [&](unsigned loop, int64_t slower, int64_t faster) {
      if (loop == cut.loop)
        found = Cut{dimension, slower * cut.outer, cut.count, cut.inner * faster};
      return found.has_value();
    });
  }
  return found;
}

RankedTensorType dsc::partType(RankedTensorType whole, const Cut &cut, int64_t parts) {
  SmallVector<int64_t> shape(whole.getShape());
  shape[cut.dimension] =
      cut.outer * static_cast<int64_t>(llvm::divideCeil(cut.count, parts)) * cut.inner;
  return whole.clone(shape);
}

//===----------------------------------------------------------------------===//
// Propagation
//===----------------------------------------------------------------------===//

Shardings::Shardings(ArrayRef<func::FuncOp> programs) {
  for (func::FuncOp program : programs)
    program->walk([&](Operation *op) {
      if (auto read = dyn_cast<ds::ReadOp>(op))
        uses[read.getVariable().str()].read.push_back(read.getResult());
      else if (auto assigned = dyn_cast<ds::AssignOp>(op))
        uses[assigned.getVariable().str()].assigned.push_back(assigned.getValue());
    });
}

std::optional<Cut> Shardings::cutOfValue(Value value) const {
  auto found = cuts.find(value);
  return found == cuts.end() ? std::nullopt : std::optional<Cut>(found->second);
}

const VariableCut *Shardings::variable(StringRef name) const {
  auto found = variableCuts.find(name.str());
  return found == variableCuts.end() ? nullptr : &found->second;
}

ArrayRef<Value> Shardings::assignedTo(StringRef variable) const {
  auto found = uses.find(variable.str());
  return found == uses.end() ? ArrayRef<Value>() : ArrayRef<Value>(found->second.assigned);
}

static std::string placeOf(Operation *op) {
  std::string text;
  llvm::raw_string_ostream(text) << "'" << op->getName() << "'";
  return text;
}

void Shardings::undo(size_t values, size_t ops, ArrayRef<std::string> variables) {
  while (cuts.size() > values)
    cuts.pop_back();
  while (loops.size() > ops)
    loops.pop_back();
  for (const std::string &name : variables)
    variableCuts.erase(name);
  work.clear();
}

std::string Shardings::cut(Value value, const Cut &first, StringRef why) {
  size_t values = cuts.size(), ops = loops.size();
  cause = why.str();
  added.clear();
  std::string failure = assign(value, first);
  while (failure.empty() && !work.empty()) {
    Value next = work.pop_back_val();
    Cut wanted = cuts.find(next)->second; // cuts may move while they spread
    failure = spread(next, wanted);
  }
  if (!failure.empty())
    undo(values, ops, added);
  return failure;
}

std::string Shardings::assign(Value value, const Cut &wanted) {
  auto [found, inserted] = cuts.insert({value, wanted});
  if (inserted)
    work.push_back(value);
  else if (!(found->second == wanted))
    return "two cuts of one value meet";
  return "";
}

std::string Shardings::assignVariable(StringRef name, const Cut &wanted) {
  auto [found, inserted] = variableCuts.insert({name.str(), {wanted, cause}});
  if (!inserted)
    return found->second.cut == wanted ? "" : "two cuts of '" + name.str() + "' meet";
  added.push_back(name.str());
  const Uses &all = uses[name.str()];
  for (ArrayRef<Value> list : {ArrayRef<Value>(all.read), ArrayRef<Value>(all.assigned)})
    for (Value value : list)
      if (std::string failure = assign(value, wanted); !failure.empty())
        return failure;
  return "";
}

/// A collective along another axis: each result is its input, elsewhere.
static bool passesThrough(Operation *op) {
  return isa<ds::AllReduceOp, ds::ReduceScatterOp, ds::AllGatherOp>(op);
}

/// To what computes the value and to all that use it.
std::string Shardings::spread(Value value, const Cut &wanted) {
  Operation *source = value.getDefiningOp();
  std::string failure;
  if (!source)
    return "an input of the program would be cut";
  unsigned index = cast<OpResult>(value).getResultNumber();
  if (auto block = dyn_cast<ds::BlockOp>(source))
    failure = assign(block.getYield().getValues()[index], wanted);
  else if (auto read = dyn_cast<ds::ReadOp>(source))
    failure = assignVariable(read.getVariable(), wanted);
  else if (passesThrough(source))
    failure = assign(source->getOperand(index), wanted);
  else
    failure = visit(source, value, wanted);
  for (OpOperand &use : value.getUses()) {
    if (!failure.empty())
      return failure;
    Operation *user = use.getOwner();
    if (isa<ds::YieldOp>(user))
      failure = assign(user->getParentOp()->getResult(use.getOperandNumber()), wanted);
    else if (auto assigned = dyn_cast<ds::AssignOp>(user))
      failure = assignVariable(assigned.getVariable(), wanted);
    else if (passesThrough(user))
      failure = assign(user->getResult(use.getOperandNumber()), wanted);
    else if (!isa<ds::ReportOp>(user))
      failure = visit(user, value, wanted);
  }
  return failure;
}

/// `value` is a tensor of the op: the loop that its cut belongs to is cut for all.
std::string Shardings::visit(Operation *op, Value value, const Cut &wanted) {
  auto shardable = dyn_cast<ShardableOpInterface>(op);
  if (!shardable)
    return placeOf(op) + " has no sharding rule";
  ShardingRule rule = shardable.shardingRule();
  auto each = [&](auto body) -> std::string {
    for (auto [tensor, map] : llvm::zip_equal(op->getResults(), rule.results))
      if (std::string failure = body(tensor, map); !failure.empty())
        return failure;
    for (auto [tensor, map] : llvm::zip_equal(op->getOperands(), rule.operands))
      if (std::string failure = body(tensor, map); !failure.empty())
        return failure;
    return "";
  };
  auto fromTensor = [&](Value tensor, AffineMap map) -> std::string {
    if (tensor != value)
      return "";
    std::optional<LoopCut> loop = loopCutOf(rule, map, wanted);
    if (!loop)
      return placeOf(op) + " would be cut across its loops";
    auto [found, inserted] = loops.insert({op, *loop});
    if (!(found->second == *loop))
      return "two cuts of " + placeOf(op) + " meet";
    if (inserted && !shardable.canCut(loop->loop))
      return placeOf(op) + " cannot be cut along loop " + rule.loops[loop->loop].name;
    return "";
  };
  if (std::string failure = each(fromTensor); !failure.empty())
    return failure;
  LoopCut loop = loops.find(op)->second;
  return each([&](Value tensor, AffineMap map) -> std::string {
    std::optional<Cut> part = cutOf(rule, map, loop);
    return part ? assign(tensor, *part) : "";
  });
}
