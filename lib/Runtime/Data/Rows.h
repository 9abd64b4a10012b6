//===- Rows.h - what batches are made of: rows of inputs and labels ----------===//
// Shared by training and evaluation. A row is a window of a token stream or a sample of a replay
// array.
#ifndef DSC_LIB_RUNTIME_DATA_ROWS_H
#define DSC_LIB_RUNTIME_DATA_ROWS_H

#include "dsc/Runtime/Data/BatchStream.h"

namespace dsc {

class RowSource {
public:
  virtual ~RowSource() = default;
  virtual int64_t rows() const = 0;
  /// Labels that count, over all rows.
  virtual int64_t countedTokens() const = 0;
  /// Writes seq inputs and labels, adds to `counted`.
  virtual Status fill(int64_t row, int32_t *tokens, int32_t *labels, int64_t &counted) const = 0;
};

enum class StreamPart { Training, Validation };

/// Windows of a file or of a part of it: training files without or validation files with their
/// tail. `part` chooses the head or the tail when fraction > 0.
StatusOr<std::unique_ptr<RowSource>> openWindows(const DataConfig &config, const DataFile &file,
                                                 StreamPart part, double fraction);

/// Samples of a replay array; `batch` receives its second dimension.
StatusOr<std::unique_ptr<RowSource>> openReplay(const DataConfig &config, const DataFile &file,
                                                int64_t &batch);

/// Inputs 0, labels not counted.
void fillEmptyRow(int64_t seq, int32_t *tokens, int32_t *labels);

/// Files of up to this many tokens are checked whole when they are opened, larger ones as they are
/// read.
inline constexpr int64_t fullCheckTokens = int64_t{32} << 20;

} // namespace dsc

#endif // DSC_LIB_RUNTIME_DATA_ROWS_H
