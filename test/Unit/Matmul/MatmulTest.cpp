//===- MatmulTest.cpp - generated products against plain loops -------------===//
// Every linear op, on every instruction set this CPU has, at shapes around the edges of tiles and
// blocks, against sums in double. The bound is the standard one for any order of summation: (k + 4)
// unit roundoffs of sum |a b|.
#include "dsc/Codegen/KernelRunner.h"
#include "dsc/Dialect/DS/DS.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace dsc;

namespace {

constexpr double kRoundoff = 0x1p-24;

struct Shape {
  int64_t m, n, k;
};

const Shape kShapes[] = {{1, 1, 1},     {5, 7, 3},      {6, 16, 8},    {7, 17, 9},
                         {16, 6, 5},    {13, 31, 257},  {25, 65, 128}, {111, 60, 180},
                         {60, 131, 37}, {131, 180, 60}, {3, 3100, 20}, {205, 24, 513}};

/// All of them on the best instruction set; every third on those it includes.
std::vector<Shape> shapesFor(const Target &target) {
  std::vector<Shape> shapes;
  for (size_t i = 0; i < std::size(kShapes); ++i)
    if (&target == &nativeTarget() || i % 3 == 0)
      shapes.push_back(kShapes[i]);
  return shapes;
}

std::string tensor(int64_t rows, int64_t columns) {
  return llvm::formatv("tensor<{0}x{1}xf32>", rows, columns);
}

/// A compiled op with its memory.
struct Case {
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::unique_ptr<KernelRunner> runner;
  std::vector<KernelMemory> memory;
  std::vector<void *> arguments;

