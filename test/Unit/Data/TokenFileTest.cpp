//===- TokenFileTest.cpp - text, uint16, Megatron -----------------------------===//
#include "dsc/Runtime/Data/TokenFile.h"
#include "DataFiles.h"
#include "dsc/Support/Hash.h"
#include <gtest/gtest.h>

using namespace dsc;
using namespace dsc::test;

static std::vector<int32_t> all(const std::string &path, DataFormat format, int64_t vocabulary) {
  auto file = TokenFile::open(path, format);
  EXPECT_TRUE(file.ok()) << file.status().message();
  if (!file)
    return {};
  std::vector<int32_t> ids(static_cast<size_t>((*file)->size()));
  Status status = (*file)->read(0, (*file)->size(), vocabulary, ids.data());
  EXPECT_TRUE(status.ok()) << status.message();
  return ids;
}

static std::string readError(const std::string &path, DataFormat format, int64_t vocabulary) {
  auto file = TokenFile::open(path, format);
  if (!file)
    return file.status().message();
  std::vector<int32_t> ids(static_cast<size_t>((*file)->size()));
  return (*file)->read(0, (*file)->size(), vocabulary, ids.data()).message();
}

TEST(TokenFile, TextIsBytesAndAnEnd) {
  TempFolder temp;
  EXPECT_EQ(all(temp.write("a", "a\r\n\n\xff\xc3"), DataFormat::Text, 257),
            (std::vector<int32_t>{'a', '\r', '\n', '\n', 0xff, 0xc3, 256}));
  EXPECT_EQ(all(temp.write("empty", ""), DataFormat::Text, 257), (std::vector<int32_t>{256}));
}

TEST(Data, DO_13_ByteOrderMark) {
  TempFolder temp;
  auto records = [&](const std::string &text) {
    std::vector<int32_t> ids = all(temp.write("a", text), DataFormat::Text, 257);
    return std::string(ids.begin(), ids.end() - 1);
  };
  // A mark at the start is not text; nothing else is touched: line ends, blank lines, a missing
  // last line end, a mark further on (where one file was appended to another).
  EXPECT_EQ(records("\xef\xbb\xbfone\ntwo\nthree\n"), "one\ntwo\nthree\n");
  EXPECT_EQ(records("\xef\xbb\xbf\xef\xbb\xbfone"), "\xef\xbb\xbfone");
  EXPECT_EQ(records("one\r\n\r\ntwo"), "one\r\n\r\ntwo");
  EXPECT_EQ(records("one\n\xef\xbb\xbftwo\n"), "one\n\xef\xbb\xbftwo\n");
  EXPECT_EQ(records("\xef\xbb"), "\xef\xbb");
}

TEST(Data, DO_09_WidthsKeepLargeIds) {
  TempFolder temp;
  std::string raw = temp.write("a.bin", bytesOf<uint16_t>({0, 65535, 1}));
  EXPECT_EQ(all(raw, DataFormat::Uint16, 65536), (std::vector<int32_t>{0, 65535, 1}));
  temp.write("m.idx", megatronIndex(4, 4, {2, 1}));
  temp.write("m.bin", bytesOf<int32_t>({65536, 3, 65535}));
  EXPECT_EQ(all(temp.path("m"), DataFormat::Megatron, 65537),
            (std::vector<int32_t>{65536, 3, 65535}));
  // An index that records another width than the data have.
  temp.write("m.idx", megatronIndex(8, 2, {2, 1}));
  EXPECT_EQ(readError(temp.path("m.bin"), DataFormat::Megatron, 65537),
            "'" + temp.path("m.idx") +
                "' is no usable Megatron index: its sequences have 6 bytes (2 a "
                "token), but the .bin has 12: the two do not belong together");
  // 16 bits cannot say what this vocabulary has.
  DataConfig config;
  config.train = {{raw, DataFormat::Uint16, ""}};
  config.seq = 2;
  config.vocabulary = 65537;
  EXPECT_NE(openError<BatchStream>(config).find("holds 16-bit ids, but model.vocab_size is 65537"),
            std::string::npos);
}

TEST(TokenFile, MegatronTypes) {
  TempFolder temp;
  auto check = [&](uint8_t code, auto zero) {
    using Number = decltype(zero);
    temp.write("m.idx", megatronIndex(code, sizeof(Number), {1, 0, 2}));
    temp.write("m.bin", bytesOf<Number>({Number(5), Number(127), Number(0)}));
    for (const char *name : {"m", "m.idx", "m.bin"})
      EXPECT_EQ(all(temp.path(name), DataFormat::Megatron, 128), (std::vector<int32_t>{5, 127, 0}))
          << int(code);
    EXPECT_EQ(readError(temp.path("m"), DataFormat::Megatron, 127),
              "token id 127 at byte " + std::to_string(sizeof(Number)) + " of '" +
                  temp.path("m.bin") +
                  "' is outside the vocabulary of 127 (model.vocab_size): ids must be in [0, 127)");
    if (std::is_signed_v<Number>) {
      temp.write("m.bin", bytesOf<Number>({Number(5), Number(-1), Number(0)}));
      EXPECT_NE(readError(temp.path("m"), DataFormat::Megatron, 128).find("token id -1"),
                std::string::npos);
    }
  };
  check(1, uint8_t{});
  check(2, int8_t{});
  check(3, int16_t{});
  check(4, int32_t{});
  check(5, int64_t{});
  check(6, double{});
  check(7, float{});
  check(8, uint16_t{});
}

