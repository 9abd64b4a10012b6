//===- ResumeTest.cpp - runs that stop and go on, on the small plan ----------===//
#include "TestPlan.h"
#include "dsc/Runtime/Checkpoint/Checkpoint.h"
#include "dsc/Runtime/Core/Trainer.h"
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

using namespace dsc;
using namespace dsc::plan;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

struct ResumeTest : testing::Test {
  std::string folder = test::temporaryFolder();
  RunOptions options;
  std::string output;

  ResumeTest() {
    options.plan = folder + "/plan.bin";
    options.threads = 2;
    options.log = folder + "/log.jsonl";
    options.version = "test";
    options.set = {"checkpoint.every=1", "train.steps=10"};
    test::writeTestPlan(folder, 10, planWithEvaluation());
  }

  /// Evaluates on the training data after every third step.
  static Plan planWithEvaluation() {
    Plan plan = test::testPlan();
    (*plan.manifest)["spec"]["data"]["validation"] = (*plan.manifest)["spec"]["data"]["train"];
    (*plan.manifest)["spec"]["evaluation"]["every"] = 3;
    return plan;
  }
  Status run(int64_t steps = -1, bool resume = false) {
    options.steps = steps;
    options.resume = resume;
    testing::internal::CaptureStdout();
    auto session = Session::open(options);
    Status status = session.ok() ? train(**session) : session.status();
    output = testing::internal::GetCapturedStdout();
    return status;
  }
  void succeed(int64_t steps = -1, bool resume = false) {
    Status status = run(steps, resume);
    ASSERT_TRUE(status.ok()) << status.message();
  }
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
  std::string stepPath(int64_t step) const {
    return folder + "/checkpoints/step-" + std::to_string(step);
  }
  std::string state(int64_t step) const {
    return bytes(stepPath(step) + "/state-00001-of-00001.safetensors");
  }
  std::string weights() const { return bytes(folder + "/checkpoints/final/model.safetensors"); }
  std::vector<std::string> checkpoints() const {
    std::vector<std::string> names;
    for (const auto &entry : fs::directory_iterator(folder + "/checkpoints"))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }
};

} // namespace

TEST_F(ResumeTest, CK_06_AnyStepIsAGoodPlaceToStop) {
  succeed();
  auto wholeLog = log();
  std::string wholeWeights = weights(), wholeState = state(10);
  ASSERT_EQ(wholeLog.size(), 10u);
  for (auto [threads, async] : {std::pair(1, "true"), std::pair(2, "false")})
    for (int64_t k = 1; k <= 9; ++k) {
      options.threads = threads;
      options.set = {"checkpoint.every=1", "train.steps=10",
                     std::string("checkpoint.async=") + async};
      succeed(k);
      // What a killed run leaves: more lines than its newest checkpoint knows of.
      std::ofstream(options.log, std::ios::app) << "{\"step\": " << k + 1 << "}\n{\"st";
      succeed(-1, /*resume=*/true);
      EXPECT_NE(output.find("resumed after step " + std::to_string(k)), output.npos) << output;
      EXPECT_EQ(weights(), wholeWeights) << k;
      EXPECT_EQ(state(10), wholeState) << k;
      // The shorter run evaluated after its last step, which the long one does not do.
      auto lines = log();
      ASSERT_EQ(lines.size(), 10u);
      for (size_t i = 0; i < 10; ++i) {
        if (static_cast<int64_t>(i) + 1 == k && k % 3)
          for (const char *key : {"eval_loss", "eval_perplexity"})
            lines[i].erase(key);
        EXPECT_EQ(lines[i], wholeLog[i]) << k;
      }
    }
}

TEST_F(ResumeTest, SynchronousAndAsynchronousSavesAreEqual) {
  options.set.push_back("checkpoint.async=true");
  succeed();
  std::string asynchronous = state(9);
  options.set.back() = "checkpoint.async=false";
  succeed();
  EXPECT_EQ(state(9), asynchronous);
}

TEST_F(ResumeTest, KeepsTheNewestAndTheBest) {
  options.set = {"checkpoint.every=2", "checkpoint.keep=2", "train.steps=10"};
  succeed();
  EXPECT_EQ(checkpoints(), (std::vector<std::string>{".lock", "final", "step-10", "step-8"}));
  // The loss over the training data falls: each evaluation is the best so far, 10 the last.
  options.set.push_back("checkpoint.keep_best=true");
  options.set.push_back("checkpoint.every=4");
  options.set.push_back("checkpoint.keep=1");
  succeed(9);
  EXPECT_EQ(checkpoints(), (std::vector<std::string>{".lock", "earlier-1", "final", "step-9"}));
  auto info = readManifest(stepPath(9));
  ASSERT_TRUE(info.ok());
  ASSERT_EQ(info->evaluations.size(), 3u);
  EXPECT_EQ(info->evaluations[0].first, 3);
}

