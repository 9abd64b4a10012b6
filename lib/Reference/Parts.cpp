//===- Parts.cpp - float64 reference of Ops/Parts.td -----------------------===//
#include "Functions.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace dsc;
using namespace dsc::reference;

int64_t reference::ownClasses(double rank, int64_t columns, int64_t classes) {
  return std::clamp<int64_t>(classes - static_cast<int64_t>(rank) * columns, 0, columns);
}

void reference::evaluate(ds::OnceOp op, Evaluation &at) {
  if (at(op.getRank()).item() == 0)
    at.result(op.getResult()).values = at(op.getInput()).values;
}

void reference::evaluate(ds::LocalIdsOp op, Evaluation &at) {
  const Tensor &ids = at(op.getIds());
  Tensor &result = at.result(op.getResult());
  double rows = static_cast<double>(op.getRows()), first = at(op.getRank()).item() * rows;
  for (int64_t i = 0; i < ids.count(); ++i)
    if (ids[i] < 0)
      result[i] = ids[i];
    else
      result[i] = ids[i] >= first && ids[i] < first + rows ? ids[i] - first : -1;
}

void reference::evaluate(ds::PartKeyOp op, Evaluation &at) {
  Tensor &result = at.result(op.getResult());
  for (int64_t i = 0; i < 5; ++i)
    result[i] = at(op.getKey())[i];
  result[5] = at(op.getRank()).item() * static_cast<double>(op.getElements()) / 4;
}

void reference::evaluate(ds::LossPartsOp op, Evaluation &at) {
  const Tensor &logits = at(op.getLogits()), &labels = at(op.getLabels());
  double rank = at(op.getRank()).item();
  int64_t own = ownClasses(rank, logits.columns(), op.getClasses()), rows = labels.count();
  Tensor &lse = at.result(op.getLse()), &chosen = at.result(op.getChosen());
  for (int64_t i = 0; i < rows; ++i) {
    const double *row = logits.row(i);
    double greatest = own ? *std::max_element(row, row + own) : 0, sum = 0, total = 0;
    for (int64_t v = 0; v < own; ++v) {
      sum += std::exp(row[v] - greatest);
      total += row[v];
    }
    // The lowest number of f32, as kernels have it.
    lse[static_cast<int64_t>(rank) * rows + i] =
        own ? greatest + std::log(sum) : -std::numeric_limits<float>::max();
    chosen[i] = labels[i] < 0 ? 0 : row[static_cast<int64_t>(labels[i])];
    if (op.getTotal())
      at.result(op.getTotal())[i] = total;
  }
}

void reference::evaluate(ds::JoinLossOp op, Evaluation &at) {
  const Tensor &parts = at(op.getParts()), &chosen = at(op.getChosen());
  const Tensor &labels = at(op.getLabels());
  Tensor &losses = at.result(op.getLosses()), &lse = at.result(op.getLse());
  int64_t rows = lse.count(), ranks = parts.count() / rows;
  for (int64_t i = 0; i < rows; ++i) {
    double greatest = parts[i], sum = 0;
    for (int64_t r = 1; r < ranks; ++r)
      greatest = std::max(greatest, parts[r * rows + i]);
    for (int64_t r = 0; r < ranks; ++r)
      sum += std::exp(parts[r * rows + i] - greatest);
    lse[i] = greatest + std::log(sum);
    if (labels[i] == -100)
      continue;
    losses[i] = lse[i] - chosen[i];
    if (op.getSmoothing()) {
      double smoothing = at(op.getSmoothing()).item();
      double mean = at(op.getTotal())[i] / static_cast<double>(op.getClasses());
      losses[i] = (1 - smoothing) * losses[i] + smoothing * (lse[i] - mean);
    }
    if (op.getWeights())
      losses[i] *= at(op.getWeights())[i];
  }
}
