//===- SpecTest.cpp - whole specs: defaults, inference, --set, limits ------===//
#include "SpecBuilder.h"
#include <filesystem>
#include <fstream>

using namespace dsc;
using namespace dsc::test;

static std::string originOf(const SpecResult &result, const std::string &path) {
  for (const Provenance &v : result.values)
    if (v.path == path)
      return v.value + " # " + v.origin;
  return "absent";
}

TEST(Spec, DefaultsAndInference) {
  SpecResult r = readText(smallSpec().dump());
  ASSERT_TRUE(r.ok()) << r.errorText();
  const Spec &s = *r.spec;
  EXPECT_EQ(s.model.inner, 48);
  EXPECT_EQ(s.model.activation, ActivationKind::GeluTanh);
  EXPECT_TRUE(s.model.tiedHead);
  EXPECT_EQ(s.data.seqLength, 16);
  EXPECT_EQ(s.train.optimizer, OptimizerKind::AdamW);
  EXPECT_EQ(s.train.lr, 1e-3);
  EXPECT_EQ(s.train.beta2, 0.999);
  EXPECT_EQ(s.train.totalSteps, 10);
  EXPECT_EQ(s.initSeed, 1234u);
  EXPECT_EQ(s.logEvery, 10);
  EXPECT_EQ(originOf(r, "model.n_inner"), "48 # inferred from 4 × model.n_embd");
  EXPECT_EQ(originOf(r, "train.optimizer.params.lr"), "0.001 # default");
  EXPECT_EQ(originOf(r, "train.steps"), "10 # model.json:1");
  EXPECT_EQ(originOf(r, "data.seq_length"), "16 # inferred from model.n_positions");
}

TEST(Spec, ResolvedSpecResolvesToItself) {
  Json spec = smallSpec();
  spec["init"]["from"] = "weights";
  spec["checkpoint"]["dir"] = "out";
  spec["evaluation"]["batches"] = "all";
  spec["train"]["scheduler"] =
      Json::parse(R"({"type": "linear", "params": {"warmup_num_steps": 2}})");
  SpecResult first = readText(spec.dump());
  ASSERT_TRUE(first.ok()) << first.errorText();
  SpecResult second = readText(first.spec->resolved->dump());
  ASSERT_TRUE(second.ok()) << second.errorText();
  EXPECT_EQ(*first.spec->resolved, *second.spec->resolved);
  EXPECT_EQ((*first.spec->resolved)["train"]["scheduler"]["params"]["warmup_steps"], 2);
}

// DeepSpeed's parameters are taken as they are; what is left open follows the optimizer.
TEST(Spec, SchedulesOfDeepSpeed) {
  auto read = [](const std::string &scheduler) {
    Json spec = smallSpec();
    spec["train"]["optimizer"] = Json::parse(R"({"type": "AdamW", "params": {"lr": 0.002}})");
    spec["train"]["scheduler"] = Json::parse(scheduler);
    return readText(spec.dump());
  };
  SpecResult r = read(R"({"type": "WarmupDecayLR", "params": {"warmup_num_steps": 3,
      "total_num_steps": 9, "warmup_min_lr": 1e-4, "warmup_max_lr": "auto", "warmup_type": "linear"}})");
  ASSERT_TRUE(r.ok()) << r.errorText();
  EXPECT_EQ(r.spec->train.schedule, ScheduleKind::WarmupDecayLR);
  EXPECT_EQ(r.spec->train.warmupSteps, 3);
  EXPECT_EQ(r.spec->train.totalSteps, 9);
  EXPECT_EQ(r.spec->train.warmupMinLr, 1e-4);
  EXPECT_EQ(r.spec->train.warmupMaxLr, 0.002);
  EXPECT_TRUE(r.spec->train.linearWarmup);
  EXPECT_EQ(originOf(r, "train.scheduler.params.warmup_max_lr"),
            "0.002 # inferred from train.optimizer.params.lr");
  EXPECT_EQ(originOf(r, "train.scheduler.params.min_lr"), "absent");
  r = read(R"({"type": "WarmupCosineLR", "params": {"warmup_num_steps": 3}})");
  ASSERT_TRUE(r.ok()) << r.errorText();
  EXPECT_EQ(r.spec->train.cosMinRatio, 0.0001);
  EXPECT_FALSE(r.spec->train.linearWarmup);
  r = read(R"({"type": "inverse_sqrt", "params": {"warmup_steps": 4}})");
  ASSERT_TRUE(r.ok()) << r.errorText();
  EXPECT_EQ(r.spec->train.timescale, 4);
  r = read(R"({"type": "wsd", "params": {"warmup_steps": 4, "decay_steps": 6}})");
  ASSERT_TRUE(r.ok()) << r.errorText();
  EXPECT_EQ(r.spec->train.decaySteps, 6);
  EXPECT_TRUE(hasError(read(R"({"type": "WarmupLR", "params": {"warmup_num_steps": 3,
      "warmup_min_lr": 0.5}})"),
                       "'warmup_min_lr' is above the peak: warmup_min_lr 0.5"));
}

