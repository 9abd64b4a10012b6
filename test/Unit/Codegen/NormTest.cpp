//===- NormTest.cpp - layer normalisation and its gradients against f64 ----===//
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

static const Shape shapes[] = {{1, 1}, {3, 7}, {5, 16}, {9, 17}, {111, 60}, {8, 131}, {64, 768}};
static constexpr double eps = 1e-5;

static std::string matrix(Shape s) {
  return "tensor<" + std::to_string(s.rows) + "x" + std::to_string(s.columns) + "xf32>";
}
static std::string rowOf(Shape s) { return "tensor<" + std::to_string(s.columns) + "xf32>"; }
static std::string columnOf(Shape s) { return "tensor<" + std::to_string(s.rows) + "xf32>"; }

/// Means and reciprocal deviations of the rows.
static std::pair<std::vector<double>, std::vector<double>> statistics(const std::vector<double> &x,
                                                                      Shape s) {
  std::vector<double> mean(s.rows), rstd(s.rows);
  for (int64_t i = 0; i < s.rows; ++i) {
    for (int64_t j = 0; j < s.columns; ++j)
      mean[i] += x[i * s.columns + j] / s.columns;
    double variance = 0;
    for (int64_t j = 0; j < s.columns; ++j)
      variance += std::pow(x[i * s.columns + j] - mean[i], 2) / s.columns;
    rstd[i] = 1 / std::sqrt(variance + eps);
  }
  return {mean, rstd};
}

TEST(Norm, Forward) {
  for (Shape s : shapes) {
    OpTest test;
    test.arguments = "%x: " + matrix(s) + ", %g: " + rowOf(s) + ", %b: " + rowOf(s);
    test.text = "%r:3 = ds.layer_norm %x, %g, %b {eps = 1.0e-5 : f64} : (" + matrix(s) + ", " +
                rowOf(s) + ", " + rowOf(s) + ") -> (" + matrix(s) + ", " + columnOf(s) + ", " +
                columnOf(s) + ")";
    test.fill = [](auto &t) {
      for (int i = 0; i < 3; ++i)
        fillNormal(t[i], i);
      for (size_t i = 0; i < t[0].size() / 4; ++i)
        t[0].template as<float>()[i] += 3; // a mean that a one-pass variance would suffer from
    };
    test.check = [&](auto &t, const Target &) {
      auto x = toDouble(t[0]), g = toDouble(t[1]), b = toDouble(t[2]);
      auto [mean, rstd] = statistics(x, s);
      for (int64_t i = 0; i < s.rows * s.columns; ++i)
        x[i] = (x[i] - mean[i / s.columns]) * rstd[i / s.columns] * g[i % s.columns] +
               b[i % s.columns];
      // A rounding of the mean, 3, becomes one of rstd * 3; one column leaves nothing but it.
      expectNear(toDouble(t[3]), x, s.columns == 1 ? 1e-4 : 1e-6, "result");
      expectNear(toDouble(t[4]), mean, 3e-7, "mean");
      expectNear(toDouble(t[5]), rstd, 1e-6, "rstd");
    };
    test.run();
  }
}

TEST(Norm, InputGrad) {
  for (Shape s : shapes)
    for (bool residual : {false, true}) {
      OpTest test;
      test.arguments = "%d: " + matrix(s) + ", %x: " + matrix(s) + ", %g: " + rowOf(s) +
                       ", %m: " + columnOf(s) + ", %s: " + columnOf(s) + ", %q: " + matrix(s);
      test.text = "%r = ds.layer_norm_input_grad %d, %x, %g, %m, %s";
      test.text += residual ? " residual %q : " : " : ";
      test.text +=
          matrix(s) + ", " + matrix(s) + ", " + rowOf(s) + ", " + columnOf(s) + ", " + columnOf(s);
      test.text += residual ? " residual " + matrix(s) : "";
      test.text += " -> " + matrix(s);
      test.inPlace = {0};
      std::vector<double> d, mean, rstd;
      test.fill = [&](auto &t) {
        for (size_t i = 0; i < t.size(); ++i)
          fillNormal(t[i], i);
        d = toDouble(t[0]);
        std::tie(mean, rstd) = statistics(toDouble(t[1]), s);
        std::copy(mean.begin(), mean.end(), t[3].template as<float>());
        std::copy(rstd.begin(), rstd.end(), t[4].template as<float>());
      };
      test.check = [&](auto &t, const Target &) {
        auto x = toDouble(t[1]), g = toDouble(t[2]);
        std::vector<double> r(x.size());
        for (int64_t i = 0; i < s.rows; ++i) {
          double meanG = 0, meanGX = 0;
          auto normal = [&](int64_t j) { return (x[i * s.columns + j] - mean[i]) * rstd[i]; };
          for (int64_t j = 0; j < s.columns; ++j) {
            meanG += d[i * s.columns + j] * g[j] / s.columns;
            meanGX += d[i * s.columns + j] * g[j] * normal(j) / s.columns;
          }
          for (int64_t j = 0; j < s.columns; ++j)
            r[i * s.columns + j] =
                rstd[i] * (d[i * s.columns + j] * g[j] - meanG - normal(j) * meanGX) +
                (residual ? t[5].template as<float>()[i * s.columns + j] : 0);
        }
        auto actual = toDouble(t[0]);
        if (s.columns == 1 && !residual) { // the gradient is 0: only rounding, times rstd = 316
          for (double value : actual)
            ASSERT_LE(std::abs(value), 1e-4);
          return;
        }
        expectNear(actual, r, s.columns == 1 ? 1e-4 : 1e-6, "result");
      };
      test.run();
    }
}

TEST(Norm, ParameterGrad) {
  std::vector<Shape> more(std::begin(shapes), std::end(shapes));
  more.push_back({4096, 96});
  for (Shape s : more) {
    OpTest test;
    test.arguments =
        "%d: " + matrix(s) + ", %x: " + matrix(s) + ", %m: " + columnOf(s) + ", %s: " + columnOf(s);
    test.text = "%r:2 = ds.layer_norm_parameter_grad %d, %x, %m, %s : (" + matrix(s) + ", " +
                matrix(s) + ", " + columnOf(s) + ", " + columnOf(s) + ") -> (" + rowOf(s) + ", " +
                rowOf(s) + ")";
    test.fill = [](auto &t) {
      for (int i = 0; i < 4; ++i)
        fillNormal(t[i], i);
    };
    test.check = [&](auto &t, const Target &) {
      auto d = toDouble(t[0]), x = toDouble(t[1]), mean = toDouble(t[2]), rstd = toDouble(t[3]);
      std::vector<double> gain(s.columns), bias(s.columns);
      for (int64_t i = 0; i < s.rows * s.columns; ++i) {
        gain[i % s.columns] += d[i] * (x[i] - mean[i / s.columns]) * rstd[i / s.columns];
        bias[i % s.columns] += d[i];
      }
      expectNear(toDouble(t[4]), gain, 1e-6, "dgain");
      expectNear(toDouble(t[5]), bias, 1e-6, "dbias");
    };
    test.run();
  }
}
