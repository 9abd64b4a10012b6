//===- Rows.cpp - windows of token streams, samples of replay arrays ---------===//
#include "Rows.h"
#include "dsc/Runtime/Data/Npy.h"
#include "dsc/Runtime/Data/TokenFile.h"
#include "dsc/Support/Fault.h"
#include "dsc/Support/File.h"
#include "dsc/Support/Numbers.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

using namespace dsc;

void dsc::fillPadding(int64_t count, int32_t *tokens, int32_t *labels, int32_t *positions) {
  std::fill_n(tokens, count, 0);
  std::fill_n(labels, count, ignoredLabel);
  if (positions)
    std::fill_n(positions, count, -1);
}

void dsc::fillPositions(int64_t count, int32_t *positions) {
  if (positions)
    std::iota(positions, positions + count, 0);
}

namespace {
class WindowSource : public RowSource {
public:
  WindowSource(std::unique_ptr<TokenFile> file, int64_t begin, int64_t end,
               const DataConfig &config)
      : file(std::move(file)), begin(begin), count(end - begin), seq(config.seq),
        vocabulary(config.vocabulary) {}

  int64_t rows() const override {
    return (count - 2) / seq + 1;
  } // ceil((count - 1) / seq), count >= 2
  int64_t countedTokens() const override { return count - 1; }

  Status fill(int64_t row, int32_t *tokens, int32_t *labels, int64_t &counted,
              int32_t *positions) const override {
    int64_t start = row * seq, length = std::min(seq, count - 1 - start);
    // Ids start .. start + length: the inputs and one more, read once into both places.
    if (Status status = file->read(begin + start, length, vocabulary, tokens); !status)
      return status;
    std::copy_n(tokens + DSC_FAULT(85, 1, 0), length - 1, labels);
    if (Status status = file->read(begin + start + length, 1, vocabulary, labels + length - 1);
        !status)
      return status;
    fillPadding(seq - length, tokens + length, labels + length, nullptr);
    fillPositions(seq, positions);
    counted += length;
    return {};
  }

private:
  std::unique_ptr<TokenFile> file;
  int64_t begin, count, seq, vocabulary;
};

class ReplaySource : public RowSource {
public:
  ReplaySource(NpyArray tokens, std::optional<NpyArray> labels, const DataConfig &config)
      : tokenArray(std::move(tokens)), labelArray(std::move(labels)), seq(config.seq),
        vocabulary(config.vocabulary), batch(tokenArray.header().shape[1]) {
    counted = rows() * seq;
  }
  int64_t rows() const override { return tokenArray.header().shape[0] * batch; }
  int64_t countedTokens() const override { return counted; }

  Status fill(int64_t row, int32_t *tokens, int32_t *labels, int64_t &total,
              int32_t *positions) const override {
    fillPositions(seq, positions);
    const uint8_t *source = tokenArray.data() + row * (seq + 1) * 4;
    std::memcpy(tokens, source, static_cast<size_t>(seq) * 4);
    if (labelArray)
      std::memcpy(labels, labelArray->data() + row * seq * 4, static_cast<size_t>(seq) * 4);
    else
      std::memcpy(labels, source + 4, static_cast<size_t>(seq) * 4);
    for (int64_t i = 0; i < seq; ++i)
      if (tokens[i] < 0 || tokens[i] >= vocabulary)
        return bad(tokenArray.path(), "token id", tokens[i], row, i, "");
    for (int64_t i = 0; i < seq; ++i) {
      bool ignored = labelArray && labels[i] == ignoredLabel;
      if (!ignored && (labels[i] < 0 || labels[i] >= vocabulary))
        return labelArray ? bad(labelArray->path(), "label", labels[i], row, i,
                                ", or be -100 (not counted)")
                          : bad(tokenArray.path(), "token id", labels[i], row, i + 1, "");
      total += !ignored;
    }
    return {};
  }

  /// Every row; also counts the labels.
  Status check() {
    std::vector<int32_t> tokens(static_cast<size_t>(seq)), labels(tokens);
    int64_t total = 0;
    for (int64_t row = 0; row < rows(); ++row)
      if (Status status = fill(row, tokens.data(), labels.data(), total, nullptr); !status)
        return status;
    counted = total;
    return {};
  }

private:
  Status bad(const std::string &path, const char *what, int32_t value, int64_t row,
             int64_t position, const char *more) const {
    return inputError(std::string(what) + " " + std::to_string(value) + " at step " +
                      std::to_string(row / batch + 1) + ", sample " + std::to_string(row % batch) +
                      ", position " + std::to_string(position) + " of '" + path +
                      "' is outside the vocabulary of " + std::to_string(vocabulary) +
                      ": it must be in [0, " + std::to_string(vocabulary) + ")" + more);
  }

  NpyArray tokenArray;
  std::optional<NpyArray> labelArray;
  int64_t seq, vocabulary, batch, counted;
};
} // namespace

