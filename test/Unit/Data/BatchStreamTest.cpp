//===- BatchStreamTest.cpp - windows, epochs, replay, evaluation --------------===//
#include "dsc/Runtime/Data/BatchStream.h"
#include "DataFiles.h"
#include "dsc/Runtime/Data/Npy.h"
#include <cstdio>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <sstream>

using namespace dsc;
using namespace dsc::test;

static DataConfig uint16Config(const TempFolder &temp, int64_t tokens, int64_t batch, int64_t seq) {
  std::vector<uint16_t> ids;
  for (int64_t i = 0; i < tokens; ++i)
    ids.push_back(static_cast<uint16_t>(i));
  DataConfig config;
  config.folder = temp.folder;
  temp.write("a.bin", bytesOf(ids));
  config.train = {{"a.bin", DataFormat::Uint16, ""}};
  config.batch = config.microBatch = batch;
  config.seq = seq;
  config.vocabulary = 1000;
  return config;
}

/// First ids of the rows of one epoch; checks that labels follow inputs.
static std::vector<int32_t> epochStarts(const DataConfig &config, int64_t epoch) {
  auto stream = BatchStream::open(config);
  EXPECT_TRUE(stream.ok()) << stream.status().message();
  (*stream)->seek({epoch, 0});
  std::vector<int32_t> starts;
  for (int64_t b = 0; b < (*stream)->batchesPerEpoch(); ++b) {
    Batch batch = emptyBatch(config);
    Status status = (*stream)->next(batch.tokens.data(), batch.labels.data(), batch.counted);
    EXPECT_TRUE(status.ok()) << status.message();
    int64_t counted = 0;
    for (size_t i = 0; i < batch.tokens.size(); ++i) {
      if (batch.labels[i] == ignoredLabel)
        EXPECT_EQ(batch.tokens[i], 0);
      else
        EXPECT_EQ(batch.labels[i], batch.tokens[i] + 1);
      counted += batch.labels[i] != ignoredLabel;
      if (i % static_cast<size_t>(config.seq) == 0 && batch.labels[i] != ignoredLabel)
        starts.push_back(batch.tokens[i]);
    }
    EXPECT_EQ(counted, batch.counted);
  }
  EXPECT_EQ((*stream)->position().epoch, epoch + 1);
  return starts;
}

TEST(Data, DO_04_EpochOrdersDiffer) {
  TempFolder temp;
  DataConfig config = uint16Config(temp, 101, 3, 4);
  std::set<std::vector<int32_t>> orders;
  for (int64_t epoch : {0, 1, 2}) {
    std::vector<int32_t> starts = epochStarts(config, epoch);
    EXPECT_EQ(starts, epochStarts(config, epoch));
    orders.insert(starts);
    // Each window once.
    std::sort(starts.begin(), starts.end());
    ASSERT_EQ(starts.size(), 25u);
    for (size_t i = 0; i < starts.size(); ++i)
      EXPECT_EQ(starts[i], static_cast<int32_t>(4 * i));
  }
  EXPECT_EQ(orders.size(), 3u);
}

TEST(Data, DO_05_SeedAndEpochDoNotCollide) {
  EXPECT_NE(epochOrder(1, 1, 100), epochOrder(2, 0, 100));
  EXPECT_NE(epochOrder(1, 0, 100), epochOrder(2, 0, 100));
  EXPECT_NE(epochOrder(0, 1, 100), epochOrder(1, 0, 100));
}

/// What a script prints that knows only the description.
static std::string script(const std::string &arguments) {
  std::string command = "python3 " DSC_SOURCE_DIR "/test/Unit/Data/replay_order.py " + arguments;
  std::FILE *pipe = ::popen(command.c_str(), "r");
  std::string text(1 << 16, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), pipe));
  EXPECT_EQ(::pclose(pipe), 0);
  return text;
}

TEST(Data, ScriptReplaysTheOrder) {
  for (auto [seed, epoch, windows] : {std::tuple<uint64_t, int64_t, int64_t>{1234, 0, 50},
                                      {0xfedcba9876543210, 7, 300},
                                      {1, 1, 1}}) {
    std::stringstream ours;
    const char *space = "";
    for (uint32_t window : epochOrder(seed, epoch, windows))
      ours << std::exchange(space, " ") << window;
    ours << "\n";
    EXPECT_EQ(script("order " + std::to_string(seed) + " " + std::to_string(epoch) + " " +
                     std::to_string(windows)),
              ours.str());
  }
}

