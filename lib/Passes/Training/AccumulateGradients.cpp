//===- AccumulateGradients.cpp - ds-accumulate-gradients -------------------===//
// Cuts @train where the window ends: what runs once a micro-batch becomes a program of its own, and
// what it adds up lives in variables of role `window`. No op is named but those of the objective:
// whatever can start from an earlier sum does so, and everything else is added to it.
#include "StepProgram.h"
#include "dsc/Passes/Passes.h"
#include "dsc/Support/Fault.h"

namespace dsc {
#define GEN_PASS_DEF_DSACCUMULATEGRADIENTS
#include "dsc/Passes/Passes.h.inc"
} // namespace dsc

using namespace mlir;
using namespace dsc;

namespace {
class Accumulation {
public:
  Accumulation(ModuleOp module, func::FuncOp micro, int64_t parts)
      : module(module), micro(micro), parts(parts), builder(module.getContext()),
        scalar(RankedTensorType::get({}, builder.getF64Type())) {}

  LogicalResult run();

  int64_t inPlace = 0, added = 0;

private:
  LogicalResult findValues();
  /// Declares a variable of role `window`, zero where nothing is said.
  void declare(StringRef name, RankedTensorType type);
  Value read(StringRef name, RankedTensorType type) {
    return ds::ReadOp::create(builder, micro.getLoc(), type, name);
  }
  void assign(StringRef name, Value value) {
    ds::AssignOp::create(builder, value.getLoc(), name, value);
  }
  Value increment(Value sum, Value by, double step = 1) {
    return ds::IncrementOp::create(builder, micro.getLoc(), scalar, sum, by, APFloat(step));
  }
  void addOnto(StringRef name, Value gradient);
  void rewriteMicro();
  void createWindow();
  void createUpdate();

  ModuleOp module;
  func::FuncOp micro;
  int64_t parts;
  OpBuilder builder;
  RankedTensorType scalar;
  ds::ReportOp lossReport, countReport;
  ds::CountOp count;
  BlockArgument labels;
  SmallVector<ds::ReportOp> gradientReports; // in the order of the variables
  SmallVector<std::pair<std::string, RankedTensorType>> sums;
  Operation *lastVariable = nullptr;
  bool samples = false;
};
} // namespace

static constexpr StringLiteral countName = "window.count", lossName = "window.loss",
                               sampleName = "window.sample";

static RankedTensorType tensorType(Value value) { return cast<RankedTensorType>(value.getType()); }

LogicalResult Accumulation::findValues() {
  lossReport = findReport(micro, "loss");
  countReport = findReport(micro, "tokens");
  if (!lossReport || !countReport)
    return micro.emitOpError("A1: no '") << (lossReport ? "tokens" : "loss") << "' is reported";
  count = countReport.getValue().getDefiningOp<ds::CountOp>();
  labels = count ? dyn_cast<BlockArgument>(count.getLabels()) : BlockArgument();
  if (!labels)
    return countReport.emitOpError("A1: the tokens are not counted on an argument of @train");
  for (auto report : micro.getOps<ds::ReportOp>())
    if (report.getName().starts_with(kGradientPrefix))
      gradientReports.push_back(report);
  if (gradientReports.empty())
    return micro.emitOpError("A2: no gradient is reported, run ds-differentiate first");
  if (findReport(micro, "grad_norm"))
    return micro.emitOpError("A2: 'grad_norm' is reported already; accumulate before clipping");
  for (auto variable : module.getOps<ds::VariableOp>())
    lastVariable = variable;
  samples = module.lookupSymbol<ds::VariableOp>(sampleName) != nullptr;
  return success();
}

void Accumulation::declare(StringRef name, RankedTensorType type) {
  OpBuilder::InsertionGuard guard(builder);
  if (lastVariable)
    builder.setInsertionPointAfter(lastVariable);
  else
    builder.setInsertionPointToStart(module.getBody());
  Location loc = NameLoc::get(builder.getStringAttr(name), micro.getLoc());
  lastVariable = ds::VariableOp::create(builder, loc, name, type, ds::Role::Window);
  sums.push_back({name.str(), type});
}

/// The op that computes `value`, looked for inside blocks that hand it out.
static OpResult origin(Value value) {
  auto result = dyn_cast<OpResult>(value);
  while (auto block = result ? dyn_cast<ds::BlockOp>(result.getOwner()) : ds::BlockOp())
    result = dyn_cast<OpResult>(block.getYield().getValues()[result.getResultNumber()]);
  return result;
}

