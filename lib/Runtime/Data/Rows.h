//===- Rows.h - what batches are made of: rows of inputs and labels ----------===//
// Shared by training and evaluation. A row is a window of a token stream or a sample of a replay
// array.
#ifndef DSC_LIB_RUNTIME_DATA_ROWS_H
#define DSC_LIB_RUNTIME_DATA_ROWS_H

#include "dsc/Runtime/Data/BatchStream.h"
#include "dsc/Runtime/Data/TokenFile.h"

namespace dsc {

class RowSource {
public:
  virtual ~RowSource() = default;
  virtual int64_t rows() const = 0;
  /// Labels that count, over all rows.
  virtual int64_t countedTokens() const = 0;
  /// Writes seq inputs and labels, and positions unless that is null; adds to `counted`.
  virtual Status fill(int64_t row, int32_t *tokens, int32_t *labels, int64_t &counted,
                      int32_t *positions) const = 0;
  /// What is to be said about the file, or empty.
  virtual std::string note() const { return {}; }
};

enum class StreamPart { Training, Validation };

/// openWindows, or openPacked where the config packs documents.
StatusOr<std::unique_ptr<RowSource>> openRows(const DataConfig &config, const DataFile &file,
                                              StreamPart part, double fraction);

/// A file as a token stream, checked against the vocabulary; as an error what is no data.
StatusOr<std::unique_ptr<TokenFile>> openStream(const DataConfig &config, const DataFile &file);
/// Reads tokens [begin, end) and throws them away: files of up to `fullCheckTokens`, not text.
Status checkTokens(const TokenFile &file, const DataConfig &config, DataFormat format,
                   int64_t begin, int64_t end);

/// Windows of whole documents of a file: the first of them, or with `part` Validation the last
/// floor(fraction * documents).
StatusOr<std::unique_ptr<RowSource>> openPacked(const DataConfig &config, const DataFile &file,
                                                StreamPart part, double fraction);

/// Windows of a file or of a part of it: training files without or validation files with their
/// tail. `part` chooses the head or the tail when fraction > 0.
StatusOr<std::unique_ptr<RowSource>> openWindows(const DataConfig &config, const DataFile &file,
                                                 StreamPart part, double fraction);

/// Samples of a replay array; `batch` receives its second dimension.
StatusOr<std::unique_ptr<RowSource>> openReplay(const DataConfig &config, const DataFile &file,
                                                int64_t &batch);

/// Inputs 0, labels not counted, positions -1 unless null.
void fillPadding(int64_t count, int32_t *tokens, int32_t *labels, int32_t *positions);
/// 0, 1, ... unless null.
void fillPositions(int64_t count, int32_t *positions);
std::string plural(int64_t n, const char *what);

/// Files of up to this many tokens are checked whole when they are opened, larger ones as they are
/// read.
inline constexpr int64_t fullCheckTokens = int64_t{32} << 20;

} // namespace dsc

#endif // DSC_LIB_RUNTIME_DATA_ROWS_H
