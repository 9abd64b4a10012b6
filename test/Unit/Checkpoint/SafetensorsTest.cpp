//===- SafetensorsTest.cpp - the reader and what it refuses -------------------===//
#include "dsc/Runtime/Checkpoint/Safetensors.h"
#include "../Support/TempFolder.h"
#include <cmath>
#include <gtest/gtest.h>
#include <sys/resource.h>

using namespace dsc;
using dsc::test::append;

static std::string file(const std::string &header, const std::string &data) {
  std::string bytes;
  append(bytes, static_cast<uint64_t>(header.size()));
  return bytes + header + data;
}

static std::string error(const std::string &bytes) {
  auto header = parseSafetensors(bytes, "x");
  return header ? "none" : header.status().message();
}

static std::string entry(const std::string &dtype, const std::string &shape,
                         const std::string &offsets) {
  return R"({"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

static void expectRefused(const std::string &header, const std::string &data,
                          const std::string &why) {
  std::string message = error(file(header, data));
  EXPECT_NE(message.find(why), std::string::npos) << header << "\n" << message;
}

TEST(Safetensors, ReadsTensorsAndMetadata) {
  std::string header = R"({"__metadata__":{"format":"pt"},"b":)" + entry("F32", "[2]", "[4,12]") +
                       R"(,"a":)" + entry("F16", "[1,2]", "[0,4]") + R"(,"empty":)" +
                       entry("F32", "[0,7]", "[4,4]") + "}   ";
  auto parsed = parseSafetensors(file(header, std::string(12, 'x')), "x");
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  ASSERT_EQ(parsed->tensors.size(), 3u);
  EXPECT_EQ(parsed->tensors[0].name, "b");
  EXPECT_EQ(parsed->tensors[0].elements(), 2);
  EXPECT_EQ(parsed->tensors[1].type, SafeType::F16);
  EXPECT_EQ(parsed->tensors[1].shape, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(parsed->metadata.size(), 1u);
  EXPECT_EQ(error(file("{}", "")), "none");
}

TEST(Safetensors, PF_02_Offsets) {
  std::string four(4, 'x');
  expectRefused("{\"a\":" + entry("F32", "[1]", "[-4,0]") + "}", four, "not two whole numbers");
  expectRefused("{\"a\":" + entry("F32", "[1]", "[0,-4]") + "}", four, "not two whole numbers");
  expectRefused("{\"a\":" + entry("F32", "[1]", "[4,0]") + "}", four,
                "reversed data_offsets [4, 0)");
  expectRefused("{\"a\":" + entry("F32", "[1]", "[0,8]") + "}", four, "past the 4 bytes of data");
  expectRefused("{\"a\":" + entry("F32", "[1]", "[4,8]") + "}", four, "past the 4 bytes of data");
  expectRefused("{\"a\":" + entry("F32", "[1]", "[18446744073709551612,0]") + "}", four,
                "reversed");
  expectRefused("{\"a\":" + entry("F32", "[1]", "[0,1e1]") + "}", four, "not two whole numbers");
  expectRefused("{\"a\":" + entry("F32", "[1]", "[0]") + "}", four, "not two whole numbers");
  expectRefused("{\"a\":" + entry("F32", "[1]", "{\"0\":0}") + "}", four, "not two whole numbers");
  // An unknown type is refused even where offsets would fit anything.
  expectRefused("{\"a\":" + entry("F33", "[1]", "[0,4]") + "}", four, "unknown dtype 'F33'");
  expectRefused(R"({"a":{"dtype":5,"shape":[1],"data_offsets":[0,4]}})", four,
                "unknown dtype (no text)");
}

TEST(Safetensors, PF_03_ShapeProductWraps) {
  for (const char *shape :
       {"[4,1073741823,1073741825]", "[8589934592,2147483648]", "[4294967296,4294967296]",
        "[9223372036854775807]", "[65536,65536,65536,65536]"})
    expectRefused("{\"a\":" + entry("F32", shape, "[0,0]") + "}", "", "overflows");
  expectRefused("{\"a\":" + entry("F32", "[18446744073709551615]", "[0,0]") + "}", "",
                "no whole number in [0, 2^63)");
  expectRefused("{\"a\":" + entry("F32", "[-1]", "[0,4]") + "}", "xxxx", "no whole number");
  expectRefused("{\"a\":" + entry("F32", "[1.5]", "[0,4]") + "}", "xxxx", "no whole number");
  expectRefused("{\"a\":" + entry("F32", "1", "[0,4]") + "}", "xxxx", "shape that is no list");
}

TEST(Safetensors, PF_04_ZeroDimensions) {
  EXPECT_EQ(error(file("{\"a\":" + entry("F32", "[0]", "[0,0]") + "}", "")), "none");
  EXPECT_EQ(error(file("{\"a\":" + entry("F32", "[]", "[0,4]") + "}", "xxxx")), "none");
  expectRefused("{\"a\":" + entry("F32", "[0]", "[0,4]") + "}", "xxxx",
                "has 4 bytes, but its dtype and shape need 0");
}

TEST(Safetensors, PF_06_TinyFileAsksForGigabytes) {
  for (uint64_t length :
       {uint64_t{1} << 30, ~uint64_t{0}, uint64_t{1} << 63, uint64_t{200'000'000}}) {
    std::string bytes;
    append(bytes, length);
    EXPECT_NE(error(bytes + std::string(192, '{')).find("but 192 remain"), std::string::npos);
  }
  expectRefused("{\"a\":" + entry("F32", "[1073741824]", "[0,4294967296]") + "}", "",
                "past the 0 bytes");
  struct rusage usage;
  ::getrusage(RUSAGE_SELF, &usage);
  EXPECT_LT(usage.ru_maxrss, 50 * 1024);
}

TEST(Safetensors, PF_07_TilingAndNames) {
  std::string eight(8, 'x'), a = entry("F32", "[1]", "[0,4]"), b = entry("F32", "[1]", "[4,8]");
  EXPECT_EQ(error(file("{\"a\":" + a + ",\"b\":" + b + "}", eight)), "none");
  expectRefused("{\"a\":" + a + ",\"b\":" + a + "}", std::string(4, 'x'), "(overlap)");
  expectRefused("{\"a\":" + entry("F32", "[2]", "[0,8]") + ",\"b\":" + b + "}", eight, "(overlap)");
  expectRefused("{\"b\":" + b + "}", eight, "starts at byte 4 of the data, expected 0 (gap)");
  expectRefused("{\"a\":" + a + "}", eight, "4 bytes follow the last tensor");
  expectRefused("{\"a\":" + a + ",\"a\":" + b + "}", eight, "duplicate key 'a'");
  expectRefused("{\"a\":" + entry("F64", "[1]", "[0,4]") + "}", std::string(4, 'x'),
                "has 4 bytes, but its dtype and shape need 8");
}

TEST(Safetensors, HeaderIsHostile) {
  EXPECT_NE(error("1234567").find("7 bytes, fewer than the 8"), std::string::npos);
  expectRefused("", "", "does not start with '{'");
  expectRefused(" {}", "", "does not start with '{'");
  expectRefused("{", "", "no valid JSON");
  expectRefused("{}x", "", "no valid JSON");
  expectRefused(R"({"a":1})", "", "has not exactly the keys");
  expectRefused(R"({"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0],"x":1}})", "",
                "has not exactly the keys");
  expectRefused(R"({"__metadata__":{"a":1}})", "", "__metadata__ 'a' is no text");
  expectRefused(R"({"__metadata__":[]})", "", "__metadata__ is no object");
  expectRefused("{\"a\":" + std::string(100000, '['), "", "nested deeper than 8 levels");
}

