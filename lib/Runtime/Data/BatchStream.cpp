//===- BatchStream.cpp - training batches in the order of the epoch ----------===//
#include "dsc/Runtime/Data/BatchStream.h"
#include "Rows.h"
#include "dsc/Support/Fault.h"
#include "dsc/Support/Philox.h"
#include <algorithm>
#include <limits>
#include <numeric>

using namespace dsc;

std::vector<uint32_t> dsc::epochOrder(uint64_t seed, int64_t epoch, int64_t windows) {
  std::vector<uint32_t> order(static_cast<size_t>(windows));
  std::iota(order.begin(), order.end(), 0u);
  for (uint64_t i = static_cast<uint64_t>(windows); i-- > 1;) {
    uint64_t random = philox64(seed, i, static_cast<uint64_t>(DSC_FAULT(84, epoch, 0)));
    auto j = static_cast<uint64_t>(static_cast<unsigned __int128>(random) * (i + 1) >> 64);
    std::swap(order[i], order[j]);
  }
  return order;
}

Status BatchStream::checkSteps(int64_t steps) const {
  if (!isReplay() || steps <= batchesPerEpoch())
    return {};
  return inputError("train.steps is " + std::to_string(steps) + ", but the replay has only " +
                    std::to_string(batchesPerEpoch()) + " rows, one a step: lower train.steps");
}

namespace {
/// Sources one after another, numbered through.
class RowList {
public:
  void add(std::unique_ptr<RowSource> source) {
    ends.push_back(rows() + source->rows());
    sources.push_back(std::move(source));
  }
  int64_t rows() const { return ends.empty() ? 0 : ends.back(); }
  int64_t countedTokens() const {
    int64_t total = 0;
    for (const auto &source : sources)
      total += source->countedTokens();
    return total;
  }
  /// Row `row` to place `b` of a batch; a row past the last is padding.
  Status fill(int64_t row, int64_t b, int64_t seq, int32_t *tokens, int32_t *labels,
              int64_t &counted, int32_t *positions) const {
    tokens += b * seq;
    labels += b * seq;
    positions = positions ? positions + b * seq : nullptr;
    if (row >= rows()) {
      fillPadding(seq, tokens, labels, positions);
      return {};
    }
    size_t at = static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), row) - ends.begin());
    return sources[at]->fill(at ? row - ends[at - 1] : row, tokens, labels, counted, positions);
  }
  std::vector<std::string> notes() const {
    std::vector<std::string> all;
    for (const auto &source : sources)
      if (std::string note = source->note(); !note.empty())
        all.push_back(std::move(note));
    return all;
  }

private:
  std::vector<std::unique_ptr<RowSource>> sources;
  std::vector<int64_t> ends;
};

class ShuffledStream : public BatchStream {
public:
  ShuffledStream(RowList list, const DataConfig &config)
      : list(std::move(list)), batch(config.batch), seq(config.seq), seed(config.seed) {}

  Status next(int32_t *tokens, int32_t *labels, int64_t &counted, int32_t *positions,
              int64_t rows) override {
    rows = rows ? rows : batch;
    if (orderEpoch != at.epoch) {
      order = epochOrder(seed, at.epoch, list.rows());
      orderEpoch = at.epoch;
    }
    counted = 0;
    for (int64_t b = 0; b < batch; ++b) {
      int64_t index = at.row + b;
      int64_t row = b < rows && index < list.rows() ? order[static_cast<size_t>(index)]
                                                    : list.rows(); // padding
      if (Status status = list.fill(row, b, seq, tokens, labels, counted, positions); !status)
        return status;
    }
    at.row += rows;
    if (at.row >= list.rows())
      at = {at.epoch + 1, 0};
    return {};
  }
  StreamPosition position() const override { return at; }
  void seek(StreamPosition position) override {
    at = position.row < list.rows() ? position : StreamPosition{position.epoch + 1, 0};
  }
  std::vector<std::string> notes() const override { return list.notes(); }
  int64_t windowsPerEpoch() const override { return list.rows(); }
  int64_t batchesPerEpoch() const override { return (list.rows() - 1) / batch + 1; }
  bool isReplay() const override { return false; }

private:
  RowList list;
  int64_t batch, seq;
  uint64_t seed;
  StreamPosition at;
  std::vector<uint32_t> order;
  int64_t orderEpoch = -1;
};

class ReplayStream : public BatchStream {
public:
  ReplayStream(RowList list, const DataConfig &config)
      : list(std::move(list)), batch(config.batch), seq(config.seq) {}