// Groups are found by pattern; the first that matches holds.
TEST(Spec, ParameterGroups) {
  Json spec = smallSpec();
  spec["train"]["param_groups"] = Json::parse(R"([
      {"match": "h.?.ln_*", "weight_decay": 0.5}, {"match": "w?e.weight", "frozen": true},
      {"match": "*", "lr_scale": 0.25}])");
  SpecResult r = readText(spec.dump());
  ASSERT_TRUE(r.ok()) << r.errorText();
  const std::vector<ParamGroup> &groups = r.spec->train.groups;
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[0].weightDecay, 0.5);
  EXPECT_FALSE(groups[0].lrScale);
  EXPECT_TRUE(groups[1].frozen);
  EXPECT_EQ(groups[2].lrScale, 0.25);
  EXPECT_EQ(groupOf(groups, "h.1.ln_2.bias"), 0);
  EXPECT_EQ(groupOf(groups, "h.10.ln_2.bias"), 2);
  EXPECT_EQ(groupOf(groups, "wpe.weight"), 1);
  EXPECT_EQ(groupOf(groups, "wpe.weights"), 2);
  EXPECT_EQ(groupOf({groups[0], groups[1]}, "ln_f.bias"), -1);
  EXPECT_EQ(groupOf({{"a*b*c", {}, {}, false}}, "aXbXbc"), 0);
  EXPECT_EQ(groupOf({{"a*b*c", {}, {}, false}}, "aXbXcX"), -1);
  EXPECT_EQ(groupOf({{"", {}, {}, false}}, ""), 0);
  SpecResult second = readText(r.spec->resolved->dump());
  ASSERT_TRUE(second.ok()) << second.errorText();
  EXPECT_EQ(*r.spec->resolved, *second.spec->resolved);
}

TEST(Spec, LionHasBetasOfItsOwn) {
  for (const char *type : {"Lion", "lion", "Lamb"}) {
    Json spec = smallSpec();
    spec["train"]["optimizer"]["type"] = type;
    SpecResult r = readText(spec.dump());
    ASSERT_TRUE(r.ok()) << r.errorText();
    EXPECT_EQ(r.spec->train.beta2, std::string(type) == "Lamb" ? 0.999 : 0.99);
  }
  Json spec = smallSpec();
  spec["train"]["optimizer"] =
      Json::parse(R"({"type": "Lamb", "params": {"min_coeff": 2, "max_coeff": 1}})");
  EXPECT_TRUE(hasError(readText(spec.dump()), "the limits of the trust ratio are reversed"));
}