TEST(Data, ShuffleIsFair) {
  // Window 0 lands on each of 5 places about equally often: 2,000 epochs, 400 expected, 6 standard
  // deviations = 107.
  std::map<size_t, int> places;
  for (int64_t epoch = 0; epoch < 2000; ++epoch) {
    std::vector<uint32_t> order = epochOrder(9, epoch, 5);
    ++places[static_cast<size_t>(std::find(order.begin(), order.end(), 0u) - order.begin())];
  }
  for (size_t place = 0; place < 5; ++place)
    EXPECT_NEAR(places[place], 400, 107);
}

TEST(Data, DO_08_ShorterThanOneWindow) {
  TempFolder temp;
  EXPECT_EQ(openError<BatchStream>(uint16Config(temp, 0, 1, 4)),
            "'" + temp.path("a.bin") +
                "' has 0 tokens: a window needs at least 2 (one to read, one to predict)");
  EXPECT_NE(openError<BatchStream>(uint16Config(temp, 1, 1, 4)).find("has 1 token:"),
            std::string::npos);
  for (int64_t tokens : {2, 4, 5}) { // 4 = seq, 5 = seq + 1
    DataConfig config = uint16Config(temp, tokens, 1, 4);
    auto stream = BatchStream::open(config);
    ASSERT_TRUE(stream.ok());
    EXPECT_EQ((*stream)->windowsPerEpoch(), 1);
    Batch batch = emptyBatch(config);
    ASSERT_TRUE((*stream)->next(batch.tokens.data(), batch.labels.data(), batch.counted).ok());
    EXPECT_EQ(batch.counted, tokens - 1);
    std::vector<int32_t> inputs = {0, 1, 2, 3}, labels = {1, 2, 3, 4};
    std::fill(inputs.begin() + (tokens - 1), inputs.end(), 0);
    std::fill(labels.begin() + (tokens - 1), labels.end(), ignoredLabel);
    EXPECT_EQ(batch.tokens, inputs);
    EXPECT_EQ(batch.labels, labels);
  }
  DataConfig text = uint16Config(temp, 2, 1, 4);
  temp.write("empty.txt", "");
  text.train = {{"empty.txt", DataFormat::Text, ""}};
  EXPECT_NE(openError<BatchStream>(text).find("has 0 tokens"), std::string::npos);
}

TEST(Data, BatchNeverSpansEpochs) {
  TempFolder temp;
  DataConfig config = uint16Config(temp, 4 * 7 + 1, 3, 4); // 7 windows, 3 batches: 3 + 3 + 1
  auto stream = BatchStream::open(config);
  ASSERT_TRUE(stream.ok());
  EXPECT_EQ((*stream)->batchesPerEpoch(), 3);
  for (int64_t expected : {12, 12, 4, 12, 12, 4}) {
    Batch batch = emptyBatch(config);
    ASSERT_TRUE((*stream)->next(batch.tokens.data(), batch.labels.data(), batch.counted).ok());
    EXPECT_EQ(batch.counted, expected);
  }
  EXPECT_EQ((*stream)->position().epoch, 2);
}

TEST(Data, SeekContinuesTheSameOrder) {
  TempFolder temp;
  DataConfig config = uint16Config(temp, 101, 3, 4);
  auto straight = BatchStream::open(config), resumed = BatchStream::open(config);
  for (int64_t step = 0; step < 40; ++step) {
    Batch a = emptyBatch(config), b = emptyBatch(config);
    (*resumed)->seek((*straight)->position());
    ASSERT_TRUE((*straight)->next(a.tokens.data(), a.labels.data(), a.counted).ok());
    ASSERT_TRUE((*resumed)->next(b.tokens.data(), b.labels.data(), b.counted).ok());
    EXPECT_EQ(a.tokens, b.tokens);
    EXPECT_EQ(a.labels, b.labels);
  }
}

