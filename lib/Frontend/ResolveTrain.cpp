//===- ResolveTrain.cpp - `train`: length, optimizer, schedule ----------===//
#include "ResolverAccess.h"
#include <algorithm>
#include <map>

using namespace dsc;

void Resolver::resolveTrain() {
  resolveBatch();
  resolveRamp();
  if (text("train.loss_reduction").value == "sample")
    spec.train.lossReduction = LossReduction::Sample;
  resolvePrecision();
  resolveClipping();
  resolveLossScaling();
  resolveRecompute();
  spec.train.seed = seed("train.seed").value;
  if (text("train.reproducible").value == "layout")
    spec.train.reproducible = Reproducible::Layout;
  resolveOptimizer();
  resolveParamGroups();
  resolveLength();
  resolveSchedule();
  checkStepSizes();
}

void Resolver::resolvePrecision() {
  Resolved<bool> fp16 = boolean("train.fp16.enabled"), bf16 = boolean("train.bf16.enabled");
  if (fp16.value && bf16.value)
    errors
        .error(bf16.where,
               "'train.fp16' and 'train.bf16' are both enabled: values are stored as one "
               "of them")
        .note(shown("train.fp16.enabled", fp16) + " in 'fp16', " +
              shown("train.bf16.enabled", bf16) + " in 'bf16'")
        .fix("set one of them to false");
  spec.train.precision = fp16.value   ? Precision::F16
                         : bf16.value ? Precision::BF16
                                      : Precision::F32;
  const JsonNode *scaling = find("train.loss_scaling");
  bool scales = fp16.value || (scaling && scaling->is(JsonNode::Kind::Bool) && scaling->boolean);
  const JsonNode *section = find("train.fp16");
  if (scales || fp16.broken || !section || !section->is(JsonNode::Kind::Object))
    return;
  for (const JsonMember &member : section->members)
    if (member.key != "enabled" && !member.value.is(JsonNode::Kind::Invalid))
      warnings.error(member.where, "'train.fp16." + member.key +
                                       "' has no effect: 'train.fp16.enabled' is false");
}

void Resolver::resolveClipping() {
  Resolved<double> norm = number("train.gradient_clipping"),
                   value = number("train.gradient_clipping_value");
  spec.train.gradientClipping = norm.value;
  spec.train.gradientClippingValue = value.value;
  if (norm.value > 0 && value.value > 0)
    errors
        .error(value.where, "gradients are clipped by norm or by value, not both: " +
                                shown("gradient_clipping", norm) + ", " +
                                shown("gradient_clipping_value", value))
        .fix("remove one of them");
}

void Resolver::resolveLength() {
  TrainSpec &t = spec.train;
  Resolved<int64_t> steps = integer("train.steps"), epochs = integer("train.epochs");
  if (steps.broken || epochs.broken)
    return;
  if (steps.given && epochs.given) {
    errors.error(epochs.where, "'train.steps' and 'train.epochs' are both given")
        .note(shown("steps", steps) + ", " + shown("epochs", epochs))
        .fix("remove one of them");
    return;
  }
  if (epochs.given && hasReplay) {
    errors.error(epochs.where, "a replay file is read once: 'epochs' has no meaning for it")
        .fix("remove 'epochs'");
    return;
  }
  if (replayKnown && steps.given && steps.value > replayRows) {
    errors
        .error(steps.where, "'train.steps' is " + std::to_string(steps.value) + ", but " +
                                replayName + " has " + std::to_string(replayRows) +
                                (replayRows == 1 ? " batch" : " batches"))
        .fix("--set train.steps=" + std::to_string(replayRows));
    return;
  }
  if (!steps.given && !epochs.given) {
    if (replayKnown)
      infer(steps, "train.steps", replayRows, replayName);
    else if (options.purpose == Purpose::Train && !(hasReplay && !errors.empty()))
      errors
          .error(place("train"), "missing key 'train.steps' (or 'train.epochs'): how long to train")
          .fix("add \"steps\": 1000");
  }
  t.steps = steps.value;
  t.epochs = epochs.value;
}

