//===- ReduceGradients.cpp - ds-reduce-gradients ---------------------------===//
// Sums are taken where `@train` reads them: everything behind computes on what all ranks have
// together. Sharing out follows the values: what a scattered gradient reaches is shared, until a
// square sum or a weight is gathered.
#include "../Training/StepProgram.h"
#include "dsc/Passes/Passes.h"
#include "dsc/Support/Fault.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"
#include <algorithm>

namespace dsc {
#define GEN_PASS_DEF_DSREDUCEGRADIENTS
#include "dsc/Passes/Passes.h.inc"
} // namespace dsc

using namespace mlir;
using namespace dsc;

static constexpr StringLiteral sampleName = "window.sample", rankSample = "rank.sample";

static int64_t bytesOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getNumElements() * type.getElementTypeBitWidth() / 8;
}

/// True if element i of every tensor depends on elements i of the others alone.
static bool isElementwise(Operation *op) {
  auto shardable = dyn_cast<ShardableOpInterface>(op);
  if (!shardable)
    return false;
  ShardingRule rule = shardable.shardingRule();
  Type shape;
  auto plain = [&](Type type, AffineMap map) {
    auto tensor = cast<RankedTensorType>(type);
    if (!tensor.getRank())
      return true;
    if (!shape)
      shape = tensor.clone(Float32Type::get(op->getContext()));
    return map.isIdentity() && tensor.clone(Float32Type::get(op->getContext())) == shape;
  };
  for (auto [type, map] : llvm::zip_equal(op->getOperandTypes(), rule.operands))
    if (!plain(type, map))
      return false;
  for (auto [type, map] : llvm::zip_equal(op->getResultTypes(), rule.results))
    if (!plain(type, map))
      return false;
  return llvm::all_of(rule.loops,
                      [](const ShardingLoop &loop) { return loop.kind == LoopKind::Parallel; });
}

namespace {
class Reduction {
public:
  Reduction(ModuleOp module, func::FuncOp window, func::FuncOp micro, func::FuncOp update,
            bool scatter, int64_t bucketBytes)
      : module(module), window(window), micro(micro), update(update), scatter(scatter),
        bucketBytes(bucketBytes), builder(module.getContext()) {}

  LogicalResult run();

  int64_t reduced = 0, buckets = 0, sharedOps = 0;

private:
  void sumCounts();
  void offsetSamples();
  SmallVector<SmallVector<ds::ReadOp>> deal(ArrayRef<ds::ReadOp> gradients);
  void sumGradients();
  LogicalResult shareOut();
  LogicalResult share(Operation *op);
  void gatherSquares(Operation *user);
  void gatherWeights();
  bool readOnlyByUpdates(StringRef variable);
  ds::VariableOp variable(StringRef name) { return module.lookupSymbol<ds::VariableOp>(name); }

  ModuleOp module;
  func::FuncOp window, micro, update;
  bool scatter;
  int64_t bucketBytes;
  OpBuilder builder;
  llvm::SetVector<Value> sharedValues, squares;
  SmallVector<ds::AssignOp> toGather;
};
} // namespace

/// Sums `values` over the data axis; all users but the sum itself see the result.
static ds::AllReduceOp sumOver(OpBuilder &builder, Location loc, ArrayRef<Value> values) {
  auto sum = ds::AllReduceOp::create(builder, loc, ds::Axis::Data, values);
  for (auto [index, value] : llvm::enumerate(values))
    Value(value).replaceAllUsesExcept(sum.getResult(index), sum);
  return sum;
}

void Reduction::sumCounts() {
  SmallVector<Value> counts;
  for (auto count : window.getOps<ds::CountOp>())
    counts.push_back(count.getResult());
  builder.setInsertionPointAfterValue(counts.back());
  sumOver(builder, window.getLoc(), counts);
  reduced += counts.size();
}