TEST(Spec, AdafactorHasTwoEpsilons) {
  auto read = [](const char *params) {
    Json spec = smallSpec();
    spec["train"]["optimizer"] = {{"type", "adafactor"}, {"params", Json::parse(params)}};
    return readText(spec.dump());
  };
  SpecResult r = read("{}");
  ASSERT_TRUE(r.ok()) << r.errorText();
  EXPECT_EQ(r.spec->train.optimizer, OptimizerKind::Adafactor);
  EXPECT_EQ(r.spec->train.eps, 0x1p-23);
  EXPECT_EQ(r.spec->train.leastRms, 1e-3);
  EXPECT_EQ(r.spec->train.beta2Decay, -0.8);
  EXPECT_EQ(r.spec->train.mostRms, 1);
  SpecResult second = readText(r.spec->resolved->dump());
  ASSERT_TRUE(second.ok()) << second.errorText();
  EXPECT_EQ(*r.spec->resolved, *second.spec->resolved);
  r = read(R"({"eps": [null, 0.01], "clip_threshold": 2, "beta2_decay": -0.5})");
  ASSERT_TRUE(r.ok()) << r.errorText();
  EXPECT_EQ(r.spec->train.eps, 0x1p-23);
  EXPECT_EQ(r.spec->train.leastRms, 0.01);
  EXPECT_EQ(r.spec->train.beta2Decay, -0.5);
  EXPECT_EQ(r.spec->train.mostRms, 2);
  EXPECT_TRUE(hasError(read(R"({"eps": 1e-8})"), "is one number, Adafactor has two"));
  EXPECT_TRUE(hasError(read(R"({"eps": [1e-8]})"), "has 1 item, Adafactor has two"));
  EXPECT_TRUE(hasError(read(R"({"eps": [1e-30, 1e-3]})"), "square must not vanish in f32"));
  EXPECT_TRUE(hasError(read(R"({"d": 0.5})"), "'train.optimizer.params.d'"));
  EXPECT_TRUE(hasError(read(R"({"beta2_decay": 0.8})"), "'train.optimizer.params.beta2_decay'"));
  EXPECT_TRUE(hasError(read(R"({"betas": [0.9, 0.99]})"), "is a parameter of AdamW"));
  Json spec = smallSpec();
  spec["train"]["optimizer"] = Json::parse(R"({"type": "AdamW", "params": {"eps": [1e-8, 1e-3]}})");
  EXPECT_TRUE(hasError(readText(spec.dump()), "is a list, AdamW has one"));
}

TEST(Spec, SetOverridesAndSaysSo) {
  SpecResult r =
      readText(smallSpec().dump(),
               {"train.optimizer.params.lr=3e-4", "train.optimizer.params.betas=[0.8,0.9]",
                "train.optimizer.params.betas.1=0.95", "train.scheduler.type=cosine",
                "model.hidden_size=24", "data.train[0].path=7", "data.train[0].format=text",
                "checkpoint.dir=out", "train.steps=20", "train.steps=30"});
  ASSERT_TRUE(r.ok()) << r.errorText();
  EXPECT_EQ(r.spec->train.lr, 3e-4);
  EXPECT_EQ(r.spec->train.beta1, 0.8);
  EXPECT_EQ(r.spec->train.beta2, 0.95);
  EXPECT_EQ(r.spec->train.schedule, ScheduleKind::Cosine);
  EXPECT_EQ(r.spec->model.width, 24);
  EXPECT_EQ(r.spec->data.train[0].path, "7");
  EXPECT_EQ(r.spec->checkpointDir, "out");
  EXPECT_EQ(r.spec->train.steps, 30);
  EXPECT_EQ(originOf(r, "train.optimizer.params.lr"), "0.0003 # --set");
}

