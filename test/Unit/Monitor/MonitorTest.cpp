//===- MonitorTest.cpp - log, run.json, progress ------------------------------===//
#include "../Support/TempFolder.h"
#include "dsc/Runtime/Monitor/Progress.h"
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <thread>

using namespace dsc;
using dsc::test::TempFolder;
using nlohmann::json;

static StepRecord record(int64_t step) {
  StepRecord r;
  r.step = step;
  r.updates = step;
  r.loss = 0.1;
  r.gradNorm = 1.5;
  r.learningRate = 3e-4;
  r.tokens = 256;
  r.countedTokens = 192;
  r.tokensPerSecond = 1234.5;
  r.stepMs = 155.5;
  return r;
}

TEST(StepLog, KeysAndSeventeenDigits) {
  EXPECT_EQ(
      stepLine(record(3)),
      R"({"step": 3, "updates": 3, "loss": 0.10000000000000001, "grad_norm": 1.5, )"
      R"("learning_rate": 0.00029999999999999997, "tokens": 256, "counted_tokens": 192, "skipped": null, )"
      R"("tokens_per_second": 1234.5, "step_ms": 155.5})");
}

TEST(StepLog, CF_08_NotFiniteIsNull) {
  StepRecord r = record(1);
  r.loss = NAN;
  r.gradNorm = INFINITY;
  r.evalLoss = 2.5;
  json line = json::parse(stepLine(r));
  EXPECT_TRUE(line["loss"].is_null());
  EXPECT_TRUE(line["grad_norm"].is_null());
  EXPECT_EQ(line["eval_loss"], 2.5);
  EXPECT_NEAR(line["eval_perplexity"].get<double>(), std::exp(2.5), 1e-12);
  EXPECT_FALSE(line.contains("eval_bits_per_byte"));
  r.evalLoss = 1000; // e^1000 is no double
  r.evalBitsPerByte = 1.25;
  line = json::parse(stepLine(r));
  EXPECT_TRUE(line["eval_perplexity"].is_null());
  EXPECT_EQ(line["eval_bits_per_byte"], 1.25);
  r.skipped = "empty";
  r.gradNorm.reset();
  line = json::parse(stepLine(r));
  EXPECT_EQ(line["skipped"], "empty");
  EXPECT_TRUE(line["grad_norm"].is_null());
}

TEST(StepLog, RefusesALogThatAnotherRunWrites) {
  TempFolder temp;
  auto first = StepLog::create(temp.path("log"));
  ASSERT_TRUE(first.ok());
  ASSERT_TRUE((*first)->step(record(1)).ok());
  std::string text = temp.read("log");
  auto second = StepLog::create(temp.path("log"));
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), ErrorCode::Usage);
  EXPECT_NE(second.status().message().find("another run writes the log"), std::string::npos);
  EXPECT_EQ(temp.read("log"), text);
  first->reset();
  EXPECT_TRUE(StepLog::create(temp.path("log")).ok());
}

TEST(StepLog, WritesLinesAnew) {
  TempFolder temp;
  for (int round = 0; round < 2; ++round) {
    auto log = StepLog::create(temp.path("a/b/log.jsonl"));
    ASSERT_TRUE(log.ok()) << log.status().message();
    ASSERT_TRUE((*log)->step(record(1)).ok());
    // Readable before the log is closed.
    EXPECT_EQ(temp.read("a/b/log.jsonl"), stepLine(record(1)) + "\n");
    ASSERT_TRUE((*log)->step(record(2)).ok());
  }
  EXPECT_EQ(temp.read("a/b/log.jsonl"), stepLine(record(1)) + "\n" + stepLine(record(2)) + "\n");
  temp.write("file", "");
  EXPECT_NE(
      StepLog::create(temp.path("file/log")).status().message().find("cannot make the folder"),
      std::string::npos);
}

TEST(RunInfo, HoldsWhatRan) {
  TempFolder temp;
  RunInfo info;
  info.spec = {{"schema_version", 1}};
  info.planHash = "ab";
  info.isa = "x86-64-v3";
  info.threads = 2;
  info.versions = {{"dsrun", "0.1.0"}};
  ASSERT_TRUE(writeRunInfo(temp.path("logs/run.json"), info).ok());
  json read = json::parse(temp.read("logs/run.json"));
  EXPECT_EQ(read,
            json::parse(R"({"spec": {"schema_version": 1}, "plan_hash": "ab", "isa": "x86-64-v3",
                                  "threads": 2, "versions": {"dsrun": "0.1.0"}})"));
}

