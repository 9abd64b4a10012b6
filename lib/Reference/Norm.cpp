//===- Norm.cpp - float64 reference of Ops/Norm.td -------------------------===//
#include "Functions.h"
#include "dsc/Support/Fault.h"
#include <cmath>

using namespace dsc;
using namespace dsc::reference;

void reference::evaluate(ds::LayerNormOp op, Evaluation &at) {
  const Tensor &input = at(op.getInput()), &gain = at(op.getGain()), &bias = at(op.getBias());
  Tensor &result = at.result(op.getResult());
  Tensor &mean = at.result(op.getMean()), &rstd = at.result(op.getRstd());
  int64_t width = input.columns();
  double eps = op.getEps().convertToDouble();
  for (int64_t i = 0; i < input.rows(); ++i) {
    const double *x = input.row(i);
    double sum = 0, squares = 0;
    for (int64_t j = 0; j < width; ++j)
      sum += x[j];
    mean[i] = sum / width;
    for (int64_t j = 0; j < width; ++j)
      squares += (x[j] - mean[i]) * (x[j] - mean[i]);
    rstd[i] = 1 / std::sqrt(squares / width + DSC_FAULT(76, eps, 0.0));
    for (int64_t j = 0; j < width; ++j)
      result.row(i)[j] = (x[j] - mean[i]) * rstd[i] * gain[j] + bias[j];
  }
}

void reference::evaluate(ds::LayerNormInputGradOp op, Evaluation &at) {
  const Tensor &gradient = at(op.getGradient()), &input = at(op.getInput());
  const Tensor &gain = at(op.getGain()), &mean = at(op.getMean()), &rstd = at(op.getRstd());
  const Tensor *residual = at.optional(op.getResidual());
  Tensor &result = at.result(op.getResult());
  int64_t width = input.columns();
  for (int64_t i = 0; i < input.rows(); ++i) {
    const double *x = input.row(i), *dy = gradient.row(i);
    double sum = 0, weighted = 0;
    for (int64_t j = 0; j < width; ++j) {
      double g = dy[j] * gain[j];
      sum += g;
      weighted += g * (x[j] - mean[i]) * rstd[i];
    }
    for (int64_t j = 0; j < width; ++j) {
      double xhat = (x[j] - mean[i]) * rstd[i];
      result.row(i)[j] = rstd[i] * (dy[j] * gain[j] - sum / width - xhat * weighted / width) +
                         (residual ? residual->row(i)[j] : 0);
    }
  }
}

void reference::evaluate(ds::LayerNormParameterGradOp op, Evaluation &at) {
  const Tensor &gradient = at(op.getGradient()), &input = at(op.getInput());
  const Tensor &mean = at(op.getMean()), &rstd = at(op.getRstd());
  Tensor &dgain = at.result(op.getDgain()), &dbias = at.result(op.getDbias());
  for (int64_t i = 0; i < input.rows(); ++i)
    for (int64_t j = 0; j < input.columns(); ++j) {
      dgain[j] += gradient.row(i)[j] * (input.row(i)[j] - mean[i]) * rstd[i];
      dbias[j] += gradient.row(i)[j];
    }
}
