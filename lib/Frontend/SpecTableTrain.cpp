//===- SpecTableTrain.cpp - rows of `train` that are read ------------------===//
// Names are DeepSpeed's. What DeepSpeed has beyond them is in SpecTableDeepSpeed.cpp.
#include "SpecTableRows.h"

using namespace dsc;

static constexpr double maxSteps = 1e12;

static void addOptimizerRows(std::vector<SpecKey> &t) {
  t.push_back(
      {.path = "train.optimizer", .types = TObject, .doc = "How gradients change weights."});
  t.push_back({.path = "train.optimizer.type",
               .types = TString,
               .fallback = "\"AdamW\"",
               .choices = {"AdamW", "Adam", "SGD"},
               .later = {"Lamb", "Lion", "Muon", "Adagrad", "OneBitAdam", "ZeroOneAdam",
                         "OneBitLamb", "Adafactor", "FusedAdam", "DeepSpeedCPUAdam", "RMSprop"},
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
               .belongsTo = {"AdamW", "Adam"},
               .doc = "Decay of the two moments."});
  t.push_back({.path = "train.optimizer.params.betas[]",
               .types = TNumber,
               .min = 0,
               .max = 1,
               .belowMax = true,
               .doc = "Decay of one moment."});
  t.push_back({.path = "train.optimizer.params.eps",
               .types = TNumber | TAuto,
               .fallback = "1e-08",
               .min = 0,
               .max = 1,
               .aboveMin = true,
               .belongsTo = {"AdamW", "Adam"},
               .doc = "Added to the root of the second moment."});
  t.push_back({.path = "train.optimizer.params.weight_decay",
               .types = TNumber | TAuto,
               .fallback = "0",
               .min = 0,
               .max = 1000,
               .doc = "On variables of two or more dimensions. AdamW: p -= lr · weight_decay · p; "
                      "else added to the "
                      "gradient."});
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
               .belongsTo = {"AdamW", "Adam"},
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
               .choices = {"constant", "linear", "cosine"},
               .later = {"WarmupLR", "WarmupDecayLR", "WarmupCosineLR", "OneCycle", "LRRangeTest",
                         "polynomial", "inverse_sqrt", "cosine_with_restarts", "wsd"},
               .doc = "After warm-up: stay, fall along a line, or along a half cosine to `min_lr` "
                      "at `total_steps`."});
  t.push_back({.path = "train.scheduler.params", .types = TObject, .doc = "Of that type."});
  t.push_back({.path = "train.scheduler.params.warmup_steps",
               .types = TInteger | TAuto,
               .fallback = "0",
               .min = 0,
               .max = maxSteps,
               .aliases = {"warmup_num_steps"},
               .unit = "updates",
               .doc = "W: update t has (t+1)/W of the peak while t < W."});
  t.push_back({.path = "train.scheduler.params.total_steps",
               .types = TInteger | TAuto,
               .inferred = "as train.steps",
               .min = 1,
               .max = maxSteps,
               .aliases = {"total_num_steps"},
               .unit = "updates",
               .doc = "When `min_lr` is reached, warm-up included."});
  t.push_back({.path = "train.scheduler.params.min_lr",
               .types = TNumber | TAuto,
               .fallback = "0",
               .min = 0,
               .max = 1000000,
               .doc = "Floor; at most `lr`."});
  for (auto path :
       {"train.scheduler.params.warmup_min_lr", "train.scheduler.params.warmup_max_lr",
        "train.scheduler.params.warmup_type", "train.scheduler.params.warmup_min_ratio",
        "train.scheduler.params.cos_min_ratio", "train.scheduler.params.cycle_min_lr",
        "train.scheduler.params.cycle_max_lr", "train.scheduler.params.cycle_first_step_size",
        "train.scheduler.params.lr_range_test_min_lr"})
    t.push_back({.path = path,
                 .types = TAny,
                 .use = KeyUse::Absent,
                 .reason = "schedules have warmup_steps, total_steps and min_lr",
                 .doc = "Of DeepSpeed's schedules."});
}

void dsc::addTrainRows(std::vector<SpecKey> &t) {
  t.push_back(
      {.path = "train", .types = TObject, .doc = "The training loop, with DeepSpeed's key names."});
  t.push_back(
      {.path = "train.train_batch_size",
       .types = TInteger | TAuto,
       .inferred =
           "train_micro_batch_size_per_gpu × gradient_accumulation_steps, or from a replay file",
       .min = 1,
       .max = 1 << 20,
       .unit = "sequences",
       .doc = "Sequences of an update."});
  t.push_back({.path = "train.train_micro_batch_size_per_gpu",
               .types = TInteger | TAuto,
               .inferred = "train_batch_size ÷ gradient_accumulation_steps",
               .min = 1,
               .max = 1 << 20,
               .aliases = {"train_micro_batch_size"},
               .unit = "sequences",
               .doc = "Sequences of a micro-batch."});
  t.push_back({.path = "train.gradient_accumulation_steps",
               .types = TInteger | TAuto,
               .inferred = "train_batch_size ÷ train_micro_batch_size_per_gpu",
               .min = 1,
               .max = 1 << 20,
               .unit = "micro-batches",
               .doc = "Micro-batches of an update; today 1."});
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
  t.push_back({.path = "train.seed",
               .types = TInteger,
               .fallback = "1234",
               .min = 0,
               .max = 18446744073709551615.0,
               .doc = "Of random numbers in training."});
  t.push_back({.path = "train.reproducible",
               .types = TString,
               .fallback = "\"run\"",
               .choices = {"run"},
               .later = {"layout"},
               .doc = "Which runs give the same bits."});
  addOptimizerRows(t);
  addSchedulerRows(t);
}