std::string dsc::plural(int64_t n, const char *what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

StatusOr<std::unique_ptr<TokenFile>> dsc::openStream(const DataConfig &config,
                                                     const DataFile &file) {
  std::string path = joinPath(config.folder, file.path);
  if (file.format == DataFormat::Text && config.vocabulary < byteVocabularySize)
    return inputError("'" + path +
                      "' is text, whose byte vocabulary has 257 ids (bytes and "
                      "end-of-text), but model.vocab_size is " +
                      std::to_string(config.vocabulary) + ": set it to 257 or more");
  if (file.format == DataFormat::Uint16 && config.vocabulary > 65536)
    return inputError("'" + path + "' holds 16-bit ids, but model.vocab_size is " +
                      std::to_string(config.vocabulary) +
                      ": ids from 65536 on cannot be in it; use a Megatron pair with int32 ids");
  StatusOr<std::unique_ptr<TokenFile>> opened =
      TokenFile::open(path, file.format, config.packDocuments ? file.separator : std::string());
  if (!opened)
    return opened.status();
  int64_t tokens = (*opened)->size();
  // Text always has its end-of-text; a file without a byte is no data all the same.
  int64_t content = tokens - (file.format == DataFormat::Text ? 1 : 0);
  if (content <= 0 || tokens < 2)
    return inputError("'" + path + "' has " + plural(std::max<int64_t>(content, 0), "token") +
                      ": a window needs at least 2 (one to read, one to predict)");
  return opened;
}

Status dsc::checkTokens(const TokenFile &file, const DataConfig &config, DataFormat format,
                        int64_t begin, int64_t end) {
  // Bytes always fit a vocabulary of 257; other ids are known only when looked at.
  if (format == DataFormat::Text || end - begin > fullCheckTokens)
    return {};
  std::vector<int32_t> block(size_t{1} << 16);
  for (int64_t at = begin; at < end; at += static_cast<int64_t>(block.size())) {
    int64_t length = std::min<int64_t>(static_cast<int64_t>(block.size()), end - at);
    if (Status status = file.read(at, length, config.vocabulary, block.data()); !status)
      return status;
  }
  return {};
}

StatusOr<std::unique_ptr<RowSource>>
dsc::openWindows(const DataConfig &config, const DataFile &file, StreamPart part, double fraction) {
  StatusOr<std::unique_ptr<TokenFile>> opened = openStream(config, file);
  if (!opened)
    return opened.status();
  int64_t tokens = (*opened)->size();
  int64_t tail = static_cast<int64_t>(std::floor(fraction * static_cast<double>(tokens)));
  int64_t begin = 0, end = tokens;
  if (fraction > 0) {
    (part == StreamPart::Training ? end : begin) = tokens - tail;
    if (end - begin < 2)
      return inputError("data.validation_fraction " + printShortest(fraction) + " of '" +
                        joinPath(config.folder, file.path) + "' (" + plural(tokens, "token") +
                        ") leaves " + plural(end - begin, "token") + " for " +
                        (part == StreamPart::Training ? "training" : "validation") +
                        ": a window needs at least 2");
  }
  if (Status status = checkTokens(**opened, config, file.format, begin, end); !status)
    return status;
  return std::unique_ptr<RowSource>(new WindowSource(std::move(*opened), begin, end, config));
}

StatusOr<std::unique_ptr<RowSource>> dsc::openRows(const DataConfig &config, const DataFile &file,
                                                   StreamPart part, double fraction) {
  return config.packDocuments ? openPacked(config, file, part, fraction)
                              : openWindows(config, file, part, fraction);
}

static std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

static Status checkReplayHeader(const NpyHeader &header, const std::string &path) {
  if (header.type != NpyType::Int32)
    return inputError("'" + path + "' holds " + npyTypeName(header.type) +
                      ", expected int32 [steps, batch, seq_length + 1]");
  const std::vector<int64_t> &shape = header.shape;
  if (shape.size() != 3 || shape[0] < 1 || shape[1] < 1 || shape[2] < 2)
    return inputError("'" + path + "' has shape " + shapeText(shape) +
                      ", expected [steps, batch, seq_length + 1] with at least one step, one "
                      "sample and two tokens");
  return {};
}

StatusOr<ReplayShape> dsc::replayShape(const std::string &path) {
  StatusOr<NpyArray> array = NpyArray::open(path);
  if (!array)
    return array.status();
  if (Status status = checkReplayHeader(array->header(), path); !status)
    return status;
  const std::vector<int64_t> &shape = array->header().shape;
  return ReplayShape{shape[0], shape[1], shape[2] - 1};
}

StatusOr<std::unique_ptr<RowSource>> dsc::openReplay(const DataConfig &config, const DataFile &file,
                                                     int64_t &batch) {
  std::string path = joinPath(config.folder, file.path);
  StatusOr<NpyArray> tokens = NpyArray::open(path);
  if (!tokens)
    return tokens.status();
  if (Status status = checkReplayHeader(tokens->header(), path); !status)
    return status;
  const std::vector<int64_t> &shape = tokens->header().shape;
  if (shape[2] != config.seq + 1)
    return inputError(
        "'" + path + "' has shape " + shapeText(shape) + ": " + std::to_string(shape[2]) +
        " ids a sample, expected data.seq_length + 1 = " + std::to_string(config.seq + 1));
  batch = shape[1];
  std::optional<NpyArray> labels;
  if (!file.labels.empty()) {
    std::string labelPath = joinPath(config.folder, file.labels);
    StatusOr<NpyArray> array = NpyArray::open(labelPath);
    if (!array)
      return array.status();
    std::vector<int64_t> expected = {shape[0], shape[1], config.seq};
    if (array->header().type != NpyType::Int32 || array->header().shape != expected)
      return inputError("'" + labelPath + "' is " + npyTypeName(array->header().type) + " " +
                        shapeText(array->header().shape) + ", expected int32 " +
                        shapeText(expected) + " to go with '" + path + "'");
    labels = std::move(*array);
  }
  bool counts = labels.has_value();
  int64_t elements = tokens->header().elements;
  auto source = std::make_unique<ReplaySource>(std::move(*tokens), std::move(labels), config);
  if (counts || elements <= fullCheckTokens)
    if (Status status = source->check(); !status)
      return status;
  return std::unique_ptr<RowSource>(std::move(source));
}
