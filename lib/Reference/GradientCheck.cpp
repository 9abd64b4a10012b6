//===- GradientCheck.cpp - an op's own backward against central differences -===//
#include "dsc/Reference/GradientCheck.h"
#include "dsc/Dialect/DS/DS.h"
#include "dsc/Reference/Interpreter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include <algorithm>
#include <cmath>
#include <random>

using namespace mlir;
using namespace dsc;
using namespace dsc::reference;

namespace {
/// A module with @forward, the op as a function of its operands, and @backward, operands and the
/// gradient of result 0 to the gradients of floating operands.
struct Checker {
  Operation *op;
  const GradientCheckOptions &options;
  std::vector<Tensor> operands;
  OwningOpRef<ModuleOp> module;
  std::unique_ptr<Interpreter> interpreter;
  std::vector<unsigned> differentiated; ///< operands that have a gradient, in order
  std::vector<double> coefficients;     ///< c

  LogicalResult build();
  FailureOr<double> value();
  FailureOr<double> difference(Tensor &operand, int64_t element);
  FailureOr<GradientError> compare();
};
} // namespace

/// What is f64 belongs to the training loop (a rate, a key) and is no variable: nothing
/// differentiates by it.
static bool isFloating(Value value) {
  Type type = cast<RankedTensorType>(value.getType()).getElementType();
  return isa<FloatType>(type) && !type.isF64();
}

/// Weights of losses are made of labels: no parameter has a part in them.
static bool isWeight(Operation *op, unsigned operand) {
  auto loss = dyn_cast<ds::CrossEntropyOp>(op);
  return loss && loss.getWeights() && loss->getOperand(operand) == loss.getWeights();
}

/// The mean of losses is the objective: its own gradient is 1 and never given, that of its losses
/// one scalar for all rows, and its count is no variable.
static bool isObjective(Operation *op) { return isa<ds::TokenMeanOp>(op); }

/// The gradient of a cross-entropy's losses is one scalar for all rows.
static Type gradientType(Operation *op) {
  if (isa<ds::CrossEntropyOp>(op))
    return RankedTensorType::get({}, Float64Type::get(op->getContext()));
  return op->getResult(0).getType();
}

/// Backward ops may read gradients, each other and what savedValues() names.
static LogicalResult checkReads(Operation *forward, func::FuncOp backward, Value gradient) {
  llvm::SmallSetVector<Value, 8> saved;
  for (Value value : cast<DifferentiableOpInterface>(forward).savedValues())
    saved.insert(value);
  for (Operation &op : backward.getBody().front()) {
    if (&op == forward || isa<func::ReturnOp>(op))
      continue;
    for (Value operand : op.getOperands()) {
      bool ofForward = isa<BlockArgument>(operand) || operand.getDefiningOp() == forward;
      if (ofForward && operand != gradient && !saved.contains(operand))
        return forward->emitOpError("builds a '")
               << op.getName() << "' that reads a value savedValues() does not name";
    }
  }
  return success();
}

LogicalResult Checker::build() {
  auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
  if (!differentiable)
    return op->emitOpError("is not differentiable");
  OpBuilder builder(op->getContext());
  Location loc = op->getLoc();
  module = ModuleOp::create(loc);
  builder.setInsertionPointToEnd(module->getBody());

  auto startFunction = [&](StringRef name, TypeRange inputs) {
    auto function = func::FuncOp::create(builder, loc, name, builder.getFunctionType(inputs, {}));
    builder.setInsertionPointToStart(function.addEntryBlock());
    return function;
  };
  auto finish = [&](func::FuncOp function, ValueRange results) {
    func::ReturnOp::create(builder, loc, results);
    function.setType(builder.getFunctionType(function.getArgumentTypes(), results.getTypes()));
    builder.setInsertionPointToEnd(module->getBody());
  };
  auto clone = [&](func::FuncOp function) {
    Operation *copy = builder.clone(*op);
    copy->setOperands(function.getArguments().take_front(op->getNumOperands()));
    return copy;
  };

  SmallVector<Type> inputs(op->getOperandTypes());
  func::FuncOp forward = startFunction("forward", inputs);
  finish(forward, clone(forward)->getResult(0));

  inputs.push_back(gradientType(op));
  func::FuncOp backward = startFunction("backward", inputs);
  Operation *copy = clone(backward);
  Value gradient = backward.getArguments().back();
  SmallVector<Value> resultGradients(op->getNumResults()), gradients;
  if (!isObjective(op))
    resultGradients[0] = gradient;
  if (failed(
          cast<DifferentiableOpInterface>(copy).buildBackward(builder, resultGradients, gradients)))
    return op->emitOpError("builds no backward");
  if (gradients.size() != op->getNumOperands())
    return op->emitOpError("gives ")
           << gradients.size() << " gradients for " << op->getNumOperands() << " operands";
  SmallVector<Value> results;
  for (auto [index, value] : llvm::enumerate(gradients)) {
    Value operand = copy->getOperand(index);
    if (!value && isFloating(operand) && !isWeight(copy, index) && !isObjective(op))
      return op->emitOpError("gives no gradient for operand ") << index;
    if (!value)
      continue;
    if (!isObjective(op) && shapeOf(value.getType()) != shapeOf(operand.getType()))
      return op->emitOpError("gives operand ") << index << " a gradient of another shape";
    results.push_back(value);
    differentiated.push_back(index);
  }
  finish(backward, results);
  if (failed(verify(*module)) || failed(checkReads(copy, backward, gradient)))
    return failure();
  interpreter = std::make_unique<Interpreter>(*module);
  return success();
}