TEST(Safetensors, CK_10_TruncatedAnywhere) {
  std::string good = file("{\"a\":" + entry("F32", "[2]", "[0,8]") + "}", std::string(8, 'x'));
  ASSERT_EQ(error(good), "none");
  for (size_t length = 0; length < good.size(); ++length)
    EXPECT_NE(error(good.substr(0, length)), "none") << length;
}

TEST(Safetensors, ManyTensorsAreReadInTimeThatGrowsWithThem) {
  std::string header = "{";
  for (int i = 0; i < 20000; ++i)
    header += "\"t" + std::to_string(i) + "\":" + entry("F32", "[0]", "[0,0]") + ",";
  header.back() = '}';
  auto parsed = parseSafetensors(file(header, ""), "x");
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->tensors.size(), 20000u);
}

TEST(Safetensors, ConvertsEverySourceType) {
  float out[3];
  double wide[3];
  auto check = [&](SafeType type, auto... values) {
    std::string bytes;
    (append(bytes, values), ...);
    auto *source = reinterpret_cast<const uint8_t *>(bytes.data());
    convertElements(source, type, 0, 3, out);
    convertElements(source, type, 0, 3, wide);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(out[i], (std::array{1.0f, -2.0f, 0.5f})[i]);
      EXPECT_EQ(wide[i], out[i]);
    }
  };
  check(SafeType::F16, uint16_t{0x3c00}, uint16_t{0xc000}, uint16_t{0x3800});
  check(SafeType::BF16, uint16_t{0x3f80}, uint16_t{0xc000}, uint16_t{0x3f00});
  check(SafeType::F32, 1.0f, -2.0f, 0.5f);
  check(SafeType::F64, 1.0, -2.0, 0.5);
}