TEST(Spec, SetErrorsPointAtTheFlag) {
  SpecResult r =
      readText(smallSpec().dump(), {"train.stepz=5", "train.steps=many", "model.n_layer=01",
                                    "steps", "data.train.3.path=x", "schema_version.x=1"});
  std::string text = r.errorText();
  for (const char *part :
       {"command line: error: unknown key 'stepz' in 'train'\n  --set train.stepz=5\n              "
        "^\n",
        "command line: error: 'train.steps' must be a whole number, not a string\n  --set "
        "train.steps=many\n",
        "command line: error: malformed number '01': no zeros before a number\n  --set "
        "model.n_layer=01\n",
        "command line: error: --set needs PATH=VALUE\n  --set steps\n",
        "command line: error: 'data.train' has 1 item, there is no '3'\n",
        "command line: error: 'schema_version' is the number 1 and has no 'x'\n"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nin\n" << text;
}

TEST(Spec, IntegersAreExact) {
  Json spec = smallSpec();
  for (uint64_t seed : {9007199254740993ull, 18446744073709551615ull, 9223372036854775808ull}) {
    spec["data"]["seed"] = seed;
    SpecResult r = readText(spec.dump());
    ASSERT_TRUE(r.ok()) << r.errorText();
    EXPECT_EQ(r.spec->data.seed, seed);
    EXPECT_EQ((*r.spec->resolved)["data"]["seed"].get<uint64_t>(), seed);
  }
}

TEST(Spec, IntegralNumbersAreIntegers) {
  const SpecKey &layers = *findSpecKey("model.n_layer");
  for (const char *text : {"12.0", "1.2e1", "12"}) {
    SpecResult r = readText(withValue(layers, text).text);
    ASSERT_TRUE(r.ok()) << r.errorText();
    EXPECT_EQ(r.spec->model.layers, 12);
    EXPECT_TRUE((*r.spec->resolved)["model"]["n_layer"].is_number_integer());
  }
  for (const char *text : {"12.5", "0", "-1", "1000000000", "-0", "1e19"})
    EXPECT_FALSE(readText(withValue(layers, text).text).ok()) << text;
}

TEST(Spec, ByteOrderMarkIsSkipped) {
  SpecResult r = readText("\xEF\xBB\xBF" + smallSpec().dump());
  EXPECT_TRUE(r.ok()) << r.errorText();
  SpecResult wrong = readText("\xEF\xBB\xBF{\"schema_version\": 2}");
  EXPECT_TRUE(hasError(wrong, "model.json:1:20: error: 'schema_version' is 2, expected 1"));
}

TEST(Spec, EveryKeyOfHuggingFaceIsUnderstood) {
  Json spec = smallSpec();
  // What transformers 5 writes for GPT2Config, and what versions 2 to 4 wrote beside it.
  spec["model"].update(Json::parse(R"({"_name_or_path": "", "activation_function": "gelu_new",
    "add_cross_attention": false, "architectures": ["GPT2LMHeadModel"], "bos_token_id": 50256,
    "chunk_size_feed_forward": 0, "dtype": "float32", "eos_token_id": 50256, "id2label": {"0": "LABEL_0"},
    "initializer_range": 0.02, "is_encoder_decoder": false, "label2id": {"LABEL_0": 0}, "layer_norm_epsilon": 1e-05,
    "model_type": "gpt2", "n_inner": null, "output_attentions": false, "output_hidden_states": false,
    "pad_token_id": null, "problem_type": null, "reorder_and_upcast_attn": false, "return_dict": true,
    "scale_attn_by_inverse_layer_idx": false, "scale_attn_weights": true, "summary_activation": null,
    "summary_first_dropout": 0.1, "summary_proj_to_labels": true, "summary_type": "cls_index",
    "summary_use_proj": true, "tie_word_embeddings": true, "transformers_version": "5.0.0", "use_cache": true,
    "n_ctx": 16, "torch_dtype": "float32", "gradient_checkpointing": false,
    "task_specific_params": {"text-generation": {"do_sample": true, "max_length": 50}}, "pruned_heads": {},
    "torchscript": false, "use_bfloat16": false, "tf_legacy_loss": false, "is_decoder": false,
    "cross_attention_hidden_size": null, "tie_encoder_decoder": false, "max_length": 20, "min_length": 0,
    "do_sample": false, "early_stopping": false, "num_beams": 1, "num_beam_groups": 1, "diversity_penalty": 0.0,
    "temperature": 1.0, "top_k": 50, "top_p": 1.0, "typical_p": 1.0, "repetition_penalty": 1.0,
    "length_penalty": 1.0, "no_repeat_ngram_size": 0, "encoder_no_repeat_ngram_size": 0, "bad_words_ids": null,
    "num_return_sequences": 1, "output_scores": false, "return_dict_in_generate": false,
    "forced_bos_token_id": null, "forced_eos_token_id": null, "remove_invalid_values": false,
    "exponential_decay_length_penalty": null, "suppress_tokens": null, "begin_suppress_tokens": null,
    "finetuning_task": null, "tokenizer_class": null, "prefix": null, "sep_token_id": null,
    "decoder_start_token_id": null, "_attn_implementation_autoset": true, "output_past": true, "num_labels": 1})"));
  SpecResult r = readText(spec.dump());
  ASSERT_TRUE(r.ok()) << r.errorText();
  EXPECT_EQ((*r.spec->model.config)["eos_token_id"], 50256);
}

// A configuration that does not say has GPT-2's 0.1; evaluation drops nothing.
TEST(Spec, DropoutIsForTrainingOnly) {
  Json spec = smallSpec();
  for (const char *name : {"embd_pdrop", "resid_pdrop"})
    spec["model"].erase(name);
  spec["model"]["attn_pdrop"] = 1;
  SpecResult r = readText(spec.dump());
  ASSERT_TRUE(r.ok()) << r.errorText();
  EXPECT_EQ(r.spec->model.embeddingDropout, 0.1);
  EXPECT_EQ(r.spec->model.attentionDropout, 1);
  EXPECT_EQ(originOf(r, "model.resid_pdrop"), "0.1 # default");
  SpecResult evaluated = readText(spec.dump(), {}, Purpose::Evaluate);
  ASSERT_TRUE(evaluated.ok()) << evaluated.errorText();
  EXPECT_EQ(evaluated.spec->model.embeddingDropout, 0);
  EXPECT_EQ(originOf(evaluated, "model.resid_pdrop"), "0.0 # default, not applied in evaluation");
}

TEST(Spec, BatchArithmetic) {
  auto read = [](const char *train) {
    Json spec = smallSpec();
    spec["train"] = Json::parse(train);
    return readText(spec.dump(2));
  };
  for (
      const char *train :
      {R"({"steps": 1, "train_batch_size": 6})",
       R"({"steps": 1, "train_micro_batch_size_per_gpu": 6})",
       R"({"steps": 1, "train_batch_size": 6, "gradient_accumulation_steps": "auto"})",
       R"({"steps": 1, "train_batch_size": "auto", "train_micro_batch_size": 6, "gradient_accumulation_steps": 1})",
       R"({"steps": 1, "train_batch_size": 6, "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": 1})"}) {
    SpecResult r = read(train);
    ASSERT_TRUE(r.ok()) << r.errorText();
    EXPECT_EQ(r.spec->train.batch, 6);
    EXPECT_EQ((*r.spec->resolved)["train"]["train_micro_batch_size_per_gpu"], 6);
    EXPECT_EQ((*r.spec->resolved)["train"]["gradient_accumulation_steps"], 1);
  }
  SpecResult wrong =
      read(R"({"steps": 1, "train_batch_size": 64, "train_micro_batch_size_per_gpu": 4,
                              "gradient_accumulation_steps": 8})");
  EXPECT_TRUE(hasError(wrong, "train_batch_size 64 is not train_micro_batch_size_per_gpu 4 × "
                              "gradient_accumulation_steps 8 × 1 rank = 32"));
  EXPECT_TRUE(
      hasError(read(R"({"steps": 1, "train_batch_size": 64, "train_micro_batch_size_per_gpu": 5})"),
               "gradient_accumulation_steps 12 × 1 rank = 60"));
  SpecResult parts =
      read(R"({"steps": 1, "train_batch_size": 8, "train_micro_batch_size_per_gpu": 4})");
  ASSERT_TRUE(parts.ok()) << parts.errorText();
  EXPECT_EQ(parts.spec->train.microBatch, 4);
  EXPECT_EQ((*parts.spec->resolved)["train"]["gradient_accumulation_steps"], 2);
  EXPECT_TRUE(hasError(read(R"({"steps": 1})"), "missing key 'train.train_batch_size'"));
  for (const char *k : {"0", "-1", "2.5", "1e18"}) // GA-06
    EXPECT_FALSE(read((R"({"steps": 1, "train_batch_size": 8, "gradient_accumulation_steps": )" +
                       std::string(k) + "}")
                          .c_str())
                     .ok())
        << k;
}

TEST(Spec, ScheduleLengths) { // LR-02
  auto read = [](const std::string &warmup, const std::string &total) {
    Json spec = smallSpec();
    spec["train"]["scheduler"] = Json::parse(R"({"type": "cosine", "params": {"warmup_steps": )" +
                                             warmup + R"(, "total_steps": )" + total + "}}");
    return readText(spec.dump());
  };
  EXPECT_TRUE(read("0", "1").ok());
  EXPECT_TRUE(read("7", "7").ok());
  EXPECT_TRUE(hasError(read("8", "7"), "warm-up is longer than training: warmup_steps 8"));
  EXPECT_TRUE(
      hasError(read("0", "0"), "'train.scheduler.params.total_steps' is 0, expected from 1"));
  EXPECT_TRUE(
      hasError(read("0", "-1"), "'train.scheduler.params.total_steps' is -1, expected from 1"));
}

TEST(Spec, ProductsAreCheckedBeforeAnythingIsAllocated) {
  Json spec = smallSpec();
  spec["model"]["n_embd"] = 1 << 20;
  spec["model"]["n_head"] = 1 << 10;
  spec["model"]["n_layer"] = 4096;
  spec["model"]["vocab_size"] = 2147483647;
  EXPECT_TRUE(hasError(readText(spec.dump()), "more than can be addressed (2^47)"));
  Json steps = smallSpec();
  steps["model"]["n_positions"] = 1 << 24;
  steps["train"]["train_batch_size"] = 1 << 20;
  EXPECT_TRUE(hasError(readText(steps.dump()), "= 17592186044416 tokens"));
}

TEST(Spec, LimitsOfTheText) {
  EXPECT_TRUE(hasError(readText("{\"model\": " + std::string(100000, '[')),
                       "nested deeper than 64 levels"));
  std::string many = "{\"x\": [0";
  for (int i = 0; i < 100001; ++i)
    many += ",0";
  EXPECT_TRUE(hasError(readText(many + "]}"), "the file has more than 100000 values"));
  EXPECT_TRUE(
      hasError(readText(std::string((4 << 20) + 1, ' ')), "more than the limit of 4194304"));
  std::string keys = "{";
  for (int i = 0; i < 500; ++i)
    keys += "\"k" + std::to_string(i) + "\": 1, ";
  SpecResult r = readText(keys + "\"z\": 1}");
  EXPECT_EQ(r.errors.size(), DiagnosticList::limit + 1);
  EXPECT_NE(r.errors.back().message.find("more errors"), std::string::npos);
}

TEST(Spec, EpochsLeaveTheLengthOpen) {
  Json spec = smallSpec();
  spec["train"].erase("steps");
  spec["train"]["epochs"] = 3;
  SpecResult r = readText(spec.dump());
  ASSERT_TRUE(r.ok()) << r.errorText();
  EXPECT_EQ(r.spec->train.steps, 0);
  EXPECT_EQ(r.spec->train.epochs, 3);
  EXPECT_FALSE((*r.spec->resolved)["train"].contains("steps"));
}

/// A folder of files for one test.
class SpecFiles : public testing::Test {
protected:
  std::filesystem::path folder;
  void SetUp() override {
    auto *info = testing::UnitTest::GetInstance()->current_test_info();
    folder = std::filesystem::path(testing::TempDir()) / (std::string("dsc-") + info->name());
    std::filesystem::create_directories(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  void write(const std::string &name, const std::string &text) {
    std::ofstream(folder / name, std::ios::binary) << text;
  }
  /// An .npy file of zeros.
  void writeArray(const std::string &name, const std::string &type, const std::vector<int> &shape,
                  int size) {
    std::string dims;
    long count = size;
    for (int d : shape) {
      dims += std::to_string(d) + ", ";
      count *= d;
    }
    std::string header =
        "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + dims + "), }";
    header += std::string(64 - (header.size() + 11) % 64, ' ') + "\n";
    std::string file = "\x93NUMPY";
    file += std::string("\x01\x00", 2);
    file += static_cast<char>(header.size() & 0xFF);
    file += static_cast<char>(header.size() >> 8);
    write(name, file + header + std::string(count, '\0'));
  }
  SpecResult read(Json spec, std::vector<std::string> overrides = {}) {
    write("model.json", spec.dump(2));
    return readSpec((folder / "model.json").string(), overrides);
  }
  Json replaySpec() {
    Json spec = smallSpec();
    spec["data"] = Json::parse(R"({"train": "tokens.npy"})");
    spec["train"] = Json::object();
    return spec;
  }
};

TEST_F(SpecFiles, ReplayGivesLengthBatchAndSequence) {
  writeArray("tokens.npy", "<i4", {20, 3, 13}, 4);
  SpecResult r = read(replaySpec());
  ASSERT_TRUE(r.ok()) << r.errorText();
  EXPECT_EQ(r.spec->train.steps, 20);
  EXPECT_EQ(r.spec->train.batch, 3);
  EXPECT_EQ(r.spec->data.seqLength, 12);
  EXPECT_EQ(originOf(r, "train.steps"), "20 # inferred from tokens.npy [20,3,13]");
}

// The batch of a replay file is dealt over micro-batches and ranks.
TEST_F(SpecFiles, ReplayOverRanks) {
  writeArray("tokens.npy", "<i4", {20, 12, 13}, 4);
  Json spec = replaySpec();
  spec["train"]["train_micro_batch_size_per_gpu"] = 2;
  spec["parallel"]["data"] = 3;
  SpecResult r = read(spec);
  ASSERT_TRUE(r.ok()) << r.errorText();
  EXPECT_EQ(r.spec->train.batch, 12);
  EXPECT_EQ(r.spec->microBatches(), 2);
  spec["parallel"]["data"] = "auto";
  spec["train"]["gradient_accumulation_steps"] = 1;
  r = read(spec);
  ASSERT_TRUE(r.ok()) << r.errorText();
  EXPECT_EQ(r.spec->parallel.layout.data, 6);
  spec["parallel"]["data"] = 5;
  r = read(spec);
  EXPECT_TRUE(hasError(r, "batch arithmetic does not hold: train_batch_size 12 is not"));
  EXPECT_TRUE(hasError(r, "fix: the nearest: parallel.data 6")); // the file does not change
}

TEST_F(SpecFiles, ReplayContradictions) {
  writeArray("tokens.npy", "<i4", {20, 3, 13}, 4);
  writeArray("long.npy", "<i8", {20, 3, 13}, 8);
  writeArray("flat.npy", "<i4", {20, 13}, 4);
  writeArray("empty.npy", "<i4", {0, 3, 13}, 4);
  writeArray("labels.npy", "<i4", {20, 3, 13}, 4);
  Json spec = replaySpec();
  spec["train"]["steps"] = 21;
  EXPECT_TRUE(hasError(read(spec), "'train.steps' is 21, but tokens.npy [20,3,13] has 20 batches"));
  spec["train"]["steps"] = 20;
  spec["train"]["train_batch_size"] = 4;
  EXPECT_TRUE(hasError(read(spec),
                       "'train.train_batch_size' is 4, but tokens.npy [20,3,13] has batches of 3"));
  spec["train"].erase("train_batch_size");
  spec["data"]["seq_length"] = 13;
  EXPECT_TRUE(hasError(read(spec),
                       "'data.seq_length' is 13, but tokens.npy [20,3,13] has sequences of 12"));
  spec["data"].erase("seq_length");
  EXPECT_TRUE(hasError(read(spec, {"model.n_positions=11"}),
                       "sequences are longer than the model's positions: seq_length 12"));
  EXPECT_TRUE(hasError(read(spec, {"train.epochs=2"}), "both given"));
  spec["data"]["train"] = "long.npy";
  EXPECT_TRUE(hasError(read(spec), "'long.npy' holds int64, expected int32"));
  spec["data"]["train"] = "flat.npy";
  EXPECT_TRUE(hasError(read(spec), "'flat.npy' has shape [20,13], expected 3 dimensions"));
  spec["data"]["train"] = "empty.npy";
  EXPECT_TRUE(hasError(read(spec), "[0,3,13], expected [steps, batch, seq_length + 1]"));
  spec["data"]["train"] = Json::parse(R"([{"path": "tokens.npy", "labels": "labels.npy"}])");
  EXPECT_TRUE(hasError(read(spec), "have shape [20,3,13], expected [20,3,12]"));
}

TEST_F(SpecFiles, ErrorsInAConfigFilePointIntoIt) {
  write("config.json", "{\n  \"n_layer\": 2, \"n_embd\": 12,\n  \"n_heads\": 3\n}");
  Json spec = smallSpec();
  spec["model"] = "config.json";
  SpecResult r = read(spec);
  EXPECT_TRUE(hasError(r, (folder / "config.json").string() +
                              ":3:3: error: unknown key 'n_heads' in 'model'"));
}

TEST_F(SpecFiles, ConfigByPathCanBeOverridden) {
  write("config.json",
        R"({"n_layer": 2, "n_embd": 12, "n_head": 3, "vocab_size": 300, "n_positions": 8})");
  write("a.txt", "x");
  write("b.txt", "x");
  Json spec = smallSpec();
  spec["model"] = "config.json";
  SpecResult r = read(spec, {"model.embd_pdrop=0", "model.attn_pdrop=0", "model.resid_pdrop=0.0",
                             "model.n_layer=1"});
  ASSERT_TRUE(r.ok()) << r.errorText();
  EXPECT_EQ(r.spec->model.layers, 1);
  EXPECT_EQ(r.spec->model.width, 12);
}

TEST_F(SpecFiles, FilesThatCannotBeRead) {
  EXPECT_TRUE(
      hasError(readSpec((folder / "none.json").string()), "none.json: error: no such file"));
  EXPECT_TRUE(hasError(readSpec(folder.string()), "error: is a folder, not a file"));
  EXPECT_TRUE(hasError(readSpec("/dev/zero"), "error: is not a regular file"));
  EXPECT_TRUE(hasError(read(smallSpec()), "no such file: '" + (folder / "a.txt").string() + "'"));
  Json spec = smallSpec();
  spec["model"] = "sub";
  std::filesystem::create_directories(folder / "sub");
  write("sub/config.json", "{}");
  EXPECT_TRUE(hasError(read(spec), "is a folder, not a file"));
  EXPECT_TRUE(hasError(read(spec), "fix: write \"sub/config.json\""));
  spec["model"] = "../../../../dev/zero";
  EXPECT_FALSE(read(spec).ok());
}

TEST(Spec, HalfPrecision) {
  EXPECT_EQ(readText(smallSpec().dump()).spec->train.precision, Precision::F32);
  Json spec = smallSpec();
  spec["train"]["fp16"]["enabled"] = true;
  SpecResult r = readText(spec.dump());
  ASSERT_TRUE(r.ok()) << r.errorText();
  EXPECT_EQ(r.spec->train.precision, Precision::F16);
  EXPECT_EQ((*r.spec->resolved)["train"]["fp16"]["enabled"], true);
  r = readText(smallSpec().dump(), {"train.bfloat16.enabled=true"});
  ASSERT_TRUE(r.ok()) << r.errorText();
  EXPECT_EQ(r.spec->train.precision, Precision::BF16);
  r = readText(spec.dump(), {"train.bf16.enabled=true"});
  EXPECT_TRUE(hasError(r, "'train.fp16' and 'train.bf16' are both enabled"));
  EXPECT_NE(r.errorText().find("enabled true (model.json:1) in 'fp16', enabled true (--set) in "
                               "'bf16'"),
            std::string::npos)
      << r.errorText();
}

TEST(Spec, KeysOfAScalerThatIsOffAreWarnedOf) {
  Json spec = smallSpec();
  spec["train"]["fp16"] = {{"enabled", false}, {"loss_scale_window", 500}};
  SpecResult r = readText(spec.dump());
  ASSERT_TRUE(r.ok()) << r.errorText();
  ASSERT_EQ(r.warnings.size(), 1u);
  EXPECT_EQ(r.warningText().find("model.json:1:"), 0u);
  EXPECT_NE(r.warningText().find("warning: 'train.fp16.loss_scale_window' has no effect: "
                                 "'train.fp16.enabled' is false\n"),
            std::string::npos)
      << r.warningText();
  spec["train"]["fp16"]["enabled"] = true;
  EXPECT_TRUE(readText(spec.dump()).warnings.empty());
}
