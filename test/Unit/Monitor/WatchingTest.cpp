//===- WatchingTest.cpp - evaluation sums, early stopping, table, memory ------===//
#include "../Support/TempFolder.h"
#include "dsc/Runtime/Monitor/CsvLog.h"
#include "dsc/Runtime/Monitor/Evaluation.h"
#include "dsc/Runtime/Monitor/Memory.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace dsc;
using dsc::test::TempFolder;

TEST(EvaluationSum, WeighsByCountedTokens) {
  EvaluationSum sum(/*bytes=*/true);
  EXPECT_EQ(sum.loss(), 0);
  EXPECT_FALSE(sum.bitsPerByte());
  std::vector<int32_t> first{'a', 'b', -100, 256}, second{255};
  sum.see(first); // 256 ends a text: a token, no byte
  sum.add(2, 3);
  sum.see(second);
  sum.add(4, 1);
  EXPECT_EQ(sum.tokens(), 4);
  EXPECT_EQ(sum.loss(), 2.5);
  ASSERT_TRUE(sum.bitsPerByte());
  EXPECT_NEAR(*sum.bitsPerByte(), 10 / std::log(2.0) / 3, 1e-15);
  EvaluationSum other;
  other.see(first);
  other.add(2, 3);
  EXPECT_FALSE(other.bitsPerByte());
  EXPECT_NEAR(perplexityOf(2.5), std::exp(2.5), 1e-14);
}

TEST(EarlyStopping, CountsEvaluationsWithoutAFallenLoss) {
  EarlyStopping stopping(2, 0);
  for (auto [step, loss, stops] : {std::tuple(10, 3.0, false),
                                   {20, 2.0, false},
                                   {30, 2.0, false},
                                   {40, 1.5, false},
                                   {50, 1.6, false},
                                   {60, 1.5, true}}) {
    stopping.note(step, loss);
    EXPECT_EQ(stopping.stop(), stops) << step;
  }
  EXPECT_EQ(stopping.reason(), "eval_loss has not fallen below 1.5000 (step 40) for 2 evaluations");
}

TEST(EarlyStopping, SmallFallsDoNotCount) {
  EarlyStopping stopping(3, 0.25);
  // 1.8 and 1.76 are not more than 0.25 below 2; 1.74 is.
  for (double loss : {2.0, 1.8, 1.76})
    stopping.note(1, loss);
  EXPECT_FALSE(stopping.stop());
  stopping.note(2, 1.74);
  for (double loss : {1.7, std::nan(""), 1.5})
    stopping.note(3, loss);
  EXPECT_TRUE(stopping.stop());
  EXPECT_EQ(stopping.reason(),
            "eval_loss has not fallen by 0.25 below 1.7400 (step 2) for 3 evaluations");
}

TEST(EarlyStopping, NeverFiniteStopsAndNoPatienceDoesNot) {
  EarlyStopping stopping(1, 0), never(0, 0);
  stopping.note(5, NAN);
  EXPECT_TRUE(stopping.stop());
  EXPECT_EQ(stopping.reason(), "eval_loss has not been finite for 1 evaluation");
  for (int step = 1; step < 100; ++step)
    never.note(step, 1);
  EXPECT_FALSE(never.stop());
}

static StepRecord recordOf(int64_t step) {
  StepRecord record;
  record.step = record.updates = step;
  record.loss = 0.1;
  record.gradNorm = 2;
  record.tokens = 8;
  record.countedTokens = 7;
  return record;
}

TEST(CsvLog, AColumnForEachKey) {
  EXPECT_EQ(CsvLog::header(),
            "step,updates,loss,grad_norm,learning_rate,tokens,counted_tokens,skipped,loss_scale,"
            "eval_loss,eval_perplexity,eval_bits_per_byte,tokens_per_second,step_ms\n");
  EXPECT_EQ(CsvLog::row(recordOf(3)), "3,3,0.10000000000000001,2,0,8,7,,,,,,0,0\n");
  StepRecord skipped = recordOf(4);
  skipped.gradNorm.reset();
  skipped.skipped = "overflow";
  skipped.lossScale = 65536;
  skipped.evalLoss = 0;
  EXPECT_EQ(CsvLog::row(skipped), "4,4,0.10000000000000001,,0,8,7,overflow,65536,0,1,,0,0\n");
}

TEST(CsvLog, ContinuesAfterAStep) {
  TempFolder temp;
  std::string note, path = temp.path("a/log.csv");
  auto rows = [](int64_t from, int64_t to) {
    std::string text;
    for (int64_t step = from; step <= to; ++step)
      text += CsvLog::row(recordOf(step));
    return text;
  };
  {
    auto log = CsvLog::open(path, {}, note);
    ASSERT_TRUE(log.ok()) << log.status().message();
    for (int64_t step = 1; step <= 5; ++step)
      ASSERT_TRUE((*log)->step(recordOf(step)).ok());
    EXPECT_EQ(temp.read("a/log.csv"), CsvLog::header() + rows(1, 5));
  }
  auto log = CsvLog::open(path, 3, note);
  ASSERT_TRUE(log.ok()) << log.status().message();
  EXPECT_EQ(note, "");
  EXPECT_EQ(temp.read("a/log.csv"), CsvLog::header() + rows(1, 3));
  // An evaluation that comes late.
  StepRecord evaluated = recordOf(3);
  evaluated.evalLoss = 0.5;
  ASSERT_TRUE((*log)->evaluated(evaluated).ok());
  EXPECT_EQ(temp.read("a/log.csv"), CsvLog::header() + rows(1, 2) + CsvLog::row(evaluated));
  ASSERT_TRUE((*log)->step(recordOf(4)).ok());
  EXPECT_EQ(temp.read("a/log.csv"),
            CsvLog::header() + rows(1, 2) + CsvLog::row(evaluated) + rows(4, 4));
  log->reset();
  // Rows are missing; the table is another.
  ASSERT_TRUE(CsvLog::open(path, 9, note).ok());
  EXPECT_NE(note.find("ends at step 4, it continues after step 9"), note.npos) << note;
  ASSERT_TRUE(CsvLog::open(temp.write("b.csv", "x,y\n1,2\n"), 1, note).ok());
  EXPECT_EQ(temp.read("b.csv"), CsvLog::header());
}

TEST(Memory, ReadsWhatTheSystemSays) {
  MemoryUse use = parseMemoryUse("Name:\tdsrun\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\n");
  EXPECT_EQ(use.resident, 1u << 20);
  EXPECT_EQ(use.peak, 2u << 20);
  for (const char *text :
       {"", "VmRSS:", "VmRSS: kB", "VmRSS: 99999999999999999999 kB", "VmRSS: 18014398509481984 kB"})
    EXPECT_EQ(parseMemoryUse(text).resident, 0u) << text;
  EXPECT_GT(memoryUse().resident, 1u << 20);
  EXPECT_GE(memoryUse().peak, memoryUse().resident);
}

TEST(Memory, ALineForEachStepShown) {
  TempFolder temp;
  auto log = MemoryLog::open(MemoryLog::pathFor(temp.path("log.jsonl")), true, Cadence(10, 0));
  ASSERT_TRUE(log.ok()) << log.status().message();
  for (int64_t step = 1; step <= 25; ++step)
    ASSERT_TRUE((*log)->step(recordOf(step)).ok());
  std::string text = temp.read("log.memory.jsonl");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
  auto last = nlohmann::json::parse(text.substr(text.rfind('\n', text.size() - 2) + 1));
  EXPECT_EQ(last["step"], 20);
  EXPECT_GT(last["peak_bytes"], 1 << 20);
}
