//===- Norm.cpp - test rows of Ops/Norm.td ---------------------------------===//
#include "OpTable.h"
#include <cmath>

using namespace dsc::optable;

static constexpr double eps = 1e-5;

static Tensors normExpected(const Tensors &in) {
  const Tensor &x = in[0];
  std::vector<int64_t> leading(x.shape.begin(), x.shape.end() - 1);
  Tensor result = x, mean = Tensor::filled(leading, 0), rstd = mean;
  for (int64_t i = 0; i < x.rows(); ++i) {
    long double sum = 0, squares = 0;
    for (int64_t j = 0; j < x.columns(); ++j) {
      sum += x.row(i)[j];
      squares += static_cast<long double>(x.row(i)[j]) * x.row(i)[j];
    }
    long double average = sum / x.columns();
    mean[i] = average;
    rstd[i] = 1 / std::sqrt(squares / x.columns() - average * average + eps);
    for (int64_t j = 0; j < x.columns(); ++j)
      result.row(i)[j] = (x.row(i)[j] - mean[i]) * rstd[i] * in[1][j] + in[2][j];
  }
  return {result, mean, rstd};
}

/// The Jacobian row by row: d xhat[j] / d x[k] = rstd ((j == k) - 1/n - xhat[j] xhat[k] / n).
static Tensors inputGradExpected(const Tensors &in) {
  const Tensor &dy = in[0], &x = in[1], &gain = in[2], &mean = in[3], &rstd = in[4];
  Tensor result = Tensor::filled(x.shape, 0);
  double n = static_cast<double>(x.columns());
  for (int64_t i = 0; i < x.rows(); ++i)
    for (int64_t k = 0; k < x.columns(); ++k) {
      double sum = 0, xk = (x.row(i)[k] - mean[i]) * rstd[i];
      for (int64_t j = 0; j < x.columns(); ++j) {
        double xj = (x.row(i)[j] - mean[i]) * rstd[i];
        sum += dy.row(i)[j] * gain[j] * rstd[i] * ((j == k) - 1 / n - xj * xk / n);
      }
      result.row(i)[k] = sum + (in.size() > 5 ? in[5].row(i)[k] : 0);
    }
  return {result};
}

static Tensors parameterGradExpected(const Tensors &in) {
  const Tensor &dy = in[0], &x = in[1], &mean = in[2], &rstd = in[3];
  Tensor dgain = Tensor::filled({x.columns()}, 0), dbias = dgain;
  for (int64_t j = 0; j < x.columns(); ++j)
    for (int64_t i = x.rows() - 1; i >= 0; --i) {
      dgain[j] += dy.row(i)[j] * rstd[i] * (x.row(i)[j] - mean[i]);
      dbias[j] += dy.row(i)[j];
    }
  return {dgain, dbias};
}

std::vector<OpRow> dsc::optable::normRows() {
  OpRow norm{"ds.layer_norm", {}}, inputGrad{"ds.layer_norm_input_grad", {}};
  OpRow parameterGrad{"ds.layer_norm_parameter_grad", {}};
  struct Sizes {
    std::string leading, width;
    double rows;
  };
  for (const Sizes &s : {Sizes{"1", "7", 1}, Sizes{"7", "16", 7}, Sizes{"2x7", "17", 14},
                         Sizes{"3x37", "60", 111}, Sizes{"130", "131", 130}}) {
    std::string size = s.leading + "x" + s.width, rows = size + "xf32", row = s.leading + "xf32";
    std::string vector = s.width + "xf32";
    double width = std::stod(s.width);
    // As a normalised row has them: mean near 0, reciprocal deviation near 1.
    Fill mean{.low = -0.2, .high = 0.2}, rstd{.low = 0.5, .high = 2};
    norm.cases.push_back(
        {.label = size,
         .operands = {rows, vector, vector},
         .results = {rows, row, row},
         .text = "ds.layer_norm $0, $1, $2 {eps = 1.0e-5 : f64} : #0, #1, #2 -> @0, @1, @2",
         .fills = {{0, {.low = -2, .high = 3}}},
         .expected = normExpected,
         .roundings = width + 8,
         .magnitude = 4});
    norm.cases.back().text =
        "ds.layer_norm $0, $1, $2 {eps = 1.0e-5 : f64} : (#0, #1, #2) -> (@0, @1, @2)";
    for (bool residual : {false, true}) {
      OpCase c{.label = (residual ? "residual_" : "plain_") + size,
               .operands = {rows, rows, vector, row, row},
               .results = {rows},
               .text = "ds.layer_norm_input_grad $0, $1, $2, $3, $4 : #0, #1, #2, #3, #4 -> @0",
               .fills = {{3, mean}, {4, rstd}},
               .expected = inputGradExpected,
               .roundings = width + 8,
               .magnitude = 10};
      if (residual) {
        c.operands.push_back(rows);
        c.text = "ds.layer_norm_input_grad $0, $1, $2, $3, $4 residual $5 : #0, #1, #2, #3, #4 "
                 "residual #5 -> @0";
      }
      inputGrad.cases.push_back(std::move(c));
    }
    parameterGrad.cases.push_back(
        {.label = size,
         .operands = {rows, rows, row, row},
         .results = {vector, vector},
         .text = "ds.layer_norm_parameter_grad $0, $1, $2, $3 : (#0, #1, #2, #3) -> (@0, @1)",
         .fills = {{2, mean}, {3, rstd}},
         .expected = parameterGradExpected,
         .roundings = s.rows + 3,
         .magnitude = 2 * s.rows});
  }
  return {norm, inputGrad, parameterGrad};
}
