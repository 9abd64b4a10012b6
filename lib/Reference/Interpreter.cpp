//===- Interpreter.cpp - runs ds IR in float64 -----------------------------===//
// Every op runs once, in order; a value dies with its last use, so that a training step needs the
// memory of its saved activations and no more. Results stored in two bytes are rounded, once, in
// runOp.
#include "dsc/Reference/Interpreter.h"
#include "dsc/Dialect/DS/DS.h"
#include "dsc/Support/Fault.h"
#include "dsc/Support/HalfFloat.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace mlir;
using namespace dsc;
using namespace dsc::reference;

void reference::roundToType(Tensor &tensor, Type type) {
  Type element = getElementTypeOrSelf(type);
  if (element.isF16())
    for (double &value : tensor.values)
      value = roundToHalf(value);
  else if (DSC_FAULT(74, element.isBF16(), false))
    for (double &value : tensor.values)
      value = roundToBfloat(value);
}

static bool isFinite(const Tensor &tensor) {
  return llvm::all_of(tensor.values, [](double value) { return std::isfinite(value); });
}

Interpreter::Interpreter(ModuleOp module) : module(module) {
  for (auto op : module.getOps<ds::VariableOp>()) {
    double start = op.getInitializer() == ds::Initializer::Ones ? 1
                   : op.getInitializer() == ds::Initializer::Constant
                       ? op.getValue().convertToDouble()
                       : 0;
    variables[op.getSymName().str()] =
        std::make_shared<Tensor>(Tensor::filled(shapeOf(op.getType()), start));
  }
  for (auto op : module.getOps<ds::HyperparameterOp>())
    hyperparameters[op.getSymName().str()] = op.getValue().convertToDouble();
}

void Interpreter::define(Value value, Shared tensor) {
  int64_t uses = std::distance(value.use_begin(), value.use_end());
  if (uses == 0)
    return;
  bytes += tensor->count() * static_cast<int64_t>(sizeof(double));
  peak = std::max(peak, bytes);
  live[value] = {std::move(tensor), uses};
}

Interpreter::Shared Interpreter::use(Value value) {
  auto found = live.find(value);
  Shared tensor = found->second.tensor;
  if (--found->second.usesLeft == 0) {
    bytes -= tensor->count() * static_cast<int64_t>(sizeof(double));
    live.erase(found);
  }
  return tensor;
}

void Interpreter::noteNonFinite(Operation *op, const Tensor &tensor, Outcome &outcome) {
  if (!outcome.firstNonFinite.empty() || isFinite(tensor))
    return;
  llvm::raw_string_ostream text(outcome.firstNonFinite);
  if (auto read = dyn_cast<ds::ReadOp>(op))
    text << "variable " << read.getVariable();
  else
    text << op->getName();
  if (auto block = op->getParentOfType<ds::BlockOp>())
    text << " in block " << block.getLabel();
  else if (auto label = op->getAttrOfType<StringAttr>("ds.label")) // a block that was dissolved
    text << " in block " << label.getValue();
}

FailureOr<Outcome> Interpreter::run(StringRef name, std::vector<Tensor> arguments) {
  auto function = module.lookupSymbol<func::FuncOp>(name);
  if (!function || function.isExternal())
    return module.emitError("there is no program '") << name << "'";
  if (function.getNumArguments() != arguments.size())
    return function.emitError("expects ")
           << function.getNumArguments() << " arguments, got " << arguments.size();
  live.clear();
  bytes = 0;
  for (auto [value, tensor] : llvm::zip(function.getArguments(), arguments)) {
    if (shapeOf(value.getType()) != tensor.shape)
      return function.emitError("argument ")
             << value.getArgNumber() << " is " << shapeText(tensor.shape) << ", expected "
             << shapeText(shapeOf(value.getType()));
    define(value, std::make_shared<Tensor>(std::move(tensor)));
  }
  Outcome outcome;
  Flow flow = runBlock(function.getBody().front(), outcome);
  live.clear();
  if (flow == Flow::Error)
    return failure();
  return outcome;
}

/// Rows [begin, begin + rows) of a matrix.
static Tensor rowsOf(const Tensor &matrix, int64_t begin, int64_t rows) {
  int64_t columns = matrix.shape[1];
  auto first = matrix.values.begin() + begin * columns;
  return {{rows, columns}, {first, first + rows * columns}};
}

