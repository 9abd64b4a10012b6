//===- GenerationTest.cpp - sampling and streaming text -----------------------===//
#include "dsc/Runtime/Data/Generation.h"
#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <set>

using namespace dsc;

static std::string stream(const std::vector<std::string> &pieces) {
  Utf8Stream decoder;
  std::string text;
  for (const std::string &piece : pieces)
    text += decoder.push(piece);
  return text + decoder.finish();
}

TEST(Generation, TK_01_SplitCharactersWait) {
  Utf8Stream decoder;
  EXPECT_EQ(decoder.push("\xf0\x9f"), "");
  EXPECT_EQ(decoder.push("\x99\x82"), "🙂");
  EXPECT_EQ(decoder.finish(), "");
  const std::string text = "café 你好 🙂";
  for (size_t i = 0; i <= text.size(); ++i)
    for (size_t j = i; j <= text.size(); ++j)
      EXPECT_EQ(stream({text.substr(0, i), text.substr(i, j - i), text.substr(j)}), text);
  std::vector<std::string> bytes;
  for (char c : text)
    bytes.push_back(std::string(1, c));
  EXPECT_EQ(stream(bytes), text);
}

TEST(Generation, TK_02_InvalidBytesDoNotBlock) {
  Utf8Stream decoder;
  EXPECT_EQ(decoder.push("\xff"), "\uFFFD");
  EXPECT_EQ(decoder.push("ok"), "ok");
}

// As Python's bytes.decode("utf-8", "replace"): one U+FFFD for each maximal part.
TEST(Generation, MaximalPartsAreReplaced) {
  const std::string r = "\uFFFD";
  EXPECT_EQ(stream({"a\xf0\x9f\x99z"}), "a" + r + "z");
  EXPECT_EQ(stream({"\xc0\x80"}), r + r);
  EXPECT_EQ(stream({"\xed\xa0\x80"}), r + r + r);
  EXPECT_EQ(stream({"\xf4\x90\x80\x80"}), r + r + r + r);
  EXPECT_EQ(stream({"\xe4\xbd", "\xe5\xa5\xbd"}), r + "好");
  EXPECT_EQ(stream({"\xe4\xbd"}), r);
  EXPECT_EQ(stream({"\xf5"}), r);
}

TEST(Generation, GreedyTakesTheFirstGreatest) {
  Sampler sampler(4, {.temperature = 0, .seed = 1});
  EXPECT_EQ(*sampler.draw(std::vector<float>{0, 3, 3, 1}), 1);
}

TEST(Generation, SH_05_PaddingIsNeverDrawn) {
  std::vector<float> logits = {0, 0, 0, 100, 100};
  for (double temperature : {0.0, 0.5, 1.0, 100.0}) {
    Sampler sampler(3, {.temperature = temperature, .seed = 7});
    for (int i = 0; i < 200; ++i)
      EXPECT_LT(*sampler.draw(logits), 3);
  }
}

TEST(Generation, FrequenciesFollowTheSoftmax) {
  std::vector<float> logits = {std::log(1.0f), std::log(2.0f), std::log(5.0f), -INFINITY};
  Sampler sampler(4, {.temperature = 1, .seed = 42});
  std::map<int32_t, int> counts;
  for (int i = 0; i < 8000; ++i)
    ++counts[*sampler.draw(logits)];
  EXPECT_NEAR(counts[0], 1000, 180); // 6 standard deviations of sqrt(8000 / 8 * 7 / 8)
  EXPECT_NEAR(counts[1], 2000, 240);
  EXPECT_NEAR(counts[2], 5000, 270);
  EXPECT_EQ(counts[3], 0);
}

TEST(Generation, SeedDecides) {
  std::vector<float> logits(50, 0);
  auto ids = [&](uint64_t seed) {
    Sampler sampler(50, {.temperature = 1, .seed = seed});
    std::vector<int32_t> drawn;
    for (int i = 0; i < 20; ++i)
      drawn.push_back(*sampler.draw(logits));
    return drawn;
  };
  EXPECT_EQ(ids(1), ids(1));
  EXPECT_NE(ids(1), ids(2));
}

TEST(Generation, BrokenLogitsAreErrors) {
  Sampler sampler(3, {.temperature = 1, .seed = 1});
  EXPECT_EQ(sampler.draw(std::vector<float>{0, NAN, 0}).status().code(), ErrorCode::Numeric);
  EXPECT_EQ(sampler.draw(std::vector<float>{0, INFINITY, 0}).status().code(), ErrorCode::Numeric);
  EXPECT_EQ(sampler.draw(std::vector<float>(3, -INFINITY)).status().code(), ErrorCode::Numeric);
  EXPECT_EQ(sampler.draw(std::vector<float>{0, 0}).status().code(), ErrorCode::Internal);
  EXPECT_EQ(*Sampler(3, {.temperature = 1e-300}).draw(std::vector<float>{0, 1, 0}), 1);
}

