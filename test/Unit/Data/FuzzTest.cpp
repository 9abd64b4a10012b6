//===- FuzzTest.cpp - short runs of the fuzz targets ---------------------------===//
#include "../../Fuzz/Mutate.h"
#include "../../Fuzz/idx/IdxFuzz.h"
#include "../../Fuzz/npy/NpyFuzz.h"
#include "DataFiles.h"
#include <gtest/gtest.h>

using namespace dsc;

TEST(Fuzz, NpyShortRun) {
  test::TempFolder temp;
  std::vector<std::string> samples;
  std::vector<double> data(12);
  for (auto [type, shape] : {std::pair{NpyType::Int32, std::vector<int64_t>{2, 2, 3}},
                             {NpyType::Float64, {3}},
                             {NpyType::Int64, {}},
                             {NpyType::Float32, {0, 5}}}) {
    ASSERT_TRUE(writeNpy(temp.path("a.npy"), type, shape, data.data()).ok());
    samples.push_back(temp.read("a.npy"));
    // Without the padding more changes hit what matters.
    fuzz::npy(samples.back());
  }
  fuzz::mutate(samples, 30000, fuzz::npy);
}

TEST(Fuzz, IdxShortRun) {
  std::vector<std::string> samples;
  for (uint8_t code : {1, 8, 4, 5}) {
    int64_t size = code == 1 ? 1 : code == 8 ? 2 : code;
    if (code == 5)
      size = 8;
    std::string bytes;
    test::append(bytes, static_cast<uint16_t>(3 * size));
    samples.push_back(bytes + test::megatronIndex(code, size, {2, 0, 1}));
    fuzz::idx(samples.back());
  }
  fuzz::mutate(samples, 30000, fuzz::idx);
}
