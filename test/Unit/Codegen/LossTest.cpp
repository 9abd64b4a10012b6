//===- LossTest.cpp - cross-entropy and loss scalars against f64 -----------===//
#include "KernelHarness.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace dsc;
using namespace dsc::test;

namespace {
struct Shape {
  int64_t rows, columns;
};
} // namespace

static const Shape shapes[] = {{1, 1}, {3, 7}, {5, 16}, {9, 17}, {37, 131}, {16, 257}, {4, 5000}};

static std::string dims(std::initializer_list<int64_t> shape, const char *element) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + element + ">";
}

/// Labels in range, every fourth one uncounted.
static void fillLabels(TensorBytes &labels, int64_t columns) {
  std::mt19937 generator(5);
  for (size_t i = 0; i < labels.size() / 4; ++i)
    labels.as<int32_t>()[i] = i % 4 == 3 ? -100 : int32_t(generator() % columns);
}

static double logSumExp(const double *x, int64_t n) {
  double largest = *std::max_element(x, x + n), sum = 0;
  for (int64_t i = 0; i < n; ++i)
    sum += std::exp(x[i] - largest);
  return largest + std::log(sum);
}

TEST(Loss, CrossEntropy) {
  for (Shape s : shapes)
    for (double scale : {1.0, 30.0}) {
      std::string logits = dims({s.rows, s.columns}, "f32"), row = dims({s.rows}, "f32");
      OpTest test;
      test.arguments = "%x: " + logits + ", %l: " + dims({s.rows}, "i32");
      test.text = "%r:2 = ds.cross_entropy %x, %l : (" + logits + ", " + dims({s.rows}, "i32") +
                  ") -> (" + row + ", " + row + ")";
      test.fill = [&](auto &t) {
        fillNormal(t[0], 1, scale);
        fillLabels(t[1], s.columns);
      };
      test.check = [&](auto &t, const Target &) {
        auto x = toDouble(t[0]);
        std::vector<double> losses(s.rows), lse(s.rows);
        for (int64_t i = 0; i < s.rows; ++i) {
          int32_t label = t[1].template as<int32_t>()[i];
          lse[i] = logSumExp(&x[i * s.columns], s.columns);
          losses[i] = label == -100 ? 0 : lse[i] - x[i * s.columns + label];
        }
        expectNear(toDouble(t[3]), lse, 2e-7, "lse");
        if (s.columns == 1)
          expectNear(toDouble(t[2]), std::vector<double>(s.rows), 0, "losses");
        else
          expectNear(toDouble(t[2]), losses, 2e-7, "losses");
      };
      test.run();
    }
}

/// Loss of one row with target 0.
static void expectSmoothedLoss(std::vector<float> row, double smoothing, double expected,
                               double relative) {
  int64_t n = int64_t(row.size());
  std::string logits = dims({1, n}, "f32");
  OpTest test;
  test.arguments = "%x: " + logits + ", %l: tensor<1xi32>, %s: tensor<f64>";
  test.text = "%r:2 = ds.cross_entropy %x, %l, %s : (" + logits +
              ", tensor<1xi32>, tensor<f64>) -> (tensor<1xf32>, tensor<1xf32>)";
  test.fill = [&](auto &t) {
    std::copy(row.begin(), row.end(), t[0].template as<float>());
    *t[1].template as<int32_t>() = 0;
    *t[2].template as<double>() = smoothing;
  };
  test.check = [&](auto &t, const Target &) {
    expectNear(toDouble(t[3]), {expected}, relative, "loss");
  };
  test.run();
}

// The mass is spread over all classes, the right one among them.
TEST(Loss, LS_03_SmoothingOverAllClasses) {
  double plain = std::log(std::exp(2) + 3) - 2;
  expectSmoothedLoss({2, 0, 0, 0}, 0.1, plain + 0.1 * 1.5, 2e-7); // 0.490753
  expectSmoothedLoss({2, 0, 0, 0}, 0, plain, 2e-7);
}