/// First ids of the rows of `batches` batches from where `stream` stands.
static std::vector<int32_t> startsOf(BatchStream &stream, const DataConfig &config, int batches) {
  std::vector<int32_t> starts;
  for (int b = 0; b < batches; ++b) {
    Batch batch = emptyBatch(config);
    EXPECT_TRUE(stream.next(batch.tokens.data(), batch.labels.data(), batch.counted).ok());
    for (int64_t row = 0; row < config.batch; ++row)
      starts.push_back(batch.tokens[static_cast<size_t>(row * config.seq)]);
  }
  return starts;
}

// A step may take fewer rows than there is room for: the rest of its batch is padding, and the next
// step goes on behind them. Stopped anywhere, the rows that follow are the same.
TEST(Data, StepsMayTakeFewerRows) {
  TempFolder temp;
  DataConfig config = uint16Config(temp, 11 * 4 + 1, 4, 4); // 11 windows
  auto straight = BatchStream::open(config);
  std::vector<int32_t> starts, wanted = epochStarts(config, 0);
  for (int64_t rows : {1, 2, 3, 4, 4}) { // the fifth step finds one row left
    auto resumed = BatchStream::open(config);
    (*resumed)->seek((*straight)->position());
    Batch a = emptyBatch(config), b = emptyBatch(config);
    ASSERT_TRUE((*straight)->next(a.tokens.data(), a.labels.data(), a.counted, nullptr, rows).ok());
    ASSERT_TRUE((*resumed)->next(b.tokens.data(), b.labels.data(), b.counted, nullptr, rows).ok());
    EXPECT_EQ(a.tokens, b.tokens);
    EXPECT_EQ(a.labels, b.labels);
    int64_t filled = std::min<int64_t>(rows, 11 - static_cast<int64_t>(starts.size()));
    EXPECT_EQ(a.counted, 4 * filled);
    for (int64_t row = 0; row < 4; ++row) {
      size_t at = static_cast<size_t>(row * 4);
      EXPECT_EQ(a.labels[at] != ignoredLabel, row < filled);
      if (row < filled)
        starts.push_back(a.tokens[at]);
    }
  }
  EXPECT_EQ(starts, wanted);
  EXPECT_EQ((*straight)->position().epoch, 1);
  EXPECT_EQ((*straight)->position().row, 0);
}

// 64 samples, stopped at 20: what follows is what would have followed, and the epoch has each
// sample once.
TEST(Data, DO_01_AResumedEpochGoesOnInItsOrder) {
  TempFolder temp;
  DataConfig config = uint16Config(temp, 64 * 4 + 1, 4, 4);
  auto straight = BatchStream::open(config), stopped = BatchStream::open(config),
       resumed = BatchStream::open(config);
  std::vector<int32_t> whole = startsOf(**straight, config, 16);
  std::vector<int32_t> parts = startsOf(**stopped, config, 5);
  (*resumed)->seek((*stopped)->position());
  std::vector<int32_t> rest = startsOf(**resumed, config, 11);
  parts.insert(parts.end(), rest.begin(), rest.end());
  EXPECT_EQ(parts, whole);
  std::sort(parts.begin(), parts.end());
  for (int32_t i = 0; i < 64; ++i)
    EXPECT_EQ(parts[static_cast<size_t>(i)], 4 * i);
}

// Windows of 4 micro-batches of 2: after 5 updates 40 samples have been seen, and the next is
// number 40 of the order.
TEST(Data, DO_03_PositionsCountWholeWindows) {
  TempFolder temp;
  DataConfig config = uint16Config(temp, 64 * 4 + 1, 8, 4);
  config.microBatch = 2;
  DataConfig single = config;
  single.batch = single.microBatch = 1;
  auto stream = BatchStream::open(config), resumed = BatchStream::open(config),
       samples = BatchStream::open(single);
  startsOf(**stream, config, 5);
  (*resumed)->seek((*stream)->position());
  std::vector<int32_t> order = startsOf(**samples, single, 64),
                       next = startsOf(**resumed, config, 1);
  EXPECT_EQ(next, std::vector<int32_t>(order.begin() + 40, order.begin() + 48));
}

TEST(Data, SeveralFilesNeverShareAWindow) {
  TempFolder temp;
  DataConfig config = uint16Config(temp, 10, 2, 4);
  temp.write("b.bin", bytesOf<uint16_t>({500, 501, 502, 503, 504, 505}));
  config.train.push_back({"b.bin", DataFormat::Uint16, ""});
  std::vector<int32_t> starts = epochStarts(config, 0);
  std::sort(starts.begin(), starts.end());
  EXPECT_EQ(starts, (std::vector<int32_t>{0, 4, 8, 500, 504}));
}

