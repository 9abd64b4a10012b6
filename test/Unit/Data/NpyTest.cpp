//===- NpyTest.cpp - reading and writing .npy ---------------------------------===//
#include "dsc/Runtime/Data/Npy.h"
#include "../Support/TempFolder.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace dsc;
using dsc::test::TempFolder;

static std::string npy(const std::string &dictionary, const std::string &data, int version = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += static_cast<char>(version);
  bytes += '\0';
  size_t fields = version == 1 ? 2 : 4;
  for (size_t i = 0; i < fields; ++i)
    bytes += static_cast<char>(dictionary.size() >> (8 * i));
  return bytes + dictionary + data;
}

static std::string error(const std::string &bytes) {
  auto header = parseNpyHeader(bytes, "x.npy");
  return header ? "none" : header.status().message();
}

TEST(Npy, ReadsWhatItWrites) {
  TempFolder temp;
  std::vector<int32_t> values = {1, -2, 3, 4, 5, 6};
  ASSERT_TRUE(writeNpy(temp.path("a.npy"), NpyType::Int32, {2, 3}, values.data()).ok());
  auto array = NpyArray::open(temp.path("a.npy"));
  ASSERT_TRUE(array.ok()) << array.status().message();
  EXPECT_EQ(array->header().type, NpyType::Int32);
  EXPECT_EQ(array->header().shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(array->header().dataOffset % 64, 0u);
  EXPECT_EQ(std::memcmp(array->data(), values.data(), 24), 0);
}

// Bytes of numpy.save(numpy.arange(3, dtype="int64")) up to its data.
TEST(Npy, WritesNumPysBytes) {
  TempFolder temp;
  std::vector<int64_t> values = {0, 1, 2};
  ASSERT_TRUE(writeNpy(temp.path("a.npy"), NpyType::Int64, {3}, values.data()).ok());
  std::string expected(
      "\x93NUMPY\x01\x00v\x00{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }", 67);
  expected.append(127 - expected.size(), ' ');
  EXPECT_EQ(temp.read("a.npy").substr(0, 128), expected + "\n");
}

TEST(Npy, VersionsTypesAndShapes) {
  std::string eight(8, 'x');
  for (int version : {1, 2, 3})
    EXPECT_EQ(error(npy("{'descr': '<f8', 'fortran_order': False, 'shape': ()}", eight, version)),
              "none");
  EXPECT_EQ(error(npy("{\"shape\":(2,1),\"fortran_order\":False,\"descr\":\"<f4\"}\n", eight)),
            "none");
  EXPECT_EQ(error(npy("{'descr': '<i8', 'fortran_order': False, 'shape': (0, 4), }", "")), "none");
}

TEST(Npy, RefusesWithReason) {
  std::string good = "{'descr': '<i4', 'fortran_order': False, 'shape': (2,)}", eight(8, 'x');
  struct {
    std::string bytes, expected;
  } cases[] = {
      {"", "is no .npy file"},
      {"\x93NUMPY\x01", "is no .npy file"},
      {npy(good, eight, 4), "has .npy version 4, expected 1, 2 or 3"},
      {npy(good, eight, 0), "has .npy version 0"},
      {npy(good, eight).substr(0, 30), "has a .npy header of 55 bytes, but only 20 remain"},
      {npy(good, eight, 2).substr(0, 11), "ends inside the .npy header"},
      {npy(good, std::string(7, 'x')), "has 7 bytes of data, but its shape needs 8"},
      {npy(good, std::string(9, 'x')), "has 9 bytes of data, but its shape needs 8"},
      {npy("{'descr': '>i4', 'fortran_order': False, 'shape': (2,)}", eight),
       "has .npy type '>i4'"},
      {npy("{'descr': '|O', 'fortran_order': False, 'shape': (2,)}", eight), "has .npy type '|O'"},
      {npy("{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (2,)}", eight),
       "structured"},
      {npy("{'descr': '<i4', 'fortran_order': True, 'shape': (2,)}", eight), "is in Fortran order"},
      {npy("{'descr': '<i4', 'fortran_order': False}", eight), "expected the keys"},
      {npy("{'descr': '<i4', 'descr': '<i4', 'fortran_order': False, 'shape': (2,)}", eight),
       "duplicate key 'descr'"},
      {npy("{'descr': '<i4', 'fortran_order': False, 'shape': (2,), 'x': 1}", eight),
       "unknown key 'x'"},
      {npy("{'descr': '<i4', 'fortran_order': False, 'shape': (-2,)}", eight),
       "expected a dimension"},
      {npy("{'descr': '<i4', 'fortran_order': False, 'shape': (2", eight), "expected ',' or ')'"},
      {npy("{'descr': '<i4", eight), "damaged .npy header"},
      {npy(good + "x", eight), "text after the dictionary"},
      {npy("", eight), "expected '{'"},
  };
  for (const auto &c : cases)
    EXPECT_NE(error(c.bytes).find(c.expected), std::string::npos) << error(c.bytes) << "\n"
                                                                  << c.expected;
}

TEST(Npy, PF_03_ShapeProductWraps) {
  for (const char *shape :
       {"(4, 1073741823, 1073741825)", "(8589934592, 2147483648)", "(4294967296, 4294967296)",
        "(9223372036854775807,)", "(18446744073709551616,)"})
    EXPECT_NE(
        error(npy(std::string("{'descr': '<f4', 'fortran_order': False, 'shape': ") + shape + "}",
                  "")),
        "none")
        << shape;
}

TEST(Npy, PF_06_TinyFileAsksForGigabytes) {
  std::string bytes = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1073741824,)}", "");
  EXPECT_EQ(error(bytes), "'x.npy' has 0 bytes of data, but its shape needs 4294967296");
  std::string length("\x93NUMPY\x02\x00\x00\x00\x00\x40{}", 14);
  EXPECT_NE(error(length).find("has a .npy header of 1073741824 bytes"), std::string::npos);
}
