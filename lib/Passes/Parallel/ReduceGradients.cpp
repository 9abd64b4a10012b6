//===- ReduceGradients.cpp - ds-reduce-gradients ---------------------------===//
// Sums are taken where `@train` reads them: everything behind computes on what all ranks have
// together. Sharing out follows the values: what a scattered gradient reaches is shared, until a
// square sum or a weight is gathered.
#include "../Training/StepProgram.h"
#include "dsc/Passes/Passes.h"
#include "dsc/Support/Fault.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"
#include <algorithm>

namespace dsc {
#define GEN_PASS_DEF_DSREDUCEGRADIENTS
#include "dsc/Passes/Passes.h.inc"
} // namespace dsc

using namespace mlir;
using namespace dsc;

static constexpr StringLiteral sampleName = "window.sample", rankSample = "rank.sample",
                               lossName = "window.loss";

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
            int64_t ranks, int64_t zero, int64_t bucketBytes)
      : module(module), window(window), micro(micro), update(update), ranks(ranks), zero(zero),
        bucketBytes(bucketBytes), builder(module.getContext()) {}

  LogicalResult run();

  int64_t reduced = 0, buckets = 0, sharedOps = 0;

private:
  void sumCounts();
  void offsetSamples();
  SmallVector<SmallVector<ds::ReadOp>> deal(ArrayRef<ds::ReadOp> gradients);
  void sumGradients();
  void sumMicroBatches();
  void shareSums(func::FuncOp program);
  void gatherParameters();
  bool isGradientSum(StringRef name);
  ds::AxisAttr axis() { return ds::AxisAttr::get(builder.getContext(), ds::Axis::Data); }
  LogicalResult shareOut();
  LogicalResult share(Operation *op);
  void gatherSquares(Operation *user);
  void gatherWeights();
  bool readOnlyByUpdates(StringRef variable);
  ds::VariableOp variable(StringRef name) { return module.lookupSymbol<ds::VariableOp>(name); }

  ModuleOp module;
  func::FuncOp window, micro, update;
  int64_t ranks, zero, bucketBytes;
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
  }
  if (zero < 2)
    return;
  // Micro-batches are dealt in turn: a rank's next one is behind those of all others.
  for (auto assign : micro.getOps<ds::AssignOp>())
    if (assign.getVariable() == sampleName) {
      auto next = assign.getValue().getDefiningOp<ds::IncrementOp>();
      next.setStep(llvm::APFloat(next.getStep().convertToDouble() * double(ranks)));
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
    } else if (read.getVariable() == lossName && zero < 2) {
      builder.setInsertionPointAfter(read);
      auto total = sumOver(builder, read.getLoc(), {read.getResult()});
      ds::AssignOp::create(builder, read.getLoc(), read.getVariable(), total.getResult(0));
      ++reduced;
    }
  }
  if (zero >= 2) { // they are summed already
    for (ds::ReadOp read : gradients)
      sharedValues.insert(read.getResult());
    return;
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
    Operation *sum =
        zero ? ds::ReduceScatterOp::create(builder, loc, ds::Axis::Data, values).getOperation()
             : ds::AllReduceOp::create(builder, loc, ds::Axis::Data, values).getOperation();
    sum->setAttr("ds.label", builder.getStringAttr("gradients." + Twine(index)));
    at = sum;
    for (auto [value, result] : llvm::zip_equal(values, sum->getResults()))
      Value(value).replaceAllUsesExcept(result, sum);
    for (auto [read, result] : llvm::zip_equal(bucket, sum->getResults())) {
      at = ds::AssignOp::create(builder, read.getLoc(), read.getVariable(), result);
      if (zero)
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
        (target.getRole() == ds::Role::WorkingCopy && zero < 3) ||
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

bool Reduction::isGradientSum(StringRef name) {
  ds::VariableOp sum = variable(name);
  return sum && sum.getRole() == ds::Role::Window &&
         cast<RankedTensorType>(sum.getType()).getRank() > 0;
}

/// ZeRO 2: the gradients of a micro-batch are summed over the ranks into each one's share, before
/// they are added to those of earlier ones.
void Reduction::sumMicroBatches() {
  llvm::SmallVector<std::pair<Value, ds::AssignOp>> fresh; // gradients, and where they end
  for (auto assign : micro.getOps<ds::AssignOp>())
    if (isGradientSum(assign.getVariable())) {
      Value gradient = assign.getValue();
      if (auto add = gradient.getDefiningOp<ds::AddOp>())
        if (auto sum = add.getRhs().getDefiningOp<ds::ReadOp>();
            sum && sum.getVariable() == assign.getVariable())
          gradient = add.getLhs();
      fresh.push_back({gradient, assign});
    }
  std::sort(fresh.begin(), fresh.end(), [](auto &a, auto &b) {
    Operation *left = a.first.getDefiningOp(), *right = b.first.getDefiningOp();
    return left != right ? left->isBeforeInBlock(right) : a.second->isBeforeInBlock(b.second);
  });
  for (size_t first = 0, last; first < fresh.size(); first = last) {
    SmallVector<Value> values;
    int64_t bytes = 0;
    for (last = first; last < fresh.size(); ++last) {
      bytes += bytesOf(fresh[last].first);
      if (last > first && (bucketBytes == 0 || bytes > bucketBytes))
        break;
      values.push_back(fresh[last].first);
    }
    builder.setInsertionPointAfter(values.back().getDefiningOp());
    StringAttr label = builder.getStringAttr("gradients." + Twine(buckets++));
    auto sum = ds::ReduceScatterOp::create(builder, NameLoc::get(label, micro.getLoc()),
                                           ds::Axis::Data, values);
    sum->setAttr("ds.label", label);
    for (auto [index, value] : llvm::enumerate(values))
      Value(value).replaceAllUsesExcept(sum.getResult(index), sum);
    // What is added follows: the sums may have been read and added before.
    Operation *at = sum;
    for (size_t i = first; i < last; ++i) {
      ds::AssignOp assign = fresh[i].second;
      if (auto add = assign.getValue().getDefiningOp<ds::AddOp>()) {
        add->setAttr(ds::kShareAttr, axis());
        add->moveAfter(at);
        at = add;
      }
      assign->moveAfter(at); // at once, so that the whole gradient lives no longer
      at = assign;
    }
    reduced += values.size();
  }
  for (auto [gradient, assign] : fresh)
    variable(assign.getVariable()).setShareAttr(axis());
  // The loss goes the same way.
  for (auto assign : micro.getOps<ds::AssignOp>())
    if (assign.getVariable() == lossName) {
      Value loss = assign.getValue();
      if (auto sum = loss.getDefiningOp<ds::IncrementOp>(); sum && sum.getBy())
        loss = sum.getBy();
      builder.setInsertionPointAfterValue(loss);
      sumOver(builder, assign.getLoc(), {loss});
      ++reduced;
      return;
    }
}

/// In programs that set, keep or add sums: all of it happens to shares.
void Reduction::shareSums(func::FuncOp program) {
  for (Operation &op : program.getBody().front()) {
    auto assign = dyn_cast<ds::AssignOp>(op);
    if (!assign || !isGradientSum(assign.getVariable()))
      continue;
    variable(assign.getVariable()).setShareAttr(axis());
    if (Operation *from = assign.getValue().getDefiningOp(); !isa<ds::ReadOp>(from))
      from->setAttr(ds::kShareAttr, axis());
  }
}

/// ZeRO 3: a rank has its share of the parameters too; each block gathers what it reads.
void Reduction::gatherParameters() {
  Block &body = micro.getBody().front();
  llvm::MapVector<Operation *, llvm::SetVector<Value>> wanted; // by the op at top level
  for (auto read : micro.getOps<ds::ReadOp>()) {
    ds::VariableOp parameter = variable(read.getVariable());
    if (!parameter || (parameter.getRole() != ds::Role::Parameter &&
                       parameter.getRole() != ds::Role::WorkingCopy))
      continue;
    for (Operation *user : read->getUsers())
      wanted[body.findAncestorOpInBlock(*user)].insert(read.getResult());
  }
  for (auto &[user, values] : wanted) {
    builder.setInsertionPoint(user);
    auto whole =
        ds::AllGatherOp::create(builder, user->getLoc(), ds::Axis::Data, values.getArrayRef());
    if (auto block = dyn_cast<ds::BlockOp>(user))
      whole->setAttr("ds.label", builder.getStringAttr(block.getLabel() + ".parameters"));
    for (auto [index, value] : llvm::enumerate(values))
      Value(value).replaceUsesWithIf(whole.getResult(index), [&, here = user](OpOperand &use) {
        return use.getOwner() != whole && here->isAncestor(use.getOwner());
      });
    for (Value value : values)
      variable(value.getDefiningOp<ds::ReadOp>().getVariable()).setShareAttr(axis());
  }
}

/// True if no forward or backward pass reads the variable: then nobody needs all of it.
bool Reduction::readOnlyByUpdates(StringRef name) {
  if (zero >= 3)
    return true;
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
  // Masters that are shared out are so for everything that reads them: a norm of LAMB's, say.
  for (auto read : update.getOps<ds::ReadOp>()) {
    ds::VariableOp from = variable(read.getVariable());
    if (from && from.getRole() == ds::Role::Parameter && !from.getFrozen() &&
        readOnlyByUpdates(from.getSymName()))
      sharedValues.insert(read.getResult());
  }
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
  if (zero >= 2) {
    sumMicroBatches();
    for (auto program : module.getOps<func::FuncOp>())
      if (program == window || program.getName().starts_with("train.push.") ||
          program.getName().starts_with("train.merge."))
        shareSums(program);
  }
  sumGradients();
  if (zero && failed(shareOut()))
    return failure();
  if (zero >= 3)
    gatherParameters();
  return success();
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
    Reduction reduction(module, window, micro, findStep(module), ranks, zero, bucketBytes);
    if (failed(reduction.run()))
      return signalPassFailure();
    reduced += reduction.reduced;
    buckets += reduction.buckets;
    shared += reduction.sharedOps;
  }
};
} // namespace
