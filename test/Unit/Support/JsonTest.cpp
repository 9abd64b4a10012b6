#include "dsc/Support/Json.h"
#include <gtest/gtest.h>

using namespace dsc;

static std::string error(std::string_view text, int depth = 32) {
  auto parsed = parseStrictJson(text, "x.json", depth);
  return parsed ? "none" : parsed.status().message();
}

TEST(Json, KeepsOrder) {
  auto parsed = parseStrictJson(R"({"b": [1, -2, 2.5, true, null], "a": {"c": "x"}})", "x");
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->dump(), R"({"b":[1,-2,2.5,true,null],"a":{"c":"x"}})");
}

TEST(Json, CF_03_DuplicateKey) {
  EXPECT_EQ(error(R"({"lr": 1, "lr": 2})"), "x.json: duplicate key 'lr'");
  EXPECT_EQ(error(R"([{"a": {"b": 1, "b": 1}}])"), "x.json: duplicate key 'b'");
}

TEST(Json, CF_04_NotFinite) {
  EXPECT_NE(error("[1e400]").find("number out of range"), std::string::npos);
}

TEST(Json, CF_08_ByteOrderMark) { EXPECT_EQ(error("\xef\xbb\xbf{}"), "none"); }

TEST(Json, DepthIsBounded) {
  EXPECT_EQ(error("[[[]]]", 3), "none");
  EXPECT_EQ(error("[[[[]]]]", 3), "x.json: nested deeper than 3 levels");
  EXPECT_EQ(error(std::string(200000, '[')), "x.json: nested deeper than 32 levels");
}

TEST(Json, NotJson) {
  for (const char *text : {"", "{", "{} x", "01", "+1", ".5", "NaN", "{\"a\":1,}", "\"\xff\""})
    EXPECT_NE(error(text).find("no valid JSON"), std::string::npos) << text;
}