TEST(Generation, ByteVocabulary) {
  EXPECT_EQ(encodeBytes("a\xff"), (std::vector<int32_t>{97, 255}));
  EXPECT_EQ(tokenBytes(255), "\xff");
  EXPECT_EQ(tokenBytes(256), "");
  EXPECT_EQ(tokenBytes(-1), "");
}

TEST(Generation, TopKKeepsTheLikely) {
  Sampler sampler(4, {.temperature = 1, .topK = 2, .seed = 5});
  std::vector<float> logits = {1, 3, 3, 2};
  int seen[4] = {};
  for (int i = 0; i < 300; ++i)
    ++seen[*sampler.draw(logits)];
  EXPECT_EQ(seen[0] + seen[3], 0);
  EXPECT_NEAR(seen[1], 150, 40);
  // Among equals the lower id stays.
  Sampler one(4, {.temperature = 1, .topK = 1});
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(*one.draw(logits), 1);
}

TEST(Generation, TopPKeepsAsFewAsReachIt) {
  // Probabilities 0.5, 0.25, 0.125, 0.125.
  std::vector<float> logits = {std::log(4.f), std::log(2.f), 0, 0};
  for (auto [p, kept] : {std::pair(0.0, 1), {0.49, 1}, {0.6, 2}, {0.76, 3}, {1.0, 4}}) {
    Sampler sampler(4, {.temperature = 1, .topP = p, .seed = 3});
    std::set<int32_t> seen;
    for (int i = 0; i < 400; ++i)
      seen.insert(*sampler.draw(logits));
    EXPECT_EQ(seen.size(), static_cast<size_t>(kept)) << p;
    EXPECT_EQ(*seen.rbegin(), kept - 1) << p;
  }
  // Of the k most likely.
  Sampler both(4, {.temperature = 1, .topK = 2, .topP = 0.66, .seed = 3});
  for (int i = 0; i < 50; ++i)
    EXPECT_EQ(*both.draw(logits), 0); // 0.5 of 0.75 is enough
}

TEST(Generation, PenaltyDividesPositiveAndMultipliesNegative) {
  std::vector<float> logits = {2, 1.5, -1, -1.5};
  auto best = [&](double penalty, std::vector<int32_t> seen) {
    return *Sampler(4, {.temperature = 0, .repetitionPenalty = penalty}).draw(logits, seen);
  };
  EXPECT_EQ(best(1, {0, 0}), 0);
  EXPECT_EQ(best(1.3, {0, 0, 0}), 0); // once, however often it was seen: 2 / 1.3 > 1.5
  EXPECT_EQ(best(1.4, {0}), 1);
  EXPECT_EQ(best(1.4, {0, 1}), 0);
  std::vector<float> negative = {-1, -1.5, -9, -9};
  EXPECT_EQ(*Sampler(4, {.temperature = 0, .repetitionPenalty = 2})
                 .draw(negative, std::vector{0, -7, 99}),
            1);
}

TEST(Generation, SeedsDecideTheDraws) {
  std::vector<float> logits(50, 0);
  auto draws = [&](SamplingOptions options) {
    Sampler sampler(50, options);
    std::vector<int32_t> ids;
    for (int i = 0; i < 40; ++i)
      ids.push_back(*sampler.draw(logits));
    return ids;
  };
  EXPECT_EQ(draws({.temperature = 1, .topK = 30, .topP = 0.9, .seed = 4}),
            draws({.temperature = 1, .topK = 30, .topP = 0.9, .seed = 4}));
  EXPECT_NE(draws({.temperature = 1, .seed = 4}), draws({.temperature = 1, .seed = 5}));
}

// A byte-order mark, CRLF, blank lines and a missing last line end.
TEST(Generation, DO_13_PromptsOfAFile) {
  std::vector<std::string> expected = {"one", "two ", "\xef\xbb\xbfthree"};
  EXPECT_EQ(readPrompts("\xef\xbb\xbfone\r\n\r\ntwo \n\n\xef\xbb\xbfthree"), expected);
  EXPECT_EQ(readPrompts("\xef\xbb\xbf"), std::vector<std::string>{});
}
