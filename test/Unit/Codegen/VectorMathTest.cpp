//===- VectorMathTest.cpp - errors of the vector functions, in ulp ---------===//
// The bounds are those of VectorMath.h. The tests take every 257th float, all exponents and signs;
// --gtest_also_run_disabled_tests adds the run over all 2^32.
#include "VectorMath.h"
#include "KernelHarness.h"
#include "dsc/Dialect/DS/DS.h"
#include <bit>
#include <cmath>
#include <gtest/gtest.h>

using namespace dsc;
using namespace dsc::test;
using Exact = double (*)(double);
using Emit = std::function<Value(KernelBuilder &, Value)>;

static constexpr int64_t count = 1 << 14;

static std::unique_ptr<LoadedKernel> unaryKernel(const Target &target, const Emit &emit) {
  std::string type = "memref<" + std::to_string(count) + "xf32>";
  return LoadedKernel::ofBody({type, type}, target, [&](KernelBuilder &b) {
    b.forVectors(count, [&](Value i, Value mask) {
      b.storeVector(emit(b, b.loadVector(b.flat(0), i, mask)), b.flat(1), i, mask);
    });
  });
}

namespace {
struct Worst {
  double ulp = 0;
  float at = 0, got = 0;
};
} // namespace

/// Error in units of the last place of the exact result (2^-149 below the normal range).
static double errorInUlp(float got, double exact) {
  if (std::isnan(exact))
    return std::isnan(got) ? 0 : INFINITY;
  if (std::abs(exact) >= 0x1.ffffffp127)
    return got == std::copysign(INFINITY, exact) || std::abs(got) == 0x1.fffffep127f ? 0 : INFINITY;
  if (std::isnan(got) || std::isinf(got))
    return INFINITY;
  int exponent = std::max(exact == 0 ? -200 : std::ilogb(exact), -126);
  return std::abs(got - exact) / std::ldexp(1.0, exponent - 23);
}

static Worst measure(LoadedKernel &kernel, Exact exact, uint64_t stride,
                     const std::function<bool(float)> &within) {
  TensorBytes in(count * 4), out(count * 4);
  Worst worst;
  for (uint64_t bits = 0; bits < (uint64_t(1) << 32);) {
    for (int64_t i = 0; i < count; ++i, bits += stride)
      in.as<float>()[i] = std::bit_cast<float>(static_cast<uint32_t>(bits));
    kernel.run({in.data(), out.data()});
    for (int64_t i = 0; i < count; ++i) {
      float x = in.as<float>()[i];
      if (!within(x))
        continue;
      double error = errorInUlp(out.as<float>()[i], exact(x));
      if (error > worst.ulp)
        worst = {error, x, out.as<float>()[i]};
    }
  }
  return worst;
}

static bool everywhere(float) { return true; }

namespace {
struct Function {
  const char *name;
  Value (*emit)(KernelBuilder &, Value);
  Exact exact;
  double bound;
  std::function<bool(float)> within = everywhere;
};
} // namespace

static const Function functions[] = {
    {"exp", emitExp, std::exp, 1},
    {"exp, flushed", emitExpFlushed, std::exp, 1, [](float x) { return x <= 88 && x > -87.33f; }},
    {"log", emitLog, std::log, 1},
    {"tanh", emitTanh, std::tanh, 2.5},
    {"erf", emitErf, std::erf, 2},
};

static void measureAll(uint64_t stride) {
  for (const Target *target : runnableTargets())
    for (const Function &function : functions) {
      auto kernel = unaryKernel(*target, function.emit);
      ASSERT_NE(kernel, nullptr);
      Worst worst = measure(*kernel, function.exact, stride, function.within);
      std::printf("%-10s %-13s %.3f ulp at %.9g\n", target->name.c_str(), function.name, worst.ulp,
                  worst.at);
      EXPECT_LE(worst.ulp, function.bound) << function.name << " at " << worst.at << " gives "
                                           << worst.got << " on " << target->name;
    }
}

TEST(VectorMath, ErrorsOfFunctions) { measureAll(257); }
TEST(VectorMath, DISABLED_ErrorsOfFunctionsOverAllFloats) { measureAll(1); }

TEST(VectorMath, SpecialValues) {
  const float inf = INFINITY, nan = NAN;
  for (const Target *target : runnableTargets()) {
    auto apply = [&](Value (*emit)(KernelBuilder &, Value), float x) {
      auto kernel = unaryKernel(*target, emit);
      TensorBytes in(count * 4), out(count * 4);
      std::fill_n(in.as<float>(), count, x);
      kernel->run({in.data(), out.data()});
      return *out.as<float>();
    };
    EXPECT_EQ(apply(emitExp, -inf), 0);
    EXPECT_EQ(apply(emitExp, inf), inf);
    EXPECT_EQ(apply(emitExp, 0), 1);
    EXPECT_TRUE(std::isnan(apply(emitExp, nan)));
    EXPECT_EQ(apply(emitExpFlushed, -inf), 0);
    EXPECT_EQ(apply(emitExpFlushed, -1e30f), 0);
    EXPECT_TRUE(std::isnan(apply(emitExpFlushed, nan)));
    EXPECT_EQ(apply(emitLog, 0), -inf);
    EXPECT_EQ(apply(emitLog, inf), inf);
    EXPECT_EQ(apply(emitLog, 1), 0);
    EXPECT_TRUE(std::isnan(apply(emitLog, -1)));
    EXPECT_TRUE(std::isnan(apply(emitLog, nan)));
    EXPECT_EQ(apply(emitTanh, inf), 1);
    EXPECT_EQ(apply(emitTanh, -inf), -1);
    EXPECT_TRUE(std::isnan(apply(emitTanh, nan)));
    EXPECT_EQ(apply(emitErf, inf), 1);
    EXPECT_EQ(apply(emitErf, -inf), -1);
    EXPECT_TRUE(std::isnan(apply(emitErf, nan)));
  }
}