  Case(const std::string &signature, const std::string &body, const Target &target) {
    context.loadDialect<ds::DSDialect, func::FuncDialect>();
    std::string text = "func.func @f(" + signature + ") {\n" + body + "\nreturn\n}\n";
    module = parseSourceString<ModuleOp>(text, &context);
    if (!module)
      return;
    auto function = *module->getOps<func::FuncOp>().begin();
    Operation *op = &function.getBody().front().front();
    FailureOr<std::unique_ptr<KernelRunner>> made = KernelRunner::create(op, target);
    if (failed(made))
      return;
    runner = std::move(*made);
    std::mt19937 random(7);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (unsigned i = 0; i < runner->argumentBytes().size(); ++i) {
      float *values = memory.emplace_back(runner->argumentBytes()[i]).as<float>();
      if (i < op->getNumOperands())
        for (int64_t j = 0; j < runner->argumentBytes()[i] / 4; ++j)
          values[j] = uniform(random);
      arguments.push_back(values);
    }
  }
  const float *at(unsigned i) const { return memory[i].as<float>(); }
  float *result(unsigned r) const { return memory[runner->resultArguments()[r]].as<float>(); }
};

using Element = std::function<float(int64_t, int64_t)>;

/// What is added to a sum: at most two terms.
using Extra = std::function<std::array<double, 2>(int64_t, int64_t)>;

/// Checks result(i, j) = extra(i, j) + sum_p a(i, p) b(p, j).
void check(const float *result, Shape shape, const Element &a, const Element &b, const Extra &extra,
           const std::string &what) {
  for (int64_t i = 0; i < shape.m; ++i)
    for (int64_t j = 0; j < shape.n; ++j) {
      auto [first, second] = extra(i, j);
      double sum = first + second, size = std::abs(first) + std::abs(second);
      for (int64_t p = 0; p < shape.k; ++p) {
        double product = static_cast<double>(a(i, p)) * b(p, j);
        sum += product;
        size += std::abs(product);
      }
      ASSERT_NEAR(result[i * shape.n + j], sum, (shape.k + 4) * kRoundoff * size)
          << what << " at " << i << ", " << j;
    }
}

std::vector<const Target *> runnable() {
  std::vector<const Target *> targets;
  for (const Target &target : allTargets())
    if (hostSupports(target))
      targets.push_back(&target);
  return targets;
}

std::string name(const char *op, Shape shape, const Target &target) {
  return llvm::formatv("{0} {1}x{2}x{3} {4}", op, shape.m, shape.n, shape.k, target.name);
}

std::array<double, 2> none(int64_t, int64_t) { return {0, 0}; }

TEST(Matmul, LinearWithBiasAndResidual) {
  for (const Target *target : runnable())
    for (bool transposed : {false, true})
      for (Shape s : shapesFor(*target)) {
        std::string x = tensor(s.m, s.k), r = tensor(s.m, s.n);
        std::string w = transposed ? tensor(s.n, s.k) : tensor(s.k, s.n);
        std::string bias = llvm::formatv("tensor<{0}xf32>", s.n);
        Case c("%x: " + x + ", %w: " + w + ", %b: " + bias + ", %s: " + r,
               "%r = ds.linear %x, %w bias %b residual %s " +
                   std::string(transposed ? "{transpose_weight}" : "") + " : " + x + ", " + w +
                   " bias " + bias + " residual " + r + " -> " + r,
               *target);
        ASSERT_TRUE(c.runner);
        c.runner->run(c.arguments, 2);
        check(
            c.result(0), s, [&](int64_t i, int64_t p) { return c.at(0)[i * s.k + p]; },
            [&](int64_t p, int64_t j) { return c.at(1)[transposed ? j * s.k + p : p * s.n + j]; },
            [&](int64_t i, int64_t j) -> std::array<double, 2> {
              return {c.at(2)[j], c.at(3)[i * s.n + j]};
            },
            name(transposed ? "linear, weight transposed," : "linear", s, *target));
      }
}

TEST(Matmul, InputGrad) {
  for (const Target *target : runnable())
    for (bool transposed : {false, true})
      for (Shape s : shapesFor(*target)) {
        // Sums over the linear op's outputs, here k; the weight is [n, k], or [k, n] when
        // transposed.
        std::string g = tensor(s.m, s.k), r = tensor(s.m, s.n);
        std::string w = transposed ? tensor(s.k, s.n) : tensor(s.n, s.k);
        Case c("%g: " + g + ", %w: " + w,
               "%r = ds.linear_input_grad %g, %w " +
                   std::string(transposed ? "{transpose_weight}" : "") + " : " + g + ", " + w +
                   " -> " + r,
               *target);
        ASSERT_TRUE(c.runner);
        c.runner->run(c.arguments, 3);
        check(
            c.result(0), s, [&](int64_t i, int64_t p) { return c.at(0)[i * s.k + p]; },
            [&](int64_t p, int64_t j) { return c.at(1)[transposed ? p * s.n + j : j * s.k + p]; },
            none, name("linear_input_grad", s, *target));
      }
}

TEST(Matmul, WeightGradWithAndWithoutInit) {
  for (const Target *target : runnable())
    for (bool transposed : {false, true})
      for (Shape s : shapesFor(*target)) {
        bool accumulate = transposed == (s.m % 2 == 0);
        // The product's rows are the input's columns, or the gradient's when transposed.
        std::string x = tensor(s.k, transposed ? s.n : s.m),
                    g = tensor(s.k, transposed ? s.m : s.n);
        std::string r = tensor(s.m, s.n);
        Case c("%x: " + x + ", %g: " + g + (accumulate ? ", %i: " + r : ""),
               "%r = ds.linear_weight_grad %x, %g " + std::string(accumulate ? "init %i " : "") +
                   (transposed ? "{transpose_weight}" : "") + " : " + x + ", " + g +
                   (accumulate ? " init " + r : "") + " -> " + r,
               *target);
        ASSERT_TRUE(c.runner);
        std::vector<float> before(s.m * s.n, 0);
        if (accumulate)
          std::memcpy(before.data(), c.at(2), before.size() * sizeof(float));
        c.runner->run(c.arguments, 2);
        unsigned a = transposed ? 1 : 0, b = transposed ? 0 : 1;
        check(
            c.result(0), s, [&](int64_t i, int64_t p) { return c.at(a)[p * s.m + i]; },
            [&](int64_t p, int64_t j) { return c.at(b)[p * s.n + j]; },
            [&](int64_t i, int64_t j) -> std::array<double, 2> {
              return {before[i * s.n + j], 0};
            },
            name("linear_weight_grad", s, *target));
      }
}

TEST(Matmul, BiasGrad) {
  for (const Target *target : runnable())
    for (bool accumulate : {false, true})
      for (Shape s : shapesFor(*target)) {
        std::string g = tensor(s.m, s.n), r = llvm::formatv("tensor<{0}xf32>", s.n);
        Case c("%g: " + g + (accumulate ? ", %i: " + r : ""),
               "%r = ds.bias_grad %g " + std::string(accumulate ? "init %i " : "") + " : " + g +
                   (accumulate ? " init " + r : "") + " -> " + r,
               *target);
        ASSERT_TRUE(c.runner);
        std::vector<float> before(s.n, 0);
        if (accumulate)
          std::memcpy(before.data(), c.at(1), before.size() * sizeof(float));
        c.runner->run(c.arguments, 2);
        check(
            c.result(0), {1, s.n, s.m}, [](int64_t, int64_t) { return 1.0f; },
            [&](int64_t p, int64_t j) { return c.at(0)[p * s.n + j]; },
            [&](int64_t, int64_t j) -> std::array<double, 2> {
              return {before[j], 0};
            },
            name("bias_grad", s, *target));
      }
}

double gelu(double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }
double geluDerivative(double x) {
  return 0.5 * std::erfc(-x / std::sqrt(2.0)) + x * std::exp(-x * x / 2) / std::sqrt(2 * M_PI);
}

/// Everything fused: pre = x w + bias is stored, then gelu(pre) + residual. Both epilogues see a
/// depth of one block and of several.
TEST(Matmul, LinearWithActivationStoresPre) {
  for (const Target *target : runnable())
    for (Shape s : {Shape{25, 65, 128}, Shape{13, 31, 600}}) {
      std::string x = tensor(s.m, s.k), w = tensor(s.k, s.n), r = tensor(s.m, s.n);
      std::string bias = llvm::formatv("tensor<{0}xf32>", s.n);
      Case c("%x: " + x + ", %w: " + w + ", %b: " + bias + ", %s: " + r,
             "%r, %p = ds.linear %x, %w bias %b activation gelu residual %s : " + x + ", " + w +
                 " bias " + bias + " residual " + r + " -> " + r + " pre " + r,
             *target);
      ASSERT_TRUE(c.runner);
      c.runner->run(c.arguments, 2);
      const float *pre = c.result(1);
      check(
          pre, s, [&](int64_t i, int64_t p) { return c.at(0)[i * s.k + p]; },
          [&](int64_t p, int64_t j) { return c.at(1)[p * s.n + j]; },
          [&](int64_t, int64_t j) -> std::array<double, 2> {
            return {c.at(2)[j], 0};
          },
          name("pre", s, *target));
      // The activation is judged on the sums as they were stored: 4 roundings of its own, one of
      // the addition.
      for (int64_t e = 0; e < s.m * s.n; ++e) {
        double activated = gelu(pre[e]), residual = c.at(3)[e];
        double bound = 8 * kRoundoff * (std::abs(activated) + std::abs(residual) + 1e-2);
        ASSERT_NEAR(c.result(0)[e], activated + residual, bound) << name("gelu", s, *target);
      }
    }
}

TEST(Matmul, InputGradTimesDerivativePlusResidual) {
  for (const Target *target : runnable())
    for (Shape s : {Shape{25, 65, 128}, Shape{13, 31, 600}}) {
      std::string g = tensor(s.m, s.k), w = tensor(s.n, s.k), r = tensor(s.m, s.n);
      Case c("%g: " + g + ", %w: " + w + ", %p: " + r + ", %s: " + r,
             "%r = ds.linear_input_grad %g, %w activation gelu at %p residual %s : " + g + ", " +
                 w + " pre " + r + " residual " + r + " -> " + r,
             *target);
      ASSERT_TRUE(c.runner);
      c.runner->run(c.arguments, 2);
      for (int64_t i = 0; i < s.m; ++i)
        for (int64_t j = 0; j < s.n; ++j) {
          double sum = 0, size = 0, residual = c.at(3)[i * s.n + j];
          for (int64_t p = 0; p < s.k; ++p) {
            double product = static_cast<double>(c.at(0)[i * s.k + p]) * c.at(1)[j * s.k + p];
            sum += product;
            size += std::abs(product);
          }
          double factor = geluDerivative(c.at(2)[i * s.n + j]);
          double bound = kRoundoff * ((s.k + 4) * size * (std::abs(factor) + 1e-5) +
                                      8 * (std::abs(sum) + std::abs(residual)));
          ASSERT_NEAR(c.result(0)[i * s.n + j], sum * factor + residual, bound)
              << name("linear_input_grad, gelu", s, *target) << " at " << i << ", " << j;
        }
    }
}

/// Results never depend on how items are dealt out.
TEST(Matmul, ThreadsDoNotChangeBits) {
  const Shape s = {131, 180, 600};
  std::string x = tensor(s.m, s.k), w = tensor(s.k, s.n), r = tensor(s.m, s.n);
  for (const Target *target : runnable()) {
    Case c("%x: " + x + ", %w: " + w, "%r = ds.linear %x, %w : " + x + ", " + w + " -> " + r,
           *target);
    ASSERT_TRUE(c.runner);
    c.runner->run(c.arguments, 1);
    std::vector<float> one(c.result(0), c.result(0) + s.m * s.n);
    for (unsigned threads : {2, 3, 5, 16}) {
      std::memset(c.result(0), 0xff, one.size() * sizeof(float));
      c.runner->run(c.arguments, threads);
      EXPECT_EQ(std::memcmp(one.data(), c.result(0), one.size() * sizeof(float)), 0)
          << threads << " threads on " << target->name;
    }
  }
}

/// The image of an op is the same bytes every time.
TEST(Matmul, ImagesAreDeterministic) {
  std::string x = tensor(60, 60);
  std::string body = "%r = ds.linear %x, %x : " + x + ", " + x + " -> " + x;
  for (const Target &target : allTargets()) {
    Case first("%x: " + x, body, target), second("%x: " + x, body, target);
    ASSERT_TRUE(first.runner && second.runner);
    EXPECT_EQ(first.runner->image(), second.runner->image());
  }
}

} // namespace