  Status next(int32_t *tokens, int32_t *labels, int64_t &counted, int32_t *positions,
              int64_t rows) override {
    if (Status status = checkSteps(at.row / batch + 1); !status)
      return status;
    counted = 0;
    for (int64_t b = 0; b < batch; ++b)
      if (Status status = list.fill(rows && b >= rows ? list.rows() : at.row + b, b, seq, tokens,
                                    labels, counted, positions);
          !status)
        return status;
    at.row += batch;
    return {};
  }
  StreamPosition position() const override { return at; }
  void seek(StreamPosition position) override { at = position; }
  int64_t windowsPerEpoch() const override { return list.rows(); }
  int64_t batchesPerEpoch() const override { return list.rows() / batch; }
  bool isReplay() const override { return true; }

private:
  RowList list;
  int64_t batch, seq;
  StreamPosition at;
};

class RowEvaluation : public EvaluationStream {
public:
  RowEvaluation(RowList list, const DataConfig &config, int64_t rank, int64_t ranks)
      : list(std::move(list)), batch(config.microBatch), seq(config.seq), rank(rank), ranks(ranks),
        at(rank) {}

  void rewind() override { at = rank; }
  StatusOr<bool> next(int32_t *tokens, int32_t *labels, int64_t &counted,
                      int32_t *positions) override {
    counted = 0;
    if (at >= batches())
      return false;
    for (int64_t b = 0; b < batch; ++b) {
      if (Status status = list.fill(at * batch + b, b, seq, tokens, labels, counted, positions);
          !status)
        return status;
    }
    at += ranks;
    return true;
  }
  int64_t batches() const override { return (list.rows() - 1) / batch + 1; }
  int64_t tokens() const override { return list.countedTokens(); }

private:
  RowList list;
  int64_t batch, seq, rank, ranks, at;
};
} // namespace

static Status checkSizes(const DataConfig &config) {
  // Larger sizes than these overflow the products below long after they left what a machine holds.
  constexpr int64_t most = int64_t{1} << 31;
  if (config.batch < 1 || config.seq < 1 || config.vocabulary < 1 || config.batch > most ||
      config.seq > most || config.vocabulary > most)
    return inputError("batch " + std::to_string(config.batch) + ", seq_length " +
                      std::to_string(config.seq) + " and vocabulary " +
                      std::to_string(config.vocabulary) + " must be in [1, 2^31]");
  if (!(config.validationFraction >= 0 && config.validationFraction < 1))
    return inputError("data.validation_fraction must be in [0, 1)");
  return {};
}

StatusOr<std::unique_ptr<BatchStream>> BatchStream::open(const DataConfig &config) {
  if (Status status = checkSizes(config); !status)
    return status;
  if (config.train.empty())
    return inputError("data.train names no file");
  RowList list;
  bool replay = config.train.front().format == DataFormat::Replay;
  for (const DataFile &file : config.train) {
    if ((file.format == DataFormat::Replay) != replay)
      return inputError("data.train mixes replay files with others: a replay is fed in exactly its "
                        "own order, alone");
    int64_t fileBatch = config.batch;
    StatusOr<std::unique_ptr<RowSource>> source =
        replay ? openReplay(config, file, fileBatch)
               : openRows(config, file, StreamPart::Training, config.validationFraction);
    if (!source)
      return source.status();
    if (fileBatch != config.batch)
      return inputError("'" + file.path + "' has batches of " + std::to_string(fileBatch) +
                        ", but train.train_batch_size is " + std::to_string(config.batch));
    list.add(std::move(*source));
  }
  if (list.rows() > std::numeric_limits<uint32_t>::max())
    return inputError("the training data has " + std::to_string(list.rows()) +
                      " windows, more than 2^32 - 1: use a longer data.seq_length");
  if (!replay)
    return std::unique_ptr<BatchStream>(new ShuffledStream(std::move(list), config));
  if (config.validationFraction > 0)
    return inputError("data.validation_fraction does not apply to replay data: name files in "
                      "data.validation instead");
  return std::unique_ptr<BatchStream>(new ReplayStream(std::move(list), config));
}

StatusOr<std::unique_ptr<EvaluationStream>> EvaluationStream::open(const DataConfig &config,
                                                                   int64_t rank, int64_t ranks) {
  if (Status status = checkSizes(config); !status)
    return status;
  RowList list;
  double fraction = config.validation.empty() ? config.validationFraction : 0;
  if (config.validation.empty() && fraction == 0)
    return std::unique_ptr<EvaluationStream>();
  for (const DataFile &file : config.validation.empty() ? config.train : config.validation) {
    int64_t batch;
    StatusOr<std::unique_ptr<RowSource>> source =
        file.format == DataFormat::Replay
            ? openReplay(config, file, batch)
            : openRows(config, file, StreamPart::Validation, fraction);
    if (!source)
      return source.status();
    list.add(std::move(*source));
  }
  return std::unique_ptr<EvaluationStream>(new RowEvaluation(std::move(list), config, rank, ranks));
}
