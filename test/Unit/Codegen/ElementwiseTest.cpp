//===- ElementwiseTest.cpp - add, activations and updates against f64 ------===//
#include "KernelHarness.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace dsc;
using namespace dsc::test;

static const int64_t sizes[] = {1, 7, 16, 17, 60, 131, 4096, 12301};

static std::string vec(int64_t n) { return "tensor<" + std::to_string(n) + "xf32>"; }

TEST(Elementwise, Add) {
  for (int64_t n : sizes)
    for (bool inPlace : {false, true}) {
      std::vector<double> a, b;
      OpTest test;
      test.arguments = "%a: " + vec(n) + ", %b: " + vec(n);
      test.text = "%r = ds.add %a, %b : (" + vec(n) + ", " + vec(n) + ") -> " + vec(n);
      if (inPlace)
        test.inPlace = {1};
      test.fill = [&](auto &t) {
        fillNormal(t[0], 1);
        fillNormal(t[1], 2);
        a = toDouble(t[0]);
        b = toDouble(t[1]);
      };
      test.check = [&](auto &t, const Target &) {
        auto r = toDouble(t[inPlace ? 1 : 2]);
        for (int64_t i = 0; i < n; ++i)
          ASSERT_EQ(r[i], double(float(a[i] + b[i])));
      };
      test.run();
    }
}

TEST(Elementwise, Activation) {
  for (int64_t n : sizes) {
    OpTest test;
    test.arguments = "%a: " + vec(n);
    test.text = "%r = ds.activation gelu_tanh %a : (" + vec(n) + ") -> " + vec(n);
    test.fill = [](auto &t) { fillNormal(t[0], 1); };
    test.check = [&](auto &t, const Target &) {
      auto x = toDouble(t[0]), r = toDouble(t[1]);
      for (double &v : x)
        v = 0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
      expectNear(r, x, 2e-7, "gelu_tanh");
    };
    test.run();
  }
}

TEST(Elementwise, ActivationGrad) {
  for (int64_t n : sizes) {
    OpTest test;
    test.arguments = "%a: " + vec(n) + ", %b: " + vec(n);
    test.text =
        "%r = ds.activation_grad relu %a, %b : (" + vec(n) + ", " + vec(n) + ") -> " + vec(n);
    test.inPlace = {0};
    std::vector<double> g;
    test.fill = [&](auto &t) {
      fillNormal(t[0], 1);
      fillNormal(t[1], 2);
      g = toDouble(t[0]);
    };
    test.check = [&](auto &t, const Target &) {
      auto x = toDouble(t[1]), r = toDouble(t[0]);
      for (int64_t i = 0; i < n; ++i)
        ASSERT_EQ(r[i], x[i] > 0 ? g[i] : 0);
    };
    test.run();
  }
}

// Against the formulas of the op in f64; a handful of f32 roundings of quantities near 1.
TEST(Optimizer, Adam) {
  for (int64_t n : sizes)
    for (bool decoupled : {true, false})
      for (bool decay : {true, false})
        for (double updates : {0.0, 999.0}) {
          std::string v = vec(n);
          OpTest test;
          test.arguments =
              "%w: " + v + ", %g: " + v + ", %m: " + v + ", %v: " + v + ", %s: tensor<f64>";
          test.text = "%r:3 = ds.adam_update %w, %g, %m, %v, %s, %s, %s, %s, %s, %s";
          if (decay)
            test.text += ", %s";
          test.text += decoupled ? " {decoupled} : (" : " : (";
          test.text += v + ", " + v + ", " + v + ", " + v;
          for (int i = 0; i < (decay ? 7 : 6); ++i)
            test.text += ", tensor<f64>";
          test.text += ") -> (" + v + ", " + v + ", " + v + ")";
          test.inPlace = {0, 2, 3};
          const double clip = 0.5, rate = 1e-2, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, wd = 0.1;
          std::vector<double> w, g, m, s;
          test.fill = [&](auto &t) {
            fillNormal(t[0], 1);
            fillNormal(t[1], 2);
            fillNormal(t[2], 3, 0.1);
            fillNormal(t[3], 4, 0.1);
            for (int64_t i = 0; i < n; ++i)
              t[3].template as<float>()[i] = std::abs(t[3].template as<float>()[i]);
            const double scalars[] = {clip, rate, beta1, beta2, eps, updates, wd};
            for (size_t i = 4; i < t.size(); ++i)
              *t[i].template as<double>() = scalars[i - 4];
            w = toDouble(t[0]);
            g = toDouble(t[1]);
            m = toDouble(t[2]);
            s = toDouble(t[3]);
          };
          test.check = [&](auto &t, const Target &) {
            double c1 = 1 - std::pow(beta1, updates + 1), c2 = 1 - std::pow(beta2, updates + 1);
            std::vector<double> w1, m1, v1;
            for (int64_t i = 0; i < n; ++i) {
              double weight = w[i], gradient = clip * g[i];
              if (decay && decoupled)
                weight -= rate * wd * weight;
              else if (decay)
                gradient += wd * weight;
              m1.push_back(beta1 * m[i] + (1 - beta1) * gradient);
              v1.push_back(beta2 * s[i] + (1 - beta2) * gradient * gradient);
              w1.push_back(weight - rate * (m1[i] / c1) / (std::sqrt(v1[i] / c2) + eps));
            }
            expectNear(toDouble(t[0]), w1, 3e-7, "weight");
            expectNear(toDouble(t[2]), m1, 3e-7, "m");
            expectNear(toDouble(t[3]), v1, 3e-7, "v");
          };
          test.run();
        }
}

TEST(Optimizer, Sgd) {
  for (int64_t n : sizes)
    for (bool nesterov : {true, false}) {
      std::string v = vec(n), s = ", tensor<f64>";
      OpTest test;
      test.arguments = "%w: " + v + ", %g: " + v + ", %u: " + v + ", %s: tensor<f64>";
      test.text = "%r:2 = ds.sgd_update %w, %g, %u, %s, %s, %s, %s";
      test.text += nesterov ? " {nesterov} : (" : " : (";
      test.text += v + ", " + v + ", " + v + s + s + s + s + ") -> (" + v + ", " + v + ")";
      test.inPlace = {0, 2};
      const double clip = 0.5, rate = 1e-2, momentum = 0.9, wd = 0.1;
      std::vector<double> w, g, u;
      test.fill = [&](auto &t) {
        for (int i = 0; i < 3; ++i)
          fillNormal(t[i], i);
        const double scalars[] = {clip, rate, momentum, wd};
        for (int i = 0; i < 4; ++i)
          *t[3 + i].template as<double>() = scalars[i];
        w = toDouble(t[0]);
        g = toDouble(t[1]);
        u = toDouble(t[2]);
      };
      test.check = [&](auto &t, const Target &) {
        std::vector<double> w1, u1;
        for (int64_t i = 0; i < n; ++i) {
          double gradient = clip * g[i] + wd * w[i];
          u1.push_back(momentum * u[i] + gradient);
          w1.push_back(w[i] - rate * (nesterov ? gradient + momentum * u1[i] : u1[i]));
        }
        expectNear(toDouble(t[0]), w1, 3e-7, "weight");
        expectNear(toDouble(t[2]), u1, 3e-7, "velocity");
      };
      test.run();
    }
}
