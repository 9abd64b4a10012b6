//===- ScalarTest.cpp - norms, clipping, schedules against f64 -------------===//
#include "KernelHarness.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace dsc;
using namespace dsc::test;

TEST(Scalar, SquareSum) {
  for (int64_t n : {1, 7, 17, 131, 1023, 1024, 1025, 5000}) {
    int64_t blocks = (n + 1023) / 1024;
    std::string in = "tensor<" + std::to_string(n) + "xf32>",
                out = "tensor<" + std::to_string(blocks) + "xf64>";
    OpTest test;
    test.arguments = "%x: " + in;
    test.text = "%r = ds.square_sum %x : (" + in + ") -> " + out;
    test.fill = [](auto &t) { fillNormal(t[0], 1); };
    test.check = [&](auto &t, const Target &) {
      auto x = toDouble(t[0]);
      for (int64_t i = 0; i < blocks; ++i) {
        double sum = 0;
        for (int64_t j = 1024 * i; j < std::min(n, 1024 * (i + 1)); ++j)
          sum += x[j] * x[j];
        EXPECT_NEAR(t[1].template as<double>()[i], sum, 1e-13 * sum);
      }
    };
    test.run();
  }
}

// To the bit: the order of additions is part of the op.
TEST(Scalar, GlobalNorm) {
  for (std::vector<int64_t> counts :
       std::vector<std::vector<int64_t>>{{1}, {2}, {3}, {1, 1}, {5, 1, 8, 13}, {37697, 1, 2}}) {
    std::string types, names;
    OpTest test;
    for (size_t i = 0; i < counts.size(); ++i) {
      std::string type = "tensor<" + std::to_string(counts[i]) + "xf64>";
      std::string name = "%x" + std::to_string(i), comma = i ? ", " : "";
      types += comma + type;
      names += comma + name;
      test.arguments += comma + name + ": " + type;
    }
    test.text = "%r = ds.global_norm " + names + " : (" + types + ") -> tensor<f64>";
    test.fill = [&](auto &t) {
      std::mt19937_64 generator(7);
      for (size_t i = 0; i < counts.size(); ++i)
        for (int64_t j = 0; j < counts[i]; ++j)
          t[i].template as<double>()[j] = double(generator() >> 11) * 0x1p-53;
    };
    test.check = [&](auto &t, const Target &) {
      double sum = 0;
      for (size_t i = 0; i < counts.size(); ++i) {
        std::vector<double> level(t[i].template as<double>(),
                                  t[i].template as<double>() + counts[i]);
        while (level.size() > 1) {
          std::vector<double> next;
          for (size_t j = 0; j < level.size(); j += 2)
            next.push_back(j + 1 < level.size() ? level[j] + level[j + 1] : level[j]);
          level = next;
        }
        sum += level[0];
      }
      EXPECT_EQ(*t.back().template as<double>(), std::sqrt(sum));
    };
    test.run();
  }
}

TEST(Scalar, ClipFactor) {
  struct Case {
    double norm, limit, factor;
  };
  for (Case c : {Case{2, 1, 0.5}, {0.5, 1, 1}, {0, 1, 1}, {2, 0, 1}, {0, 0, 1}, {1, 1, 1}}) {
    OpTest test;
    test.arguments = "%n: tensor<f64>, %l: tensor<f64>";
    test.text = "%r = ds.clip_factor %n, %l : (tensor<f64>, tensor<f64>) -> tensor<f64>";
    test.fill = [&](auto &t) {
      *t[0].template as<double>() = c.norm;
      *t[1].template as<double>() = c.limit;
    };
    test.check = [&](auto &t, const Target &) {
      EXPECT_EQ(*t[2].template as<double>(), c.factor) << c.norm << " " << c.limit;
    };
    test.run();
  }
}

TEST(Scalar, LearningRate) {
  const double peak = 1e-3, floor = 1e-4;
  const std::string names[] = {"constant", "linear", "cosine"};
  for (int schedule : {0, 1, 2})
    for (auto [warmup, total] : {std::pair(5.0, 20.0), {0.0, 10.0}, {4.0, 4.0}})
      for (double t = 0; t < 25; ++t) {
        OpTest test;
        test.arguments = "%s: tensor<f64>";
        test.text = "%r = ds.learning_rate " + names[schedule] + " %s, %s, %s, %s, %s";
        if (int(t) % 4 != 0)
          continue;
        test.fill = [&, warmup = warmup, total = total](auto &tensors) {
          const double values[] = {t, peak, floor, warmup, total};
          for (int i = 0; i < 5; ++i)
            *tensors[i].template as<double>() = values[i];
        };
        double expected = peak;
        if (t < warmup)
          expected = peak * (t + 1) / warmup;
        else if (schedule != 0 && t >= total)
          expected = floor;
        else if (schedule == 1)
          expected = floor + (peak - floor) * (1 - (t - warmup) / (total - warmup));
        else if (schedule == 2)
          expected =
              floor + (peak - floor) * (1 + std::cos(M_PI * (t - warmup) / (total - warmup))) / 2;
        test.check = [&](auto &tensors, const Target &) {
          EXPECT_NEAR(*tensors[5].template as<double>(), expected, 1e-15 * expected) << t;
        };
        test.run();
      }
}

// Through tens of thousands of updates: the logarithm of the kernel against the library's.
TEST(Scalar, LogarithmicWarmUp) {
  const double peak = 1e-3;
  for (double warmup : {2.0, 3.0, 1000.0, 65537.0, 1e12})
    for (double t :
         {0.0, 1.0, 2.0, 7.0, 500.0, 999.0, 46340.0, 65536.0, 123456789.0, 999999999999.0}) {
      OpTest test;
      test.arguments = "%s: tensor<f64>";
      test.text = "%r = ds.learning_rate warmup_lr %s, %s, %s, %s, %s";
      test.fill = [&](auto &tensors) {
        const double values[] = {t, peak, 0, warmup, 10};
        for (int i = 0; i < 5; ++i)
          *tensors[i].template as<double>() = values[i];
      };
      double expected = t < warmup ? peak * std::log(t + 1) / std::log(warmup) : peak;
      test.check = [&](auto &tensors, const Target &) {
        EXPECT_NEAR(*tensors[5].template as<double>(), expected, 1e-15 * expected)
            << t << " " << warmup;
      };
      test.run();
    }
}

TEST(Scalar, Increment) {
  OpTest test;
  test.arguments = "%a: tensor<f64>";
  test.text = "%r = ds.increment %a : (tensor<f64>) -> tensor<f64>";
  test.inPlace = {0};
  test.fill = [](auto &t) { *t[0].template as<double>() = 41; };
  test.check = [](auto &t, const Target &) { EXPECT_EQ(*t[0].template as<double>(), 42); };
  test.run();
}