void Resolver::belongs(std::string_view section, const std::string &type) {
  std::string prefix = std::string(section) + ".params.";
  std::string what(section.substr(section.rfind('.') + 1));
  for (const SpecKey &key : specTable()) {
    if (key.belongsTo.empty() || key.path.rfind(prefix, 0) != 0)
      continue;
    const JsonNode *node = find(key.path);
    bool fits = std::find(key.belongsTo.begin(), key.belongsTo.end(), type) != key.belongsTo.end();
    if (!node || fits || node->is(JsonNode::Kind::Invalid))
      continue;
    errors
        .error(node->where, "'" + std::string(key.path) + "' is a parameter of " +
                                std::string(key.belongsTo[0]) + ", the " + what + " is " + type)
        .fix("remove '" + std::string(key.name()) + "'");
  }
}

/// `eps` of Adafactor is a list: of its second moment, and of a variable's root mean square.
void Resolver::resolveAdafactor() {
  TrainSpec &t = spec.train;
  t.optimizer = OptimizerKind::Adafactor;
  t.beta2Decay = number("train.optimizer.params.beta2_decay").value;
  t.mostRms = number("train.optimizer.params.d").value;
  t.eps = 0x1p-23;
  const JsonNode *eps = find("train.optimizer.params.eps");
  if (eps && eps->is(JsonNode::Kind::Invalid))
    return;
  if (eps && (!eps->is(JsonNode::Kind::List) || eps->items.size() != 2)) {
    std::string found = eps->is(JsonNode::Kind::List)
                            ? "has " + std::to_string(eps->items.size()) +
                                  (eps->items.size() == 1 ? " item" : " items")
                            : std::string("is one number");
    errors.error(eps->where, "'train.optimizer.params.eps' " + found + ", Adafactor has two")
        .fix("write [null, 0.001]");
    return;
  }
  auto item = [&](size_t i, double &into) {
    if (!eps || eps->items[i].is(JsonNode::Kind::Null) || eps->items[i].is(JsonNode::Kind::Invalid))
      return;
    into = eps->items[i].number;
    if (i == 0 && into < 1e-18)
      errors
          .error(eps->items[i].where, "the first 'eps' of Adafactor is " +
                                          nlohmann::json(into).dump() +
                                          ", but its square must not vanish in f32")
          .fix("write null, or a number from 1e-18 on");
  };
  item(0, t.eps);
  item(1, t.leastRms);
  record("train.optimizer.params.eps", {t.eps, t.leastRms},
         eps ? shortPlace(eps->where) : "default");
}