/// Samples of a rank are numbered from its first row of the batch, which the runtime knows.
void Reduction::offsetSamples() {
  for (auto assign : window.getOps<ds::AssignOp>()) {
    if (assign.getVariable() != sampleName)
      continue;
    builder.setInsertionPointToStart(module.getBody());
    ds::HyperparameterOp::create(builder, assign.getLoc(), rankSample, llvm::APFloat(0.0));
    builder.setInsertionPoint(assign);
    assign.getValueMutable().assign(
        ds::ReadOp::create(builder, assign.getLoc(), assign.getValue().getType(), rankSample));
    return;
  }
}

/// Buckets of the gradients, in the order in which the backward pass assigns them.
SmallVector<SmallVector<ds::ReadOp>> Reduction::deal(ArrayRef<ds::ReadOp> gradients) {
  llvm::StringMap<ds::ReadOp> byName;
  for (ds::ReadOp read : gradients)
    byName[read.getVariable()] = read;
  SmallVector<std::pair<Operation *, ds::ReadOp>> completed;
  for (auto assign : micro.getOps<ds::AssignOp>())
    if (ds::ReadOp read = byName.lookup(assign.getVariable()))
      completed.push_back({assign.getValue().getDefiningOp(), read});
  std::sort(completed.begin(), completed.end(), [&](auto &a, auto &b) {
    if (a.first != b.first)
      return a.first->isBeforeInBlock(b.first);
    return a.second->isBeforeInBlock(b.second);
  });
  SmallVector<SmallVector<ds::ReadOp>> result;
  int64_t bytes = 0;
  for (auto [op, read] : completed) {
    if (result.empty() || bucketBytes == 0 || bytes + bytesOf(read.getResult()) > bucketBytes) {
      result.emplace_back();
      bytes = 0;
    }
    result.back().push_back(read);
    bytes += bytesOf(read.getResult());
  }
  return result;
}

void Reduction::sumGradients() {
  SmallVector<ds::ReadOp> gradients;
  for (auto read : update.getOps<ds::ReadOp>()) {
    ds::VariableOp sum = variable(read.getVariable());
    if (!sum || sum.getRole() != ds::Role::Window)
      continue;
    if (cast<RankedTensorType>(read.getType()).getRank()) {
      gradients.push_back(read);
    } else if (read.getVariable() == "window.loss") {
      builder.setInsertionPointAfter(read);
      auto total = sumOver(builder, read.getLoc(), {read.getResult()});
      ds::AssignOp::create(builder, read.getLoc(), read.getVariable(), total.getResult(0));
      ++reduced;
    }
  }
  Block &body = update.getBody().front();
  for (ds::ReadOp read : llvm::reverse(gradients))
    read->moveBefore(&body, body.begin());
  Operation *at = gradients.back();
  for (auto [index, bucket] : llvm::enumerate(deal(gradients))) {
    SmallVector<Value> values;
    for (ds::ReadOp read : bucket)
      values.push_back(read.getResult());
    builder.setInsertionPointAfter(at);
    Location loc =
        NameLoc::get(builder.getStringAttr("gradients." + Twine(index)), bucket.front().getLoc());
    ds::AxisAttr axis = ds::AxisAttr::get(builder.getContext(), ds::Axis::Data);
    Operation *sum =
        scatter ? ds::ReduceScatterOp::create(builder, loc, axis.getValue(), values).getOperation()
                : ds::AllReduceOp::create(builder, loc, axis.getValue(), values).getOperation();
    sum->setAttr("ds.label", builder.getStringAttr("gradients." + Twine(index)));
    at = sum;
    for (auto [value, result] : llvm::zip_equal(values, sum->getResults()))
      Value(value).replaceAllUsesExcept(result, sum);
    for (auto [read, result] : llvm::zip_equal(bucket, sum->getResults())) {
      at = ds::AssignOp::create(builder, read.getLoc(), read.getVariable(), result);
      if (scatter)
        sharedValues.insert(result);
    }
    reduced += bucket.size();
    ++buckets;
  }
}

/// The sums of a rank's own blocks that `user` reads, made those of all by one collective.
void Reduction::gatherSquares(Operation *user) {
  llvm::SetVector<Value> sums;
  for (Value operand : user->getOperands())
    if (squares.contains(operand))
      sums.insert(operand);
  builder.setInsertionPoint(user);
  auto whole = ds::AllGatherOp::create(builder, user->getLoc(), ds::Axis::Data, sums.getArrayRef(),
                                       /*block=*/1);
  for (auto [index, sum] : llvm::enumerate(sums))
    user->replaceUsesOfWith(sum, whole.getResult(index));
}

