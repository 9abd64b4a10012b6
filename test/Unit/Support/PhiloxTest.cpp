#include "dsc/Support/Philox.h"
#include <gtest/gtest.h>

using namespace dsc;
using Words = std::array<uint32_t, 4>;

// Known answers published with the authors' implementation (kat_vectors, philox4x32 10).
TEST(Philox, PublishedVectors) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox4x32({ones, ones, ones, ones}, {ones, ones}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, HalvesAreLowWordFirst) {
  EXPECT_EQ(philox(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
  EXPECT_EQ(philox64(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e),
            0x94fdccebd16cfe09u);
}

TEST(Philox, UniformStaysInside) {
  EXPECT_EQ(openUniform(0), 0x1p-53);
  EXPECT_EQ(openUniform(~uint64_t{0}), 1 - 0x1p-53);
}
