//===- SpecTableDeepSpeed.cpp - keys of ds_config.json without use yet -----===//
// A ds_config.json that uses none of these features passes as it is; one that does is refused by
// name.
#include "SpecTableRows.h"

using namespace dsc;

static void addHalfPrecisionRows(std::vector<SpecKey> &t) {
  constexpr std::string_view off = "float16 is off";
  t.push_back({.path = "train.fp16", .types = TObject, .doc = "Mixed precision with float16."});
  t.push_back(
      {.path = "train.fp16.enabled",
       .types = TBool | TAuto,
       .fallback = "false",
       .doc = "Store activations, their gradients and operands of products as float16; weights "
              "and all sums stay float32."});
  t.push_back({.path = "train.fp16.loss_scale",
               .types = TNumber | TAuto,
               .fallback = "0",
               .min = 0,
               .max = 1e30,
               .doc = "Fixed loss scale; 0: dynamic."});
  t.push_back({.path = "train.fp16.initial_scale_power",
               .types = TInteger | TAuto,
               .fallback = "16",
               .min = 0,
               .max = 96,
               .doc = "The dynamic scale starts at 2 to this power."});
  t.push_back({.path = "train.fp16.loss_scale_window",
               .types = TInteger | TAuto,
               .fallback = "1000",
               .min = 1,
               .max = 1e15,
               .unit = "steps",
               .doc = "Steps without overflow after which the scale doubles."});
  t.push_back({.path = "train.fp16.hysteresis",
               .types = TInteger | TAuto,
               .fallback = "2",
               .min = 1,
               .max = 1e15,
               .unit = "overflows",
               .doc = "Overflows that it takes to halve the scale."});
  t.push_back({.path = "train.fp16.consecutive_hysteresis",
               .types = TBool | TAuto,
               .fallback = "false",
               .doc = "A step without overflow gives the whole hysteresis back."});
  t.push_back({.path = "train.fp16.min_loss_scale",
               .types = TNumber | TAuto,
               .fallback = "1",
               .min = 0,
               .max = 1e30,
               .aboveMin = true,
               .doc = "Floor of the dynamic scale; may lie below 1."});
  t.push_back({.path = "train.fp16.max_loss_scale",
               .types = TNumber | TAuto,
               .fallback = "4294967296",
               .min = 0,
               .max = 1e30,
               .aboveMin = true,
               .doc = "Cap of the dynamic scale."});
  t.push_back({.path = "train.fp16.max_skips_at_floor",
               .types = TInteger | TAuto,
               .fallback = "20",
               .min = 1,
               .max = 1e15,
               .unit = "steps",
               .doc = "Skipped steps in a row at the lowest scale after which the run stops."});
  for (auto path : {"train.fp16.auto_cast", "train.fp16.fp16_master_weights_and_grads"})
    t.push_back({.path = path,
                 .types = TBool | TAuto,
                 .use = KeyUse::Ignored,
                 .reason = off,
                 .doc = "Of float16."});
  t.push_back({.path = "train.bf16",
               .types = TObject,
               .aliases = {"bfloat16"},
               .doc = "Mixed precision with bfloat16."});
  t.push_back({.path = "train.bf16.enabled",
               .types = TBool | TAuto,
               .fallback = "false",
               .doc = "As `train.fp16.enabled`, as bfloat16."});
  for (auto path : {"train.bf16.immediate_grad_update", "train.bf16.check_grad_overflow"})
    t.push_back({.path = path,
                 .types = TBool,
                 .use = KeyUse::Ignored,
                 .reason = "bfloat16 is off",
                 .doc = "Of bfloat16."});
}

void dsc::addDeepSpeedRows(std::vector<SpecKey> &t) {
  addHalfPrecisionRows(t);
  addZeroRows(t);
  t.push_back({.path = "train.steps_per_print",
               .types = TInteger | TAuto,
               .inferred = "as log.every",
               .min = 1,
               .max = 1e12,
               .unit = "steps",
               .doc = "DeepSpeed's name for `log.every`, which goes first."});
  constexpr std::string_view printing = "about what DeepSpeed prints";
  for (auto path : {"train.wall_clock_breakdown", "train.dump_state", "train.memory_breakdown"})
    t.push_back({.path = path,
                 .types = TBool | TAuto,
                 .use = KeyUse::Ignored,
                 .reason = printing,
                 .doc = "Printing in DeepSpeed."});
  constexpr std::string_view ours = "parallel says what ranks exchange";
  for (auto path : {"train.prescale_gradients", "train.fp32_allreduce", "train.disable_allgather",
                    "train.zero_allow_untested_optimizer", "train.zero_force_ds_cpu_optimizer",
                    "train.use_data_before_expert_parallel_"})
    t.push_back({.path = path,
                 .types = TBool | TAuto,
                 .use = KeyUse::Ignored,
                 .reason = ours,
                 .doc = "Between ranks in DeepSpeed."});
  t.push_back({.path = "train.gradient_predivide_factor",
               .types = TNumber | TAuto,
               .use = KeyUse::Ignored,
               .reason = ours,
               .doc = "Between ranks in DeepSpeed."});
  for (auto path : {"train.communication_data_type", "train.seq_parallel_communication_data_type"})
    t.push_back({.path = path,
                 .types = TString | TNull | TAuto,
                 .use = KeyUse::Ignored,
                 .reason = ours,
                 .doc = "Between ranks in DeepSpeed."});
  for (auto [path, reason] : {std::pair("train.tensor_parallel", "write parallel.tensor"),
                              std::pair("train.pipeline", "write parallel.pipeline")})
    t.push_back({.path = path,
                 .types = TAny,
                 .use = KeyUse::Absent,
                 .reason = reason,
                 .doc = "A feature of DeepSpeed."});
  t.push_back({.path = "train.sparse_gradients",
               .types = TBool,
               .use = KeyUse::Limited,
               .only = "[false]",
               .doc = "Sparse gradients of embeddings."});
  t.push_back({.path = "train.dataloader_drop_last",
               .types = TBool,
               .use = KeyUse::Limited,
               .only = "[false]",
               .reason = "the last batch of an epoch is filled with uncounted rows",
               .doc = "Drop the last batch."});
  for (auto path : {"train.amp",
                    "train.data_types",
                    "train.aio",
                    "train.activation_checkpointing",
                    "train.sparse_attention",
                    "train.autotuning",
                    "train.flops_profiler",
                    "train.comms_logger",
                    "train.tensorboard",
                    "train.wandb",
                    "train.csv_monitor",
                    "train.comet",
                    "train.monitor_config",
                    "train.compression_training",
                    "train.data_efficiency",
                    "train.curriculum_learning",
                    "train.elasticity",
                    "train.eigenvalue",
                    "train.progressive_layer_drop",
                    "train.hybrid_engine",
                    "train.compile",
                    "train.nebula",
                    "train.checkpoint",
                    "train.quantize_training",
                    "train.weight_quantization",
                    "train.load_universal_checkpoint",
                    "train.timers"})
    t.push_back(
        {.path = path, .types = TAny, .use = KeyUse::Absent, .doc = "A feature of DeepSpeed."});
}
