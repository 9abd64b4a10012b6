//===- ResumeLogTest.cpp - a log continued after a stop -----------------------===//
#include "../Support/TempFolder.h"
#include "dsc/Runtime/Monitor/StepLog.h"
#include <gtest/gtest.h>

using namespace dsc;

static StepRecord recordOf(int64_t step) {
  StepRecord record;
  record.step = record.updates = step;
  record.loss = 1.0 / static_cast<double>(step);
  return record;
}

static std::string lines(int64_t from, int64_t to) {
  std::string text;
  for (int64_t step = from; step <= to; ++step)
    text += stepLine(recordOf(step)) + "\n";
  return text;
}

TEST(ResumeLog, CutsWhatComesAfterTheStep) {
  test::TempFolder temp;
  std::string whole = lines(1, 5), three = lines(1, 3);
  // Length known; length of another log; half a line at the end.
  for (uint64_t bytes : {three.size(), three.size() - 1, size_t{0}, whole.size() + 100})
    for (const char *tail : {"", "{\"step\": 6, \"upd", "no json\n"}) {
      std::string note, path = temp.write("log", whole + tail);
      auto log = StepLog::resume(path, 3, bytes, note);
      ASSERT_TRUE(log.ok()) << log.status().message();
      EXPECT_EQ(note, "");
      EXPECT_EQ(temp.read("log"), three);
      EXPECT_EQ((*log)->size(), three.size());
      ASSERT_TRUE((*log)->step(recordOf(4)).ok());
      EXPECT_EQ(temp.read("log"), lines(1, 4));
      EXPECT_EQ((*log)->size(), lines(1, 4).size());
    }
}

TEST(ResumeLog, SaysWhatIsMissing) {
  test::TempFolder temp;
  std::string note;
  ASSERT_TRUE(StepLog::resume(temp.write("log", lines(1, 2) + "{"), 3, 999, note).ok());
  EXPECT_NE(note.find("ends at step 2, it continues after step 3"), note.npos) << note;
  EXPECT_EQ(temp.read("log"), lines(1, 2));
  note.clear();
  ASSERT_TRUE(StepLog::resume(temp.path("absent"), 3, 999, note).ok());
  EXPECT_NE(note.find("there is no log"), note.npos) << note;
  note.clear();
  ASSERT_TRUE(StepLog::resume(temp.write("empty", ""), 3, 0, note).ok());
  EXPECT_NE(note.find("ends at step 0"), note.npos) << note;
}

TEST(ResumeLog, CompletesTheLastLine) {
  test::TempFolder temp;
  std::string note;
  auto log = StepLog::resume(temp.write("log", lines(1, 2)), 2, lines(1, 2).size(), note);
  ASSERT_TRUE(log.ok());
  StepRecord second = recordOf(2), evaluated;
  evaluated.evalLoss = second.evalLoss = 0.125;
  evaluated.evalBitsPerByte = second.evalBitsPerByte = 0.25;
  ASSERT_TRUE((*log)->evaluated(evaluated).ok());
  EXPECT_EQ(temp.read("log"), lines(1, 1) + stepLine(second) + "\n");
  EXPECT_EQ((*log)->size(), temp.read("log").size());
  evaluated.evalLoss = 0.5;
  ASSERT_TRUE((*log)->evaluated(evaluated).ok()); // it is complete
  EXPECT_EQ(temp.read("log"), lines(1, 1) + stepLine(second) + "\n");
}

TEST(StepLog, LinesWaitWhileTheDiskIsFull) {
  // /dev/full refuses every write with ENOSPC.
  auto log = StepLog::create("/dev/full");
  ASSERT_TRUE(log.ok()) << log.status().message();
  for (int64_t step = 1; step <= 3; ++step)
    EXPECT_TRUE((*log)->step(recordOf(step)).ok());
  EXPECT_EQ((*log)->size(), lines(1, 3).size());
  Status status = (*log)->sync();
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find("No space left on device"), std::string::npos)
      << status.message();
}

TEST(EventLog, IsMadeWhenThereIsSomethingToSay) {
  test::TempFolder temp;
  EXPECT_EQ(EventLog::pathFor("a/log.jsonl"), "a/log.events.jsonl");
  EXPECT_EQ(EventLog::pathFor("a/log"), "a/log.events.jsonl");
  EXPECT_EQ(EventLog::pathFor(""), "");
  std::string path = temp.path("x");
  EventLog(path, true);
  EXPECT_FALSE(std::filesystem::exists(path));
  EventLog(path, true).write(3, "resumed", "a \"b\"");
  EventLog(path, false).write(4, "resumed", "c");
  EXPECT_EQ(temp.read("x"), "{\"step\":3,\"event\":\"resumed\",\"message\":\"a \\\"b\\\"\"}\n"
                            "{\"step\":4,\"event\":\"resumed\",\"message\":\"c\"}\n");
  EventLog(path, true);
  EXPECT_FALSE(std::filesystem::exists(path));
}