TEST_F(ResumeTest, TheBestSurvivesAResumption) {
  // With a huge rate the loss rises after the first evaluation.
  options.set = {"checkpoint.every=1",        "checkpoint.keep=2",
                 "checkpoint.keep_best=true", "train.optimizer.params.lr=300",
                 "evaluation.every=1",        "train.steps=10"};
  succeed();
  std::vector<double> losses;
  for (const json &line : log())
    losses.push_back(line["eval_loss"]);
  auto best = std::min_element(losses.begin(), losses.end()) - losses.begin() + 1;
  ASSERT_LT(best, 7) << "the case shows nothing";
  std::string name = "step-" + std::to_string(best);
  EXPECT_EQ(checkpoints(), (std::vector<std::string>{".lock", "final", name, "step-10", "step-9"}));
  std::string whole = state(10);
  succeed(8);
  succeed(-1, /*resume=*/true);
  EXPECT_EQ(state(10), whole);
  EXPECT_TRUE(fs::exists(stepPath(best)));
  EXPECT_FALSE(fs::exists(stepPath(8)));
}

TEST_F(ResumeTest, WithoutACheckpointItStartsAfreshAndSaysSo) {
  succeed();
  auto wholeLog = log();
  fs::remove_all(folder + "/checkpoints");
  succeed(-1, /*resume=*/true);
  EXPECT_NE(output.find("note: no checkpoint to resume from in '"), output.npos) << output;
  EXPECT_EQ(log(), wholeLog);
}

TEST_F(ResumeTest, ANewRunSetsCheckpointsAside) {
  succeed(4);
  succeed(2);
  EXPECT_NE(output.find("note: checkpoints of an earlier run are now in"), output.npos) << output;
  EXPECT_EQ(checkpoints(),
            (std::vector<std::string>{".lock", "earlier-1", "final", "step-1", "step-2"}));
  EXPECT_TRUE(verifyCheckpoint(folder + "/checkpoints/earlier-1/step-4").ok());
  // No step, no new run.
  succeed(0);
  EXPECT_TRUE(fs::exists(stepPath(2)));
}

TEST_F(ResumeTest, CK_10_DamagedCheckpointsAreNamedAndSkipped) {
  succeed();
  auto wholeLog = log();
  std::string wholeState = state(10), wholeWeights = weights();
  fs::remove_all(folder + "/checkpoints");
  succeed(6);
  // The newest lost its end, the one before has a wrong bit.
  std::string file = stepPath(6) + "/state-00001-of-00001.safetensors";
  fs::resize_file(file, fs::file_size(file) / 2);
  std::string manifest = bytes(stepPath(5) + "/manifest.json");
  manifest[manifest.size() / 2] ^= 1;
  std::ofstream(stepPath(5) + "/manifest.json", std::ios::binary) << manifest;
  succeed(-1, /*resume=*/true);
  EXPECT_NE(output.find("step-6' is skipped: '" + file + "' is damaged: it has"), output.npos)
      << output;
  EXPECT_NE(output.find("step-5' is skipped: '"), output.npos) << output;
  EXPECT_NE(output.find("resumed after step 4"), output.npos) << output;
  EXPECT_EQ(log(), wholeLog);
  EXPECT_EQ(state(10), wholeState);
  EXPECT_EQ(weights(), wholeWeights);
}

TEST_F(ResumeTest, AllDamagedIsANewRun) {
  succeed();
  std::string wholeState = state(10);
  for (int64_t step : {8, 9, 10}) // the state is read before its hash is known to be wrong
    for (const char *name : {"/state-00001-of-00001.safetensors"}) {
      std::string file = bytes(stepPath(step) + name);
      file.back() ^= 1;
      std::ofstream(stepPath(step) + name, std::ios::binary) << file;
    }
  succeed(-1, /*resume=*/true);
  EXPECT_NE(output.find("the run starts afresh"), output.npos) << output;
  EXPECT_EQ(state(10), wholeState);
}

