//===- FuzzTest.cpp - damaged specs, fixed seed ----------------------------===//
#include "../../Fuzz/Mutate.h"
#include "../../Fuzz/spec/SpecFuzz.h"
#include "SpecBuilder.h"

TEST(SpecFuzz, DamagedSpecs) {
  std::string full =
      R"({"schema_version": 1, "model": {"model_type": "gpt2", "n_layer": 2, "n_embd": 12, "n_head": 3,
    "n_positions": 16, "vocab_size": 300, "resid_pdrop": 0.0, "embd_pdrop": 0, "attn_pdrop": 0, "n_inner": null},
    "init": {"from": "w", "seed": 18446744073709551615}, "objective": {"type": "causal_lm"},
    "data": {"train": [{"path": "a.txt"}, {"path": "b", "format": "megatron"}], "validation_fraction": 0.05,
             "seq_length": 8},
    "train": {"train_batch_size": 4, "train_micro_batch_size_per_gpu": "auto", "gradient_clipping": 1.0, "steps": 20,
              "optimizer": {"type": "AdamW", "params": {"lr": 1e-3, "betas": [0.9, 0.95], "eps": 1e-8}},
              "scheduler": {"type": "cosine", "params": {"warmup_steps": 5, "total_steps": 20, "min_lr": 1e-4}},
              "fp16": {"enabled": false}, "zero_optimization": {"stage": 0}},
    "evaluation": {"every": 5, "batches": "all"}, "checkpoint": {"dir": "out"},
    "parallel": {"data": "auto", "pipeline": 2, "stages": [1, 1], "schedule": "gpipe", "bucket_bytes": "1 MiB"}, "log": {"dir": "log", "every": 2}})";
  std::string flag("\0train.optimizer.params.betas.1=0.9", 35);
  dsc::fuzz::spec(full);
  dsc::fuzz::mutate({dsc::test::smallSpec().dump(2), full, full + flag}, 3000, dsc::fuzz::spec);
}
