//===- InitializerTest.cpp - initial weights ----------------------------------===//
#include "dsc/Runtime/Checkpoint/Initializer.h"
#include "dsc/Support/Hash.h"
#include <cmath>
#include <gtest/gtest.h>
#include <vector>

using namespace dsc;

// From test/Unit/Data/replay_order.py, which knows only the description: normal 1234 wte.weight 4.
TEST(Initializer, FollowsItsDescription) {
  std::vector<float> values(4);
  fillNormal(1234, "wte.weight", 1, 0, 4, values.data());
  std::vector<float> expected = {-0.01096461433917284f, -0.7200489640235901f, -0.48816952109336853f,
                                 -0.698460042476654f};
  for (size_t i = 0; i < 4; ++i)
    EXPECT_FLOAT_EQ(values[i], expected[i]);
}

TEST(Initializer, AnyRangeGivesTheSameElements) {
  std::vector<float> whole(1000), parts(1000);
  std::vector<double> wide(1000);
  fillNormal(7, "h.0.mlp.c_fc.weight", 0.02, 0, 1000, whole.data());
  fillNormal(7, "h.0.mlp.c_fc.weight", 0.02, 0, 1000, wide.data());
  for (int64_t at = 0, step = 1; at < 1000;
       at += step, step = std::min<int64_t>(2 * step, 1000 - at))
    fillNormal(7, "h.0.mlp.c_fc.weight", 0.02, at, std::min<int64_t>(step, 1000 - at),
               parts.data() + at);
  EXPECT_EQ(whole, parts);
  EXPECT_EQ(std::vector<double>(whole.begin(), whole.end()), wide);
  EXPECT_EQ(whole[999], initialNormal(7, nameHash("h.0.mlp.c_fc.weight"), 999, 0.02));
}

TEST(Initializer, MomentsAndIndependence) {
  constexpr int64_t count = 200000;
  std::vector<float> a(count), b(count), c(count);
  fillNormal(1, "a", 1, 0, count, a.data());
  fillNormal(1, "b", 1, 0, count, b.data());
  fillNormal(2, "a", 1, 0, count, c.data());
  double mean = 0, square = 0, fourth = 0, withName = 0, withSeed = 0, withNext = 0;
  for (size_t i = 0; i < count; ++i) {
    double x = a[i];
    mean += x / count, square += x * x / count, fourth += x * x * x * x / count;
    withName += x * b[i] / count, withSeed += x * c[i] / count;
    withNext += x * a[(i + 1) % count] / count;
  }
  // Five standard deviations of each estimate over n elements: sqrt(1/n), sqrt(2/n), sqrt(96/n).
  double unit = 5 / std::sqrt(count);
  EXPECT_NEAR(mean, 0, unit);
  EXPECT_NEAR(square, 1, unit * std::sqrt(2));
  EXPECT_NEAR(fourth, 3, unit * std::sqrt(96));
  for (double correlation : {withName, withSeed, withNext})
    EXPECT_NEAR(correlation, 0, unit);
}
