//===- Loss.cpp - float64 reference of Ops/Loss.td -------------------------===//
#include "Functions.h"
#include <algorithm>
#include <cmath>

using namespace dsc;
using namespace dsc::reference;

/// The label that is not counted.
static constexpr double uncounted = -100;

/// True if label `i` is uncounted or a column of `logits`; fails otherwise.
static bool checkLabel(const Tensor &labels, int64_t i, int64_t columns, Evaluation &at) {
  if (labels[i] == uncounted || (labels[i] >= 0 && labels[i] < columns))
    return true;
  at.fail("label " + llvm::Twine(static_cast<int64_t>(labels[i])) + " of sample " +
          llvm::Twine(i / labels.columns()) + ", position " + llvm::Twine(i % labels.columns()) +
          ", is neither -100 nor below " + llvm::Twine(columns));
  return false;
}

void reference::evaluate(ds::CrossEntropyOp op, Evaluation &at) {
  const Tensor &logits = at(op.getLogits()), &labels = at(op.getLabels());
  Tensor &losses = at.result(op.getLosses()), &lse = at.result(op.getLse());
  int64_t columns = logits.columns();
  double smoothing = op.getSmoothing() ? at(op.getSmoothing()).item() : 0;
  for (int64_t i = 0; i < logits.rows(); ++i) {
    if (!checkLabel(labels, i, columns, at))
      return;
    const double *row = logits.row(i);
    double greatest = *std::max_element(row, row + columns), sum = 0;
    for (int64_t v = 0; v < columns; ++v)
      sum += std::exp(row[v] - greatest);
    lse[i] = greatest + std::log(sum);
    if (labels[i] == uncounted)
      continue;
    double likelihood = lse[i] - row[static_cast<int64_t>(labels[i])], uniform = 0;
    for (int64_t v = 0; v < columns; ++v)
      uniform += (lse[i] - row[v]) / static_cast<double>(columns);
    losses[i] = smoothing == 0 ? likelihood : (1 - smoothing) * likelihood + smoothing * uniform;
    if (op.getWeights())
      losses[i] *= at(op.getWeights())[i];
  }
}

void reference::evaluate(ds::CrossEntropyGradOp op, Evaluation &at) {
  const Tensor &logits = at(op.getLogits()), &labels = at(op.getLabels()), &lse = at(op.getLse());
  Tensor &result = at.result(op.getResult());
  double seed = at(op.getSeed()).item();
  double smoothing = op.getSmoothing() ? at(op.getSmoothing()).item() : 0;
  int64_t columns = logits.columns(), classes = op.getClasses().value_or(columns), own = columns;
  if (op.getRank())
    own = ownClasses(at(op.getRank()).item(), columns, classes);
  double share = smoothing / static_cast<double>(classes);
  for (int64_t i = 0; i < logits.rows(); ++i) {
    bool elsewhere = op.getRank() && labels[i] == -1;
    if (!elsewhere && !checkLabel(labels, i, columns, at))
      return;
    if (labels[i] == uncounted)
      continue;
    double factor = op.getWeights() ? seed * at(op.getWeights())[i] : seed;
    for (int64_t v = 0; v < own; ++v) {
      double target = share + (static_cast<double>(v) == labels[i] ? 1 - smoothing : 0);
      result.row(i)[v] = factor * (std::exp(logits.row(i)[v] - lse[i]) - target);
    }
  }
}

/// Counted labels of each sample, a run along the last dimension.
static std::vector<double> countedLabels(const Tensor &labels) {
  std::vector<double> counts(static_cast<size_t>(labels.rows()), 0);
  for (int64_t i = 0; i < labels.count(); ++i)
    counts[static_cast<size_t>(i / labels.columns())] += labels[i] != uncounted;
  return counts;
}

void reference::evaluate(ds::LabelWeightsOp op, Evaluation &at) {
  const Tensor &labels = at(op.getLabels());
  std::vector<double> counts = countedLabels(labels);
  Tensor &result = at.result(op.getResult());
  for (int64_t i = 0; i < labels.count(); ++i)
    if (labels[i] != uncounted)
      result[i] = 1 / counts[static_cast<size_t>(i / labels.columns())];
}

void reference::evaluate(ds::CountOp op, Evaluation &at) {
  for (double count : countedLabels(at(op.getLabels())))
    at.result(op.getResult())[0] += op.getSamples() ? count > 0 : count;
}

void reference::evaluate(ds::LossSeedOp op, Evaluation &at) {
  double count = at(op.getCount()).item();
  double scale = op.getScale() ? at(op.getScale()).item() : 1;
  at.result(op.getResult())[0] = count == 0 ? 0 : scale / count;
}

void reference::evaluate(ds::TokenMeanOp op, Evaluation &at) {
  double sum = 0, count = at(op.getCount()).item();
  for (double loss : at(op.getLosses()).values)
    sum += loss;
  at.result(op.getResult())[0] = count == 0 ? 0 : sum / count;
}

/// Elements in one row of a tensor whose leading dimensions are folded into those of `folded`.
static int64_t rowElements(mlir::Type folded) {
  int64_t elements = 1;
  std::vector<int64_t> shape = shapeOf(folded);
  for (size_t i = 1; i < shape.size(); ++i)
    elements *= shape[i];
  return elements;
}

void reference::evaluate(ds::SliceRowsOp op, Evaluation &at) {
  const Tensor &input = at(op.getInput());
  Tensor &result = at.result(op.getResult());
  int64_t first = static_cast<int64_t>(op.getStart()) * rowElements(op.getResult().getType());
  std::copy_n(input.values.begin() + first, result.count(), result.values.begin());
}

void reference::evaluate(ds::ConcatRowsOp op, Evaluation &at) {
  auto to = at.result(op.getResult()).values.begin();
  for (mlir::Value value : op.getInputs()) {
    const Tensor &input = at(value);
    to = std::copy(input.values.begin(), input.values.end(), to);
  }
}
