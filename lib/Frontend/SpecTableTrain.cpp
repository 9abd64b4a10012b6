//===- SpecTableTrain.cpp - rows of `train` that are read ------------------===//
// Names are DeepSpeed's. What DeepSpeed has beyond them is in SpecTableDeepSpeed.cpp.
#include "SpecTableRows.h"

using namespace dsc;

static void addOptimizerRows(std::vector<SpecKey> &t) {
  t.push_back(
      {.path = "train.optimizer", .types = TObject, .doc = "How gradients change weights."});
  t.push_back({.path = "train.optimizer.type",
               .types = TString,
               .fallback = "\"AdamW\"",
               .choices = {"AdamW", "Adam", "SGD", "Lamb", "Lion", "Adafactor"},
               .later = {"Muon", "Adagrad", "OneBitAdam", "ZeroOneAdam", "OneBitLamb", "FusedAdam",
                         "FusedLamb", "FusedLion", "DeepSpeedCPUAdam", "RMSprop"},
               .doc = "Whatever the case of letters. `Adam` follows `adam_w_mode`.",
               .ignoreCase = true});
  t.push_back({.path = "train.optimizer.params", .types = TObject, .doc = "Of that type."});
  t.push_back({.path = "train.optimizer.params.lr",
               .types = TNumber | TAuto,
               .fallback = "0.001",
               .min = 0,
               .max = 1000000,
               .aboveMin = true,
               .doc = "Peak learning rate."});
  t.push_back({.path = "train.optimizer.params.betas",
               .types = TList | TAuto,
               .fallback = "[0.9, 0.999]",
               .belongsTo = {"AdamW", "Adam", "Lamb", "Lion"},
               .doc =
                   "Decay of the two moments; Lion, which has one: of its step and of its moment, "
                   "by default [0.9, 0.99]."});
  t.push_back({.path = "train.optimizer.params.betas[]",
               .types = TNumber,
               .min = 0,
               .max = 1,
               .belowMax = true,
               .doc = "Decay of one moment."});
  t.push_back({.path = "train.optimizer.params.eps",
               .types = TNumber | TList | TAuto,
               .fallback = "1e-08",
               .min = 0,
               .max = 1,
               .aboveMin = true,
               .belongsTo = {"AdamW", "Adam", "Lamb", "Adafactor"},
               .doc = "Added to the root of the second moment. Adafactor: a list of two, by "
                      "default [null, 0.001]."});
  t.push_back({.path = "train.optimizer.params.eps[]",
               .types = TNumber | TNull,
               .min = 0,
               .max = 1,
               .doc = "Of Adafactor: least root of the second moment and least mean of a factor "
                      "of it (at least 1e-18; null: 2^-23), then least root mean square that a "
                      "variable is taken to have."});
  t.push_back({.path = "train.optimizer.params.beta2_decay",
               .types = TNumber,
               .fallback = "-0.8",
               .min = -10,
               .max = 0,
               .belongsTo = {"Adafactor"},
               .doc = "Update t moves the second moment by t^beta2_decay of the way."});
  t.push_back({.path = "train.optimizer.params.d",
               .types = TNumber,
               .fallback = "1",
               .min = 1,
               .max = 1000000,
               .aliases = {"clip_threshold"},
               .belongsTo = {"Adafactor"},
               .doc = "Greatest root mean square of a variable's update before the rate."});
  t.push_back(
      {.path = "train.optimizer.params.weight_decay",
       .types = TNumber | TAuto,
       .fallback = "0",
       .min = 0,
       .max = 1000,
       .doc = "On variables of two or more dimensions, or as `train.param_groups` says. AdamW, "
              "Lion and Adafactor: p -= lr · weight_decay · p; Lamb: added to its direction; else "
              "added to the gradient."});
  t.push_back({.path = "train.optimizer.params.adam_w_mode",
               .types = TBool,
               .fallback = "true",
               .belongsTo = {"Adam", "AdamW"},
               .doc = "Type `Adam` only: true makes it AdamW."});
  t.push_back({.path = "train.optimizer.params.momentum",
               .types = TNumber,
               .fallback = "0",
               .min = 0,
               .max = 1,
               .belowMax = true,
               .belongsTo = {"SGD"},
               .doc = "Of the velocity."});
  t.push_back({.path = "train.optimizer.params.nesterov",
               .types = TBool,
               .fallback = "false",
               .belongsTo = {"SGD"},
               .doc = "Nesterov's form; needs momentum."});
  for (auto [path, fallback, doc] :
       {std::tuple("train.optimizer.params.min_coeff", "0.01", "Least trust ratio."),
        std::tuple("train.optimizer.params.max_coeff", "10", "Greatest trust ratio.")})
    t.push_back({.path = path,
                 .types = TNumber,
                 .fallback = fallback,
                 .min = 0,
                 .max = 1000000,
                 .belongsTo = {"Lamb"},
                 .doc = doc});
  t.push_back({.path = "train.optimizer.params.max_grad_norm",
               .types = TNumber,
               .use = KeyUse::Limited,
               .only = "[0]",
               .reason = "gradients are clipped by train.gradient_clipping",
               .belongsTo = {"Lamb"},
               .doc = "Clipping inside of the optimizer."});
  t.push_back({.path = "train.optimizer.params.dampening",
               .types = TNumber,
               .use = KeyUse::Limited,
               .only = "[0]",
               .belongsTo = {"SGD"},
               .doc = "Damping of the velocity."});
  t.push_back({.path = "train.optimizer.params.bias_correction",
               .types = TBool,
               .use = KeyUse::Limited,
               .only = "[true]",
               .belongsTo = {"AdamW", "Adam", "Lamb"},
               .doc = "Divide moments by 1 − beta^t."});
  t.push_back({.path = "train.optimizer.params.amsgrad",
               .types = TBool,
               .use = KeyUse::Limited,
               .only = "[false]",
               .belongsTo = {"AdamW", "Adam"},
               .doc = "Greatest second moment so far."});
  t.push_back({.path = "train.optimizer.params.maximize",
               .types = TBool,
               .use = KeyUse::Limited,
               .only = "[false]",
               .doc = "Go uphill."});
  for (auto path :
       {"train.optimizer.params.torch_adam", "train.optimizer.params.fused",
        "train.optimizer.params.foreach", "train.optimizer.params.capturable",
        "train.optimizer.params.differentiable", "train.optimizer.params.set_grad_none"})
    t.push_back({.path = path,
                 .types = TBool | TNull,
                 .use = KeyUse::Ignored,
                 .reason = "chooses an implementation in Python",
                 .doc = "Implementation in Python."});
}