// No logarithm of a probability that has become 0.
TEST(Loss, LS_04_UnderflowedClasses) { expectSmoothedLoss({1000, 0, 0, 0}, 0.1, 75, 0); }

TEST(Loss, CrossEntropyGrad) {
  for (Shape s : shapes)
    for (bool inPlace : {false, true}) {
      std::string logits = dims({s.rows, s.columns}, "f32"), row = dims({s.rows}, "f32");
      OpTest test;
      test.arguments =
          "%x: " + logits + ", %l: " + dims({s.rows}, "i32") + ", %e: " + row + ", %s: tensor<f64>";
      test.text = "%r = ds.cross_entropy_grad %x, %l, %e, %s : (" + logits + ", " +
                  dims({s.rows}, "i32") + ", " + row + ", tensor<f64>) -> " + logits;
      if (inPlace)
        test.inPlace = {0};
      std::vector<double> x;
      test.fill = [&](auto &t) {
        fillNormal(t[0], 1);
        fillLabels(t[1], s.columns);
        *t[3].template as<double>() = 0.25;
        x = toDouble(t[0]);
        for (int64_t i = 0; i < s.rows; ++i)
          t[2].template as<float>()[i] = logSumExp(&x[i * s.columns], s.columns);
      };
      test.check = [&](auto &t, const Target &) {
        std::vector<double> r(x.size());
        for (int64_t i = 0; i < s.rows * s.columns; ++i) {
          int32_t label = t[1].template as<int32_t>()[i / s.columns];
          if (label == -100)
            continue;
          double lse = t[2].template as<float>()[i / s.columns];
          r[i] = 0.25 * (std::exp(x[i] - lse) - (i % s.columns == label));
        }
        auto actual = toDouble(t[inPlace ? 0 : 4]);
        if (s.columns == 1) // exactly 1 - 1, but for the rounding of lse
          expectNear(actual, std::vector<double>(s.rows), 0, "result");
        else
          expectNear(actual, r, 3e-7, "result");
      };
      test.run();
    }
}

TEST(Loss, CountSeedAndMean) {
  for (int64_t n : {1, 7, 16, 17, 60, 131, 4099}) {
    std::string labels = dims({n}, "i32"), losses = dims({n}, "f32");
    OpTest count;
    count.arguments = "%l: " + labels;
    count.text = "%r = ds.count %l : (" + labels + ") -> tensor<f64>";
    count.fill = [](auto &t) { fillLabels(t[0], 100); };
    count.check = [&](auto &t, const Target &) {
      EXPECT_EQ(*t[1].template as<double>(), n - n / 4);
    };
    count.run();

    for (double counted : {0.0, 3.0}) {
      OpTest mean;
      mean.arguments = "%x: " + losses + ", %c: tensor<f64>";
      mean.text = "%r = ds.token_mean %x, %c : (" + losses + ", tensor<f64>) -> tensor<f64>";
      mean.fill = [&](auto &t) {
        fillNormal(t[0], 1);
        *t[1].template as<double>() = counted;
      };
      mean.check = [&](auto &t, const Target &) {
        double sum = 0;
        for (double x : toDouble(t[0]))
          sum += x;
        EXPECT_NEAR(*t[2].template as<double>(), counted ? sum / counted : 0, n * 1e-15);
      };
      mean.run();
    }
  }
  for (double counted : {0.0, 4.0}) {
    OpTest seed;
    seed.arguments = "%c: tensor<f64>";
    seed.text = "%r = ds.loss_seed %c : (tensor<f64>) -> tensor<f64>";
    seed.fill = [&](auto &t) { *t[0].template as<double>() = counted; };
    seed.check = [&](auto &t, const Target &) {
      EXPECT_EQ(*t[1].template as<double>(), counted ? 0.25 : 0);
    };
    seed.run();
  }
}
