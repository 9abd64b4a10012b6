//===- LayoutTest.cpp - batches, stages and demands of layouts -------------===//
// Error texts of what `dsc` accepts today are in test/Frontend; here are all combinations of open
// and given numbers, the balance of stages, and what is judged behind values that are still
// refused.
#include "SpecBuilder.h"
#include <numeric>

using namespace dsc;
using namespace dsc::test;

namespace {
SpecResult readAll(const Json &spec, std::vector<std::string> overrides = {}) {
  ReadOptions options;
  options.overrides = std::move(overrides);
  options.needsFiles = false;
  options.takesUnfinished = true;
  return readSpecText(spec.dump(2), "model.json", ".", options);
}

Json deepSpec(int64_t layers) {
  Json spec = smallSpec();
  spec["model"]["n_layer"] = layers;
  spec["model"]["n_head"] = 4;
  spec["train"]["train_batch_size"] = 16;
  spec["train"]["train_micro_batch_size_per_gpu"] = 1;
  return spec;
}

std::string warningsOf(const SpecResult &result) { return result.warningText(); }
} // namespace

// Every subset of the four numbers given: what is inferred completes the product, and what was
// given stays. Contradictions are errors, and only contradictions.
TEST(Layout, BatchArithmetic) {
  const char *names[] = {"train_batch_size", "train_micro_batch_size_per_gpu",
                         "gradient_accumulation_steps"};
  for (int64_t batch : {1, 6, 12, 16})
    for (int64_t micro : {1, 2, 3})
      for (int64_t accumulation : {1, 2, 4})
        for (int64_t data : {1, 2, 3, 6})
          for (unsigned given = 0; given < 16; ++given) {
            int64_t values[] = {batch, micro, accumulation};
            Json spec = smallSpec();
            spec["train"].erase("train_batch_size");
            for (int i = 0; i < 3; ++i)
              if (given >> i & 1)
                spec["train"][names[i]] = values[i];
            if (given >> 3 & 1)
              spec["parallel"]["data"] = data;
            else
              spec["parallel"]["data"] = "auto";
            SpecResult result = readAll(spec);
            SCOPED_TRACE(spec["train"].dump() + spec["parallel"].dump());
            int64_t known = 1;
            for (int i = 1; i < 3; ++i)
              known *= given >> i & 1 ? values[i] : 1;
            known *= given >> 3 & 1 ? data : 1;
            bool open = (given & 14) != 14; // one of the factors
            bool legal = given & 1 ? (open ? batch % known == 0 : batch == known) : given & 2;
            ASSERT_EQ(result.ok(), legal) << result.errorText();
            if (!legal)
              continue;
            const Spec &s = *result.spec;
            EXPECT_EQ(s.train.batch,
                      s.train.microBatch * s.microBatches() * s.parallel.layout.data);
            if (given & 1) {
              EXPECT_EQ(s.train.batch, batch);
            }
            if (given & 2) {
              EXPECT_EQ(s.train.microBatch, micro);
            }
            if (given & 4) {
              EXPECT_EQ(s.microBatches(), accumulation);
            }
            if (given & 8) {
              EXPECT_EQ(s.parallel.layout.data, data);
            } else if ((given & 7) != 7) {
              EXPECT_EQ(s.parallel.layout.data, 1);
            }
          }
}

