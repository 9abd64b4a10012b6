#include "dsc/Support/PortableMath.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace dsc;

/// |value - exact| in units of the last place of the exact value.
static double ulps(double value, long double exact) {
  double at = std::fabs(static_cast<double>(exact));
  double unit = std::nextafter(at, std::numeric_limits<double>::infinity()) - at;
  return static_cast<double>(std::fabs(value - exact)) / unit;
}

TEST(PortableMath, LogWithinOneUlp) {
  std::mt19937_64 random(1);
  double worst = 0;
  for (int i = 0; i < 300000; ++i) {
    double x = std::exp(std::uniform_real_distribution<>(-40, 40)(random));
    if (i % 2)
      x = std::uniform_real_distribution<>(0.5, 2)(random);
    worst = std::max(worst, ulps(portableLog(x), std::log(static_cast<long double>(x))));
  }
  EXPECT_LT(worst, 1.0);
  EXPECT_EQ(portableLog(1), 0);
}

TEST(PortableMath, ExpWithinOneUlp) {
  std::mt19937_64 random(1);
  double worst = 0;
  for (int i = 0; i < 300000; ++i) {
    double x = std::uniform_real_distribution<>(-700, 700)(random) / (i % 3 ? 700 : 1);
    worst = std::max(worst, ulps(portableExp(x), std::exp(static_cast<long double>(x))));
  }
  EXPECT_LT(worst, 1.0);
  EXPECT_EQ(portableExp(0), 1);
  EXPECT_EQ(portableExp(-800), 0);
  EXPECT_EQ(portableExp(800), std::numeric_limits<double>::infinity());
}

TEST(PortableMath, InverseNormalInvertsTheDistribution) {
  for (double p : {0x1p-53, 1e-10, 1e-4, 0.02, 0.074, 0.076, 0.3, 0.5, 0.7, 0.93, 0.999}) {
    long double z = inverseNormal(p);
    long double back = std::erfc(-z / std::sqrt(2.0L)) / 2;
    // The distribution's relative slope at z is about |z| + 1; 16 digits of z, and one more
    // rounding of p.
    EXPECT_NEAR(static_cast<double>(back / p), 1, 4e-16 * (2 + static_cast<double>(z * z))) << p;
    EXPECT_EQ(inverseNormal(0.5), 0);
  }
  EXPECT_EQ(inverseNormal(0.25), -inverseNormal(0.75));
}
