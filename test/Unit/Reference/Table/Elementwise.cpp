//===- Elementwise.cpp - test rows of Ops/Elementwise.td -------------------===//
#include "OpTable.h"
#include "dsc/Support/HalfFloat.h"
#include <cmath>
#include <numbers>

using namespace dsc;
using namespace dsc::optable;

// The activations in other words than the reference: tanh through the logistic function, erf
// through erfc.
static double geluTanh(double x) {
  return x / (1 + std::exp(-2 * std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * std::pow(x, 3))));
}
static double gelu(double x) { return x * std::erfc(-x * std::sqrt(0.5)) / 2; }
static double relu(double x) { return std::fmax(x, 0); }

double dsc::optable::activationValue(const std::string &activation, double x) {
  if (activation == "none")
    return x;
  return activation == "gelu_tanh" ? geluTanh(x) : activation == "gelu" ? gelu(x) : relu(x);
}

double dsc::optable::activationSlope(const std::string &activation, double x) {
  auto f = [&](double at) { return activationValue(activation, at); };
  double h = 1e-3;
  return (8 * (f(x + h) - f(x - h)) - (f(x + 2 * h) - f(x - 2 * h))) / (12 * h);
}

/// By the bits, where the reference scales and rounds.
static double castTo(const std::string &type, double x) {
  auto value = static_cast<float>(x); // exact
  return type == "f16"    ? halfToFloat(floatToHalf(value))
         : type == "bf16" ? bfloatToFloat(floatToBfloat(value))
                          : value;
}

std::vector<OpRow> dsc::optable::elementwiseRows() {
  OpRow add{"ds.add", {}}, activation{"ds.activation", {}}, grad{"ds.activation_grad", {}};
  for (std::string shape : {"1", "7", "3x16", "5x17", "2x7x60", "3x131"})
    add.cases.push_back({.label = shape,
                         .operands = {shape + "xf32", shape + "xf32"},
                         .results = {shape + "xf32"},
                         .text = "ds.add $0, $1 : (#0, #1) -> @0",
                         .expected = [](const Tensors &in) -> Tensors {
                           Tensor sum = in[1];
                           for (int64_t i = 0; i < sum.count(); ++i)
                             sum[i] += in[0][i];
                           return {sum};
                         },
                         .roundings = 1});
  for (std::string function : {"gelu_tanh", "gelu", "relu"})
    for (std::string shape : {"1", "7", "3x16", "5x17", "3x131"}) {
      // Far enough out that both tails are met; relu's kink is kept two difference steps away.
      Fill input{.low = -6, .high = 6, .hole = 0.01};
      activation.cases.push_back({.label = function + "_" + shape,
                                  .operands = {shape + "xf32"},
                                  .results = {shape + "xf32"},
                                  .text = "ds.activation " + function + " $0 : (#0) -> @0",
                                  .fills = {{0, input}},
                                  .expected = [function](const Tensors &in) -> Tensors {
                                    Tensor result = in[0];
                                    for (double &value : result.values)
                                      value = activationValue(function, value);
                                    return {result};
                                  },
                                  .roundings = 8});
      grad.cases.push_back({.label = function + "_" + shape,
                            .operands = {shape + "xf32", shape + "xf32"},
                            .results = {shape + "xf32"},
                            .text = "ds.activation_grad " + function + " $0, $1 : (#0, #1) -> @0",
                            .fills = {{1, input}},
                            .expected = [function](const Tensors &in) -> Tensors {
                              Tensor result = in[0];
                              for (int64_t i = 0; i < result.count(); ++i)
                                result[i] *= activationSlope(function, in[1][i]);
                              return {result};
                            },
                            .roundings = 16});
    }
  OpRow cast{"ds.cast", {}};
  for (auto [from, to] : {std::pair("f32", "f16"),
                          {"f32", "bf16"},
                          {"f16", "f32"},
                          {"bf16", "f32"},
                          {"f16", "bf16"},
                          {"bf16", "f16"}})
    for (std::string shape : {"1", "7", "5x17", "3x131"})
      cast.cases.push_back({.label = shape + "_" + from + "_to_" + to,
                            .operands = {shape + "x" + from},
                            .results = {shape + "x" + to},
                            .text = "ds.cast $0 : (#0) -> @0",
                            .fills = {{0, {.low = -3, .high = 3}}},
                            .expected = [to = std::string(to)](const Tensors &in) -> Tensors {
                              Tensor result = in[0];
                              for (double &value : result.values)
                                value = castTo(to, value);
                              return {result};
                            },
                            .differentiate = false,
                            .roundings = 0});
  return {add, activation, grad, cast};
}
