//===- SpecTableParallel.cpp - rows of `parallel` and ZeRO -----------------===//
// A row says what a key may be. What the compiler cannot do yet is refused by one list in
// ResolveParallel.cpp.
#include "SpecTableRows.h"

using namespace dsc;

static constexpr double maxRanks = 1 << 16;

static void addDegreeRows(std::vector<SpecKey> &t) {
  for (auto [path, doc] :
       {std::pair("parallel.data",
                  "Ranks that share the micro-batches of an update. `\"auto\"`: train_batch_size ÷ "
                  "(train_micro_batch_size_per_gpu × gradient_accumulation_steps) where all three "
                  "are known, else 1."),
        std::pair("parallel.tensor",
                  "Ranks that share the heads of each attention and the columns of each product; "
                  "divides `model.n_head`. Vocabulary and MLP need not divide."),
        std::pair("parallel.pipeline",
                  "Stages, each with some of the blocks. When absent, and `parallel.stages` is a "
                  "list: as many as it has."),
        std::pair("parallel.context", "Ranks that share the positions of a sequence, each with "
                                      "two parts of it, one early and one late.")})
    t.push_back({.path = path,
                 .types = TInteger | TAuto,
                 .fallback = "1",
                 .min = 1,
                 .max = maxRanks,
                 .unit = "ranks",
                 .doc = doc});
  t.push_back({.path = "parallel.expert",
               .types = TInteger | TAuto,
               .use = KeyUse::Limited,
               .only = R"([1, "auto"])",
               .reason = "there are no experts",
               .unit = "ranks",
               .doc = "Ranks that share the experts."});
  t.push_back({.path = "parallel.sequence_parallel",
               .types = TBool | TAuto,
               .fallback = "false",
               .doc = "Ranks of `parallel.tensor` also share the positions between products: "
                      "reduce-scatter and all-gather in place of each all-reduce."});
}

static void addPipelineRows(std::vector<SpecKey> &t) {
  t.push_back({.path = "parallel.schedule",
               .types = TString | TAuto,
               .fallback = "\"1f1b\"",
               .choices = {"gpipe", "1f1b", "interleaved", "zero_bubble"},
               .doc = "Order of work on a stage: all forward, then all backward; one of each in "
                      "turn; the same with `interleave` parts a rank; backward of inputs and of "
                      "weights apart (ZB-H1). The results are the same bits."});
  t.push_back({.path = "parallel.interleave",
               .types = TInteger | TAuto,
               .fallback = "1",
               .min = 1,
               .max = 4096,
               .unit = "parts a rank",
               .doc =
                   "With schedule `interleaved`: rank p of P has parts p, P + p, 2 P + p, ... of "
                   "the model."});
  t.push_back({.path = "parallel.stages",
               .types = TList | TAuto,
               .inferred = "balanced by cost",
               .unit = "blocks",
               .doc = "Blocks of each stage, such as `[3, 2, 2]`; with `interleave` of each part, "
                      "in the order of the model. Without: docs/Layouts.md."});
  t.push_back({.path = "parallel.stages[]",
               .types = TInteger,
               .min = 1,
               .max = 4096,
               .unit = "blocks",
               .doc = "Blocks of one stage."});
}

static void addGradientRows(std::vector<SpecKey> &t) {
  t.push_back({.path = "parallel.bucket_bytes",
               .types = TInteger | TString,
               .fallback = "33554432",
               .min = 0,
               .max = 1e15,
               .unit = "bytes",
               .doc = "Gradients are exchanged in buckets of about so many bytes, or a text such "
                      "as `\"32 MiB\"`; 0: one a variable. No size changes a bit."});
  t.push_back({.path = "parallel.compression",
               .types = TString,
               .fallback = "\"none\"",
               .choices = {"none", "half", "onebit"},
               .doc = "What gradients travel as: float32, half precision (added in float32), or "
                      "signs with error feedback. Other than `none` changes results."});
  t.push_back({.path = "parallel.local_sgd",
               .types = TInteger,
               .fallback = "0",
               .min = 0,
               .max = 1e12,
               .unit = "steps",
               .doc = "Ranks of `parallel.data` update alone and average their weights every so "
                      "many steps; 0: they add gradients in each. Changes results."});
  t.push_back({.path = "parallel.device_speed",
               .types = TList,
               .inferred = "all alike",
               .doc = "Speed of each rank of `parallel.data`, such as `[1.0, 0.5]`: it gets "
                      "micro-batches in proportion. The gradient is the same."});
  t.push_back({.path = "parallel.device_speed[]",
               .types = TNumber,
               .min = 0,
               .max = 1000000,
               .aboveMin = true,
               .doc = "Speed of one rank, in any unit."});
  t.push_back({.path = "parallel.blocks",
               .types = TObject,
               .inferred = "all blocks are treated alike",
               .doc = "Degrees of single blocks, such as `{\"0-3\": {\"tensor\": 2}}`.",
               .opaque = true});
  t.push_back({.path = "parallel.strategy",
               .types = TString | TAuto,
               .use = KeyUse::Limited,
               .only = R"(["manual", "auto"])",
               .reason = "there is no search for layouts",
               .doc = "Who chooses the layout: this section."});
}

