//===- HalfTest.cpp - f16 and bf16 in generated code, bit by bit -----------===//
// On every target this CPU runs: by instructions where it has them, by integer arithmetic elsewhere
// (x86-64-v2). What is expected comes from the table below or from dsc/Support/HalfFloat.h.
#include "KernelHarness.h"
#include "dsc/Support/HalfFloat.h"
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace dsc;
using namespace dsc::test;

static std::string vec(int64_t n, const std::string &type) {
  return "tensor<" + std::to_string(n) + "x" + type + ">";
}

/// ds.cast of `input`, whose elements are given and taken as bits.
template <typename From, typename To>
static void expectCast(const std::vector<From> &input, const std::string &from,
                       const std::string &to, const std::function<To(From)> &expected) {
  auto n = static_cast<int64_t>(input.size());
  OpTest test;
  test.arguments = "%a: " + vec(n, from);
  test.text = "%r = ds.cast %a : (" + vec(n, from) + ") -> " + vec(n, to);
  test.fill = [&](auto &t) { std::copy(input.begin(), input.end(), t[0].template as<From>()); };
  test.check = [&](auto &t, const Target &) {
    for (int64_t i = 0; i < n; ++i)
      ASSERT_EQ(t[1].template as<To>()[i], expected(input[i]))
          << "element " << i << " of " << n << ", bits " << input[i];
  };
  test.run();
}

static uint16_t toHalf(uint32_t bits) { return floatToHalf(std::bit_cast<float>(bits)); }
static uint16_t toBfloat(uint32_t bits) { return floatToBfloat(std::bit_cast<float>(bits)); }

static std::vector<uint32_t> bitsOf(const std::vector<float> &values) {
  std::vector<uint32_t> bits;
  for (float value : values)
    bits.push_back(std::bit_cast<uint32_t>(value));
  return bits;
}

TEST(Half, MP_18_EdgesOfF16) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = INFINITY;
  const std::vector<std::pair<float, uint16_t>> table = {{65519.99f, 0x7bff},
                                                         {65520.0f, 0x7c00},
                                                         {-65520.0f, 0xfc00},
                                                         {0x1p-24f, 0x0001},
                                                         {0x1p-25f, 0x0000},
                                                         {0x1p-25f * (1 + 0x1p-10f), 0x0001},
                                                         {-0.0f, 0x8000},
                                                         {nan, 0x7e00},
                                                         {infinity, 0x7c00},
                                                         {-infinity, 0xfc00},
                                                         {0.4999f, 0x3800},
                                                         {1 + 0x1p-11f, 0x3c00},
                                                         {1 + 3 * 0x1p-11f, 0x3c02},
                                                         {0x1p-14f, 0x0400},
                                                         {0x1p-14f * (1 - 0x1p-11f), 0x0400},
                                                         {0x1p-149f, 0x0000},
                                                         {3e38f, 0x7c00},
                                                         {65504.0f, 0x7bff}};
  std::vector<float> values;
  for (auto [value, half] : table) {
    values.push_back(value);
    EXPECT_EQ(floatToHalf(value), half) << value;
  }
  expectCast<uint32_t, uint16_t>(bitsOf(values), "f32", "f16", toHalf);
}

TEST(Half, MP_18_EdgesOfBf16) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = INFINITY;
  const float largest = std::numeric_limits<float>::max();
  const std::vector<std::pair<float, uint16_t>> table = {{largest, 0x7f80},
                                                         {-largest, 0xff80},
                                                         {0x1.fep127f, 0x7f7f},
                                                         {1 + 0x1p-8f, 0x3f80},
                                                         {1 + 3 * 0x1p-8f, 0x3f82},
                                                         {-0.0f, 0x8000},
                                                         {0x1p-149f, 0x0000},
                                                         {0x1p-133f, 0x0001},
                                                         {0x1p-134f, 0x0000},
                                                         {0x1.8p-134f, 0x0001},
                                                         {nan, 0x7fc0},
                                                         {infinity, 0x7f80},
                                                         {-infinity, 0xff80}};
  std::vector<float> values;
  for (auto [value, half] : table) {
    values.push_back(value);
    EXPECT_EQ(floatToBfloat(value), half) << value;
  }
  expectCast<uint32_t, uint16_t>(bitsOf(values), "f32", "bf16", toBfloat);
}

