//===- Scalar.cpp - float64 reference of Ops/Scalar.td ---------------------===//
#include "Functions.h"
#include "dsc/Dialect/DS/Schedules.h"
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

double reference::treeSum(std::vector<double> sums) {
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

namespace {
/// Operands of a learning rate.
struct Rate {
  double t, peak, floor, warmup, total, extra;
};
} // namespace

/// From 1 to 0 along half a cosine.
static double halfCosine(double done) { return (1 + std::cos(std::numbers::pi * done)) / 2; }

/// Rate after the warm-up.
static double mainRate(ds::Schedule schedule, const Rate &r) {
  switch (schedule) {
  case ds::Schedule::Linear:
  case ds::Schedule::Cosine: {
    if (r.t >= r.total)
      return r.floor;
    double done = (r.t - r.warmup) / (r.total - r.warmup);
    double left = schedule == ds::Schedule::Cosine ? halfCosine(done) : 1 - done;
    return r.floor + (r.peak - r.floor) * left;
  }
  case ds::Schedule::InverseSqrt:
    return std::max(r.floor, r.peak * std::sqrt(r.extra / (r.t - r.warmup + r.extra)));
  case ds::Schedule::Wsd: {
    double start = r.total - r.extra;
    if (r.t >= r.total)
      return r.floor;
    if (r.t < start)
      return r.peak;
    return r.floor + (r.peak - r.floor) * (1 - (r.t - start) / r.extra);
  }
  default:
    return r.peak;
  }
}

/// DeepSpeed's schedules, by its own formulas.
static double deepSpeedRate(ds::Schedule schedule, bool linearWarmup, const Rate &r) {
  double warmup = std::max(2.0, r.warmup);
  if (r.t < warmup) {
    double risen = linearWarmup ? r.t / warmup : std::log(r.t + 1) / std::log(warmup);
    return schedule == ds::Schedule::WarmupCosineLR ? r.peak * (r.extra + (1 - r.extra) * risen)
                                                    : r.floor + (r.peak - r.floor) * risen;
  }
  if (schedule == ds::Schedule::WarmupLR)
    return r.peak;
  if (schedule == ds::Schedule::WarmupDecayLR) {
    double left = (r.total - r.t) / std::max(1.0, r.total - warmup);
    return r.floor + (r.peak - r.floor) * std::max(0.0, left);
  }
  bool ended = r.t + 1 >= r.total;
  double done = ended ? 1 : (r.t - warmup + 1) / (r.total - warmup);
  return r.peak * (r.floor + (1 - r.floor) * halfCosine(done));
}

void reference::evaluate(ds::LearningRateOp op, Evaluation &at) {
  Rate r{at(op.getUpdates()).item(), at(op.getPeak()).item(),
         at(op.getFloor()).item(),   at(op.getWarmup()).item(),
         at(op.getTotal()).item(),   op.getExtra() ? at(op.getExtra()).item() : 0};
  double &rate = at.result(op.getResult())[0];
  if (ds::isDeepSpeedSchedule(op.getSchedule()))
    rate = deepSpeedRate(op.getSchedule(), op.getLinearWarmup(), r);
  else
    rate = r.t < r.warmup ? r.peak * (r.t + 1) / r.warmup : mainRate(op.getSchedule(), r);
}

void reference::evaluate(ds::IncrementOp op, Evaluation &at) {
  double by = op.getBy() ? at(op.getBy()).item() : op.getStep().convertToDouble();
  at.result(op.getResult())[0] = at(op.getInput()).item() + by;
}

void reference::evaluate(ds::ZerosOp, Evaluation &) {} // results start as zeros

void reference::evaluate(ds::UnscaleOp op, Evaluation &at) {
  at.result(op.getResult())[0] = at(op.getInput()).item() / at(op.getScale()).item();
}

void reference::evaluate(ds::LossScaleUpdateOp op, Evaluation &at) {
  double scale = at(op.getScale()).item(), good = at(op.getGood()).item();
  double used = at(op.getUsed()).item(), floored = at(op.getFloored()).item();
  double floor = at(op.getFloor()).item(), cap = at(op.getCap()).item();
  double loss = at(op.getLoss()).item(), norm = at(op.getNorm()).item();
  if (at(op.getCount()).item() == 0) {
    // as it was
  } else if (!std::isfinite(loss) || !std::isfinite(norm)) {
    floored = scale <= floor ? floored + 1 : 0;
    good = 0;
    if (used + 1 >= at(op.getHysteresis()).item())
      scale = std::max(scale / 2, floor);
    else
      used += 1;
  } else {
    bool grow = std::fmod(good + 1, at(op.getWindow()).item()) == 0;
    if (grow)
      scale = std::min(scale * 2, cap);
    if (grow || op.getConsecutive())
      used = 0;
    good += 1;
    floored = 0;
  }
  at.result(op.getNewScale())[0] = scale;
  at.result(op.getNewGood())[0] = good;
  at.result(op.getNewUsed())[0] = used;
  at.result(op.getNewFloored())[0] = floored;
}

void reference::evaluate(ds::ScaleRateOp op, Evaluation &at) {
  at.result(op.getResult())[0] = at(op.getRate()).item() * at(op.getScale()).item();
}

void reference::evaluate(ds::TrustRatioOp op, Evaluation &at) {
  double weight = at(op.getWeight()).item(), direction = at(op.getDirection()).item();
  double ratio = 1;
  if (weight > 0 && direction > 0)
    ratio =
        std::max(at(op.getLeast()).item(), std::min(weight / direction, at(op.getMost()).item()));
  at.result(op.getResult())[0] = ratio;
}

void reference::evaluate(ds::UpdatePowerOp op, Evaluation &at) {
  at.result(op.getResult())[0] =
      std::pow(at(op.getUpdates()).item() + 1, at(op.getExponent()).item());
}

void reference::evaluate(ds::AdafactorFactorOp op, Evaluation &at) {
  double rate = at(op.getRate()).item(), t = at(op.getUpdates()).item() + 1;
  double root = std::sqrt(static_cast<double>(op.getElements()));
  double size = std::max(at(op.getLeast()).item(), at(op.getWeight()).item() / root);
  double relative = rate * std::sqrt(t) > 1 ? 1 / (rate * std::sqrt(t)) : 1;
  double excess = at(op.getDirection()).item() / root / at(op.getThreshold()).item();
  at.result(op.getResult())[0] = size * relative / std::max(1.0, excess);
}
