//===- TrainerTest.cpp - whole runs of the small plan ----------------------===//
#include "dsc/Runtime/Core/Trainer.h"
#include "TestPlan.h"
#include "dsc/Runtime/Core/Generate.h"
#include "dsc/Runtime/Core/Inference.h"
#include "dsc/Runtime/Data/Npy.h"
#include "dsc/Support/Hash.h"
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace dsc;
using namespace dsc::plan;
using nlohmann::json;

namespace {

struct TrainerTest : testing::Test {
  std::string folder = test::temporaryFolder();
  RunOptions options;

  TrainerTest() {
    options.plan = folder + "/plan.bin";
    options.threads = 2;
    options.log = folder + "/log.jsonl";
    options.version = "test";
    test::writeTestPlan(folder, 5, test::testPlan());
  }

  Status run() {
    auto session = Session::open(options);
    return session.ok() ? train(**session) : session.status();
  }
  void succeed() {
    Status status = run();
    ASSERT_TRUE(status.ok()) << status.message();
  }
  /// Log lines without what differs from run to run.
  std::vector<json> log() const {
    std::ifstream file(options.log);
    std::vector<json> lines;
    for (std::string line; std::getline(file, line);) {
      lines.push_back(json::parse(line));
      lines.back().erase("tokens_per_second");
      lines.back().erase("step_ms");
    }
    return lines;
  }
  static std::string bytes(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string weights() const { return bytes(folder + "/checkpoints/final/model.safetensors"); }
};

} // namespace

TEST_F(TrainerTest, LogsEveryStepAndSaves) {
  succeed();
  auto lines = log();
  ASSERT_EQ(lines.size(), 5u);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(lines[i]["step"], i + 1);
    EXPECT_EQ(lines[i]["updates"], i + 1);
    EXPECT_EQ(lines[i]["tokens"], 12);
    EXPECT_EQ(lines[i]["counted_tokens"], 12);
    EXPECT_EQ(lines[i]["learning_rate"], 0.5);
    EXPECT_TRUE(lines[i]["skipped"].is_null());
    EXPECT_GT(lines[i]["grad_norm"], 0.0);
  }
  EXPECT_FALSE(weights().empty());
  EXPECT_TRUE(std::filesystem::exists(folder + "/checkpoints/final/config.json"));
}

TEST_F(TrainerTest, SamePlanTwiceThreadsAndPoisonAreEqualToTheBit) {
  succeed();
  auto expectedLog = log();
  std::string expectedWeights = weights();
  for (int threads : {1, 2, 5})
    for (bool poison : {false, true}) {
      options.threads = threads;
      options.poison = poison;
      succeed();
      EXPECT_EQ(log(), expectedLog);
      EXPECT_EQ(weights(), expectedWeights);
    }
}

TEST_F(TrainerTest, StepsEndsEarlyAndKeepsTheRest) {
  succeed();
  auto all = log();
  options.steps = 3;
  succeed();
  all.resize(3);
  EXPECT_EQ(log(), all);
}

TEST_F(TrainerTest, StepsBeyondTheReplayAreRefused) {
  options.steps = 6;
  Status status = run();
  EXPECT_EQ(status.code(), ErrorCode::Input);
  EXPECT_NE(status.message().find("6"), std::string::npos) << status.message();
}

TEST_F(TrainerTest, EmptyWindowIsSkippedAndChangesNothing) {
  std::vector<int32_t> labels(5 * 12, 3);
  std::fill(labels.begin() + 2 * 12, labels.begin() + 3 * 12, -100);
  test::writeTestPlan(folder, 5, test::testPlan(/*labels=*/true), labels);
  options.steps = 2;
  succeed();
  std::string before = weights();
  options.steps = 3;
  succeed();
  auto lines = log();
  EXPECT_EQ(weights(), before);
  EXPECT_EQ(lines[2]["skipped"], "empty");
  EXPECT_EQ(lines[2]["loss"], 0);
  EXPECT_TRUE(lines[2]["grad_norm"].is_null());
  EXPECT_EQ(lines[2]["learning_rate"], 0.5);
  EXPECT_EQ(lines[2]["updates"], 2);
  EXPECT_EQ(lines[2]["tokens"], 12);
  EXPECT_EQ(lines[2]["counted_tokens"], 0);
  options.steps = 5;
  succeed();
  EXPECT_EQ(log()[4]["updates"], 4);
}

TEST_F(TrainerTest, NotFiniteStopsBeforeTheUpdateWithWeightsSaved) {
  options.steps = 1;
  succeed();
  std::string good = weights();
  options.steps = -1;
  options.set = {"train.optimizer.params.lr=1e38"};
  Status status = run();
  EXPECT_EQ(status.code(), ErrorCode::Numeric);
  EXPECT_EQ(status.message().find("step 2: "), 0u) << status.message();
  EXPECT_NE(status.message().find("first tensor that is not finite: "), std::string::npos);
  EXPECT_NE(status.message().find("weights after the last good step are in"), std::string::npos);
  EXPECT_EQ(log().size(), 1u);
  EXPECT_NE(weights(), good); // of the step with the huge rate, which was still finite
}

TEST_F(TrainerTest, SetChangesTheRun) {
  options.set = {"train.optimizer.params.lr=0.25", "train.steps=2", "checkpoint.dir=other",
                 "log.dir=logs"};
  options.log.clear();
  succeed();
  options.log = folder + "/logs/log.jsonl";
  ASSERT_EQ(log().size(), 2u);
  EXPECT_EQ(log()[0]["learning_rate"], 0.25);
  EXPECT_TRUE(std::filesystem::exists(folder + "/other/final/model.safetensors"));
  json info = json::parse(bytes(folder + "/logs/run.json"));
  EXPECT_EQ(info["spec"]["train"]["steps"], 2);
}

