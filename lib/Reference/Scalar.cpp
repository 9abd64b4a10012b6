//===- Scalar.cpp - float64 reference of Ops/Scalar.td ---------------------===//
#include "Functions.h"
#include <algorithm>
#include <cmath>
#include <numbers>

using namespace dsc;
using namespace dsc::reference;

void reference::evaluate(ds::SquareSumOp op, Evaluation &at) {
  const Tensor &input = at(op.getInput());
  Tensor &result = at.result(op.getResult());
  for (int64_t i = 0; i < input.count(); ++i)
    result[i / 1024] += input[i] * input[i];
}

/// Neighbours are added pairwise until one is left; an odd one moves up as it is.
static double treeSum(std::vector<double> sums) {
  while (sums.size() > 1) {
    std::vector<double> above;
    for (size_t i = 0; i < sums.size(); i += 2)
      above.push_back(i + 1 < sums.size() ? sums[i] + sums[i + 1] : sums[i]);
    sums = std::move(above);
  }
  return sums.empty() ? 0 : sums[0];
}

void reference::evaluate(ds::GlobalNormOp op, Evaluation &at) {
  double sum = 0;
  for (mlir::Value value : op.getSquareSums())
    sum += treeSum(at(value).values);
  at.result(op.getResult())[0] = std::sqrt(sum);
}

void reference::evaluate(ds::ClipFactorOp op, Evaluation &at) {
  double norm = at(op.getNorm()).item(), limit = at(op.getLimit()).item();
  at.result(op.getResult())[0] = limit == 0 || norm == 0 ? 1 : std::min(1.0, limit / norm);
}

void reference::evaluate(ds::LearningRateOp op, Evaluation &at) {
  double t = at(op.getUpdates()).item();
  double peak = at(op.getPeak()).item(), floor = at(op.getFloor()).item();
  double warmup = at(op.getWarmup()).item(), total = at(op.getTotal()).item();
  double &rate = at.result(op.getResult())[0];
  if (t < warmup) {
    rate = peak * (t + 1) / warmup;
    return;
  }
  if (op.getSchedule() == ds::Schedule::Constant) {
    rate = peak;
    return;
  }
  if (t >= total) {
    rate = floor;
    return;
  }
  double done = (t - warmup) / (total - warmup);
  double left = op.getSchedule() == ds::Schedule::Cosine
                    ? (1 + std::cos(std::numbers::pi * done)) / 2
                    : 1 - done;
  rate = floor + (peak - floor) * left;
}

void reference::evaluate(ds::IncrementOp op, Evaluation &at) {
  at.result(op.getResult())[0] = at(op.getInput()).item() + 1;
}