TEST(Progress, Text) {
  EXPECT_EQ(progressText(record(50), 100, 1234.4, 125, 2.5, 100),
            "[###############----------------]  step 50/100  loss 0.1000  eval 2.5000  "
            "1,234 tokens/s  2:05 left");
  EXPECT_EQ(progressText(record(5), 0, 10, 0, {}, 80), "step 5  loss 0.1000  10 tokens/s");
  for (int width = 0; width < 120; ++width)
    EXPECT_LT(progressText(record(5), 100, 10, 7, {}, width).size(),
              static_cast<size_t>(std::max(width, 1)));
}

TEST(Progress, Durations) {
  EXPECT_EQ(printDuration(0), "0 s");
  EXPECT_EQ(printDuration(59.4), "59 s");
  EXPECT_EQ(printDuration(59.6), "1:00");
  EXPECT_EQ(printDuration(3723), "1:02:03");
  EXPECT_EQ(printDuration(NAN), "?");
}

static std::string shown(bool terminal, const std::function<void(Progress &)> &use) {
  char *text = nullptr;
  size_t size = 0;
  std::FILE *out = ::open_memstream(&text, &size);
  {
    Progress progress(out, 20, 10, terminal);
    use(progress);
  }
  std::fclose(out);
  std::string result(text, size);
  std::free(text);
  return result;
}

TEST(Progress, PlainLinesEveryN) {
  std::string text = shown(false, [](Progress &progress) {
    for (int64_t step = 1; step <= 20; ++step) {
      StepRecord r = record(step);
      if (step == 15)
        r.evalLoss = 2.25;
      progress.step(r);
    }
  });
  EXPECT_EQ(
      text,
      "step 1/20  loss 0.1000  grad_norm 1.5000  lr 3e-04  1,235 tokens/s\n"
      "step 10/20  loss 0.1000  grad_norm 1.5000  lr 3e-04  1,235 tokens/s\n"
      "step 15/20  loss 0.1000  grad_norm 1.5000  lr 3e-04  eval_loss 2.2500  1,235 tokens/s\n"
      "step 20/20  loss 0.1000  grad_norm 1.5000  lr 3e-04  1,235 tokens/s\n");
}

TEST(Progress, TerminalRedrawsOneLine) {
  std::string text = shown(true, [](Progress &progress) {
    progress.step(record(1));
    progress.message("saved");
    progress.step(record(20));
  });
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2); // the message's and the last
  EXPECT_NE(text.find("\r\x1b[Ksaved\n"), std::string::npos);
  EXPECT_NE(text.find("step 20/20"), std::string::npos);
}

TEST(Progress, MegatronsFieldsInMegatronsOrder) {
  StepRecord r = record(7);
  r.loss = 2.25;
  r.samples = 8;
  r.consumedSamples = 56;
  EXPECT_EQ(megatronLine(r, 100, "2026-01-31 12:00:00"),
            " [2026-01-31 12:00:00] iteration        7/     100 | consumed samples:           56 |"
            " elapsed time per iteration (ms): 155.5 | learning rate: 3.000000E-04 |"
            " global batch size:     8 | lm loss: 2.250000E+00 | loss scale: 1.0 |"
            " grad norm: 1.500 | number of skipped iterations:   0 |"
            " number of nan iterations:   0 |\n");
  r.skipped = "overflow";
  r.lossScale = 65536;
  r.gradNorm.reset();
  EXPECT_EQ(megatronLine(r, 100, "t"),
            " [t] iteration        7/     100 | consumed samples:           56 |"
            " elapsed time per iteration (ms): 155.5 | learning rate: 3.000000E-04 |"
            " global batch size:     8 | loss scale: 65536.0 |"
            " number of skipped iterations:   1 | number of nan iterations:   0 |\n");
  EXPECT_EQ(megatronEvaluation(r), "");
  r.evalLoss = 0;
  EXPECT_EQ(megatronEvaluation(r),
            "-------------------------------------------------------------------------------------"
            "--------\n"
            " validation loss at iteration 7 | lm loss value: 0.000000E+00 | lm loss PPL: "
            "1.000000E+00 | \n"
            "-------------------------------------------------------------------------------------"
            "--------\n");
}

TEST(Progress, MegatronsLineComesEveryStep) {
  char *text = nullptr;
  size_t size = 0;
  std::FILE *out = ::open_memstream(&text, &size);
  {
    Progress progress(out, 20, 10, /*terminal=*/true, {true});
    for (int64_t step = 1; step <= 20; ++step)
      progress.step(record(step));
  }
  std::fclose(out);
  std::string_view lines(text, size);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 20);
  EXPECT_EQ(lines.find('\x1b'), lines.npos);
  std::free(text);
}

TEST(Progress, ManyThreadsKeepLinesWhole) {
  std::string text = shown(false, [](Progress &progress) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 100; ++i)
          progress.message("one line");
      });
    for (std::thread &thread : threads)
      thread.join();
  });
  std::string expected;
  for (int i = 0; i < 400; ++i)
    expected += "one line\n";
  EXPECT_EQ(text, expected);
}