// Few rows are multiplied without packing: the same bits as in a tall product.
TEST(Matmul, FewRowsGiveTheBitsOfMany) {
  constexpr int64_t tall = 20;
  for (auto [rows, k, n] : {std::tuple<int64_t, int64_t, int64_t>(1, 7, 3),
                            {4, 128, 384},
                            {4, 300, 70},
                            {8, 513, 33},
                            {3, 64, 257}})
    for (bool transposed : {false, true}) {
      auto product = [&, n = n, k = k](int64_t m) {
        std::string weight = transposed ? tensor(n, k) : tensor(k, n);
        return Case("%x: " + tensor(m, k) + ", %w: " + weight,
                    "%y = ds.linear %x, %w" + std::string(transposed ? " {transpose_weight}" : "") +
                        " : " + tensor(m, k) + ", " + weight + " -> " + tensor(m, n),
                    nativeTarget());
      };
      Case few = product(rows), many = product(tall);
      ASSERT_TRUE(few.runner && many.runner);
      for (int64_t i = 0; i < k * n; ++i)
        many.memory[1].as<float>()[i] = few.at(1)[i];
      for (int64_t i = 0; i < rows * k; ++i)
        many.memory[0].as<float>()[i] = few.at(0)[i];
      few.runner->run(few.arguments, 2);
      many.runner->run(many.arguments, 1);
      EXPECT_EQ(std::memcmp(few.result(0), many.result(0), rows * n * sizeof(float)), 0)
          << rows << "x" << k << "x" << n << (transposed ? " transposed" : "");
    }
}