void Resolver::resolveOptimizer() {
  TrainSpec &t = spec.train;
  Resolved<std::string> type = text("train.optimizer.type");
  t.lr = number("train.optimizer.params.lr").value;
  t.weightDecay = number("train.optimizer.params.weight_decay").value;
  if (type.broken)
    return;
  belongs("train.optimizer", type.value);
  if (type.value == "SGD") {
    t.optimizer = OptimizerKind::Sgd;
    t.decoupledDecay = false;
    t.momentum = number("train.optimizer.params.momentum").value;
    Resolved<bool> nesterov = boolean("train.optimizer.params.nesterov");
    t.nesterov = nesterov.value;
    if (t.nesterov && t.momentum == 0)
      errors.error(nesterov.where, "'nesterov' needs a 'momentum' above 0");
    return;
  }
  if (type.value == "Adafactor")
    return resolveAdafactor();
  const JsonNode *betas = find("train.optimizer.params.betas");
  if (betas && betas->is(JsonNode::Kind::List) && betas->items.size() != 2) {
    errors.error(betas->where,
                 "'train.optimizer.params.betas' has " + std::to_string(betas->items.size()) +
                     (betas->items.size() == 1 ? " item" : " items") + ", expected 2");
  } else {
    bool given = betas && betas->is(JsonNode::Kind::List);
    t.beta1 = given ? betas->items[0].number : 0.9;
    t.beta2 = given ? betas->items[1].number : type.value == "Lion" ? 0.99 : 0.999;
    std::string origin = given ? shortPlace(betas->where) : "default";
    if (given)
      for (const JsonNode &item : betas->items) // --set ...betas.1=0.95
        if (item.where.file != betas->where.file)
          origin = shortPlace(betas->where) + " and " + shortPlace(item.where);
    record("train.optimizer.params.betas", {t.beta1, t.beta2}, origin);
  }
  if (type.value == "Lion") {
    t.optimizer = OptimizerKind::Lion;
    return;
  }
  if (const JsonNode *eps = find("train.optimizer.params.eps");
      eps && eps->is(JsonNode::Kind::List)) {
    errors.error(eps->where, "'train.optimizer.params.eps' is a list, " + type.value + " has one")
        .fix("write one number, such as 1e-08");
    return;
  }
  t.eps = number("train.optimizer.params.eps").value;
  if (type.value == "Lamb") {
    t.optimizer = OptimizerKind::Lamb;
    Resolved<double> least = number("train.optimizer.params.min_coeff"),
                     most = number("train.optimizer.params.max_coeff");
    t.leastTrust = least.value;
    t.mostTrust = most.value;
    if (!least.broken && !most.broken && least.value > most.value)
      errors.error(least.where, "the limits of the trust ratio are reversed: " +
                                    shown("min_coeff", least) + " vs " + shown("max_coeff", most));
    return;
  }
  Resolved<bool> decoupled = boolean("train.optimizer.params.adam_w_mode");
  t.decoupledDecay = type.value == "AdamW" || decoupled.value;
  if (type.value == "AdamW") {
    if (decoupled.given && !decoupled.value)
      errors.error(decoupled.where, "'adam_w_mode' is false, but the optimizer is AdamW")
          .fix("write \"type\": \"Adam\"");
    records.erase("train.optimizer.params.adam_w_mode");
  }
  t.optimizer = type.value == "AdamW" ? OptimizerKind::AdamW : OptimizerKind::Adam;
}

/// A schedule by its name in the table.
static ScheduleKind scheduleKind(const std::string &type) {
  static const std::map<std::string, ScheduleKind> kinds = {
      {"constant", ScheduleKind::Constant},
      {"linear", ScheduleKind::Linear},
      {"cosine", ScheduleKind::Cosine},
      {"inverse_sqrt", ScheduleKind::InverseSqrt},
      {"wsd", ScheduleKind::Wsd},
      {"WarmupLR", ScheduleKind::WarmupLR},
      {"WarmupDecayLR", ScheduleKind::WarmupDecayLR},
      {"WarmupCosineLR", ScheduleKind::WarmupCosineLR}};
  auto found = kinds.find(type);
  return found == kinds.end() ? ScheduleKind::Constant : found->second;
}

void Resolver::resolveSchedule() {
  TrainSpec &t = spec.train;
  Resolved<std::string> type = text("train.scheduler.type");
  t.schedule = scheduleKind(type.value);
  bool ofDeepSpeed = t.schedule >= ScheduleKind::WarmupLR;
  if (!type.broken)
    belongs("train.scheduler", type.value);
  Resolved<int64_t> warmup = integer("train.scheduler.params.warmup_steps"),
                    total = integer("train.scheduler.params.total_steps");
  if (!total.given && t.steps > 0)
    infer(total, "train.scheduler.params.total_steps", t.steps, "train.steps");
  if (!warmup.given && !warmup.broken && ofDeepSpeed)
    infer(warmup, "train.scheduler.params.warmup_steps", int64_t(1000), "DeepSpeed's default");
  t.warmupSteps = warmup.value;
  t.totalSteps = total.value;
  bool fits = warmup.broken || total.broken || total.value == 0 || warmup.value <= total.value;
  if (!fits)
    errors
        .error(warmup.where, "warm-up is longer than training: " + shown("warmup_steps", warmup) +
                                 " vs " + shown("total_steps", total))
        .fix("at most " + std::to_string(total.value) + " warm-up steps");
  if (!ofDeepSpeed)
    resolveFloor();
  if (t.schedule == ScheduleKind::InverseSqrt) {
    Resolved<double> timescale = number("train.scheduler.params.timescale");
    if (!timescale.given && !timescale.broken)
      infer(timescale, "train.scheduler.params.timescale",
            warmup.value > 0 ? static_cast<double>(warmup.value) : 10000.0,
            warmup.value > 0 ? "warmup_steps" : "no warm-up");
    t.timescale = timescale.value;
  }
  if (t.schedule == ScheduleKind::Wsd)
    resolveDecay(warmup, total, fits);
  if (ofDeepSpeed)
    resolveDeepSpeedSchedule();
}