LogicalResult Reduction::share(Operation *op) {
  if (isa<ds::SquareSumOp>(op)) {
    op->setAttr(ds::kShareAttr, ds::AxisAttr::get(builder.getContext(), ds::Axis::Data));
    squares.insert(op->getResult(0));
    ++sharedOps;
    return success();
  }
  if (isa<ds::ReportOp>(op))
    return success();
  if (auto assign = dyn_cast<ds::AssignOp>(op)) {
    ds::VariableOp target = variable(assign.getVariable());
    auto axis = ds::AxisAttr::get(builder.getContext(), ds::Axis::Data);
    bool read =
        target.getRole() == ds::Role::WorkingCopy ||
        (target.getRole() == ds::Role::Parameter && !readOnlyByUpdates(target.getSymName()));
    if (read)
      toGather.push_back(assign);
    else if (target.getRole() != ds::Role::Window)
      target.setShareAttr(axis);
    return success();
  }
  if (!isElementwise(op))
    return op->emitOpError("R2: cannot be shared out over the data-parallel ranks: it is not "
                           "element-wise");
  op->setAttr(ds::kShareAttr, ds::AxisAttr::get(builder.getContext(), ds::Axis::Data));
  for (Value result : op->getResults())
    if (cast<RankedTensorType>(result.getType()).getRank())
      sharedValues.insert(result);
  ++sharedOps;
  return success();
}

/// True if no forward or backward pass reads the variable: then nobody needs all of it.
bool Reduction::readOnlyByUpdates(StringRef name) {
  bool read = false;
  for (auto program : {window, micro})
    program.walk([&](ds::ReadOp op) { read |= op.getVariable() == name && !op->use_empty(); });
  return !read;
}

/// One collective brings the new weights to all, behind the last update.
void Reduction::gatherWeights() {
  if (toGather.empty())
    return;
  Block &body = update.getBody().front();
  builder.setInsertionPoint(body.getTerminator());
  SmallVector<Value> values;
  for (ds::AssignOp assign : toGather)
    values.push_back(assign.getValue());
  auto whole = ds::AllGatherOp::create(
      builder, NameLoc::get(builder.getStringAttr("weights"), update.getLoc()), ds::Axis::Data,
      values);
  whole->setAttr("ds.label", builder.getStringAttr("weights"));
  for (auto [assign, result] : llvm::zip_equal(toGather, whole.getResults())) {
    assign->moveBefore(body.getTerminator());
    assign.getValueMutable().assign(result);
  }
}

LogicalResult Reduction::shareOut() {
  for (Operation &op : llvm::make_early_inc_range(update.getBody().front())) {
    if (llvm::any_of(op.getOperands(), [&](Value v) { return squares.contains(v); }))
      gatherSquares(&op);
    if (llvm::any_of(op.getOperands(), [&](Value v) { return sharedValues.contains(v); }))
      if (failed(share(&op)))
        return failure();
  }
  gatherWeights();
  return success();
}

LogicalResult Reduction::run() {
  sumCounts();
  offsetSamples();
  sumGradients();
  return scatter ? shareOut() : success();
}

namespace {
struct ReduceGradients : dsc::impl::DsReduceGradientsBase<ReduceGradients> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (ranks < 2 || !findStep(module))
      return;
    auto window = module.lookupSymbol<func::FuncOp>("train.window");
    auto micro = module.lookupSymbol<func::FuncOp>("train.micro");
    if (!window || !micro) {
      module.emitError("R1: there is no @train.window or no @train.micro, run "
                       "ds-accumulate-gradients{always} first");
      return signalPassFailure();
    }
    Reduction reduction(module, window, micro, findStep(module), zero >= 1, bucketBytes);
    if (failed(reduction.run()))
      return signalPassFailure();
    reduced += reduction.reduced;
    buckets += reduction.buckets;
    shared += reduction.sharedOps;
  }
};
} // namespace