TEST_F(ResumeTest, AnotherModelIsRefusedWithEveryDifference) {
  succeed(2);
  Plan plan = planWithEvaluation();
  (*plan.manifest)["spec"]["data"]["seed"] = 2;
  plan.variables.push_back({"loss_scale", Kind::Counter, DType::F64, {}});
  for (Program &program : plan.programs)
    program.buffers.push_back({"loss_scale", Kind::Counter, DType::F64, {}, plan.arenaBytes, 8});
  plan.arenaBytes += 64;
  test::writeTestPlan(folder, 10, plan);
  Status status = run(-1, /*resume=*/true);
  EXPECT_EQ(status.code(), ErrorCode::Damaged);
  for (const char *part : {"step-2': it is of another model or another run",
                           "'loss_scale' is not in the checkpoint, here counter F64 []",
                           "data.seed is 1 in the checkpoint, 2 here"})
    EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
}

TEST_F(ResumeTest, StateThatAnyoneAddsIsSaved) {
  Plan plan = planWithEvaluation();
  plan.variables.push_back({"loss_scale", Kind::Counter, DType::F64, {}, Init::Ones});
  for (Program &program : plan.programs)
    program.buffers.push_back({"loss_scale", Kind::Counter, DType::F64, {}, plan.arenaBytes, 8});
  plan.arenaBytes += 64;
  test::writeTestPlan(folder, 10, plan);
  succeed(2);
  auto info = readManifest(stepPath(2));
  ASSERT_TRUE(info.ok());
  ASSERT_EQ(info->tensors.size(), 3u);
  EXPECT_EQ(info->tensors[2].name, "loss_scale");
}

TEST_F(ResumeTest, NumbersMayChangeAndAreNoted) {
  succeed(2);
  options.set.push_back("train.optimizer.params.lr=0.25");
  succeed(4, /*resume=*/true);
  EXPECT_NE(output.find("note: train.optimizer.params.lr is 0.5 in the checkpoint, 0.25 here"),
            output.npos)
      << output;
  EXPECT_EQ(log()[1]["learning_rate"], 0.5);
  EXPECT_EQ(log()[2]["learning_rate"], 0.25);
}

TEST_F(ResumeTest, WeightsComeFromACheckpointToo) {
  succeed();
  std::string whole = weights();
  options.weights = stepPath(10);
  options.set = {"checkpoint.dir=other"};
  succeed(0);
  EXPECT_EQ(bytes(folder + "/other/final/model.safetensors"), whole);
  fs::resize_file(stepPath(10) + "/state-00001-of-00001.safetensors", 100);
  EXPECT_EQ(run(0).code(), ErrorCode::Damaged);
}

TEST_F(ResumeTest, AFinishedRunHasNothingLeftToDo) {
  succeed();
  auto wholeLog = log();
  std::string wholeWeights = weights();
  succeed(-1, /*resume=*/true);
  EXPECT_EQ(log(), wholeLog);
  EXPECT_EQ(weights(), wholeWeights);
  EXPECT_TRUE(verifyCheckpoint(stepPath(10)).ok());
}

TEST_F(ResumeTest, ALogThatIsGoneOrShortIsNamed) {
  succeed(4);
  fs::remove(options.log);
  succeed(6, /*resume=*/true);
  EXPECT_NE(output.find("note: there is no log '"), output.npos) << output;
  EXPECT_EQ(log().size(), 2u);
  EXPECT_EQ(log()[0]["step"], 5);
}

TEST_F(ResumeTest, AnotherRunInTheSameFolderIsRefused) {
  succeed(1);
  int lock = ::open((folder + "/checkpoints/.lock").c_str(), O_RDWR);
  ASSERT_EQ(::flock(lock, LOCK_EX), 0);
  Status status = run();
  EXPECT_EQ(status.code(), ErrorCode::Usage);
  EXPECT_NE(status.message().find("another run saves to"), std::string::npos);
  ::close(lock);
  succeed();
}

TEST_F(ResumeTest, WithoutAFolderItIsUsage) {
  options.set = {"checkpoint.dir="};
  Status status = run(-1, /*resume=*/true);
  EXPECT_EQ(status.code(), ErrorCode::Usage);
  EXPECT_NE(status.message().find("--resume needs a folder of checkpoints"), std::string::npos);
  options.set.push_back("checkpoint.every=2");
  EXPECT_NE(run().message().find("checkpoint.every needs a folder"), std::string::npos);
}

TEST_F(ResumeTest, AFolderThatCannotBeIsRefusedAtTheStart) {
  std::ofstream(folder + "/file") << "x";
  options.set.push_back("checkpoint.dir=file");
  Status status = run();
  EXPECT_EQ(status.code(), ErrorCode::Damaged);
  EXPECT_NE(status.message().find("checkpoints cannot be kept"), std::string::npos)
      << status.message();
}