FailureOr<Outcome> Interpreter::runStep(Tensor tokens, Tensor labels, Tensor positionIds) {
  SmallVector<std::pair<StringRef, int64_t>> rows{{"train", 1}};
  for (auto schedule : module.getOps<ds::ScheduleOp>()) {
    rows.clear();
    for (auto [name, times] : llvm::zip_equal(
             schedule.getPrograms().getAsRange<FlatSymbolRefAttr>(), schedule.getRepetitions()))
      rows.push_back({name.getValue(), times});
  }
  // A program may stand in several rows: together they take the batch, part after part.
  std::map<StringRef, int64_t> parts, done;
  for (auto [name, times] : rows)
    parts[name] += times;
  FailureOr<Outcome> outcome = failure();
  for (auto [name, times] : rows)
    for (int64_t repetition = 0; repetition < times; ++repetition) {
      int64_t part = done[name]++;
      auto program = module.lookupSymbol<func::FuncOp>(name);
      if (!program)
        return module.emitError("there is no program '") << name << "'";
      std::vector<Tensor> arguments;
      int64_t share = tokens.shape[0] / parts[name];
      for (BlockArgument argument : program.getArguments()) {
        auto given = program.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "ds.name");
        bool isLabels = given ? given.getValue() == "labels" : argument.getArgNumber() == 1;
        bool isPositions = given && given.getValue() == "position_ids";
        arguments.push_back(rowsOf(isPositions ? positionIds
                                   : isLabels  ? labels
                                               : tokens,
                                   DSC_FAULT(75, part, isLabels ? 0 : part) * share, share));
      }
      std::string before = succeeded(outcome) ? outcome->firstNonFinite : std::string();
      outcome = run(name, std::move(arguments));
      if (failed(outcome))
        return failure();
      if (!before.empty())
        outcome->firstNonFinite = before;
    }
  return outcome;
}

Interpreter::Flow Interpreter::runBlock(Block &block, Outcome &outcome) {
  for (Operation &op : block)
    if (Flow flow = runOp(&op, outcome); flow != Flow::Next)
      return flow;
  return Flow::Next;
}

Interpreter::Flow Interpreter::runOp(Operation *op, Outcome &outcome) {
  if (auto read = dyn_cast<ds::ReadOp>(op)) {
    std::string name = read.getVariable().str();
    Shared tensor;
    if (auto variable = variables.find(name); variable != variables.end())
      tensor = variable->second;
    else if (auto scalar = hyperparameters.find(name); scalar != hyperparameters.end())
      tensor = std::make_shared<Tensor>(Tensor::scalar(scalar->second));
    else
      return op->emitOpError("names an unknown variable '") << name << "'", Flow::Error;
    noteNonFinite(op, *tensor, outcome);
    define(read.getResult(), std::move(tensor));
    return Flow::Next;
  }
  if (auto assign = dyn_cast<ds::AssignOp>(op)) {
    Shared value = use(assign.getValue());
    auto variable = variables.find(assign.getVariable().str());
    if (variable == variables.end() || variable->second->shape != value->shape)
      return op->emitOpError("does not fit the variable '") << assign.getVariable() << "'",
             Flow::Error;
    variable->second = std::move(value);
    return Flow::Next;
  }
  if (auto block = dyn_cast<ds::BlockOp>(op)) {
    Flow flow = runBlock(block.getBody().front(), outcome);
    if (flow != Flow::Next)
      return flow;
    auto yield = cast<ds::YieldOp>(block.getBody().front().getTerminator());
    for (auto [value, result] : llvm::zip(yield.getValues(), block.getResults()))
      define(result, use(value));
    return Flow::Next;
  }
  if (isa<ds::YieldOp>(op))
    return Flow::Next; // its block hands the values out
  if (auto report = dyn_cast<ds::ReportOp>(op)) {
    outcome.reports[report.getName().str()] = *use(report.getValue());
    return Flow::Next;
  }
  if (auto guard = dyn_cast<ds::GuardOp>(op)) {
    double count = use(guard.getCount())->item();
    double loss = use(guard.getLoss())->item(), norm = use(guard.getNorm())->item();
    if (count == 0)
      outcome.end = Outcome::End::Empty;
    else if (!std::isfinite(loss) || !std::isfinite(norm))
      outcome.end = Outcome::End::Numeric;
    if (guard.getFloored()) {
      bool patient = use(guard.getFloored())->item() < use(guard.getPatience())->item();
      if (patient && outcome.end == Outcome::End::Numeric)
        outcome.end = Outcome::End::Overflow;
    }
    return outcome.end == Outcome::End::Finished ? Flow::Next : Flow::Stop;
  }
  if (isa<func::ReturnOp>(op)) {
    for (Value value : op->getOperands())
      outcome.results.push_back(*use(value));
    return Flow::Next;
  }
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto elements = dyn_cast<DenseFPElementsAttr>(constant.getValue());
    if (!elements)
      return op->emitOpError("is not a tensor of floating-point numbers"), Flow::Error;
    auto tensor = std::make_shared<Tensor>(Tensor::filled(shapeOf(elements.getType()), 0));
    for (auto [to, from] : llvm::zip(tensor->values, elements.getValues<APFloat>())) {
      bool exact;
      APFloat wide = from;
      wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &exact);
      to = wide.convertToDouble();
    }
    define(constant.getResult(), std::move(tensor));
    return Flow::Next;
  }

  ReferenceFunction function = findReference(op->getName().getStringRef());
  if (!function)
    return op->emitOpError("has no reference"), Flow::Error;
  Evaluation at(op);
  for (Value operand : op->getOperands())
    at.setOperand(operand, use(operand));
  function(op, at);
  if (at.failed())
    return Flow::Error;
  for (OpResult result : op->getResults()) {
    std::shared_ptr<Tensor> tensor = at.takeResult(result.getResultNumber());
    roundToType(*tensor, result.getType());
    noteNonFinite(op, *tensor, outcome);
    define(result, std::move(tensor));
  }
  return Flow::Next;
}