TEST_F(TrainerTest, SaveThenStartFromThere) {
  options.save = folder + "/saved";
  options.steps = 0;
  succeed();
  std::string initial = bytes(folder + "/saved/model.safetensors");
  EXPECT_EQ(weights(), initial);
  options.weights = folder + "/saved";
  succeed();
  EXPECT_EQ(bytes(folder + "/saved/model.safetensors"), initial);
}

TEST_F(TrainerTest, ChangedDataIsNamed) {
  Plan plan = test::testPlan();
  std::string data = bytes(folder + "/tokens.npy");
  (*plan.manifest)["files"] = {{{"path", "tokens.npy"},
                                {"format", "replay"},
                                {"bytes", data.size()},
                                {"xxh3", hex64(hash64(data))}}};
  test::writeTestPlan(folder, 5, plan);
  succeed();
  data.back() ^= 1;
  std::ofstream(folder + "/tokens.npy", std::ios::binary) << data;
  Status status = run();
  EXPECT_EQ(status.code(), ErrorCode::Input);
  EXPECT_NE(status.message().find("tokens.npy has the size but not the contents"),
            std::string::npos)
      << status.message();
  std::ofstream(folder + "/tokens.npy", std::ios::binary) << data + "x";
  EXPECT_NE(run().message().find("bytes, when the plan was compiled it had"), std::string::npos);
  std::filesystem::remove(folder + "/tokens.npy");
  EXPECT_EQ(run().code(), ErrorCode::Input);
  // Elsewhere it is still what it was.
  std::string elsewhere = test::temporaryFolder();
  test::writeTestPlan(elsewhere, 5, plan);
  options.root = elsewhere;
  succeed();
}

TEST_F(TrainerTest, DigestNamesEveryTensorOfEveryStep) {
  options.digest = folder + "/digest.jsonl";
  succeed();
  std::ifstream file(options.digest);
  std::vector<json> lines;
  for (std::string line; std::getline(file, line);)
    lines.push_back(json::parse(line));
  ASSERT_EQ(lines.size(), 15u);
  EXPECT_EQ(lines[0]["name"], "grad:wte.weight");
  EXPECT_EQ(lines[1]["name"], "updates");
  EXPECT_EQ(lines[2]["name"], "wte.weight");
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(lines[3 * i]["step"], i + 1);
    EXPECT_DOUBLE_EQ(lines[3 * i]["norm"], log()[i]["grad_norm"]);
    EXPECT_EQ(lines[3 * i + 1]["norm"], i + 1.0);
  }
}

TEST_F(TrainerTest, LogitsAreRowsOfTheTable) {
  succeed();
  std::vector<int64_t> ids{3, 1, 7, 0, 2, 2};
  ASSERT_TRUE(writeNpy(folder + "/ids.npy", NpyType::Int64, {2, 3}, ids.data()).ok());
  auto session = Session::open(options);
  ASSERT_TRUE(session.ok());
  Status status = writeLogits(**session, folder + "/ids.npy", folder + "/logits.npy");
  ASSERT_TRUE(status.ok()) << status.message();
  auto logits = NpyArray::open(folder + "/logits.npy");
  ASSERT_TRUE(logits.ok());
  EXPECT_EQ(logits->header().shape, (std::vector<int64_t>{2, 3, 8}));
  const auto *weight = reinterpret_cast<const float *>((*session)->executor().variable(0));
  for (size_t i = 0; i < ids.size(); ++i)
    EXPECT_EQ(std::memcmp(logits->data() + i * 32, weight + ids[i] * 8, 32), 0);
}

TEST_F(TrainerTest, WrongIdsAreNamed) {
  succeed();
  auto session = Session::open(options);
  ASSERT_TRUE(session.ok());
  auto refused = [&](const std::vector<int32_t> &ids, std::vector<int64_t> shape) {
    EXPECT_TRUE(writeNpy(folder + "/ids.npy", NpyType::Int32, shape, ids.data()).ok());
    Status status = writeLogits(**session, folder + "/ids.npy", folder + "/logits.npy");
    EXPECT_EQ(status.code(), ErrorCode::Input);
    return status.message();
  };
  EXPECT_NE(refused({1, 2, 3, 8}, {2, 2})
                .find("id 8 in row 1 at position 1 is outside the "
                      "vocabulary of 8"),
            std::string::npos);
  EXPECT_NE(refused({-1}, {1}).find("id -1 in row 0"), std::string::npos);
  EXPECT_NE(refused({1, 2, 3, 4, 5}, {5}).find("rows of 5 ids, the plan takes 1 to 4"),
            std::string::npos);
  EXPECT_NE(refused({1, 2}, {1, 1, 2}).find("with 3 dimensions"), std::string::npos);
}

TEST_F(TrainerTest, GenerationNeedsAByteVocabulary) {
  auto session = Session::open(options);
  ASSERT_TRUE(session.ok());
  Status status = generate(**session, {});
  EXPECT_EQ(status.code(), ErrorCode::Input);
  EXPECT_NE(status.message().find("cannot turn ids into text"), std::string::npos);
}

TEST_F(TrainerTest, WithoutTrainedWeightsTheFolderIsNamed) {
  auto session = Session::open(options);
  ASSERT_TRUE(session.ok());
  std::vector<int32_t> ids{1};
  ASSERT_TRUE(writeNpy(folder + "/ids.npy", NpyType::Int32, {1}, ids.data()).ok());
  Status status = writeLogits(**session, folder + "/ids.npy", folder + "/logits.npy");
  EXPECT_EQ(status.code(), ErrorCode::Input);
  EXPECT_NE(status.message().find("checkpoints/final"), std::string::npos) << status.message();
}
