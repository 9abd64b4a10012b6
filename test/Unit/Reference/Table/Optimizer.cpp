//===- Optimizer.cpp - test rows of Ops/Optimizer.td -----------------------===//
#include "OpTable.h"
#include <cmath>

using namespace dsc::optable;

/// The update with the corrections taken out of the square root and moved into the step size.
static Tensors adamExpected(const Tensors &in, bool decoupled) {
  double clip = in[4].item(), rate = in[5].item(), beta1 = in[6].item(), beta2 = in[7].item();
  double eps = in[8].item(), decay = in[9].item(), t = in[10].item() + 1;
  double step = rate / (1 - std::pow(beta1, t)), root = std::sqrt(1 - std::pow(beta2, t));
  Tensor w = in[0], m = in[2], v = in[3];
  for (int64_t i = 0; i < w.count(); ++i) {
    double g = in[1][i] * clip + (decoupled ? 0 : decay * w[i]);
    m[i] += (1 - beta1) * (g - m[i]);
    v[i] += (1 - beta2) * (g * g - v[i]);
    w[i] = w[i] * (decoupled ? 1 - rate * decay : 1) - step * m[i] / (std::sqrt(v[i]) / root + eps);
  }
  return {w, m, v};
}

static Tensors sgdExpected(const Tensors &in, bool nesterov) {
  double clip = in[3].item(), rate = in[4].item(), momentum = in[5].item(), decay = in[6].item();
  Tensor w = in[0], u = in[2];
  for (int64_t i = 0; i < w.count(); ++i) {
    double g = clip * in[1][i] + decay * w[i];
    u[i] = u[i] * momentum + g;
    w[i] -= rate * (nesterov ? u[i] * momentum + g : u[i]);
  }
  return {w, u};
}

std::vector<OpRow> dsc::optable::optimizerRows() {
  OpRow adam{"ds.adam_update", {}}, sgd{"ds.sgd_update", {}};
  auto scalar = [](double value) { return Fill{.exactly = {value}}; };
  for (std::string shape : {"1", "7", "17x60", "131", "5x1031"})
    for (double updates : {0.0, 6.0})
      for (bool decoupled : {false, true}) {
        std::string type = shape + "xf32";
        OpCase c{.label = std::string(decoupled ? "decoupled_" : "coupled_") + shape + "_" +
                          std::to_string(static_cast<int>(updates)),
                 .operands = {type, type, type, type},
                 .results = {type, type, type},
                 .text = "",
                 .fills = {{3, {.low = 0.01, .high = 1}},
                           {4, scalar(0.75)},
                           {5, scalar(1e-3)},
                           {6, scalar(0.9)},
                           {7, scalar(0.95)},
                           {8, scalar(1e-8)},
                           {9, scalar(0.1)},
                           {10, scalar(updates)}},
                 .expected = [decoupled](const Tensors &in) { return adamExpected(in, decoupled); },
                 .roundings = 8};
        std::string operands = "$0", types = "#0";
        for (int i = 1; i < 11; ++i) {
          if (i > 3)
            c.operands.push_back("f64");
          operands += ", $" + std::to_string(i);
          types += ", #" + std::to_string(i);
        }
        c.text = "ds.adam_update " + operands + (decoupled ? " {decoupled}" : "") + " : (" + types +
                 ") -> (@0, @1, @2)";
        adam.cases.push_back(std::move(c));
      }
  for (std::string shape : {"1", "7", "17x60", "131"})
    for (bool nesterov : {false, true}) {
      std::string type = shape + "xf32";
      sgd.cases.push_back(
          {.label = (nesterov ? "nesterov_" : "plain_") + shape,
           .operands = {type, type, type, "f64", "f64", "f64", "f64"},
           .results = {type, type},
           .text = std::string("ds.sgd_update $0, $1, $2, $3, $4, $5, $6") +
                   (nesterov ? " {nesterov}" : "") + " : (#0, #1, #2, #3, #4, #5, #6) -> (@0, @1)",
           .fills = {{3, scalar(0.75)}, {4, scalar(0.1)}, {5, scalar(0.9)}, {6, scalar(0.01)}},
           .expected = [nesterov](const Tensors &in) { return sgdExpected(in, nesterov); },
           .roundings = 8});
    }
  return {adam, sgd};
}
