//===- Linear.cpp - float64 reference of Ops/Linear.td ---------------------===//
// One product serves all: out[m, n] += sum_k a[m, k] * b[k, n], terms added in order of k. What is
// stored the other way round is transposed first.
#include "Functions.h"
#include <algorithm>

using namespace dsc;
using namespace dsc::reference;

/// A matrix of `rows` x `columns` turned over.
static std::vector<double> transposed(const double *matrix, int64_t rows, int64_t columns) {
  std::vector<double> result(rows * columns);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      result[j * rows + i] = matrix[i * columns + j];
  return result;
}

static void addProduct(double *out, const double *a, const double *b, int64_t m, int64_t n,
                       int64_t k) {
  // Rows of `out` in groups, so that a row of `b` is fetched once a group.
  constexpr int64_t group = 8;
  for (int64_t start = 0; start < m; start += group)
    for (int64_t p = 0; p < k; ++p)
      for (int64_t i = start; i < std::min(start + group, m); ++i) {
        double factor = a[i * k + p];
        double *to = out + i * n;
        const double *from = b + p * n;
        for (int64_t j = 0; j < n; ++j)
          to[j] += factor * from[j];
      }
}

void reference::evaluate(ds::LinearOp op, Evaluation &at) {
  const Tensor &input = at(op.getInput()), &weight = at(op.getWeight());
  const Tensor *bias = at.optional(op.getBias()), *residual = at.optional(op.getResidual());
  Tensor &result = at.result(op.getResult());
  int64_t m = input.rows(), k = input.columns(), n = result.columns();
  if (op.getTransposeWeight())
    addProduct(result.values.data(), input.values.data(),
               transposed(weight.values.data(), n, k).data(), m, n, k);
  else
    addProduct(result.values.data(), input.values.data(), weight.values.data(), m, n, k);
  if (bias)
    for (int64_t i = 0; i < result.count(); ++i)
      result[i] += (*bias)[i % n];
  if (op.getPre())
    at.result(op.getPre()).values = result.values;
  for (double &value : result.values)
    value = activate(op.getActivation(), value);
  if (residual)
    for (int64_t i = 0; i < result.count(); ++i)
      result[i] += (*residual)[i];
}

void reference::evaluate(ds::LinearInputGradOp op, Evaluation &at) {
  const Tensor &gradient = at(op.getGradient()), &weight = at(op.getWeight());
  const Tensor *pre = at.optional(op.getPre()), *residual = at.optional(op.getResidual());
  Tensor &result = at.result(op.getResult());
  int64_t m = gradient.rows(), n = gradient.columns(), k = result.columns();
  if (op.getTransposeWeight())
    addProduct(result.values.data(), gradient.values.data(), weight.values.data(), m, k, n);
  else
    addProduct(result.values.data(), gradient.values.data(),
               transposed(weight.values.data(), k, n).data(), m, k, n);
  if (pre)
    for (int64_t i = 0; i < result.count(); ++i)
      result[i] *= activateDerivative(op.getActivation(), (*pre)[i]);
  if (residual)
    for (int64_t i = 0; i < result.count(); ++i)
      result[i] += (*residual)[i];
}

void reference::evaluate(ds::LinearWeightGradOp op, Evaluation &at) {
  const Tensor &input = at(op.getInput()), &gradient = at(op.getGradient());
  Tensor &result = at.result(op.getResult());
  if (const Tensor *init = at.optional(op.getInit()))
    result.values = init->values;
  int64_t rows = input.rows(), k = input.columns(), n = gradient.columns();
  const Tensor &left = op.getTransposeWeight() ? gradient : input;
  const Tensor &right = op.getTransposeWeight() ? input : gradient;
  int64_t leftColumns = op.getTransposeWeight() ? n : k;
  addProduct(result.values.data(), transposed(left.values.data(), rows, leftColumns).data(),
             right.values.data(), leftColumns, right.columns(), rows);
}

void reference::evaluate(ds::BiasGradOp op, Evaluation &at) {
  const Tensor &gradient = at(op.getGradient());
  Tensor &result = at.result(op.getResult());
  if (const Tensor *init = at.optional(op.getInit()))
    result.values = init->values;
  for (int64_t i = 0; i < gradient.rows(); ++i)
    for (int64_t j = 0; j < gradient.columns(); ++j)
      result[j] += gradient.row(i)[j];
}
