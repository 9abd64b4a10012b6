#include "dsc/Support/HalfFloat.h"
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace dsc;

/// Rounding to `digits` significant bits with least exponent `low`, through exact double
/// arithmetic.
static double rounded(double x, int digits, int low, double overflow) {
  if (x == 0 || std::isinf(x))
    return x;
  double quantum = std::ldexp(1.0, std::max(std::ilogb(x), low) - digits + 1);
  double result = std::nearbyint(x / quantum) * quantum;
  return std::fabs(result) >= overflow ? std::copysign(INFINITY, x) : result;
}

TEST(HalfFloat, EveryValueComesBack) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    auto half = static_cast<uint16_t>(bits);
    if (!std::isnan(halfToFloat(half)))
      EXPECT_EQ(floatToHalf(halfToFloat(half)), half);
    else
      EXPECT_TRUE(std::isnan(halfToFloat(floatToHalf(halfToFloat(half)))));
    if (!std::isnan(bfloatToFloat(half)))
      EXPECT_EQ(floatToBfloat(bfloatToFloat(half)), half);
    else
      EXPECT_TRUE(std::isnan(bfloatToFloat(floatToBfloat(bfloatToFloat(half)))));
  }
}

TEST(HalfFloat, RoundsToNearestEven) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 500000; ++i) {
    // Half of them near what f16 holds, with ties among them.
    uint32_t bits = static_cast<uint32_t>(random());
    if (i % 2)
      bits = (bits & 0x80001fff) | (90 + (bits >> 13) % 60) << 23 | (i % 4 == 1 ? 0x1000 : 0);
    float x = std::bit_cast<float>(bits);
    if (std::isnan(x))
      continue;
    EXPECT_EQ(halfToFloat(floatToHalf(x)), rounded(x, 11, -14, 65520)) << x;
    EXPECT_EQ(bfloatToFloat(floatToBfloat(x)), rounded(x, 8, -126, std::ldexp(1.0, 128))) << x;
  }
  EXPECT_EQ(halfToFloat(floatToHalf(65519.9f)), 65504.0f);
  EXPECT_TRUE(std::isinf(halfToFloat(floatToHalf(65520.0f))));
}

TEST(HalfFloat, NumbersInDoubleAreRoundedOnce) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 500000; ++i) {
    uint64_t bits = random();
    // Two in three near what the types hold, some of them a hair beside a tie.
    if (i % 3)
      bits = (bits & 0x800fffffffffffff) | (1023 - 140 + (bits >> 52) % 280) << 52;
    if (i % 3 == 2)
      bits = (bits & 0xfffffe0000000000) | 0x0000020000000000 | random() % 3;
    double x = std::bit_cast<double>(bits);
    if (std::isnan(x))
      continue;
    EXPECT_EQ(roundToHalf(x), rounded(x, 11, -14, 65520)) << x;
    EXPECT_EQ(roundToBfloat(x), rounded(x, 8, -126, std::ldexp(1.0, 128))) << x;
  }
  // By way of float this one would be a tie, and go to the even neighbour 1.
  EXPECT_EQ(roundToHalf(1 + 0x1p-11 + 0x1p-40), 1 + 0x1p-10);
  EXPECT_EQ(halfToFloat(floatToHalf(static_cast<float>(1 + 0x1p-11 + 0x1p-40))), 1);
}