TEST(Data, TokenOutsideTheVocabularyIsFoundAtTheStart) {
  TempFolder temp;
  DataConfig config = uint16Config(temp, 200, 2, 4);
  config.vocabulary = 150;
  EXPECT_EQ(openError<BatchStream>(config),
            "token id 150 at byte 300 of '" + temp.path("a.bin") +
                "' is outside the vocabulary of 150 (model.vocab_size): ids must be in [0, 150)");
  config.train = {{"a.txt", DataFormat::Text, ""}};
  temp.write("a.txt", "abc");
  EXPECT_NE(openError<BatchStream>(config).find("model.vocab_size is 150: set it to 257 or more"),
            std::string::npos);
  config.train = {{"none.txt", DataFormat::Text, ""}};
  config.vocabulary = 257;
  EXPECT_NE(openError<BatchStream>(config).find("No such file"), std::string::npos);
}

TEST(Data, DO_07_EvaluationTakesEveryIndexOnce) {
  TempFolder temp;
  for (int64_t windows = 1; windows <= 9; ++windows)
    for (int64_t ranks = 1; ranks <= 4; ++ranks)
      for (int64_t size = 1; size <= 3; ++size) {
        DataConfig config = uint16Config(temp, 4 * windows, size, 4); // the last window is short
        config.validation = config.train;
        std::vector<int32_t> labels;
        for (int64_t rank = 0; rank < ranks; ++rank) {
          auto stream = EvaluationStream::open(config, rank, ranks);
          ASSERT_TRUE(stream.ok());
          EXPECT_EQ((*stream)->tokens(), 4 * windows - 1);
          Batch batch = emptyBatch(config);
          for (;;) {
            auto more = (*stream)->next(batch.tokens.data(), batch.labels.data(), batch.counted);
            ASSERT_TRUE(more.ok());
            if (!*more)
              break;
            for (int32_t label : batch.labels)
              if (label != ignoredLabel)
                labels.push_back(label);
          }
        }
        std::sort(labels.begin(), labels.end());
        ASSERT_EQ(static_cast<int64_t>(labels.size()), 4 * windows - 1);
        for (size_t i = 0; i < labels.size(); ++i)
          EXPECT_EQ(labels[i], static_cast<int32_t>(i + 1));
      }
}

TEST(Data, ValidationFractionIsTheTail) {
  TempFolder temp;
  DataConfig config = uint16Config(temp, 105, 2, 4);
  EXPECT_EQ(*EvaluationStream::open(config), nullptr);
  config.validationFraction = 0.1; // floor(10.5) = 10 ids: 95 .. 104
  auto evaluation = EvaluationStream::open(config);
  ASSERT_TRUE(evaluation.ok());
  EXPECT_EQ((*evaluation)->tokens(), 9);
  EXPECT_EQ((*evaluation)->batches(), 2);
  Batch batch = emptyBatch(config);
  ASSERT_TRUE((*evaluation)->next(batch.tokens.data(), batch.labels.data(), batch.counted).ok());
  EXPECT_EQ(batch.tokens, (std::vector<int32_t>{95, 96, 97, 98, 99, 100, 101, 102}));
  auto training = BatchStream::open(config);
  EXPECT_EQ((*training)->windowsPerEpoch(), 24); // 95 ids, 94 labels
  std::vector<int32_t> starts = epochStarts(config, 0);
  EXPECT_EQ(*std::max_element(starts.begin(), starts.end()), 92);
  config.validationFraction = 0.01;
  EXPECT_EQ(openError<EvaluationStream>(config),
            "data.validation_fraction 0.01 of '" + temp.path("a.bin") +
                "' (105 tokens) leaves 1 token for validation: a window needs at least 2");
  config.validationFraction = 0.999;
  EXPECT_NE(openError<BatchStream>(config).find("leaves 1 token for training"), std::string::npos);
}

static DataConfig replayConfig(const TempFolder &temp, const std::vector<int64_t> &shape,
                               const std::vector<int32_t> &ids) {
  EXPECT_TRUE(writeNpy(temp.path("r.npy"), NpyType::Int32, shape, ids.data()).ok());
  DataConfig config;
  config.folder = temp.folder;
  config.train = {{"r.npy", DataFormat::Replay, ""}};
  config.batch = config.microBatch = shape[1];
  config.seq = shape[2] - 1;
  config.vocabulary = 10;
  return config;
}

