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
  Accumulation(ModuleOp module, func::FuncOp micro, int64_t parts, bool tree, bool apart,
               bool fresh)
      : module(module), micro(micro), parts(parts), tree(tree), apart(apart), fresh(fresh),
        adds(!tree && parts > 1), builder(module.getContext()),
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
  SmallVector<Value> usesOf(Value gradient);
  void rewriteMicro();
  void rewriteGradient(ds::ReportOp report);
  void createWindow();
  void createUpdate();
  void createTree();
  func::FuncOp createProgram(const Twine &name);
  void schedule(StringRef program, int64_t times);

  ModuleOp module;
  func::FuncOp micro;
  int64_t parts;
  bool tree;  ///< micro-batches are added by a fixed binary tree
  bool apart; ///< uses of a parameter are summed apart
  bool fresh; ///< gradients are whole before they are added: ranks sum them first
  bool adds;  ///< a micro-batch adds onto the one before
  OpBuilder builder;
  RankedTensorType scalar;
  ds::ReportOp lossReport, countReport;
  /// Each way of counting the labels, and the variable that has it for the whole window.
  SmallVector<std::pair<ds::CountOp, StringRef>> counts;
  BlockArgument labels;
  SmallVector<ds::ReportOp> gradientReports; // in the order of the variables
  SmallVector<std::pair<std::string, RankedTensorType>> sums;
  llvm::StringMap<int64_t> uses; ///< of a gradient's parameter that are summed apart
  SmallVector<std::pair<std::string, int64_t>> rows; ///< of the schedule
  Operation *lastVariable = nullptr;
  bool samples = false;
};
} // namespace

static constexpr StringLiteral countName = "window.count", samplesName = "window.counted_samples",
                               lossName = "window.loss", sampleName = "window.sample";

static StringRef nameOf(ds::CountOp count) { return count.getSamples() ? samplesName : countName; }
static bool isCount(StringRef name) { return name == countName || name == samplesName; }

static RankedTensorType tensorType(Value value) { return cast<RankedTensorType>(value.getType()); }

LogicalResult Accumulation::findValues() {
  lossReport = findReport(micro, "loss");
  countReport = findReport(micro, "tokens");
  if (!lossReport || !countReport)
    return micro.emitOpError("A1: no '") << (lossReport ? "tokens" : "loss") << "' is reported";
  auto count = countReport.getValue().getDefiningOp<ds::CountOp>();
  labels = count ? dyn_cast<BlockArgument>(count.getLabels()) : BlockArgument();
  if (!labels)
    return countReport.emitOpError("A1: the tokens are not counted on an argument of @train");
  for (auto other : micro.getOps<ds::CountOp>())
    if (other.getLabels() == labels)
      counts.push_back({other, nameOf(other)});
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
  if (!fresh && startFrom(gradient, sum)) {
    ++inPlace;
  } else {
    gradient = ds::AddOp::create(builder, gradient.getLoc(), gradient, sum);
    ++added;
  }
  assign(name, gradient);
}

/// The terms of a gradient that `ds-differentiate` adds apart: one for each use of its parameter.
SmallVector<Value> Accumulation::usesOf(Value gradient) {
  SmallVector<Value> terms{gradient};
  while (auto add = terms.front().getDefiningOp<ds::AddOp>()) {
    if (add->getBlock() != &micro.getBody().front() || !add->hasOneUse())
      break;
    terms.front() = add.getRhs();
    terms.insert(terms.begin(), add.getLhs());
  }
  return terms;
}

/// Name of the sum of use `number` of the parameter whose gradient is `gradient`.
static std::string useName(StringRef gradient, int64_t number) {
  return (number ? "use." + Twine(number) + "." : Twine()).str() + gradient.str();
}

void Accumulation::rewriteGradient(ds::ReportOp report) {
  Value gradient = report.getValue();
  auto type = tensorType(gradient);
  SmallVector<Value> terms{gradient};
  if (apart)
    terms = usesOf(gradient);
  for (auto [number, term] : llvm::enumerate(terms)) {
    std::string name = useName(report.getName(), number);
    declare(name, type);
    if (adds)
      addOnto(name, term);
    else
      assign(name, term);
  }
}

void Accumulation::rewriteMicro() {
  Block &body = micro.getBody().front();
  builder.setInsertionPoint(body.getTerminator());
  for (ds::ReportOp report : gradientReports)
    rewriteGradient(report);
  if (adds)
    assign(lossName, increment(read(lossName, scalar), lossReport.getValue()));
  else
    assign(lossName, lossReport.getValue());
  if (samples)
    assign(sampleName, increment(read(sampleName, scalar), Value(),
                                 DSC_FAULT(12, 1.0, 0.0) *
                                     double(cast<ShapedType>(labels.getType()).getDimSize(0))));
  lossReport.erase();
  countReport.erase();
  for (ds::ReportOp report : gradientReports) {
    Value gradient = report.getValue();
    report.erase();
    // Sums of terms that are kept apart now.
    for (auto add = gradient.getDefiningOp<ds::AddOp>(); apart && add && add->use_empty();
         add = gradient.getDefiningOp<ds::AddOp>()) {
      gradient = add.getLhs();
      add.erase();
    }
  }
  if (DSC_FAULT(11, false, true))
    return;
  for (auto [count, name] : counts) {
    builder.setInsertionPoint(count);
    if (!count.use_empty())
      count.replaceAllUsesWith(read(name, scalar));
    count.erase();
  }
}

