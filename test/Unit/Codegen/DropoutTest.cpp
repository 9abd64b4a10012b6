//===- DropoutTest.cpp - Philox and masks of kernels, word by word ---------===//
#include "KernelHarness.h"
#include "RandomBits.h"
#include "dsc/Support/Philox.h"
#include <gtest/gtest.h>

using namespace dsc;
using namespace dsc::test;
using Words = std::array<uint32_t, 4>;

/// Word `i` of each lane, with the counter's word 0 going up by one a lane.
static std::vector<Words> kernelWords(const Target &target, Words counter,
                                      std::array<uint32_t, 2> key) {
  int64_t lanes = target.lanes();
  std::string out = "memref<" + std::to_string(4 * lanes) + "xi32>";
  auto kernel = LoadedKernel::ofBody({"memref<6xi32>", out}, target, [&](KernelBuilder &b) {
    auto word = [&](int64_t i) { return b.load(b.flat(0), b.index(i)); };
    RandomKey random{word(4), word(5), {}, {}, {}, {}};
    std::array<Value, 4> vectors;
    for (int64_t i = 0; i < 4; ++i)
      vectors[i] = b.broadcast(word(i), lanes);
    std::array<Value, 4> words = emitPhilox(b, vectors, random);
    for (int64_t i = 0; i < 4; ++i)
      b.storeVector(words[i], b.flat(1), b.index(i * lanes));
  });
  TensorBytes in(6 * 4), result(4 * lanes * 4);
  for (int64_t i = 0; i < 4; ++i)
    in.as<uint32_t>()[i] = counter[i];
  in.as<uint32_t>()[4] = key[0];
  in.as<uint32_t>()[5] = key[1];
  kernel->run({in.data(), result.data()});
  std::vector<Words> words(lanes);
  for (int64_t lane = 0; lane < lanes; ++lane)
    for (int64_t i = 0; i < 4; ++i)
      words[lane][i] = result.as<uint32_t>()[i * lanes + lane];
  return words;
}

// Known answers published with the authors' implementation (kat_vectors, philox4x32 10), in every
// lane.
TEST(Dropout, PublishedVectors) {
  constexpr uint32_t ones = 0xffffffff;
  for (const Target *target : runnableTargets()) {
    for (Words words : kernelWords(*target, {0, 0, 0, 0}, {0, 0}))
      EXPECT_EQ(words, (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8})) << target->name;
    for (Words words : kernelWords(*target, {ones, ones, ones, ones}, {ones, ones}))
      EXPECT_EQ(words, (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd})) << target->name;
    for (Words words : kernelWords(*target, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                                   {0xa4093822, 0x299f31d0}))
      EXPECT_EQ(words, (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1})) << target->name;
  }
}

/// The words that the mask of one sample is made of.
static std::vector<uint32_t> wordsOf(int64_t count, uint32_t sample) {
  std::vector<uint32_t> words;
  for (uint32_t group = 0; int64_t(words.size()) < count; ++group)
    for (uint32_t word : philox4x32({group, 9 + sample, 4, 77}, {5, 6}))
      words.push_back(word);
  return words;
}

// Kept exactly where the word is at least p 2^32; what is dropped is 0 even where the input is not
// finite, and the share that is dropped is what p says.
TEST(Dropout, MaskElementByElement) {
  for (int64_t elements : {1, 7, 31, 32, 1000, 4096, 5001})
    for (double p : {0.25, 0.9}) {
      std::string type = "tensor<3x" + std::to_string(elements) + "xf32>";
      OpTest test;
      test.arguments = "%x: " + type + ", %k: tensor<5xf64>";
      test.text = "%r = ds.dropout %x, %k {p = " + std::to_string(p) + " : f64} : (" + type +
                  ", tensor<5xf64>) -> " + type;
      test.fill = [&](auto &t) {
        for (int64_t i = 0; i < 3 * elements; ++i)
          t[0].template as<float>()[i] = i % 5 == 0 ? std::numeric_limits<float>::infinity() : 2;
        const double key[] = {5, 6, 9, 4, 77};
        std::copy(key, key + 5, t[1].template as<double>());
      };
      test.check = [&](auto &t, const Target &) {
        int64_t kept = 0;
        for (int64_t sample = 0; sample < 3; ++sample) {
          std::vector<uint32_t> words = wordsOf(elements, static_cast<uint32_t>(sample));
          for (int64_t i = 0; i < elements; ++i) {
            float x = t[0].template as<float>()[sample * elements + i];
            float y = t[2].template as<float>()[sample * elements + i];
            bool keep = words[i] >= p * 0x1p32;
            ASSERT_EQ(y, keep ? x * static_cast<float>(1 / (1 - p)) : 0) << sample << " " << i;
            kept += keep;
          }
        }
        if (elements >= 1000)
          EXPECT_NEAR(double(kept) / (3.0 * double(elements)), 1 - p, 0.04);
      };
      test.run();
    }
}

