//===- PackedTest.cpp - windows of whole documents --------------------------===//
#include "DataFiles.h"
#include "dsc/Runtime/Data/TokenFile.h"
#include <gtest/gtest.h>

using namespace dsc;
using namespace dsc::test;

namespace {
using Ids = std::vector<int32_t>;

/// Documents of a Megatron pair, of type 4 (int32), whose index carries their lengths.
struct Documents : testing::Test {
  TempFolder temp;
  DataConfig config;

  void use(const std::vector<Ids> &documents, int64_t seq) {
    Ids all, lengths;
    for (const Ids &document : documents) {
      all.insert(all.end(), document.begin(), document.end());
      lengths.push_back(static_cast<int32_t>(document.size()));
    }
    temp.write("d.bin", bytesOf(all));
    temp.write("d.idx", megatronIndex(4, 4, lengths));
    config.folder = temp.folder;
    config.train = {{"d", DataFormat::Megatron, ""}};
    config.seq = seq;
    config.vocabulary = 1000;
    config.packDocuments = true;
  }

  struct Window {
    Ids tokens, labels, positions;
    int64_t counted = 0;
  };
  /// All windows, in file order.
  std::vector<Window> windows() {
    config.validation = config.train;
    auto stream = EvaluationStream::open(config);
    EXPECT_TRUE(stream.ok()) << stream.status().message();
    std::vector<Window> all;
    for (;;) {
      Window window;
      for (Ids *ids : {&window.tokens, &window.labels, &window.positions})
        ids->assign(static_cast<size_t>(config.seq), -7);
      auto more = (*stream)->next(window.tokens.data(), window.labels.data(), window.counted,
                                  window.positions.data());
      EXPECT_TRUE(more.ok()) << more.status().message();
      if (!more.ok() || !*more)
        break;
      all.push_back(std::move(window));
    }
    int64_t counted = 0;
    for (const Window &window : all)
      counted += window.counted;
    EXPECT_EQ(counted, (*stream)->tokens());
    return all;
  }
};

constexpr int32_t none = ignoredLabel;
} // namespace

TEST_F(Documents, AT_02_PositionsStartAnew) {
  use({{11, 12, 13}, {21, 22}}, 5);
  auto all = windows();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].positions, (Ids{0, 1, 2, 0, 1}));
  EXPECT_EQ(all[0].tokens, (Ids{11, 12, 13, 21, 22}));
  EXPECT_EQ(all[0].labels, (Ids{12, 13, none, 22, none}));
  EXPECT_EQ(all[0].counted, 3);
}

// An end-of-text inside a document does not cut it; one that is missing does not join the next.
TEST_F(Documents, AT_04_LengthsAreCarried) {
  constexpr int32_t eos = 256;
  use({{97, eos, 98}, {99}}, 6);
  auto file = TokenFile::open(temp.path("d"), DataFormat::Megatron);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ((*file)->documentEnds(), (std::vector<int64_t>{3, 4}));
  auto all = windows();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].positions, (Ids{0, 1, 2, 0, -1, -1}));
  EXPECT_EQ(all[0].labels, (Ids{eos, 98, none, none, none, none}));
  EXPECT_EQ(all[0].counted, 2);
  // Cut off before its end-of-text, the first document still ends where it ends.
  use({{97, 98, 99, eos}, {100, 101}}, 3);
  config.longDocuments = LongDocuments::Truncate;
  all = windows();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].tokens, (Ids{97, 98, 99}));
  EXPECT_EQ(all[0].labels, (Ids{98, 99, none}));
  EXPECT_EQ(all[1].tokens, (Ids{100, 101, 0}));
  EXPECT_EQ(all[1].positions, (Ids{0, 1, -1}));
}

// A separator becomes the end-of-text of the document before it: a | b is [a, EOT], [b, EOT].
TEST_F(Documents, AT_05_EndOfTextIsOfTheDocumentBefore) {
  temp.write("t.txt", "a|b");
  config.folder = temp.folder;
  config.train = {{"t.txt", DataFormat::Text, "", "|"}};
  config.seq = 4;
  config.vocabulary = byteVocabularySize;
  config.packDocuments = true;
  auto all = windows();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].tokens, (Ids{'a', endOfTextId, 'b', endOfTextId}));
  EXPECT_EQ(all[0].positions, (Ids{0, 1, 0, 1})); // documents 0, 0, 1, 1
  EXPECT_EQ(all[0].labels, (Ids{endOfTextId, none, endOfTextId, none}));
}

