//===- ReduceGradients.cpp - ds-reduce-gradients ---------------------------===//
// Sums are taken where `@train` reads them: everything behind computes on what all ranks have
// together.
#include "Reduction.h"
#include "dsc/Passes/Passes.h"
#include "dsc/Support/Fault.h"
#include "llvm/ADT/StringMap.h"
#include <algorithm>

namespace dsc {
#define GEN_PASS_DEF_DSREDUCEGRADIENTS
#include "dsc/Passes/Passes.h.inc"
} // namespace dsc

using namespace mlir;
using namespace dsc;

ds::AllReduceOp dsc::sumOverRanks(OpBuilder &builder, Location loc, ArrayRef<Value> values) {
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
  sumOverRanks(builder, window.getLoc(), counts);
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
      auto total = sumOverRanks(builder, read.getLoc(), {read.getResult()});
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
