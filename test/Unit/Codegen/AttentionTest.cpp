//===- AttentionTest.cpp - causal attention and its gradient against f64 ---===//
#include "KernelHarness.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace dsc;
using namespace dsc::test;

namespace {

struct Shape {
  int64_t batch, length, heads, width;
  int64_t model() const { return heads * width; }
  double scale() const { return 1 / std::sqrt(double(width)); }
};

/// Plain loops in f64.
struct Exact {
  Shape s;
  std::vector<double> qkv, output, lse;

  double q(int64_t b, int64_t h, int64_t part, int64_t i, int64_t c) const {
    return qkv[(b * s.length + i) * 3 * s.model() + part * s.model() + h * s.width + c];
  }
  int64_t row(int64_t b, int64_t h, int64_t i, int64_t c) const {
    return (b * s.length + i) * s.model() + h * s.width + c;
  }
  double score(int64_t b, int64_t h, int64_t i, int64_t j) const {
    double sum = 0;
    for (int64_t c = 0; c < s.width; ++c)
      sum += q(b, h, 0, i, c) * q(b, h, 1, j, c);
    return s.scale() * sum;
  }
  void forward() {
    output.assign(s.batch * s.length * s.model(), 0);
    lse.assign(s.batch * s.heads * s.length, 0);
    for (int64_t b = 0; b < s.batch; ++b)
      for (int64_t h = 0; h < s.heads; ++h)
        for (int64_t i = 0; i < s.length; ++i) {
          std::vector<double> p;
          for (int64_t j = 0; j <= i; ++j)
            p.push_back(score(b, h, i, j));
          double largest = *std::max_element(p.begin(), p.end()), sum = 0;
          for (double x : p)
            sum += std::exp(x - largest);
          double log = lse[(b * s.heads + h) * s.length + i] = largest + std::log(sum);
          for (int64_t j = 0; j <= i; ++j)
            for (int64_t c = 0; c < s.width; ++c)
              output[row(b, h, i, c)] += std::exp(p[j] - log) * q(b, h, 2, j, c);
        }
  }
  std::vector<double> backward(const std::vector<double> &gradient) const {
    std::vector<double> result(qkv.size());
    auto at = [&](int64_t b, int64_t h, int64_t part, int64_t i, int64_t c) -> double & {
      return result[(b * s.length + i) * 3 * s.model() + part * s.model() + h * s.width + c];
    };
    for (int64_t b = 0; b < s.batch; ++b)
      for (int64_t h = 0; h < s.heads; ++h)
        for (int64_t i = 0; i < s.length; ++i) {
          double delta = 0;
          for (int64_t c = 0; c < s.width; ++c)
            delta += gradient[row(b, h, i, c)] * output[row(b, h, i, c)];
          for (int64_t j = 0; j <= i; ++j) {
            double p = std::exp(score(b, h, i, j) - lse[(b * s.heads + h) * s.length + i]);
            double dp = 0;
            for (int64_t c = 0; c < s.width; ++c)
              dp += gradient[row(b, h, i, c)] * q(b, h, 2, j, c);
            double ds = p * (dp - delta) * s.scale();
            for (int64_t c = 0; c < s.width; ++c) {
              at(b, h, 0, i, c) += ds * q(b, h, 1, j, c);
              at(b, h, 1, j, c) += ds * q(b, h, 0, i, c);
              at(b, h, 2, j, c) += p * gradient[row(b, h, i, c)];
            }
          }
        }
    return result;
  }
};

} // namespace

static const Shape shapes[] = {{1, 1, 1, 4},    {1, 2, 1, 12},  {2, 7, 2, 20},  {1, 16, 1, 64},
                               {1, 17, 2, 80},  {3, 37, 5, 12}, {2, 64, 4, 32}, {1, 97, 1, 5},
                               {1, 131, 2, 64}, {1, 256, 1, 33}};

static std::string dims(std::initializer_list<int64_t> shape) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + "f32>";
}

static std::string attributes(Shape s) {
  char text[100];
  std::snprintf(text, sizeof text, "{heads = %ld : i64, scale = %.17e : f64}", long(s.heads),
                s.scale());
  return text;
}

TEST(Attention, Forward) {
  for (Shape s : shapes)
    for (double spread : {1.0, 4.0}) { // scores near 0; scores in the tens
      std::string qkv = dims({s.batch, s.length, 3 * s.model()}),
                  out = dims({s.batch, s.length, s.model()}),
                  lse = dims({s.batch, s.heads, s.length});
      Exact exact{s, {}, {}, {}};
      OpTest test;
      test.arguments = "%x: " + qkv;
      test.text = "%r:2 = ds.attention %x " + attributes(s) + " : (" + qkv + ") -> (" + out + ", " +
                  lse + ")";
      test.fill = [&](auto &t) {
        fillNormal(t[0], 1, spread);
        exact.qkv = toDouble(t[0]);
      };
      test.check = [&](auto &t, const Target &) {
        if (exact.output.empty())
          exact.forward();
        // Scores are sums of `width` products: their error, times the probability, is the result's.
        double bound = 4e-7 * spread * spread * std::sqrt(double(s.width));
        expectNear(toDouble(t[1]), exact.output, std::max(bound, 1e-6), "result");
        expectNear(toDouble(t[2]), exact.lse, 1e-6, "lse");
      };
      test.run();
    }
}

TEST(Attention, Grad) {
  for (Shape s : shapes) {
    std::string qkv = dims({s.batch, s.length, 3 * s.model()}),
                out = dims({s.batch, s.length, s.model()}),
                lse = dims({s.batch, s.heads, s.length});
    Exact exact{s, {}, {}, {}};
    std::vector<double> expected;
    OpTest test;
    test.arguments = "%d: " + out + ", %x: " + qkv + ", %o: " + out + ", %l: " + lse;
    test.text = "%r = ds.attention_grad %d, %x, %o, %l " + attributes(s) + " : (" + out + ", " +
                qkv + ", " + out + ", " + lse + ") -> " + qkv;
    test.fill = [&](auto &t) {
      fillNormal(t[0], 1);
      fillNormal(t[1], 2);
      if (expected.empty()) {
        exact.qkv = toDouble(t[1]);
        exact.forward();
        expected = exact.backward(toDouble(t[0]));
      }
      std::copy(exact.output.begin(), exact.output.end(), t[2].template as<float>());
      std::copy(exact.lse.begin(), exact.lse.end(), t[3].template as<float>());
    };
    test.check = [&](auto &t, const Target &) {
      // With one key the scores have no gradient: what is left is rounding.
      auto actual = toDouble(t[4]);
      expectNear(actual, expected, 2e-6, "result");
    };
    test.run();
  }
}
