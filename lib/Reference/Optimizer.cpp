//===- Optimizer.cpp - float64 reference of Ops/Optimizer.td ---------------===//
#include "Functions.h"
#include <cmath>

using namespace dsc;
using namespace dsc::reference;

void reference::evaluate(ds::AdamUpdateOp op, Evaluation &at) {
  const Tensor &weight = at(op.getWeight()), &gradient = at(op.getGradient());
  const Tensor &m = at(op.getM()), &v = at(op.getV());
  double clip = at(op.getClip()).item(), rate = at(op.getRate()).item();
  double beta1 = at(op.getBeta1()).item(), beta2 = at(op.getBeta2()).item();
  double eps = at(op.getEps()).item(), decay = op.getDecay() ? at(op.getDecay()).item() : 0;
  double t = at(op.getUpdates()).item() + 1;
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
}