TEST(Data, GA_14_LabelsAreShiftedOnce) {
  TempFolder temp;
  DataConfig config = replayConfig(temp, {1, 1, 3}, {5, 6, 7});
  auto stream = BatchStream::open(config);
  ASSERT_TRUE(stream.ok());
  Batch batch = emptyBatch(config);
  ASSERT_TRUE((*stream)->next(batch.tokens.data(), batch.labels.data(), batch.counted).ok());
  EXPECT_EQ(batch.tokens, (std::vector<int32_t>{5, 6}));
  EXPECT_EQ(batch.labels, (std::vector<int32_t>{6, 7}));
  // Two rows: never the next row's first token.
  config = replayConfig(temp, {1, 2, 2}, {5, 6, 7, 8});
  stream = BatchStream::open(config);
  ASSERT_TRUE(stream.ok());
  batch = emptyBatch(config);
  ASSERT_TRUE((*stream)->next(batch.tokens.data(), batch.labels.data(), batch.counted).ok());
  EXPECT_EQ(batch.tokens, (std::vector<int32_t>{5, 7}));
  EXPECT_EQ(batch.labels, (std::vector<int32_t>{6, 8}));
  EXPECT_EQ(batch.counted, 2);
}

TEST(Data, ReplayFeedsRowsInOrderAndEnds) {
  TempFolder temp;
  DataConfig config = replayConfig(temp, {3, 1, 2}, {0, 1, 2, 3, 4, 5});
  auto stream = BatchStream::open(config);
  ASSERT_TRUE(stream.ok());
  EXPECT_TRUE((*stream)->isReplay());
  EXPECT_EQ((*stream)->batchesPerEpoch(), 3);
  EXPECT_TRUE((*stream)->checkSteps(3).ok());
  EXPECT_EQ((*stream)->checkSteps(4).message(),
            "train.steps is 4, but the replay has only 3 rows, one a step: lower train.steps");
  Batch batch = emptyBatch(config);
  for (int32_t step : {0, 1, 2}) {
    ASSERT_TRUE((*stream)->next(batch.tokens.data(), batch.labels.data(), batch.counted).ok());
    EXPECT_EQ(batch.tokens[0], 2 * step);
  }
  EXPECT_FALSE((*stream)->next(batch.tokens.data(), batch.labels.data(), batch.counted).ok());
  auto shape = replayShape(temp.path("r.npy"));
  ASSERT_TRUE(shape.ok());
  EXPECT_EQ(shape->steps, 3);
  EXPECT_EQ(shape->seq, 1);
}

TEST(Data, GA_12_LabelsOutOfRange) {
  TempFolder temp;
  for (int32_t bad : {-4, 10, INT32_MIN, INT32_MAX}) {
    DataConfig config = replayConfig(temp, {2, 2, 3}, std::vector<int32_t>(12, 1));
    std::vector<int32_t> labels(8, 1);
    labels[0] = ignoredLabel;
    labels[7] = bad; // step 2, sample 1, position 1
    ASSERT_TRUE(writeNpy(temp.path("l.npy"), NpyType::Int32, {2, 2, 2}, labels.data()).ok());
    config.train[0].labels = "l.npy";
    EXPECT_EQ(
        openError<BatchStream>(config),
        "label " + std::to_string(bad) + " at step 2, sample 1, position 1 of '" +
            temp.path("l.npy") +
            "' is outside the vocabulary of 10: it must be in [0, 10), or be -100 (not counted)");
    labels[7] = ignoredLabel;
    ASSERT_TRUE(writeNpy(temp.path("l.npy"), NpyType::Int32, {2, 2, 2}, labels.data()).ok());
    auto stream = BatchStream::open(config);
    ASSERT_TRUE(stream.ok());
    Batch batch = emptyBatch(config);
    ASSERT_TRUE((*stream)->next(batch.tokens.data(), batch.labels.data(), batch.counted).ok());
    EXPECT_EQ(batch.counted, 3);
    EXPECT_EQ(batch.labels, (std::vector<int32_t>{-100, 1, 1, 1}));
  }
  // In the tokens themselves -100 has no such meaning.
  DataConfig config = replayConfig(temp, {1, 1, 3}, {1, 2, -100});
  EXPECT_NE(openError<BatchStream>(config).find("token id -100 at step 1, sample 0, position 2"),
            std::string::npos);
}

