//===- LineDiffTest.cpp - the differences that the IR page shows -----------===//
#include "Dump/LineDiff.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <random>
#include <string>

using namespace dsc;

static std::string joined(const std::vector<std::string> &lines) {
  std::string text;
  for (const std::string &line : lines)
    text += line + "\n";
  return text;
}

/// Longest common subsequence by the textbook table.
static size_t commonLines(const std::vector<std::string> &a, const std::vector<std::string> &b) {
  std::vector<std::vector<size_t>> best(a.size() + 1, std::vector<size_t>(b.size() + 1, 0));
  for (size_t i = 1; i <= a.size(); ++i)
    for (size_t j = 1; j <= b.size(); ++j)
      best[i][j] =
          a[i - 1] == b[j - 1] ? best[i - 1][j - 1] + 1 : std::max(best[i - 1][j], best[i][j - 1]);
  return best[a.size()][b.size()];
}

/// Walks the runs; returns the number of lines kept.
static size_t check(const std::vector<std::string> &a, const std::vector<std::string> &b,
                    const std::vector<DiffRun> &runs) {
  size_t i = 0, j = 0, kept = 0;
  for (const DiffRun &run : runs) {
    for (uint32_t k = 0; k < run.equal; ++k, ++i, ++j, ++kept) {
      EXPECT_LT(i, a.size());
      EXPECT_LT(j, b.size());
      if (i < a.size() && j < b.size())
        EXPECT_EQ(a[i], b[j]);
    }
    i += run.removed;
    j += run.added;
  }
  EXPECT_EQ(i, a.size());
  EXPECT_EQ(j, b.size());
  return kept;
}

TEST(LineDiff, KeepsAsManyLinesAsPossible) {
  std::mt19937 random(1);
  for (int round = 0; round < 400; ++round) {
    std::vector<std::string> a(random() % 30), b(random() % 30);
    for (auto *lines : {&a, &b})
      for (std::string &line : *lines)
        line = std::string(1, static_cast<char>('a' + random() % 4));
    EXPECT_EQ(check(a, b, diffLines(joined(a), joined(b))), commonLines(a, b));
  }
}

TEST(LineDiff, StaysRightBeyondItsLimit) {
  std::vector<std::string> a, b;
  for (int i = 0; i < 200; ++i) {
    a.push_back("old" + std::string(1 + i % 7, 'x'));
    b.push_back("new" + std::string(1 + i % 5, 'y'));
  }
  a.insert(a.begin(), "first");
  b.insert(b.begin(), "first");
  a.push_back("last");
  b.push_back("last");
  EXPECT_EQ(check(a, b, diffLines(joined(a), joined(b), 10)), 2u);
}

TEST(LineDiff, RenumberedValuesAreNoChange) {
  auto unchanged = [](const char *before, const char *after) {
    std::vector<DiffRun> runs = diffLines(before, after);
    return std::all_of(runs.begin(), runs.end(),
                       [](const DiffRun &run) { return !run.removed && !run.added; });
  };
  EXPECT_TRUE(unchanged("%12 = ds.add %3, %4", "%13 = ds.add %5, %6"));
  EXPECT_TRUE(unchanged("%lse_4 = f(%result_10, %w)", "%lse_5 = f(%result_11, %w)"));
  EXPECT_FALSE(unchanged("%h.0.weight = ds.read", "%h.1.weight = ds.read"));
  EXPECT_FALSE(unchanged("%ln_1.weight = ds.read", "%ln_2.weight = ds.read"));
  EXPECT_FALSE(unchanged("%0 = f {start = 1}", "%0 = f {start = 2}"));
}
