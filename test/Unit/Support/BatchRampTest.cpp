//===- BatchRampTest.cpp - sizes of steps against Megatron's loop -----------===//
#include "dsc/Support/BatchRamp.h"
#include <gtest/gtest.h>

using namespace dsc;

namespace {
/// Megatron's calculator, step by step: `consumed` decides the next size.
class Plain {
public:
  Plain(int64_t full, BatchRampSettings s) : full(full), s(s) {}
  int64_t next() {
    int64_t size = full;
    if (s.start && consumed <= s.samples) {
      int64_t increments = (full - s.start) / s.increment;
      size = s.start + s.increment * (consumed * increments / s.samples);
    }
    consumed += size;
    return size;
  }
  int64_t consumed = 0;

private:
  int64_t full;
  BatchRampSettings s;
};
} // namespace

TEST(BatchRamp, SizesRiseAsMegatronsDo) {
  // Megatron's own example: 16 to 32 by 8 over 2,000 samples is 16 below 1,000, 24 below 2,000.
  BatchRamp example(32, {16, 8, 2000});
  EXPECT_EQ(example.size(1), 16);
  EXPECT_EQ(example.size(63), 16);  // 992 before it
  EXPECT_EQ(example.size(64), 24);  // 1,008
  EXPECT_EQ(example.size(105), 24); // 1,992
  EXPECT_EQ(example.size(106), 32); // 2,016
  EXPECT_EQ(example.fullFrom(), 106);
  EXPECT_EQ(example.consumed(106), 2016);
  EXPECT_EQ(example.consumed(108), 2080);

  for (auto [full, s] : {std::pair<int64_t, BatchRampSettings>{64, {8, 8, 2000}},
                         {32, {4, 4, 7}}, // one step passes several increments
                         {96, {2, 2, 1001}},
                         {3, {1, 1, 10}},
                         {8, {4, 4, 1}},
                         {512, {32, 96, 100000}},
                         {5, {}}}) {
    BatchRamp ramp(full, s);
    Plain plain(full, s);
    for (int64_t step = 1; step <= 4000; ++step) {
      ASSERT_EQ(ramp.consumed(step), plain.consumed) << full << " step " << step;
      ASSERT_EQ(ramp.size(step), plain.next()) << full << " step " << step;
    }
    EXPECT_EQ(ramp.ramps(), s.start > 0);
    EXPECT_EQ(ramp.size(ramp.fullFrom()), full);
    EXPECT_TRUE(ramp.fullFrom() == 1 || ramp.size(ramp.fullFrom() - 1) < full);
  }
}

TEST(BatchRamp, EpochsAreCountedRowByRow) {
  for (auto [full, s] : {std::pair<int64_t, BatchRampSettings>{64, {8, 8, 2000}},
                         {32, {4, 4, 7}},
                         {96, {2, 2, 1001}},
                         {4, {1, 1, 40}},
                         {5, {}}})
    for (int64_t rows : {1, 2, 7, 50, 333, 2000})
      for (int64_t epochs : {1, 2, 3, 17}) {
        Plain plain(full, s);
        int64_t steps = 0;
        for (int64_t epoch = 0; epoch < epochs; ++epoch)
          for (int64_t row = 0; row < rows; row += plain.next())
            ++steps;
        EXPECT_EQ(BatchRamp(full, s).stepsOf(epochs, rows), steps)
            << full << ", " << epochs << " epochs of " << rows;
      }
  EXPECT_EQ(BatchRamp(8).stepsOf(int64_t{1} << 40, int64_t{1} << 40), std::nullopt);
  EXPECT_EQ(BatchRamp(8).stepsOf(int64_t{1} << 40, 8), int64_t{1} << 40);
  EXPECT_EQ(BatchRamp(1 << 20, {1, 1, 1000000000000}).size(1000000000000), 1 << 20);
}

TEST(BatchRamp, WholeMicroBatchesOnly) {
  EXPECT_TRUE((BatchRampSettings{8, 8, 1}).fits(64, 8));
  EXPECT_TRUE((BatchRampSettings{8, 28, 1}).fits(64, 4));
  for (BatchRampSettings wrong :
       {BatchRampSettings{8, 8, 0}, BatchRampSettings{0, 8, 1}, BatchRampSettings{64, 8, 1},
        BatchRampSettings{6, 8, 1}, BatchRampSettings{8, 12, 1}, BatchRampSettings{8, 16, 1},
        BatchRampSettings{8, -8, 1}})
    EXPECT_FALSE(wrong.fits(64, 4)) << wrong.start << " " << wrong.increment;
}