TEST(Data, ReplayErrors) {
  TempFolder temp;
  DataConfig config = replayConfig(temp, {2, 2, 3}, std::vector<int32_t>(12, 1));
  DataConfig other = config;
  other.batch = 3;
  EXPECT_EQ(openError<BatchStream>(other),
            "'r.npy' has batches of 2, but train.train_batch_size is 3");
  other = config;
  other.seq = 5;
  EXPECT_NE(openError<BatchStream>(other).find(
                "has shape [2, 2, 3]: 3 ids a sample, expected data.seq_length + 1 = 6"),
            std::string::npos);
  other = config;
  other.validationFraction = 0.1;
  EXPECT_NE(openError<BatchStream>(other).find("does not apply to replay"), std::string::npos);
  other = config;
  other.train.push_back({"a.txt", DataFormat::Text, ""});
  EXPECT_NE(openError<BatchStream>(other).find("mixes replay files with others"),
            std::string::npos);
  std::vector<double> doubles(12);
  ASSERT_TRUE(writeNpy(temp.path("d.npy"), NpyType::Float64, {2, 2, 3}, doubles.data()).ok());
  other = config;
  other.train = {{"d.npy", DataFormat::Replay, ""}};
  EXPECT_NE(openError<BatchStream>(other).find("holds float64, expected int32"), std::string::npos);
  other = config;
  other.train[0].labels = "r.npy";
  EXPECT_NE(openError<BatchStream>(other).find("is int32 [2, 2, 3], expected int32 [2, 2, 2]"),
            std::string::npos);
  ASSERT_TRUE(writeNpy(temp.path("d.npy"), NpyType::Int32, {12}, doubles.data()).ok());
  EXPECT_NE(
      replayShape(temp.path("d.npy")).status().message().find("has shape [12], expected [steps"),
      std::string::npos);
}

TEST(Data, ReplayCanBeEvaluated) {
  TempFolder temp;
  DataConfig config = replayConfig(temp, {3, 1, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8});
  config.validation = config.train;
  config.batch = config.microBatch = 2;
  auto stream = EvaluationStream::open(config);
  ASSERT_TRUE(stream.ok());
  EXPECT_EQ((*stream)->tokens(), 6);
  EXPECT_EQ((*stream)->batches(), 2);
  Batch batch = emptyBatch(config);
  ASSERT_TRUE(*(*stream)->next(batch.tokens.data(), batch.labels.data(), batch.counted));
  EXPECT_EQ(batch.tokens, (std::vector<int32_t>{0, 1, 3, 4}));
  ASSERT_TRUE(*(*stream)->next(batch.tokens.data(), batch.labels.data(), batch.counted));
  EXPECT_EQ(batch.counted, 2);
  EXPECT_FALSE(*(*stream)->next(batch.tokens.data(), batch.labels.data(), batch.counted));
}

TEST(Data, ConfigFromAResolvedSpec) {
  auto spec = nlohmann::json::parse(R"({
    "model": {"vocab_size": 257}, "train": {"train_batch_size": 8},
    "data": {"train": [{"path": "a.txt", "format": "text"},
                       {"path": "r.npy", "format": "replay", "labels": "l.npy"}],
             "validation_fraction": 0.05, "seq_length": 64, "seed": 7}})");
  auto config = DataConfig::fromResolved(spec, "/data");
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->train.size(), 2u);
  EXPECT_EQ(config->train[1].labels, "l.npy");
  EXPECT_EQ(config->batch, 8);
  EXPECT_EQ(config->seq, 64);
  EXPECT_EQ(config->seed, 7u);
  EXPECT_EQ(config->validationFraction, 0.05);
  spec["data"]["train"][0]["format"] = "parquet";
  EXPECT_EQ(DataConfig::fromResolved(spec, "").status().message(),
            "the plan's resolved spec has no valid data.train.format, expected text, megatron, "
            "uint16 or replay");
  EXPECT_FALSE(DataConfig::fromResolved(nlohmann::json::array(), "").ok());
}