static void addSchedulerRows(std::vector<SpecKey> &t) {
  t.push_back(
      {.path = "train.scheduler", .types = TObject, .doc = "How the learning rate changes."});
  t.push_back({.path = "train.scheduler.type",
               .types = TString,
               .fallback = "\"constant\"",
               .choices = {"constant", "linear", "cosine", "inverse_sqrt", "wsd", "WarmupLR",
                           "WarmupDecayLR", "WarmupCosineLR"},
               .later = {"OneCycle", "LRRangeTest", "polynomial", "cosine_with_restarts",
                         "constant_with_warmup", "cosine_with_min_lr", "reduce_lr_on_plateau",
                         "warmup_stable_decay"},
               .doc =
                   "After warm-up: stay, fall along a line or along a half cosine to `min_lr` at "
                   "`total_steps`, fall as 1/√t, or stay and fall along a line in the last "
                   "`decay_steps` (`wsd`). Those with capitals are DeepSpeed's, with its "
                   "formulas."});
  t.push_back({.path = "train.scheduler.params", .types = TObject, .doc = "Of that type."});
  t.push_back({.path = "train.scheduler.params.warmup_steps",
               .types = TInteger | TAuto,
               .fallback = "0",
               .min = 0,
               .max = maxSteps,
               .aliases = {"warmup_num_steps"},
               .unit = "updates",
               .doc =
                   "W: update t has (t+1)/W of the peak while t < W. DeepSpeed's schedules: 1000 "
                   "by default, and `warmup_type` says how the rate rises."});
  t.push_back({.path = "train.scheduler.params.total_steps",
               .types = TInteger | TAuto,
               .inferred = "as train.steps",
               .min = 1,
               .max = maxSteps,
               .aliases = {"total_num_steps"},
               .unit = "updates",
               .doc = "When the floor is reached, warm-up included."});
  t.push_back({.path = "train.scheduler.params.min_lr",
               .types = TNumber | TAuto,
               .fallback = "0",
               .min = 0,
               .max = 1000000,
               .belongsTo = {"linear", "cosine", "inverse_sqrt", "wsd", "constant"},
               .doc = "Floor; at most `lr`."});
  t.push_back({.path = "train.scheduler.params.timescale",
               .types = TNumber | TAuto,
               .inferred = "warmup_steps, 10000 without warm-up",
               .min = 0,
               .max = maxSteps,
               .aboveMin = true,
               .belongsTo = {"inverse_sqrt"},
               .unit = "updates",
               .doc = "τ: the rate is peak · √(τ / (t − W + τ))."});
  t.push_back({.path = "train.scheduler.params.decay_steps",
               .types = TInteger,
               .inferred = "required by wsd",
               .min = 0,
               .max = maxSteps,
               .aliases = {"num_decay_steps"},
               .belongsTo = {"wsd"},
               .unit = "updates",
               .doc = "How many updates before `total_steps` the rate falls."});
  t.push_back({.path = "train.scheduler.params.warmup_type",
               .types = TString,
               .fallback = "\"log\"",
               .choices = {"log", "linear"},
               .belongsTo = {"WarmupLR", "WarmupDecayLR", "WarmupCosineLR"},
               .doc = "Warm-up along log(t+1)/log(W) or t/W, W at least 2."});
  t.push_back({.path = "train.scheduler.params.warmup_min_lr",
               .types = TNumber | TAuto,
               .fallback = "0",
               .min = 0,
               .max = 1000000,
               .belongsTo = {"WarmupLR", "WarmupDecayLR"},
               .doc = "Rate of the first update, and of `WarmupDecayLR` at the end."});
  t.push_back({.path = "train.scheduler.params.warmup_max_lr",
               .types = TNumber | TAuto,
               .inferred = "as train.optimizer.params.lr",
               .min = 0,
               .max = 1000000,
               .aboveMin = true,
               .belongsTo = {"WarmupLR", "WarmupDecayLR"},
               .doc = "Peak; goes before the optimizer's `lr`."});
  t.push_back({.path = "train.scheduler.params.warmup_min_ratio",
               .types = TNumber,
               .fallback = "0",
               .min = 0,
               .max = 1,
               .belongsTo = {"WarmupCosineLR"},
               .doc = "Share of `lr` of the first update."});
  t.push_back({.path = "train.scheduler.params.cos_min_ratio",
               .types = TNumber,
               .fallback = "0.0001",
               .min = 0,
               .max = 1,
               .belongsTo = {"WarmupCosineLR"},
               .doc = "Share of `lr` at the end."});
  for (auto path : {"train.scheduler.params.cycle_min_lr", "train.scheduler.params.cycle_max_lr",
                    "train.scheduler.params.cycle_first_step_size",
                    "train.scheduler.params.lr_range_test_min_lr"})
    t.push_back({.path = path,
                 .types = TAny,
                 .use = KeyUse::Absent,
                 .reason = "of a schedule that does not exist here",
                 .doc = "Of other schedules of DeepSpeed."});
}