void dsc::addParallelRows(std::vector<SpecKey> &t) {
  t.push_back({.path = "parallel",
               .types = TObject,
               .doc =
                   "Layout over ranks; docs/Layouts.md. A rank is numbered ((stage · data + d) · "
                   "context + c) · tensor + t."});
  addDegreeRows(t);
  addPipelineRows(t);
  addGradientRows(t);
}

void dsc::addZeroRows(std::vector<SpecKey> &t) {
  t.push_back({.path = "train.zero_optimization",
               .types = TObject,
               .doc = "What ranks of `parallel.data` share in place of each having it."});
  t.push_back({.path = "train.zero_optimization.stage",
               .types = TInteger | TAuto,
               .fallback = "0",
               .min = 0,
               .max = 3,
               .doc = "0: nothing; 1: optimizer state and float32 weights; 2: gradients too; 3: "
                      "working weights too. The results are the same bits."});
  for (auto path :
       {"train.zero_optimization.offload_optimizer", "train.zero_optimization.offload_param"})
    t.push_back({.path = path,
                 .types = TObject | TNull,
                 .use = KeyUse::Ignored,
                 .reason = "ranks compute where their memory is",
                 .doc = "Where shards live.",
                 .opaque = true});
  for (auto path :
       {"train.zero_optimization.allgather_partitions", "train.zero_optimization.overlap_comm",
        "train.zero_optimization.reduce_scatter", "train.zero_optimization.contiguous_gradients",
        "train.zero_optimization.round_robin_gradients", "train.zero_optimization.grad_hooks",
        "train.zero_optimization.elastic_checkpoint",
        "train.zero_optimization.load_from_fp32_weights", "train.zero_optimization.cpu_offload",
        "train.zero_optimization.ignore_unused_parameters"})
    t.push_back({.path = path,
                 .types = TBool | TNull | TAuto,
                 .use = KeyUse::Ignored,
                 .reason = "the plan says how shards are exchanged",
                 .doc = "Of sharding."});
  for (auto path : {"train.zero_optimization.zero_quantized_weights",
                    "train.zero_optimization.zero_quantized_gradients",
                    "train.zero_optimization.zero_quantized_nontrainable_weights"})
    t.push_back({.path = path,
                 .types = TBool | TNull | TAuto,
                 .use = KeyUse::Limited,
                 .only = R"([false, null, "auto"])",
                 .reason = "shards are exchanged as they are",
                 .doc = "Shards travel as int8."});
  t.push_back({.path = "train.zero_optimization.stage3_gather_16bit_weights_on_model_save",
               .types = TBool | TAuto,
               .aliases = {"stage3_gather_fp16_weights_on_model_save"},
               .use = KeyUse::Ignored,
               .reason = "weights are saved whole, as float32",
               .doc = "Of saving."});
  for (auto path :
       {"train.zero_optimization.allgather_bucket_size",
        "train.zero_optimization.reduce_bucket_size", "train.zero_optimization.sub_group_size",
        "train.zero_optimization.stage3_max_live_parameters",
        "train.zero_optimization.stage3_max_reuse_distance",
        "train.zero_optimization.stage3_prefetch_bucket_size",
        "train.zero_optimization.stage3_param_persistence_threshold",
        "train.zero_optimization.zero_hpz_partition_size",
        "train.zero_optimization.mics_shard_size"})
    t.push_back({.path = path,
                 .types = TNumber | TAuto,
                 .use = KeyUse::Ignored,
                 .reason = "parallel.bucket_bytes and the plan say what is exchanged at a time",
                 .doc = "Sizes of sharding."});
}