// The dearest stage of the balanced split is as cheap as that of any split.
TEST(Layout, BalancedStages) {
  for (int64_t vocabulary : {300, 3000, 30000})
    for (int64_t layers = 1; layers <= 9; ++layers)
      for (int64_t stages = 1; stages <= layers; ++stages) {
        Json json = deepSpec(layers);
        json["model"]["vocab_size"] = vocabulary;
        json["parallel"]["pipeline"] = stages;
        SpecResult result = readAll(json);
        ASSERT_TRUE(result.ok()) << result.errorText();
        int64_t width = 12, block = 8 * width * width + 4 * width * 48 + 2 * 16 * width;
        auto dearest = [&](const std::vector<int64_t> &split) {
          int64_t most = 0;
          for (size_t i = 0; i < split.size(); ++i)
            most = std::max(most, split[i] * block + (i == 0 ? 2 * width : 0) +
                                      (i + 1 == split.size() ? 2 * width * vocabulary : 0));
          return most;
        };
        const std::vector<int64_t> &found = result.spec->parallel.stages;
        ASSERT_EQ(static_cast<int64_t>(found.size()), stages);
        EXPECT_EQ(std::accumulate(found.begin(), found.end(), int64_t(0)), layers);
        EXPECT_GE(*std::min_element(found.begin(), found.end()), 1);
        // All splits: stages - 1 cuts among layers - 1 places.
        int64_t best = INT64_MAX;
        for (unsigned cuts = 0; cuts < 1u << (layers - 1); ++cuts) {
          std::vector<int64_t> split{1};
          for (int64_t i = 0; i + 1 < layers; ++i)
            if (cuts >> i & 1)
              split.push_back(1);
            else
              ++split.back();
          if (static_cast<int64_t>(split.size()) == stages)
            best = std::min(best, dearest(split));
        }
        EXPECT_EQ(dearest(found), best) << layers << " blocks, " << stages << " stages";
      }
}

TEST(Layout, Fields) {
  Json spec = deepSpec(8);
  spec["train"]["zero_optimization"]["stage"] = 3;
  spec["parallel"] = Json::parse(R"({"data": 2, "tensor": 4, "pipeline": 2, "context": 2,
      "sequence_parallel": true, "schedule": "interleaved", "interleave": 2, "stages": [1, 2, 3, 2],
      "bucket_bytes": 0, "compression": "half", "device_speed": [1.0, 0.5]})");
  SpecResult result = readAll(spec);
  ASSERT_TRUE(result.ok()) << result.errorText();
  const ParallelSpec &p = result.spec->parallel;
  EXPECT_EQ(p.layout, (dsc::Layout{.data = 2, .tensor = 4, .pipeline = 2, .context = 2}));
  EXPECT_TRUE(p.sequenceParallel);
  EXPECT_EQ(p.schedule, PipelineSchedule::Interleaved);
  EXPECT_EQ(p.interleave, 2);
  EXPECT_EQ(p.stages, (std::vector<int64_t>{1, 2, 3, 2}));
  EXPECT_EQ(p.bucketBytes, 0);
  EXPECT_EQ(p.zeroStage, 3);
  EXPECT_EQ(p.compression, GradientCompression::Half);
  EXPECT_EQ(p.deviceSpeed, (std::vector<double>{1.0, 0.5}));
  EXPECT_EQ(result.spec->microBatches(), 8);
  // What a rank with two parts holds.
  EXPECT_NE(printConfig(result).find("embedding, h.0; h.3 to h.5"), std::string::npos)
      << printConfig(result);
  const nlohmann::json &resolved = (*result.spec->resolved)["parallel"];
  EXPECT_EQ(resolved["stages"], (nlohmann::json{1, 2, 3, 2}));
  EXPECT_EQ(resolved["data"], 2);
}

TEST(Layout, Defaults) {
  SpecResult result = readText(smallSpec().dump());
  ASSERT_TRUE(result.ok()) << result.errorText();
  const ParallelSpec &p = result.spec->parallel;
  EXPECT_EQ(p.layout, dsc::Layout());
  EXPECT_EQ(p.schedule, PipelineSchedule::OneForwardOneBackward);
  EXPECT_EQ(p.stages, std::vector<int64_t>{2});
  EXPECT_EQ(p.bucketBytes, 1 << 25);
  EXPECT_EQ(p.zeroStage, 0);
  EXPECT_EQ(warningsOf(result), "");
}

// Resolving what was resolved changes nothing.
TEST(Layout, ResolvedTwice) {
  Json spec = deepSpec(7);
  spec["parallel"] = Json::parse(R"({"data": 2, "tensor": 2, "pipeline": 3})");
  SpecResult once = readAll(spec);
  ASSERT_TRUE(once.ok()) << once.errorText();
  Json resolved = Json::parse(once.spec->resolved->dump());
  SpecResult twice = readAll(resolved);
  ASSERT_TRUE(twice.ok()) << twice.errorText();
  EXPECT_EQ(*twice.spec->resolved, *once.spec->resolved);
}