void dsc::addTrainRows(std::vector<SpecKey> &t) {
  t.push_back(
      {.path = "train", .types = TObject, .doc = "The training loop, with DeepSpeed's key names."});
  t.push_back(
      {.path = "train.train_batch_size",
       .types = TInteger | TAuto,
       .inferred =
           "train_micro_batch_size_per_gpu × gradient_accumulation_steps × parallel.data, or "
           "from a replay file",
       .min = 1,
       .max = 1 << 20,
       .unit = "sequences",
       .doc = "Sequences of an update."});
  t.push_back({.path = "train.train_micro_batch_size_per_gpu",
               .types = TInteger | TAuto,
               .inferred = "train_batch_size ÷ (gradient_accumulation_steps × parallel.data)",
               .min = 1,
               .max = 1 << 20,
               .aliases = {"train_micro_batch_size"},
               .unit = "sequences",
               .doc = "Sequences of a micro-batch."});
  t.push_back({.path = "train.gradient_accumulation_steps",
               .types = TInteger | TAuto,
               .inferred = "train_batch_size ÷ (train_micro_batch_size_per_gpu × parallel.data)",
               .min = 1,
               .max = 1 << 20,
               .unit = "micro-batches",
               .doc = "Micro-batches of an update that each rank of `parallel.data` has."});
  t.push_back({.path = "train.batch_ramp",
               .types = TObject,
               .inferred = "every update has train_batch_size",
               .doc = "Batches that grow, as Megatron-LM's `--rampup-batch-size` says: step n has "
                      "start + increment · ⌊c · k / samples⌋ sequences, c those of all steps "
                      "before it, k = (train_batch_size − start) / increment, and at most "
                      "train_batch_size. docs/Data.md."});
  for (auto [path, most, unit, doc] :
       {std::tuple("train.batch_ramp.start", double(1 << 20), "sequences",
                   "Of the first update; a multiple of micro-batch × `parallel.data`, below "
                   "`train_batch_size`."),
        std::tuple("train.batch_ramp.increment", double(1 << 20), "sequences",
                   "By which it grows; a multiple of micro-batch × `parallel.data` that divides "
                   "`train_batch_size` − `start`."),
        std::tuple("train.batch_ramp.samples", maxSteps, "sequences", "Over how many it grows.")})
    t.push_back({.path = path,
                 .types = TInteger,
                 .required = true,
                 .min = 1,
                 .max = most,
                 .unit = unit,
                 .doc = doc});
  t.push_back({.path = "train.loss_reduction",
               .types = TString,
               .fallback = "\"token\"",
               .choices = {"token", "sample"},
               .doc = "What the loss of an update is the mean over: `token`, all its counted "
                      "tokens; `sample`, its sequences (those with a counted token), each the mean "
                      "over its own. Evaluation is per token."});
  t.push_back({.path = "train.loss_scaling",
               .types = TBool | TAuto,
               .fallback = "false",
               .inferred = "on with train.fp16",
               .doc = "Scales the loss, as the keys of `train.fp16` say, in any precision."});
  t.push_back({.path = "train.recompute",
               .types = TString | TList,
               .fallback = "\"none\"",
               .choices = {"none", "selective", "full", "auto"},
               .doc = "What the backward pass computes again instead of keeping it, with the same "
                      "bits: nothing, the attention core of each block, blocks whole, or as little "
                      "as fits `memory_budget`. A list of block numbers: those, whole."});
  t.push_back({.path = "train.recompute[]",
               .types = TInteger,
               .min = 0,
               .max = 1 << 20,
               .doc = "Number of a block, from 0."});
  t.push_back({.path = "train.memory_budget",
               .types = TInteger | TString,
               .inferred = "there is no limit",
               .min = 1,
               .max = 1e18,
               .unit = "bytes",
               .doc = "With `recompute` \"auto\": most bytes of the arena (all memory that "
                      "`--dry-run` lists but workspaces), or a text such as `\"1.5 GiB\"`."});
  t.push_back({.path = "train.steps",
               .types = TInteger,
               .inferred = "rows of a replay file",
               .min = 1,
               .max = maxSteps,
               .unit = "steps",
               .doc = "Length of training; or `epochs`."});
  t.push_back({.path = "train.epochs",
               .types = TInteger,
               .inferred = "steps are given instead",
               .min = 1,
               .max = maxSteps,
               .unit = "epochs",
               .doc = "Length of training in passes over the data; instead of `steps`."});
  t.push_back({.path = "train.gradient_clipping",
               .types = TNumber | TAuto,
               .fallback = "0",
               .min = 0,
               .doc = "Greatest global norm of the gradient; 0: no clipping."});
  t.push_back({.path = "train.gradient_clipping_value",
               .types = TNumber | TAuto,
               .fallback = "0",
               .min = 0,
               .doc = "Greatest absolute value of an element of the gradient, instead of "
                      "`gradient_clipping`; 0: no clipping."});
  t.push_back({.path = "train.param_groups",
               .types = TList,
               .inferred = "all parameters are treated alike",
               .doc = "Parameters with rules of their own: a parameter belongs to the first entry "
                      "whose pattern matches its name."});
  t.push_back({.path = "train.param_groups[]", .types = TObject, .doc = "One group."});
  t.push_back({.path = "train.param_groups[].match",
               .types = TString,
               .required = true,
               .doc =
                   "Pattern of names such as `h.*.mlp.*`: `*` stands for any characters, `?` for "
                   "one. Names are those of `model.safetensors`, without `transformer.`."});
  t.push_back({.path = "train.param_groups[].lr_scale",
               .types = TNumber,
               .inferred = "1",
               .min = 0,
               .max = 1000000,
               .doc = "Factor of the learning rate."});
  t.push_back({.path = "train.param_groups[].weight_decay",
               .types = TNumber,
               .inferred = "as train.optimizer.params.weight_decay, on matrices",
               .min = 0,
               .max = 1000,
               .doc = "Weight decay of all parameters in the group, whatever their shape."});
  t.push_back({.path = "train.param_groups[].frozen",
               .types = TBool,
               .fallback = "false",
               .doc = "Never change them: no gradient, no decay, no state, no part in the norm."});
  t.push_back({.path = "train.seed",
               .types = TInteger,
               .fallback = "1234",
               .min = 0,
               .max = 18446744073709551615.0,
               .doc = "Of random numbers in training."});
  t.push_back({.path = "train.reproducible",
               .types = TString,
               .fallback = "\"run\"",
               .choices = {"run", "layout"},
               .doc = "Which runs give the same bits: those of one plan, or those of every layout "
                      "with the same micro-batches. `layout` adds gradients by a binary tree over "
                      "micro-batches, which keeps ⌊log2 K⌋ more sets of gradients for K of them."});
  addOptimizerRows(t);
  addSchedulerRows(t);
}
