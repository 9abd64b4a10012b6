//===- LayoutTest.cpp - the device grid and who owns what ------------------===//
#include "dsc/Support/Layout.h"
#include "gtest/gtest.h"

using namespace dsc;

TEST(Layout, RanksAreNumberedTensorFirst) {
  Layout layout{.data = 2, .tensor = 3, .pipeline = 4, .context = 5};
  EXPECT_EQ(layout.ranks(), 120);
  EXPECT_EQ(layout.coordinates(1).tensor, 1);
  EXPECT_EQ(layout.coordinates(3).context, 1);
  EXPECT_EQ(layout.coordinates(15).data, 1);
  EXPECT_EQ(layout.coordinates(30).pipeline, 1);
  for (int64_t rank = 0; rank < layout.ranks(); ++rank)
    EXPECT_EQ(layout.rank(layout.coordinates(rank)), rank);
}

TEST(Layout, GroupsDifferInOneCoordinate) {
  Layout layout{.data = 2, .tensor = 2, .pipeline = 2};
  EXPECT_EQ(layout.group(Axis::Tensor, 5), (std::vector<int>{4, 5}));
  EXPECT_EQ(layout.group(Axis::Data, 5), (std::vector<int>{5, 7}));
  EXPECT_EQ(layout.group(Axis::Pipeline, 5), (std::vector<int>{1, 5}));
  EXPECT_EQ(layout.group(Axis::None, 5), (std::vector<int>{5}));
  EXPECT_EQ(layout.onStage(0, 5), 1);
}

TEST(Layout, SharesCoverEveryElementOnce) {
  for (uint64_t elements : {1u, 7u, 1023u, 1024u, 1025u, 5000u, 98688u})
    for (uint64_t block : {1u, 1024u})
      for (uint64_t ranks : {1u, 2u, 3u, 4u, 7u, 8u}) {
        uint64_t next = 0;
        for (uint64_t index = 0; index < ranks; ++index) {
          Share share = shareOf(elements, block, index, ranks);
          EXPECT_EQ(share.begin, next);
          EXPECT_TRUE(share.begin % block == 0 || share.begin == elements);
          EXPECT_LE(share.size(), largestShare(elements, block, ranks));
          next = share.end;
        }
        EXPECT_EQ(next, elements);
      }
}
