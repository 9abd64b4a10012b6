#include "dsc/Support/Numbers.h"
#include <bit>
#include <clocale>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace dsc;

TEST(Numbers, ShortestReadsBack) {
  EXPECT_EQ(printShortest(0.1), "0.1");
  EXPECT_EQ(printShortest(0.1f), "0.1");
  EXPECT_EQ(printShortest(1e-8), "1e-08");
  EXPECT_EQ(printShortest(3.0), "3");
  EXPECT_EQ(printShortest(-std::numeric_limits<double>::infinity()), "-inf");
  EXPECT_EQ(printShortest(-std::nan("")), "nan");
}

TEST(Numbers, EveryFiniteDoubleReadsBack) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100000; ++i) {
    double value = std::bit_cast<double>(random());
    if (!std::isfinite(value))
      continue;
    EXPECT_EQ(parseDouble(printShortest(value)), value);
    EXPECT_EQ(parseDouble(print17(value)), value);
    float single = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (std::isfinite(single))
      EXPECT_EQ(static_cast<float>(*parseDouble(printShortest(single))), single);
  }
}

TEST(Numbers, SeventeenDigits) {
  EXPECT_EQ(print17(0.1), "0.10000000000000001");
  EXPECT_EQ(print17(2), "2");
  EXPECT_EQ(jsonNumber(std::nan("")), "null");
  EXPECT_EQ(jsonNumber(std::numeric_limits<double>::infinity()), "null");
}

TEST(Numbers, LocaleDoesNotMatter) {
  // Where the locale is not installed this changes nothing, and shows nothing.
  std::setlocale(LC_ALL, "de_DE.UTF-8");
  EXPECT_EQ(print17(1.5), "1.5");
  EXPECT_EQ(parseDouble("1.5"), 1.5);
  std::setlocale(LC_ALL, "C");
}

TEST(Numbers, ForPeople) {
  EXPECT_EQ(printGrouped(0), "0");
  EXPECT_EQ(printGrouped(999), "999");
  EXPECT_EQ(printGrouped(-1234567), "-1,234,567");
  EXPECT_EQ(printBytes(512), "512 B");
  EXPECT_EQ(printBytes(4613734), "4.40 MiB");
  EXPECT_EQ(printFixed(3.14159, 2), "3.14");
}

TEST(Numbers, ParsingTakesTheWholeText) {
  EXPECT_EQ(parseInt("12"), 12);
  EXPECT_EQ(parseInt("12x"), std::nullopt);
  EXPECT_EQ(parseInt("9223372036854775808"), std::nullopt);
  EXPECT_EQ(parseDouble(""), std::nullopt);
}

TEST(Numbers, CheckedMultiply) {
  EXPECT_EQ(checkedMultiply(1 << 20, 1 << 20), int64_t{1} << 40);
  EXPECT_EQ(checkedMultiply(int64_t{1} << 32, int64_t{1} << 31), std::nullopt);
  EXPECT_EQ(checkedMultiply(-1, 2), std::nullopt);
}
