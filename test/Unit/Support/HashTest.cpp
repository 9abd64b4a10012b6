#include "dsc/Support/Hash.h"
#include <gtest/gtest.h>

using namespace dsc;

// FIPS 180-4 examples.
TEST(Hash, Sha256PublishedVectors) {
  EXPECT_EQ(sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256Hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256Hex(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Hash, Sha256TakesPiecesOfAnySize) {
  std::string text;
  for (int i = 0; i < 300; ++i)
    text += static_cast<char>(i * 7);
  for (size_t piece = 1; piece < 130; ++piece) {
    Sha256 hash;
    for (size_t at = 0; at < text.size(); at += piece)
      hash.update(text.data() + at, std::min(piece, text.size() - at));
    std::string hex;
    for (uint8_t byte : hash.digest())
      hex += hex64(byte).substr(14);
    EXPECT_EQ(hex, sha256Hex(text)) << piece;
  }
}

TEST(Hash, PublishedVectorsOfFastHashes) {
  EXPECT_EQ(hash64(""), 0x2d06800538d394c2u); // XXH3, seed 0
  EXPECT_EQ(nameHash(""), 0xcbf29ce484222325u);
  EXPECT_EQ(nameHash("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(nameHash("foobar"), 0x85944171f73967e8u);
  EXPECT_EQ(hex64(0x0123456789abcdef), "0123456789abcdef");
}
