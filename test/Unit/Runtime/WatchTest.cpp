//===- WatchTest.cpp - runs that are watched, on the small plan --------------===//
#include "TestPlan.h"
#include "dsc/Runtime/Core/Trainer.h"
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace dsc;
using namespace dsc::plan;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

/// Evaluates on its training data after every second step, with a rate so high that the loss soon
/// rises again.
struct WatchTest : testing::Test {
  std::string folder = test::temporaryFolder(), output;
  RunOptions options;

  WatchTest() {
    options.plan = folder + "/plan.bin";
    options.threads = 1;
    options.set = {"log.dir=log", "checkpoint.every=1", "train.optimizer.params.lr=40",
                   "evaluation.every=2", "evaluation.patience=3"};
    Plan plan = test::testPlan();
    (*plan.manifest)["spec"]["data"]["validation"] = (*plan.manifest)["spec"]["data"]["train"];
    (*plan.manifest)["spec"]["train"]["steps"] = 40;
    test::writeTestPlan(folder, 40, plan);
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
  std::string read(const std::string &name) const {
    std::ifstream file(folder + "/log/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::vector<json> log() const {
    std::ifstream file(folder + "/log/log.jsonl");
    std::vector<json> lines;
    for (std::string line; std::getline(file, line);) {
      lines.push_back(json::parse(line));
      lines.back().erase("tokens_per_second");
      lines.back().erase("step_ms");
    }
    return lines;
  }
};

} // namespace

TEST_F(WatchTest, StopsEarlyWhereTheLossesSay) {
  ASSERT_TRUE(run().ok());
  auto lines = log();
  double best = 1e300;
  int64_t since = 0, stop = 0;
  for (const json &line : lines)
    if (line.contains("eval_loss")) {
      double loss = line["eval_loss"];
      since = loss < best ? 0 : since + 1;
      best = std::min(best, loss);
      if (since == 3 && !stop)
        stop = line["step"];
    }
  ASSERT_GT(stop, 0);
  ASSERT_LT(stop, 40);
  EXPECT_EQ(lines.size(), static_cast<size_t>(stop));
  EXPECT_NE(output.find("stopped early: eval_loss has not fallen below"), output.npos) << output;
  // A resumed run that has stopped stays stopped.
  ASSERT_TRUE(run(-1, /*resume=*/true).ok());
  EXPECT_EQ(log(), lines);
  EXPECT_NE(output.find("stopped early"), output.npos) << output;
}

TEST_F(WatchTest, EarlyStoppingSurvivesAResumptionAtAnyStep) {
  ASSERT_TRUE(run().ok());
  auto whole = log();
  // A run that is told to end after an odd step evaluates there too, and then has another history.
  for (int64_t k = 2; k < static_cast<int64_t>(whole.size()); k += 4) {
    ASSERT_TRUE(run(k).ok());
    ASSERT_TRUE(run(-1, /*resume=*/true).ok());
    EXPECT_EQ(log(), whole) << k;
  }
}

TEST_F(WatchTest, TableAndEventFilesGoOn) {
  options.set.push_back("log.csv=true");
  options.set.push_back("log.tensorboard=true");
  options.set.push_back("evaluation.patience=0");
  ASSERT_TRUE(run(6).ok());
  ASSERT_TRUE(run(12, /*resume=*/true).ok());
  std::string table = read("log.csv");
  int64_t expected = 0;
  std::istringstream rows(table);
  for (std::string row; std::getline(rows, row); ++expected)
    if (expected)
      EXPECT_EQ(std::stoll(row), expected) << row;
  EXPECT_EQ(expected, 13);
  int files = 0;
  for (const auto &entry : fs::directory_iterator(folder + "/log"))
    files += entry.path().filename().string().starts_with("events.out.tfevents.");
  EXPECT_EQ(files, 2);
  // Checkpoints and the resumption are noted beside the log.
  std::string events = read("log.events.jsonl");
  EXPECT_NE(events.find(R"({"step":3,"event":"checkpoint","message":"saved to )"), events.npos)
      << events;
  EXPECT_NE(events.find(R"({"step":6,"event":"resumed")"), events.npos) << events;
  EXPECT_NE(read("log.memory.jsonl").find(R"({"step": 10, "resident_bytes": )"), std::string::npos);
}

TEST_F(WatchTest, WhatCannotBeWrittenIsKnownBeforeTraining) {
  std::ofstream(folder + "/file") << "x";
  for (auto [set, message] : {std::pair("log.dir=file", "cannot make the folder '"),
                              {"log.dir=file/below", "cannot make the folder '"}}) {
    options.set = {set};
    Status status = run();
    EXPECT_EQ(status.code(), ErrorCode::Input);
    EXPECT_NE(status.message().find(message), std::string::npos) << status.message();
    EXPECT_EQ(output.find("step 1"), output.npos);
  }
  fs::create_directories(folder + "/log/log.csv");
  options.set = {"log.dir=log", "log.csv=true"};
  Status status = run();
  EXPECT_EQ(status.code(), ErrorCode::Input);
  EXPECT_NE(status.message().find("cannot write the table '"), std::string::npos)
      << status.message();
  for (const char *key : {"log.csv", "log.tensorboard"}) {
    options.set = {std::string(key) + "=true"};
    status = run();
    EXPECT_EQ(status.code(), ErrorCode::Usage);
    EXPECT_NE(status.message().find(std::string(key) + " needs a folder"), std::string::npos)
        << status.message();
  }
}
