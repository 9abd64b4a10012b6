//===- Optimizer.cpp - float64 reference of Ops/Optimizer.td ---------------===//
#include "Functions.h"
#include "dsc/Support/Fault.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace dsc;
using namespace dsc::reference;

void reference::evaluate(ds::AdamUpdateOp op, Evaluation &at) {
  const Tensor &weight = at(op.getWeight()), &gradient = at(op.getGradient());
  const Tensor &m = at(op.getM()), &v = at(op.getV());
  double clip = at(op.getClip()).item(), rate = at(op.getRate()).item();
  double beta1 = at(op.getBeta1()).item(), beta2 = at(op.getBeta2()).item();
  double eps = at(op.getEps()).item(), decay = op.getDecay() ? at(op.getDecay()).item() : 0;
  double t = at(op.getUpdates()).item() + DSC_FAULT(77, 1, 2);
  double correction1 = 1 - std::pow(beta1, t), correction2 = 1 - std::pow(beta2, t);
  Tensor &newWeight = at.result(op.getNewWeight());
  Tensor &newM = at.result(op.getNewM()), &newV = at.result(op.getNewV());
  for (int64_t i = 0; i < weight.count(); ++i) {
    double w = weight[i], g = clip * gradient[i];
    if (op.getDecoupled())
      w -= rate * decay * w;
    else
      g += decay * w;
    newM[i] = beta1 * m[i] + (1 - beta1) * g;
    newV[i] = beta2 * v[i] + (1 - beta2) * g * g;
    newWeight[i] = w - rate * (newM[i] / correction1) / (std::sqrt(newV[i] / correction2) + eps);
  }
  if (op.getNewHalf())
    at.result(op.getNewHalf()).values = newWeight.values;
}

void reference::evaluate(ds::SgdUpdateOp op, Evaluation &at) {
  const Tensor &weight = at(op.getWeight()), &gradient = at(op.getGradient());
  const Tensor &velocity = at(op.getVelocity());
  double clip = at(op.getClip()).item(), rate = at(op.getRate()).item();
  double momentum = at(op.getMomentum()).item(),
         decay = op.getDecay() ? at(op.getDecay()).item() : 0;
  Tensor &newWeight = at.result(op.getNewWeight()), &newVelocity = at.result(op.getNewVelocity());
  for (int64_t i = 0; i < weight.count(); ++i) {
    double g = clip * gradient[i] + decay * weight[i];
    newVelocity[i] = momentum * velocity[i] + g;
    double step = op.getNesterov() ? g + momentum * newVelocity[i] : newVelocity[i];
    newWeight[i] = weight[i] - rate * step;
  }
  if (op.getNewHalf())
    at.result(op.getNewHalf()).values = newWeight.values;
}

void reference::evaluate(ds::LionUpdateOp op, Evaluation &at) {
  const Tensor &weight = at(op.getWeight()), &gradient = at(op.getGradient()), &m = at(op.getM());
  double clip = at(op.getClip()).item(), rate = at(op.getRate()).item();
  double beta1 = at(op.getBeta1()).item(), beta2 = at(op.getBeta2()).item();
  double decay = op.getDecay() ? at(op.getDecay()).item() : 0;
  Tensor &newWeight = at.result(op.getNewWeight()), &newM = at.result(op.getNewM());
  for (int64_t i = 0; i < weight.count(); ++i) {
    double g = clip * gradient[i], c = beta1 * m[i] + (1 - beta1) * g;
    double sign = c > 0 ? 1 : c < 0 ? -1 : 0;
    newWeight[i] = weight[i] - rate * (sign + decay * weight[i]);
    newM[i] = beta2 * m[i] + (1 - beta2) * g;
  }
}

void reference::evaluate(ds::LambDirectionOp op, Evaluation &at) {
  const Tensor &weight = at(op.getWeight()), &gradient = at(op.getGradient());
  const Tensor &m = at(op.getM()), &v = at(op.getV());
  double clip = at(op.getClip()).item(), eps = at(op.getEps()).item();
  double beta1 = at(op.getBeta1()).item(), beta2 = at(op.getBeta2()).item();
  double t = at(op.getUpdates()).item() + 1, decay = op.getDecay() ? at(op.getDecay()).item() : 0;
  double correction1 = 1 - std::pow(beta1, t), correction2 = 1 - std::pow(beta2, t);
  Tensor &direction = at.result(op.getDirection());
  Tensor &newM = at.result(op.getNewM()), &newV = at.result(op.getNewV());
  for (int64_t i = 0; i < weight.count(); ++i) {
    double g = clip * gradient[i];
    newM[i] = beta1 * m[i] + (1 - beta1) * g;
    newV[i] = beta2 * v[i] + (1 - beta2) * g * g;
    direction[i] =
        (newM[i] / correction1) / (std::sqrt(newV[i] / correction2) + eps) + decay * weight[i];
  }
}

