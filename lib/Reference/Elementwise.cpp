//===- Elementwise.cpp - float64 reference of Ops/Elementwise.td -----------===//
#include "Functions.h"
#include <cmath>
#include <numbers>

using namespace dsc;
using namespace dsc::reference;

// The slope inside tanh of the tanh form, sqrt(2 / pi), and its cubic coefficient.
static const double tanhSlope = std::sqrt(2 / std::numbers::pi);
static constexpr double tanhCubic = 0.044715;

double reference::activate(ds::Activation function, double x) {
  switch (function) {
  case ds::Activation::None:
    return x;
  case ds::Activation::GeluTanh:
    return 0.5 * x * (1 + std::tanh(tanhSlope * (x + tanhCubic * x * x * x)));
  case ds::Activation::Gelu:
    return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
  case ds::Activation::Relu:
    // Keeps NaN, as every other function here does.
    return x < 0 ? 0 : x;
  }
  return x;
}

double reference::activateDerivative(ds::Activation function, double x) {
  switch (function) {
  case ds::Activation::None:
    return 1;
  case ds::Activation::GeluTanh: {
    double t = std::tanh(tanhSlope * (x + tanhCubic * x * x * x));
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * tanhSlope * (1 + 3 * tanhCubic * x * x);
  }
  case ds::Activation::Gelu: {
    double density = std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi);
    return 0.5 * (1 + std::erf(x / std::numbers::sqrt2)) + x * density;
  }
  case ds::Activation::Relu:
    return x > 0 ? 1 : 0;
  }
  return 1;
}

void reference::evaluate(ds::AddOp op, Evaluation &at) {
  const Tensor &lhs = at(op.getLhs()), &rhs = at(op.getRhs());
  Tensor &result = at.result(op.getResult());
  for (int64_t i = 0; i < result.count(); ++i)
    result[i] = lhs[i] + rhs[i];
}

/// The interpreter rounds every result to its type.
void reference::evaluate(ds::CastOp op, Evaluation &at) {
  at.result(op.getResult()).values = at(op.getInput()).values;
}

void reference::evaluate(ds::ActivationOp op, Evaluation &at) {
  const Tensor &input = at(op.getInput());
  Tensor &result = at.result(op.getResult());
  for (int64_t i = 0; i < result.count(); ++i)
    result[i] = activate(op.getFunction(), input[i]);
}

void reference::evaluate(ds::ActivationGradOp op, Evaluation &at) {
  const Tensor &gradient = at(op.getGradient()), &input = at(op.getInput());
  Tensor &result = at.result(op.getResult());
  for (int64_t i = 0; i < result.count(); ++i)
    result[i] = gradient[i] * activateDerivative(op.getFunction(), input[i]);
}