TEST(TokenFile, FloatIdsMustBeWhole) {
  TempFolder temp;
  temp.write("m.idx", megatronIndex(7, 4, {2}));
  for (float value : {1.5f, INFINITY, -INFINITY, NAN, 1e20f}) {
    temp.write("m.bin", bytesOf<float>({1, value}));
    EXPECT_NE(readError(temp.path("m"), DataFormat::Megatron, 100).find("is outside"),
              std::string::npos);
  }
}

TEST(TokenFile, Uint16Errors) {
  TempFolder temp;
  EXPECT_EQ(readError(temp.write("a", "123"), DataFormat::Uint16, 10),
            "'" + temp.path("a") +
                "' has 3 bytes, an odd number: expected two bytes for each token (uint16)");
  EXPECT_EQ(readError(temp.write("a", bytesOf<uint16_t>({1, 2, 10})), DataFormat::Uint16, 10),
            "token id 10 at byte 4 of '" + temp.path("a") +
                "' is outside the vocabulary of 10 (model.vocab_size): ids must be in [0, 10)");
}

TEST(TokenFile, MegatronIndexIsHostile) {
  std::string good = megatronIndex(4, 4, {2, 1});
  auto error = [](const std::string &bytes, uint64_t binBytes = 12) {
    auto index = parseMegatronIndex(bytes, binBytes, "m.idx");
    return index ? std::string("none") : index.status().message();
  };
  EXPECT_EQ(error(good), "none");
  for (size_t length = 0; length < good.size(); ++length)
    EXPECT_NE(error(good.substr(0, length)), "none") << length;
  EXPECT_NE(error(good + "x").find("1 bytes too many"), std::string::npos);
  EXPECT_NE(error(good, 11).find("past the .bin's 11"), std::string::npos);
  EXPECT_NE(error(good, 13).find("do not belong together"), std::string::npos);

  auto with = [&](size_t at, auto value) {
    std::string bytes = good;
    std::memcpy(bytes.data() + at, &value, sizeof value);
    return error(bytes);
  };
  EXPECT_NE(with(9, uint64_t{2}).find("version 2, expected 1"), std::string::npos);
  EXPECT_NE(with(17, uint8_t{0}).find("type code 0"), std::string::npos);
  EXPECT_NE(with(17, uint8_t{9}).find("type code 9"), std::string::npos);
  // PF-06: counts of 2^30 and 2^64 - 1 in a file of 106 bytes ask for nothing.
  for (uint64_t count : {uint64_t{1} << 30, ~uint64_t{0}, uint64_t{1} << 62}) {
    EXPECT_NE(with(18, count).find("bytes remain"), std::string::npos);
    EXPECT_NE(with(26, count).find("bytes remain"), std::string::npos);
  }
  EXPECT_NE(with(34, int32_t{-1}).find("sequence 0 has length -1"), std::string::npos);
  EXPECT_NE(with(34, int32_t{0x7fffffff}).find("past the .bin's 12"), std::string::npos);
  EXPECT_NE(with(42, int64_t{4}).find("sequence 0 starts at byte 4 of the .bin, expected 0"),
            std::string::npos);
  EXPECT_NE(with(50, int64_t{-8}).find("sequence 1 starts at byte -8"), std::string::npos);
  EXPECT_NE(with(58, int64_t{1}).find("document mark 0 is 1"), std::string::npos);
  EXPECT_NE(with(66, int64_t{3}).find("document mark 1 is 3"), std::string::npos);
  EXPECT_NE(with(74, int64_t{1}).find("document mark 2 is 1"), std::string::npos);
}

TEST(TokenFile, MegatronDocumentsAndIdentity) {
  TempFolder temp;
  std::string index = megatronIndex(8, 2, {2, 1});
  temp.write("m.idx", index);
  auto parsed = parseMegatronIndex(index, 6, "m.idx");
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->documents, (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(parsed->tokens, 3);
  auto identity = identifyDataFile(temp.path("m.bin"), DataFormat::Megatron);
  ASSERT_TRUE(identity.ok());
  EXPECT_EQ(identity->bytes, index.size());
  EXPECT_EQ(identity->hash, hash64(index));
  EXPECT_NE(
      readError(temp.path("m"), DataFormat::Megatron, 9).find("cannot open '" + temp.path("m.bin")),
      std::string::npos);
}
