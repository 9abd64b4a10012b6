//===- EvaluationTest.cpp - each validation token counts once --------------===//
#include "TestPlan.h"
#include "dsc/Runtime/Core/Trainer.h"
#include "dsc/Support/File.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace dsc;
using nlohmann::json;

/// uint16 ids, so that the stream is windows with a short rest.
static void writeIds(const std::string &path, size_t count) {
  std::string bytes;
  for (size_t i = 0; i < count; ++i) {
    bytes += static_cast<char>((i * i + i / 3) % 8);
    bytes += '\0';
  }
  ASSERT_TRUE(writeFileAtomically(path, bytes).ok());
}

TEST(Evaluation, EveryTokenCountsOnceWhateverTheRest) {
  for (size_t tokens : {2u, 5u, 6u, 13u, 14u, 40u, 41u, 61u}) {
    std::string folder = test::temporaryFolder();
    plan::Plan plan = test::testPlan();
    json &spec = (*plan.manifest)["spec"];
    spec["data"]["train"] = {{{"path", "train.bin"}, {"format", "uint16"}}};
    spec["data"]["validation"] = {{{"path", "valid.bin"}, {"format", "uint16"}}};
    test::writeTestPlan(folder, 1, plan);
    writeIds(folder + "/train.bin", 100);
    writeIds(folder + "/valid.bin", tokens);
    RunOptions options;
    options.plan = folder + "/plan.bin";
    options.threads = 1;
    auto session = Session::open(options);
    ASSERT_TRUE(session.ok()) << session.status().message();
    auto config = (*session)->dataConfig();
    ASSERT_TRUE(config.ok());
    auto stream = EvaluationStream::open(*config);
    ASSERT_TRUE(stream.ok()) << stream.status().message();
    ASSERT_TRUE((*session)->startWeights().ok());
    auto result = evaluate(**session, **stream, 0);
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_EQ(result->tokens, static_cast<int64_t>(tokens) - 1);

    // By hand: the mean over all pairs of neighbours.
    const auto *w = reinterpret_cast<const float *>((*session)->executor().variable(0));
    double sum = 0;
    for (size_t i = 1; i < tokens; ++i) {
      auto id = [](size_t k) { return (k * k + k / 3) % 8; };
      const float *row = w + id(i - 1) * 8;
      double all = 0;
      for (int k = 0; k < 8; ++k)
        all += std::exp(static_cast<double>(row[k]));
      sum += std::log(all) - static_cast<double>(row[id(i)]);
    }
    EXPECT_NEAR(result->loss, sum / static_cast<double>(tokens - 1), 1e-12);
    EXPECT_FALSE(result->bitsPerByte); // nobody knows what these ids stand for
    EXPECT_EQ(result->batches, static_cast<int64_t>((tokens - 1 + 11) / 12));
  }
}