/// `min_lr`, which must not lie above the peak.
void Resolver::resolveFloor() {
  Resolved<double> floor = number("train.scheduler.params.min_lr");
  spec.train.minLr = floor.value;
  const JsonNode *rate = find("train.optimizer.params.lr");
  bool rateBroken = rate && rate->is(JsonNode::Kind::Invalid);
  if (!floor.broken && !rateBroken && floor.value > spec.train.lr)
    errors.error(floor.where, "'min_lr' " + nlohmann::json(floor.value).dump() +
                                  " is above the peak 'lr' " +
                                  nlohmann::json(spec.train.lr).dump() + " (" +
                                  records["train.optimizer.params.lr"].origin + ")");
}

/// `decay_steps` of wsd: warm-up and decay have to fit into the training.
void Resolver::resolveDecay(const Resolved<int64_t> &warmup, const Resolved<int64_t> &total,
                            bool fits) {
  Resolved<int64_t> decay = integer("train.scheduler.params.decay_steps");
  spec.train.decaySteps = decay.value;
  if (decay.broken)
    return;
  if (!decay.given) {
    errors
        .error(place("train.scheduler.params"),
               "missing key 'train.scheduler.params.decay_steps': how many updates the rate falls")
        .fix("add \"decay_steps\": 100");
    return;
  }
  if (fits && !warmup.broken && !total.broken && total.value > 0 &&
      warmup.value + decay.value > total.value)
    errors
        .error(decay.where,
               "warm-up and decay are longer than training: " + shown("warmup_steps", warmup) +
                   " + " + shown("decay_steps", decay) + " vs " + shown("total_steps", total))
        .fix("at most " + std::to_string(total.value - warmup.value) + " decay steps");
}

void Resolver::resolveDeepSpeedSchedule() {
  TrainSpec &t = spec.train;
  t.linearWarmup = text("train.scheduler.params.warmup_type").value == "linear";
  if (t.schedule == ScheduleKind::WarmupCosineLR) {
    t.warmupMinRatio = number("train.scheduler.params.warmup_min_ratio").value;
    t.cosMinRatio = number("train.scheduler.params.cos_min_ratio").value;
    return;
  }
  Resolved<double> least = number("train.scheduler.params.warmup_min_lr"),
                   most = number("train.scheduler.params.warmup_max_lr");
  if (!most.given && !most.broken)
    infer(most, "train.scheduler.params.warmup_max_lr", t.lr, "train.optimizer.params.lr");
  t.warmupMinLr = least.value;
  t.warmupMaxLr = most.value;
  if (!least.broken && !most.broken && least.value > most.value)
    errors.error(least.where,
                 "'warmup_min_lr' is above the peak: " + shown("warmup_min_lr", least) + " vs " +
                     shown("warmup_max_lr", most));
}

void Resolver::checkStepSizes() {
  if (batch.broken || sequence.broken || spec.data.seqLength < 1)
    return;
  const ModelSpec &m = spec.model;
  __int128 tokens = static_cast<__int128>(batch.value) * spec.data.seqLength;
  __int128 widest = std::max({3 * static_cast<__int128>(m.width), static_cast<__int128>(m.inner)});
  __int128 bytes = tokens * widest * 4;
  if (tokens > 2147483647 || bytes > static_cast<__int128>(1) << 47)
    errors
        .error(batch.where, "a step has " + std::to_string(batch.value) + " × " +
                                std::to_string(spec.data.seqLength) + " = " + toString(tokens) +
                                " tokens and an activation of " + toString(bytes) +
                                " bytes; the limits are 2147483647 tokens and 2^47 bytes")
        .note(shown("train_batch_size", batch) + ", " + shown("seq_length", sequence));
}
