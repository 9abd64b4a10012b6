//===- ResolveLossScaling.cpp - the scaler's keys of `train.fp16` ----------===//
// DeepSpeed's names; `loss_scale` 0 is dynamic. Scaling comes with float16, or by
// `train.loss_scaling`.
#include "ResolverAccess.h"
#include <cmath>

using namespace dsc;

void Resolver::resolveLossScaling() {
  LossScaleSpec &scaling = spec.train.scaling;
  const JsonNode *half = find("train.fp16.enabled");
  bool on = half && half->is(JsonNode::Kind::Bool) && half->boolean;
  if (Resolved<bool> wanted = boolean("train.loss_scaling"); wanted.given)
    on = wanted.value;
  else
    records.erase("train.loss_scaling");
  if (!on)
    return;
  Resolved<double> fixed = number("train.fp16.loss_scale");
  Resolved<int64_t> power = integer("train.fp16.initial_scale_power");
  Resolved<double> floor = number("train.fp16.min_loss_scale"),
                   cap = number("train.fp16.max_loss_scale");
  scaling.window = static_cast<double>(integer("train.fp16.loss_scale_window").value);
  scaling.hysteresis = static_cast<double>(integer("train.fp16.hysteresis").value);
  scaling.consecutive = boolean("train.fp16.consecutive_hysteresis").value;
  scaling.maxSkipsAtFloor = static_cast<double>(integer("train.fp16.max_skips_at_floor").value);
  scaling.floor = floor.value;
  scaling.cap = cap.value;
  if (fixed.broken || power.broken || floor.broken || cap.broken)
    return;
  if (fixed.value != 0) {
    scaling.mode = LossScaleMode::Static;
    scaling.initial = fixed.value;
    return;
  }
  scaling.mode = LossScaleMode::Dynamic;
  scaling.initial = std::ldexp(1.0, static_cast<int>(power.value));
  auto scale = [](double value) { return nlohmann::json(value).dump(); };
  if (floor.value > cap.value)
    errors.error(floor.where, "'min_loss_scale' " + scale(floor.value) +
                                  " is above 'max_loss_scale' " + scale(cap.value) + " (" +
                                  cap.origin + ")");
  else if (scaling.initial < floor.value || scaling.initial > cap.value)
    errors
        .error(power.where, "the first loss scale 2^" + std::to_string(power.value) + " = " +
                                scale(scaling.initial) + " is not between 'min_loss_scale' " +
                                scale(floor.value) + " (" + floor.origin +
                                ") and 'max_loss_scale' " + scale(cap.value) + " (" + cap.origin +
                                ")")
        .fix("choose 'initial_scale_power' between them");
}