/// Lets the first of the ops that add onto each other to make `gradient` start from `sum`.
static bool startFrom(Value gradient, Value sum) {
  for (OpResult result = origin(gradient); result;) {
    auto op = dyn_cast<InPlaceOpInterface>(result.getOwner());
    if (!op)
      return false;
    if (op.accumulateOnto(result.getResultNumber(), sum))
      return true;
    if (!op.mustAlias(result.getResultNumber()))
      return false;
    result = origin(op->getOperand(op.inPlaceOperand(result.getResultNumber())));
  }
  return false;
}

void Accumulation::addOnto(StringRef name, Value gradient) {
  Value sum;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&micro.getBody().front());
    sum = read(name, tensorType(gradient));
  }
  if (startFrom(gradient, sum)) {
    ++inPlace;
  } else {
    gradient = ds::AddOp::create(builder, gradient.getLoc(), gradient, sum);
    ++added;
  }
  assign(name, gradient);
}

void Accumulation::rewriteMicro() {
  Block &body = micro.getBody().front();
  builder.setInsertionPoint(body.getTerminator());
  for (ds::ReportOp report : gradientReports) {
    declare(report.getName(), tensorType(report.getValue()));
    addOnto(report.getName(), report.getValue());
  }
  assign(lossName, increment(read(lossName, scalar), lossReport.getValue()));
  if (samples)
    assign(sampleName, increment(read(sampleName, scalar), Value(),
                                 DSC_FAULT(12, 1.0, 0.0) *
                                     double(cast<ShapedType>(labels.getType()).getDimSize(0))));
  lossReport.erase();
  countReport.erase();
  for (ds::ReportOp report : gradientReports)
    report.erase();
  builder.setInsertionPoint(count);
  if (DSC_FAULT(11, false, true))
    return;
  count.replaceAllUsesWith(read(countName, scalar));
  count.erase();
}

void Accumulation::createWindow() {
  auto type = cast<RankedTensorType>(labels.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[0] *= parts;
  auto whole = RankedTensorType::get(shape, type.getElementType());
  builder.setInsertionPoint(micro);
  auto window = func::FuncOp::create(builder, micro.getLoc(), "train.window",
                                     builder.getFunctionType({whole}, {}));
  window.setArgAttr(0, "ds.name", builder.getStringAttr("labels"));
  builder.setInsertionPointToStart(window.addEntryBlock());
  assign(countName, ds::CountOp::create(builder, micro.getLoc(), scalar, window.getArgument(0)));
  auto zero = [&](StringRef name, RankedTensorType type) {
    assign(name, ds::ZerosOp::create(builder, micro.getLoc(), type));
  };
  for (auto &[name, type] : sums)
    if (DSC_FAULT(10, name != countName, name == lossName))
      zero(name, type);
  if (samples)
    zero(sampleName, scalar);
  func::ReturnOp::create(builder, micro.getLoc());
}

void Accumulation::createUpdate() {
  builder.setInsertionPointAfter(micro);
  auto update =
      func::FuncOp::create(builder, micro.getLoc(), "train", builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(update.addEntryBlock());
  auto report = [&](StringRef name, Value value) {
    ds::ReportOp::create(builder, micro.getLoc(), name, value);
  };
  report("loss", read(lossName, scalar));
  report("tokens", read(countName, scalar));
  for (auto &[name, type] : sums)
    if (StringRef(name).starts_with(kGradientPrefix))
      report(name, read(name, type));
  func::ReturnOp::create(builder, micro.getLoc());
  builder.setInsertionPoint(module.lookupSymbol("train.window"));
  SmallVector<Attribute> programs;
  for (StringRef name : {"train.window", "train.micro", "train"})
    programs.push_back(FlatSymbolRefAttr::get(builder.getContext(), name));
  ds::ScheduleOp::create(builder, micro.getLoc(), builder.getArrayAttr(programs),
                         ArrayRef<int64_t>{1, parts, 1});
}

LogicalResult Accumulation::run() {
  if (failed(findValues()))
    return failure();
  micro.setName("train.micro");
  declare(countName, scalar);
  declare(lossName, scalar);
  rewriteMicro();
  createWindow();
  createUpdate();
  return success();
}

namespace {
struct AccumulateGradients : dsc::impl::DsAccumulateGradientsBase<AccumulateGradients> {
  using Base::Base;

  void runOnOperation() override {
    if (microBatches < 1) {
      getOperation().emitError("A3: option 'micro-batches' must be positive, got ")
          << int64_t(microBatches);
      return signalPassFailure();
    }
    func::FuncOp program = findStep(getOperation());
    if (!program || microBatches == 1)
      return;
    Accumulation accumulation(getOperation(), program, microBatches);
    if (failed(accumulation.run()))
      return signalPassFailure();
    inPlace += accumulation.inPlace;
    added += accumulation.added;
  }
};
} // namespace