void reference::evaluate(ds::DescendOp op, Evaluation &at) {
  const Tensor &weight = at(op.getWeight()), &direction = at(op.getDirection());
  double rate = at(op.getRate()).item(), factor = at(op.getFactor()).item();
  double decay = op.getDecay() ? at(op.getDecay()).item() : 0;
  Tensor &result = at.result(op.getNewWeight());
  for (int64_t i = 0; i < weight.count(); ++i)
    result[i] = weight[i] - rate * (factor * direction[i] + decay * weight[i]);
}

void reference::evaluate(ds::ClipValuesOp op, Evaluation &at) {
  const Tensor &gradient = at(op.getGradient());
  double limit = at(op.getLimit()).item();
  double bound =
      limit == 0 ? std::numeric_limits<double>::infinity() : limit / at(op.getClip()).item();
  Tensor &result = at.result(op.getResult());
  for (int64_t i = 0; i < gradient.count(); ++i)
    result[i] = std::max(-bound, std::min(gradient[i], bound));
}

void reference::evaluate(ds::FactorSumsOp op, Evaluation &at) {
  const Tensor &gradient = at(op.getGradient());
  Tensor &rows = at.result(op.getRowSums()), &columns = at.result(op.getColumnSums());
  int64_t width = gradient.shape[1], group = ds::FactorSumsOp::rowsOfGroup(width);
  for (int64_t i = 0; i < gradient.shape[0]; ++i)
    for (int64_t j = 0; j < width; ++j) {
      double square = gradient[i * width + j] * gradient[i * width + j];
      rows[i] += square;
      columns[i / group * width + j] += square;
    }
}

void reference::evaluate(ds::FactorMomentOp op, Evaluation &at) {
  const Tensor &sums = at(op.getSums()), &moment = at(op.getMoment());
  double clip = at(op.getClip()).item(), toward = at(op.getToward()).item();
  Tensor &result = at.result(op.getNewMoment());
  for (int64_t j = 0; j < moment.count(); ++j) {
    std::vector<double> ofGroups;
    for (int64_t k = 0; k < sums.shape[0]; ++k)
      ofGroups.push_back(sums[k * moment.count() + j]);
    double mean = clip * clip * treeSum(std::move(ofGroups)) / static_cast<double>(op.getTerms());
    result[j] = (1 - toward) * moment[j] + toward * mean;
  }
}

void reference::evaluate(ds::MomentMeanOp op, Evaluation &at) {
  const Tensor &moment = at(op.getMoment());
  std::vector<double> blocks((moment.count() + 1023) / 1024);
  for (int64_t i = 0; i < moment.count(); ++i)
    blocks[i / 1024] += moment[i];
  at.result(op.getResult())[0] = treeSum(std::move(blocks)) / static_cast<double>(moment.count());
}

void reference::evaluate(ds::FactoredDirectionOp op, Evaluation &at) {
  const Tensor &gradient = at(op.getGradient()), &row = at(op.getRow());
  const Tensor &column = at(op.getColumn());
  double clip = at(op.getClip()).item(), eps = at(op.getEps()).item();
  double mean = std::max(at(op.getMean()).item(), eps);
  Tensor &direction = at.result(op.getDirection());
  for (int64_t i = 0; i < row.count(); ++i)
    for (int64_t j = 0; j < column.count(); ++j) {
      double v = row[i] * column[j] / mean;
      int64_t element = i * column.count() + j;
      direction[element] = clip * gradient[element] / std::sqrt(std::max(v, eps * eps));
    }
}

void reference::evaluate(ds::AdafactorDirectionOp op, Evaluation &at) {
  const Tensor &gradient = at(op.getGradient()), &v = at(op.getV());
  double clip = at(op.getClip()).item(), toward = at(op.getToward()).item();
  double eps = at(op.getEps()).item();
  Tensor &direction = at.result(op.getDirection()), &newV = at.result(op.getNewV());
  for (int64_t i = 0; i < gradient.count(); ++i) {
    double g = clip * gradient[i];
    newV[i] = (1 - toward) * v[i] + toward * g * g;
    direction[i] = g / std::sqrt(std::max(newV[i], eps * eps));
  }
}