TEST_F(Documents, SeparatorsOfSeveralBytesAndEmptyDocuments) {
  temp.write("t.txt", "\xef\xbb\xbf\n%\nab\n%\n\n%\nc%\n\n%\n");
  auto file = TokenFile::open(temp.path("t.txt"), DataFormat::Text, "\n%\n");
  ASSERT_TRUE(file.ok());
  Ids ids(static_cast<size_t>((*file)->size()));
  ASSERT_TRUE((*file)->read(0, (*file)->size(), 257, ids.data()).ok());
  EXPECT_EQ(ids, (Ids{'a', 'b', 256, 'c', '%', '\n', 256}));
  EXPECT_EQ((*file)->documentEnds(), (std::vector<int64_t>{3, 7}));
  // Every part of it reads as the whole does.
  for (int64_t begin = 0; begin < 7; ++begin)
    for (int64_t count = 1; begin + count <= 7; ++count) {
      Ids part(static_cast<size_t>(count));
      ASSERT_TRUE((*file)->read(begin, count, 257, part.data()).ok());
      EXPECT_TRUE(std::equal(part.begin(), part.end(), ids.begin() + begin));
    }
}

// One document of 100 tokens in windows of 64: ends, and is counted.
TEST_F(Documents, DO_12_LongDocumentsAsConfigured) {
  Ids longer, shorter = {1, 2};
  for (int32_t i = 0; i < 100; ++i)
    longer.push_back(100 + i);
  struct Expected {
    LongDocuments policy;
    std::vector<int64_t> counted;
    std::string note;
  };
  for (const Expected &e :
       {Expected{LongDocuments::Split, {64, 36}, "split"},
        Expected{LongDocuments::Truncate, {63, 1}, "truncated, 36 tokens left out"},
        Expected{LongDocuments::Drop, {1}, "dropped, 100 tokens left out"}}) {
    use({longer, shorter}, 64);
    config.longDocuments = e.policy;
    std::vector<int64_t> counted;
    for (const Window &window : windows())
      counted.push_back(window.counted);
    EXPECT_EQ(counted, e.counted) << e.note;
    auto stream = BatchStream::open(config);
    ASSERT_TRUE(stream.ok());
    ASSERT_EQ((*stream)->notes().size(), 1u);
    EXPECT_EQ((*stream)->notes()[0],
              "'" + temp.path("d.bin") + "': 1 of 2 documents is longer than 64 tokens: " + e.note);
  }
}

// Cut in pieces, every pair of neighbours of the document is a label once.
TEST_F(Documents, SplitDocumentsKeepTheirPairs) {
  use({{1, 2, 3, 4, 5, 6, 7}}, 3);
  auto all = windows();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].labels, (Ids{2, 3, 4}));
  EXPECT_EQ(all[1].tokens, (Ids{4, 5, 6}));
  EXPECT_EQ(all[1].labels, (Ids{5, 6, 7}));
  EXPECT_EQ(all[2].labels, (Ids{none, none, none}));
  EXPECT_EQ(all[2].positions, (Ids{0, -1, -1}));
}

TEST_F(Documents, WindowsNeverCutADocument) {
  use({{1, 1, 1}, {2, 2, 2}, {3, 3}, {4, 4, 4, 4}}, 5);
  std::vector<Ids> tokens;
  for (const Window &window : windows())
    tokens.push_back(window.tokens);
  EXPECT_EQ(tokens, (std::vector<Ids>{{1, 1, 1, 0, 0}, {2, 2, 2, 3, 3}, {4, 4, 4, 4, 0}}));
}

TEST_F(Documents, TheTailIsOfDocuments) {
  use({{1, 1}, {2, 2}, {3, 3}, {4, 4}}, 2);
  config.validationFraction = 0.25;
  auto stream = BatchStream::open(config);
  ASSERT_TRUE(stream.ok());
  EXPECT_EQ((*stream)->windowsPerEpoch(), 3);
  auto evaluation = EvaluationStream::open(config);
  ASSERT_TRUE(evaluation.ok());
  EXPECT_EQ((*evaluation)->tokens(), 1);
  config.validationFraction = 0.2;
  EXPECT_NE(openError<EvaluationStream>(config).find("data.validation_fraction 0.2 of '" +
                                                     temp.path("d") +
                                                     "' (4 documents) leaves none for validation: "
                                                     "take another fraction"),
            std::string::npos);
}

TEST_F(Documents, NothingToPredict) {
  use({{1}, {2}}, 4);
  EXPECT_NE(openError<BatchStream>(config).find("have nothing to predict"), std::string::npos);
}