// Checks behind values that are refused by lib/Frontend/NotYet.cpp.
TEST(Layout, Interleaved) {
  Json spec = deepSpec(8);
  spec["train"]["train_batch_size"] = 6;
  spec["parallel"] = Json::parse(R"({"pipeline": 4, "schedule": "interleaved", "interleave": 2})");
  SpecResult result = readAll(spec);
  EXPECT_TRUE(hasError(result,
                       "schedule \"interleaved\" takes micro-batches in rounds of pipeline 4 "
                       "(model.json:"));
  EXPECT_TRUE(hasError(result, ", a rank has 6"));
  EXPECT_TRUE(hasError(result, "fix: the nearest gradient_accumulation_steps: 4 and 8"));
  spec["train"]["train_batch_size"] = 16;
  EXPECT_TRUE(readAll(spec).ok());
  spec["train"]["batch_ramp"] = {{"start", 8}, {"increment", 2}, {"samples", 100}};
  result = readAll(spec);
  EXPECT_TRUE(hasError(result, ", a rank has 10 in steps of 10 sequences"));
  EXPECT_TRUE(hasError(result, "fix: a start and an increment that are multiples of 4"));
  spec["train"].erase("batch_ramp");
  spec["parallel"]["interleave"] = 3;
  result = readAll(spec);
  EXPECT_TRUE(hasError(result, "there are fewer blocks than stages: n_layer 8 (model.json:"));
  EXPECT_TRUE(hasError(result, ") = 12\n"));
  EXPECT_TRUE(hasError(result, "fix: at most 2 stages, or an 'interleave' of at most 2"));
  spec["parallel"]["interleave"] = 9;
  EXPECT_TRUE(hasError(readAll(spec), "fix: at most 8 parts"));
  spec["parallel"]["interleave"] = 2;
  spec["parallel"]["stages"] = {4, 4};
  spec["parallel"]["pipeline"] = 2;
  result = readAll(spec);
  EXPECT_TRUE(
      hasError(result, "'parallel.stages' has 2 stages, expected 4: pipeline 2 (model.json:"));
  EXPECT_TRUE(hasError(result, "fix: write [2, 3, 2, 1]"));
  spec["parallel"] = Json::parse(R"({"pipeline": 2, "interleave": 2})");
  result = readAll(spec);
  EXPECT_TRUE(hasError(result,
                       "'parallel.interleave' is 2, but schedule \"1f1b\" (default) has one "
                       "part a rank"));
  EXPECT_TRUE(hasError(result, "fix: write \"schedule\": \"interleaved\", or remove 'interleave'"));
  spec["parallel"] = Json::parse(R"({"schedule": "interleaved", "interleave": 2})");
  EXPECT_TRUE(hasError(readAll(spec), "'parallel.interleave' is 2, but there is one stage"));
  spec["parallel"] = Json::parse(R"({"pipeline": 2, "schedule": "interleaved"})");
  result = readAll(spec);
  EXPECT_TRUE(result.ok()) << result.errorText();
  EXPECT_NE(warningsOf(result).find("with one part a rank it is \"1f1b\""), std::string::npos);
}

TEST(Layout, Sequences) {
  Json spec = deepSpec(2);
  spec["data"]["seq_length"] = 7;
  spec["parallel"]["context"] = 4;
  SpecResult result = readAll(spec);
  EXPECT_TRUE(hasError(result,
                       "'parallel.context' is 4, each with two parts of a sequence, but there "
                       "are seq_length 7 (model.json:"));
  EXPECT_TRUE(hasError(result, "fix: at most 3 ranks, or sequences of at least 8 tokens"));
  spec["parallel"]["context"] = 3;
  EXPECT_TRUE(readAll(spec).ok()); // 7 tokens in 6 parts: uneven, none is lost
  spec["data"]["seq_length"] = 3;
  EXPECT_TRUE(hasError(readAll(spec), "fix: write 1, or sequences of at least 6 tokens"));
  spec["parallel"] = Json::parse(R"({"tensor": 4, "sequence_parallel": true})");
  result = readAll(spec);
  EXPECT_TRUE(hasError(result,
                       "'parallel.sequence_parallel' shares the positions of a sequence, but "
                       "there are seq_length 3"));
  EXPECT_TRUE(hasError(result, "fix: sequences of at least 4 tokens"));
  spec["parallel"]["tensor"] = 1;
  result = readAll(spec);
  EXPECT_TRUE(result.ok()) << result.errorText();
  EXPECT_NE(warningsOf(result).find("'parallel.sequence_parallel' has no effect: tensor 1"),
            std::string::npos);
}