// DR-06: attention with one key kept or dropped a query. Values are one-hot, so the result is the
// masked probabilities themselves; the gradient of a value is zero exactly where all its pairs were
// dropped.
TEST(Dropout, DR_06_AttentionDrawsOneMask) {
  for (int64_t t : {16, 32, 37, 131}) {
    int64_t width = t;
    std::string qkv = "tensor<1x" + std::to_string(t) + "x" + std::to_string(3 * width) + "xf32>";
    std::string out = "tensor<1x" + std::to_string(t) + "x" + std::to_string(width) + "xf32>";
    std::string lse = "tensor<1x1x" + std::to_string(t) + "xf32>";
    std::string attributes = " {heads = 1 : i64, scale = 1.0 : f64, dropout = 0.5 : f64} : ";
    std::vector<std::vector<bool>> kept(t, std::vector<bool>(t));
    int64_t perRow = (t + 3) / 4;
    for (int64_t i = 0; i < t; ++i)
      for (int64_t j = 0; j <= i; ++j)
        kept[i][j] =
            philox4x32({uint32_t(i * perRow + j / 4), 9, 4, 77}, {5, 6})[j % 4] >= 0x80000000u;
    const double key[] = {5, 6, 9, 4, 77};
    auto fillQkv = [&](TensorBytes &tensor) {
      for (int64_t i = 0; i < t; ++i)
        for (int64_t c = 0; c < 3 * width; ++c)
          tensor.as<float>()[i * 3 * width + c] = c == 2 * width + i ? 1 : 0;
    };
    OpTest forward;
    forward.arguments = "%x: " + qkv + ", %k: tensor<5xf64>";
    forward.text = "%r:2 = ds.attention %x, %k" + attributes + "(" + qkv + ", tensor<5xf64>) -> (" +
                   out + ", " + lse + ")";
    forward.fill = [&](auto &tensors) {
      fillQkv(tensors[0]);
      std::copy(key, key + 5, tensors[1].template as<double>());
    };
    forward.check = [&](auto &tensors, const Target &) {
      for (int64_t i = 0; i < t; ++i)
        for (int64_t j = 0; j < t; ++j) {
          float y = tensors[2].template as<float>()[i * width + j];
          if (j <= i && kept[i][j])
            ASSERT_NEAR(y, 2.0 / double(i + 1), 1e-6) << i << " " << j;
          else
            ASSERT_EQ(y, 0) << i << " " << j;
        }
    };
    forward.run();

    OpTest backward;
    backward.arguments =
        "%d: " + out + ", %x: " + qkv + ", %o: " + out + ", %l: " + lse + ", %k: tensor<5xf64>";
    backward.text = "%r = ds.attention_grad %d, %x, %o, %l, %k" + attributes + "(" + out + ", " +
                    qkv + ", " + out + ", " + lse + ", tensor<5xf64>) -> " + qkv;
    backward.fill = [&](auto &tensors) {
      // The gradient of channel i of query i alone: row i of the mask, seen in the values'
      // gradients.
      for (int64_t i = 0; i < t; ++i)
        for (int64_t c = 0; c < width; ++c) {
          tensors[0].template as<float>()[i * width + c] = i == c;
          tensors[2].template as<float>()[i * width + c] =
              c <= i && kept[i][c] ? float(2.0 / double(i + 1)) : 0;
        }
      fillQkv(tensors[1]);
      for (int64_t i = 0; i < t; ++i)
        tensors[3].template as<float>()[i] = float(std::log(double(i + 1)));
      std::copy(key, key + 5, tensors[4].template as<double>());
    };
    backward.check = [&](auto &tensors, const Target &) {
      for (int64_t j = 0; j < t; ++j)
        for (int64_t i = 0; i < width; ++i) {
          float g = tensors[5].template as<float>()[j * 3 * width + 2 * width + i];
          if (j <= i && kept[i][j])
            ASSERT_NEAR(g, 2.0 / double(i + 1), 1e-6) << i << " " << j;
          else
            ASSERT_EQ(g, 0) << i << " " << j;
        }
    };
    backward.run();
  }
}