// Every length up to two vectors and one, so that whole vectors and all tails are met.
TEST(Half, MP_15_EveryLengthOfVector) {
  for (int64_t n = 1; n <= 17; ++n) {
    std::vector<float> values;
    for (int64_t i = 0; i < n; ++i)
      values.push_back(i % 3 == 0 ? 0.4999f : i % 3 == 1 ? -0.4999f : 0.25f * float(i));
    expectCast<uint32_t, uint16_t>(bitsOf(values), "f32", "f16", toHalf);
    expectCast<uint32_t, uint16_t>(bitsOf(values), "f32", "bf16", toBfloat);
    std::vector<uint16_t> halves;
    for (float value : values)
      halves.push_back(floatToHalf(value));
    expectCast<uint16_t, uint32_t>(halves, "f16", "f32", [](uint16_t bits) {
      return std::bit_cast<uint32_t>(halfToFloat(bits));
    });
  }
}

/// True for NaN, quiet or not.
static bool isNan(uint32_t bits) { return std::isnan(std::bit_cast<float>(bits)); }

TEST(Half, EveryValueIsWidened) {
  for (bool bfloat : {false, true}) {
    auto wide = [&](uint16_t bits) {
      return std::bit_cast<uint32_t>(bfloat ? bfloatToFloat(bits) : halfToFloat(bits));
    };
    std::vector<uint16_t> all;
    for (uint32_t bits = 0; bits < 0x10000; ++bits)
      if (!isNan(wide(uint16_t(bits))) || (bits & (bfloat ? 0x40 : 0x200))) // but signalling NaN
        all.push_back(uint16_t(bits));
    expectCast<uint16_t, uint32_t>(all, bfloat ? "bf16" : "f16", "f32", wide);
  }
}

TEST(Half, FloatsOfEveryExponentAreNarrowed) {
  std::vector<uint32_t> bits;
  std::mt19937 random(7);
  for (uint32_t high = 0; high < 0x200; ++high) // sign and exponent
    for (int i = 0; i < 256; ++i) {
      uint32_t low = random() & 0x7fffff;
      if (i % 4 == 1)
        low = (low & 0x7fe000) | 0x1000; // ties of f16
      else if (i % 4 == 2)
        low = (low & 0x7f0000) | 0x8000; // ties of bf16
      else if (i % 4 == 3)
        low = (low & 0x7fe000) | 0x1001; // a hair above
      uint32_t value = high << 23 | low;
      if (!isNan(value) || value & 0x400000)
        bits.push_back(value);
    }
  expectCast<uint32_t, uint16_t>(bits, "f32", "f16", toHalf);
  expectCast<uint32_t, uint16_t>(bits, "f32", "bf16", toBfloat);
}

// Narrowing and widening again is no identity: the optimiser behind the kernels must leave it.
TEST(Half, MP_17_NarrowedAndWidenedStaysRounded) {
  for (const Target *target : runnableTargets())
    for (bool bfloat : {false, true}) {
      auto kernel = LoadedKernel::ofBody(
          {"memref<16xf32>", "memref<16xf32>"}, *target, [&](KernelBuilder &b) {
            mlir::Type half = bfloat ? mlir::Type(b.builder().getBF16Type())
                                     : mlir::Type(b.builder().getF16Type());
            b.forVectors(int64_t(16), [&](Value at, Value mask) {
              Value x = b.loadVector(b.flat(0), at, mask);
              b.storeVector(b.widen(b.narrow(x, half)), b.flat(1), at, mask);
            });
          });
      TensorBytes input(64), output(64);
      for (int i = 0; i < 16; ++i)
        input.as<float>()[i] = i % 2 ? -(1 + 0x1p-11f) : 1 + 0x1p-11f;
      kernel->run({input.data(), output.data()});
      for (int i = 0; i < 16; ++i)
        ASSERT_EQ(output.as<float>()[i], i % 2 ? -1.0f : 1.0f) << target->name;
    }
}