TEST(Layout, Pairs) {
  struct Case {
    const char *parallel, *train, *message, *fix;
  };
  const Case cases[] = {
      {R"({"data": 2, "compression": "half"})", R"({"reproducible": "layout"})",
       "'parallel.compression' = \"half\" does not go with 'train.reproducible' = \"layout\"",
       "write \"reproducible\": \"run\", or \"compression\": \"none\""},
      {R"({"data": 2, "local_sgd": 4})", R"({"reproducible": "layout"})",
       "'parallel.local_sgd' = 4 does not go with 'train.reproducible' = \"layout\"",
       "write \"reproducible\": \"run\", or \"local_sgd\": 0"},
      {R"({"data": 2, "local_sgd": 4})", R"({"zero_optimization": {"stage": 1}})",
       "'parallel.local_sgd' = 4 does not go with 'train.zero_optimization.stage' = 1",
       "write \"local_sgd\": 0, or \"stage\": 0"},
      {R"({"data": 2, "local_sgd": 4, "compression": "half"})", "{}",
       "'parallel.local_sgd' = 4 does not go with 'parallel.compression' = \"half\"",
       "write \"local_sgd\": 0, or \"compression\": \"none\""},
      {R"({"data": 2, "compression": "onebit"})", R"({"optimizer": {"type": "SGD"}})",
       "'parallel.compression' = \"onebit\" does not go with 'train.optimizer.type' = \"SGD\"",
       "write \"half\", or the optimizer Adam or AdamW"},
      {R"({"data": 2, "compression": "onebit"})", R"({"zero_optimization": {"stage": 2}})",
       "'parallel.compression' = \"onebit\" does not go with 'train.zero_optimization.stage' = 2",
       "write \"half\", or \"stage\": 0"},
      {R"({"data": 2, "compression": "onebit", "tensor": 2})", "{}",
       "'parallel.compression' = \"onebit\" does not go with 'parallel.tensor' = 2",
       "write \"half\", or \"tensor\": 1"},
      {R"({"data": 2, "compression": "onebit", "pipeline": 2})", "{}",
       "'parallel.compression' = \"onebit\" does not go with 'parallel.pipeline' = 2",
       "write \"half\", or \"pipeline\": 1"},
      {R"({"data": 2, "device_speed": [1, 2, 3]})", "{}",
       "'parallel.device_speed' has 3 items, expected one for each of data 2", "write 2 numbers"},
      {R"({"data": 3})",
       R"({"reproducible": "layout", "train_batch_size": 12, "zero_optimization": {"stage": 2}})",
       "ranks are not a power of two, with 'train.reproducible' \"layout\" and data 3",
       "the nearest: 2 and 4"},
  };
  for (const Case &c : cases) {
    Json spec = deepSpec(2);
    spec["parallel"] = Json::parse(c.parallel);
    spec["train"].update(Json::parse(c.train));
    SpecResult result = readAll(spec);
    EXPECT_EQ(result.errors.size(), 1u) << result.errorText();
    EXPECT_TRUE(hasError(result, c.message));
    EXPECT_TRUE(hasError(result, std::string("fix: ") + c.fix));
  }
  // In turn, any number of micro-batches of a rank is a whole number of branches.
  Json spec = deepSpec(2);
  spec["parallel"]["data"] = 2;
  spec["train"].update(Json::parse(
      R"({"reproducible": "layout", "train_batch_size": 6, "zero_optimization": {"stage": 2}})"));
  EXPECT_TRUE(readAll(spec).ok()) << readAll(spec).errorText();
}

// A key with a default is recorded whether or not it is given.
TEST(Layout, EveryValueOfTheTableIsRead) {
  for (const SpecKey &key : specTable()) {
    if (key.path.rfind("parallel.", 0) != 0 || key.use != KeyUse::Used || key.fallback.empty())
      continue;
    SpecResult result = readText(smallSpec().dump());
    bool found = false;
    for (const Provenance &value : result.values)
      found |= value.path == key.path;
    EXPECT_TRUE(found) << key.path << " is in the table, but nothing reads it";
  }
}