FailureOr<double> Checker::value() {
  FailureOr<Outcome> outcome = interpreter->run("forward", operands);
  if (failed(outcome))
    return failure();
  const Tensor &result = outcome->results[0];
  double sum = 0;
  for (int64_t i = 0; i < result.count(); ++i)
    sum += coefficients[i] * result[i];
  return sum;
}

FailureOr<double> Checker::difference(Tensor &operand, int64_t element) {
  double at = operand[element], h = options.step, sum = 0;
  constexpr double weights[] = {1, -8, 8, -1};
  constexpr double offsets[] = {-2, -1, 1, 2};
  for (int i = 0; i < 4; ++i) {
    operand[element] = at + offsets[i] * h;
    FailureOr<double> f = value();
    if (failed(f))
      return failure();
    sum += weights[i] * *f;
  }
  operand[element] = at;
  return sum / (12 * h);
}

FailureOr<GradientError> Checker::compare() {
  std::mt19937_64 random(options.seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<Tensor> arguments = operands;
  Tensor gradient = Tensor::filled(shapeOf(gradientType(op)), 0);
  for (double &c : gradient.values)
    c = isObjective(op) ? 1 : uniform(random);
  coefficients.assign(shapeOf(op->getResult(0).getType()).empty()
                          ? 1
                          : cast<RankedTensorType>(op->getResult(0).getType()).getNumElements(),
                      gradient[0]);
  if (gradient.count() > 1)
    coefficients = gradient.values;
  arguments.push_back(gradient);
  FailureOr<Outcome> built = interpreter->run("backward", std::move(arguments));
  if (failed(built))
    return failure();

  GradientError worst;
  for (auto [index, operandIndex] : llvm::enumerate(differentiated)) {
    const Tensor &gradients = built->results[index];
    Tensor &operand = operands[operandIndex];
    double greatest = 0;
    for (double value : gradients.values)
      greatest = std::max(greatest, std::abs(value));
    int64_t count = std::min(options.elements, operand.count());
    for (int64_t i = 0; i < count; ++i) {
      int64_t element = count == 1 ? 0 : i * (operand.count() - 1) / (count - 1);
      FailureOr<double> numeric = difference(operand, element);
      if (failed(numeric))
        return failure();
      double given = gradients[gradients.count() == 1 ? 0 : element];
      double scale = std::max({std::abs(given), std::abs(*numeric), 1e-3 * greatest, 1e-300});
      double relative = std::abs(given - *numeric) / scale;
      ++worst.compared;
      // The negation catches NaN, which then stays.
      if (!std::isnan(worst.relative) && !(relative <= worst.relative)) {
        int64_t compared = worst.compared;
        worst = {operandIndex, element, given, *numeric, relative, compared};
      }
    }
  }
  return worst;
}

FailureOr<GradientError> reference::checkGradient(Operation *op, std::vector<Tensor> operands,
                                                  const GradientCheckOptions &options) {
  Checker checker{op, options, std::move(operands), {}, {}, {}, {}};
  if (failed(checker.build()))
    return failure();
  return checker.compare();
}