/// An empty program without arguments in front of `@train`, which ends it; the builder stands in
/// it.
func::FuncOp Accumulation::createProgram(const Twine &name) {
  auto program =
      func::FuncOp::create(builder, micro.getLoc(), name.str(), builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(program.addEntryBlock());
  builder.setInsertionPoint(func::ReturnOp::create(builder, micro.getLoc()));
  return program;
}

/// Sets of gradients that wait for their partner are a stack: slot s holds a subtree, those above
/// it smaller ones. `@train.push.s` puts the newest set there, `@train.merge.s` adds it onto the
/// newest one.
void Accumulation::createTree() {
  SmallVector<std::pair<std::string, RankedTensorType>> newest;
  for (auto &[name, type] : sums)
    if (!isCount(name))
      newest.push_back({name, type});
  SmallVector<std::string> pushes, merges;
  auto slotName = [](size_t slot, StringRef name) {
    return ("tree." + Twine(slot) + "." + name).str();
  };
  auto addSlot = [&] {
    size_t slot = pushes.size();
    for (auto &[name, type] : newest)
      declare(slotName(slot, name), type);
    builder.setInsertionPointAfter(micro);
    pushes.push_back("train.push." + std::to_string(slot));
    createProgram(pushes.back());
    for (auto &[name, type] : newest)
      assign(slotName(slot, name), read(name, type));
    builder.setInsertionPointAfter(module.lookupSymbol(pushes.back()));
    merges.push_back("train.merge." + std::to_string(slot));
    createProgram(merges.back());
    for (auto &[name, type] : newest) {
      Value earlier = read(slotName(DSC_FAULT(99, slot, 0), name), type), later = read(name, type);
      assign(name, type == scalar
                       ? increment(earlier, later)
                       : ds::AddOp::create(builder, micro.getLoc(), earlier, later).getResult());
    }
  };
  size_t depth = 0;
  for (int64_t part = 0; part < parts; ++part) {
    schedule("train.micro", 1);
    for (int64_t odd = part; odd & 1; odd >>= 1) // a subtree of the same size is complete
      schedule(merges[--depth], 1);
    if (part + 1 == parts)
      break;
    if (depth == pushes.size())
      addSlot();
    schedule(pushes[depth++], 1);
  }
  while (depth)
    schedule(merges[--depth], 1);
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
  for (auto [count, name] : counts)
    assign(name, ds::CountOp::create(builder, micro.getLoc(), scalar, window.getArgument(0),
                                     name == samplesName));
  auto zero = [&](StringRef name, RankedTensorType type) {
    assign(name, ds::ZerosOp::create(builder, micro.getLoc(), type));
  };
  for (auto &[name, type] : sums)
    if (adds && DSC_FAULT(10, !isCount(name), name == lossName))
      zero(name, type);
  if (samples)
    zero(sampleName, scalar);
  func::ReturnOp::create(builder, micro.getLoc());
}

void Accumulation::createUpdate() {
  builder.setInsertionPointAfter(micro);
  createProgram("train");
  auto report = [&](StringRef name, Value value) {
    ds::ReportOp::create(builder, micro.getLoc(), name, value);
  };
  report("loss", read(lossName, scalar));
  report("tokens", read(countName, scalar));
  for (ds::ReportOp gradient : gradientReports) {
    StringRef name = gradient.getName();
    auto type = tensorType(gradient.getValue());
    Value sum = read(name, type);
    int64_t terms = uses.lookup(name);
    for (int64_t number = 1; number < terms; ++number)
      sum = ds::AddOp::create(builder, micro.getLoc(), read(useName(name, number), type), sum);
    if (terms > 1)
      assign(name, sum);
    report(name, sum);
  }
}

void Accumulation::schedule(StringRef program, int64_t times) {
  rows.push_back({program.str(), times});
}

LogicalResult Accumulation::run() {
  if (failed(findValues()))
    return failure();
  micro.setName("train.micro");
  for (auto [count, name] : counts)
    declare(name, scalar);
  declare(lossName, scalar);
  for (ds::ReportOp report : gradientReports)
    uses[report.getName()] = apart ? usesOf(report.getValue()).size() : 1;
  createUpdate();
  rewriteMicro();
  createWindow();
  schedule("train.window", 1);
  if (tree)
    createTree();
  else
    schedule("train.micro", parts);
  schedule("train", 1);
  SmallVector<Attribute> programs;
  SmallVector<int64_t> times;
  for (auto &[program, repetitions] : rows) {
    programs.push_back(FlatSymbolRefAttr::get(builder.getContext(), program));
    times.push_back(repetitions);
  }
  builder.setInsertionPoint(module.lookupSymbol("train.window"));
  ds::ScheduleOp::create(builder, micro.getLoc(), builder.getArrayAttr(programs), times);
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
    if (!program || (microBatches == 1 && !always))
      return;
    Accumulation accumulation(getOperation(), program, microBatches, tree, tree || apart, fresh);
    if (failed(accumulation.run()))
      return signalPassFailure();
    inPlace += accumulation.inPlace;
    added += accumulation.added;
  }
};
} // namespace
