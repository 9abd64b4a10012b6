//===- FeaturesTest.cpp ----------------------------------------------------===//
#include "dsc/Runtime/CPU/Features.h"
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

using namespace dsc;

/// What the system says of this CPU.
static std::set<std::string> procFlags() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("flags", 0) == 0) {
      std::istringstream words(line.substr(line.find(':') + 1));
      return {std::istream_iterator<std::string>(words), {}};
    }
  return {};
}

TEST(Features, AgreeWithTheSystem) {
  std::set<std::string> have = cpuFeatures(), flags = procFlags();
  if (flags.empty())
    GTEST_SKIP() << "no /proc/cpuinfo";
  for (const char *name :
       {"sse2",     "ssse3",    "sse4_2",   "popcnt",      "avx",         "avx2",     "fma",
        "f16c",     "bmi1",     "bmi2",     "movbe",       "abm",         "avx512f",  "avx512bw",
        "avx512dq", "avx512vl", "avx512cd", "avx512_bf16", "avx512_vnni", "avx_vnni", "amx_tile",
        "amx_bf16", "amx_int8", "lahf_lm",  "cx16"})
    EXPECT_EQ(have.count(name), flags.count(name)) << name;
}

static const std::vector<plan::KernelImage> images{
    {"x86-64-v2", {"sse4_2"}, ""},
    {"x86-64-v3", {"sse4_2", "avx2", "fma"}, ""},
    {"x86-64-v4", {"avx512f", "avx2", "fma", "sse4_2"}, ""}};

static size_t chosen(const std::set<std::string> &have, const std::string &forced = "") {
  auto image = chooseImage(images, have, forced);
  EXPECT_TRUE(image.ok()) << image.status().message();
  return image.ok() ? *image : 99;
}

TEST(Features, TakesTheBestThatTheCpuHas) {
  EXPECT_EQ(chosen({"sse4_2"}), 0u);
  EXPECT_EQ(chosen({"sse4_2", "avx2"}), 0u);
  EXPECT_EQ(chosen({"sse4_2", "avx2", "fma"}), 1u);
  EXPECT_EQ(chosen({"sse4_2", "avx2", "fma", "avx512f"}), 2u);
  EXPECT_EQ(chosen({"sse4_2", "avx2", "fma", "avx512f"}, "x86-64-v2"), 0u);
}

TEST(Features, RefusesByName) {
  auto none = chooseImage(images, {"avx2"});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.status().code(), ErrorCode::Damaged);
  EXPECT_EQ(
      none.status().message(),
      "the plan has no code for this CPU: x86-64-v2 needs sse4_2; x86-64-v3 needs sse4_2, fma; "
      "x86-64-v4 needs avx512f, fma, sse4_2; compile again with dsc --target=native on this "
      "machine");
  auto forced = chooseImage(images, {"sse4_2", "fma"}, "x86-64-v3");
  ASSERT_FALSE(forced.ok());
  EXPECT_EQ(forced.status().code(), ErrorCode::Damaged);
  EXPECT_EQ(forced.status().message(), "this CPU cannot run x86-64-v3: it lacks avx2");
  auto unknown = chooseImage(images, {"sse4_2"}, "riscv");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.status().code(), ErrorCode::Usage);
  EXPECT_EQ(unknown.status().message(),
            "the plan has no code for 'riscv'; it has x86-64-v2, x86-64-v3, x86-64-v4");
}