// Activations have no ulp bound: what matters is the error relative to max(|x|, 1) (values) and to
// 1 (derivatives), a few f32 roundings of the polynomial in x.
TEST(VectorMath, Activations) {
  struct Case {
    ds::Activation function;
    double (*value)(double), (*slope)(double);
  };
  static const double k = std::sqrt(2 / M_PI);
  const Case cases[] = {
      {ds::Activation::Relu, [](double x) { return std::max(x, 0.0); },
       [](double x) { return x > 0 ? 1.0 : 0.0; }},
      {ds::Activation::Gelu, [](double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); },
       [](double x) {
         return 0.5 * std::erfc(-x / std::sqrt(2.0)) +
                x * std::exp(-x * x / 2) / std::sqrt(2 * M_PI);
       }},
      {ds::Activation::GeluTanh,
       [](double x) { return x / (1 + std::exp(-2 * k * (x + 0.044715 * x * x * x))); },
       [](double x) {
         double s = 1 / (1 + std::exp(-2 * k * (x + 0.044715 * x * x * x)));
         double rest = 1 / (1 + std::exp(2 * k * (x + 0.044715 * x * x * x)));
         return s + x * s * rest * 2 * k * (1 + 3 * 0.044715 * x * x);
       }},
  };
  TensorBytes in(count * 4), out(count * 4);
  for (int64_t i = 0; i < count; ++i)
    in.as<float>()[i] = static_cast<float>((i - count / 2) * 0.0025); // -20 to 20
  for (const Target *target : runnableTargets())
    for (const Case &c : cases) {
      auto value = unaryKernel(
          *target, [&](KernelBuilder &b, Value x) { return emitActivation(b, c.function, x); });
      auto slope = unaryKernel(
          *target, [&](KernelBuilder &b, Value x) { return emitActivationGrad(b, c.function, x); });
      double worstValue = 0, worstSlope = 0;
      value->run({in.data(), out.data()});
      for (int64_t i = 0; i < count; ++i) {
        double x = in.as<float>()[i];
        worstValue = std::max(worstValue, std::abs(out.as<float>()[i] - c.value(x)) /
                                              std::max(1.0, std::abs(x)));
      }
      slope->run({in.data(), out.data()});
      for (int64_t i = 0; i < count; ++i) {
        double x = in.as<float>()[i];
        worstSlope = std::max(worstSlope, std::abs(out.as<float>()[i] - c.slope(x)));
      }
      std::printf("%-10s activation %d: value %.3g, derivative %.3g\n", target->name.c_str(),
                  int(c.function), worstValue, worstSlope);
      EXPECT_LE(worstValue, 1.5e-7);
      EXPECT_LE(worstSlope, 4e-7);
    }
}

TEST(VectorMath, CosPi) {
  for (const Target *target : runnableTargets()) {
    auto kernel =
        LoadedKernel::ofBody({"memref<1xf64>", "memref<1xf64>"}, *target, [](KernelBuilder &b) {
          b.store(emitCosPi(b, b.load(b.flat(0), b.index(0))), b.flat(1), b.index(0));
        });
    for (int i = 0; i <= 1000; ++i) {
      TensorBytes x(8), y(8);
      *x.as<double>() = i / 1000.0;
      kernel->run({x.data(), y.data()});
      long double exact = cosl(M_PIl * *x.as<double>());
      // The last term is what rounding pi does to the judge at 1/2.
      EXPECT_NEAR(*y.as<double>(), exact, 4e-16 * std::abs(double(exact)) + 1e-19) << i;
    }
  }
}

TEST(VectorMath, Power) {
  for (const Target *target : runnableTargets()) {
    auto kernel = LoadedKernel::ofBody(
        {"memref<1xf64>", "memref<1xf64>", "memref<1xf64>"}, *target, [](KernelBuilder &b) {
          Value t = b.convert(b.load(b.flat(1), b.index(0)), b.builder().getI64Type());
          b.store(emitPower(b, b.load(b.flat(0), b.index(0)), t), b.flat(2), b.index(0));
        });
    for (double base : {0.0, 0.5, 0.9, 0.95, 0.999, 1.0})
      for (double t : {0.0, 1.0, 2.0, 3.0, 20.0, 1000.0, 12345.0}) {
        TensorBytes x(8), e(8), y(8);
        *x.as<double>() = base;
        *e.as<double>() = t;
        kernel->run({x.data(), e.data(), y.data()});
        double exact = std::pow(base, t);
        EXPECT_NEAR(*y.as<double>(), exact, 2 * (t + 1) * 0x1p-53 * exact) << base << "^" << t;
      }
  }
}
