//===- BatchStream.h - batches for training and evaluation -----------------===//
// Windows. A token stream of n ids is cut into windows of stride T = seq: window w holds ids [w T,
// min(w T + T + 1, n)), inputs all but its last, labels all but its first. So each id but the first
// of a stream is a label exactly once. A short last window is filled with input 0 and label -100
// (not counted).
//
// Order of epoch e over W windows (all files' windows, in the order of the spec), under seed s =
// data.seed:
//   order = [0, 1, ..., W-1]
//   for i = W-1 down to 1:
//     r = words 0 (low) and 1 (high) of Philox4x32-10 under key (s mod 2^32, s div 2^32) at counter
//         (i mod 2^32, i div 2^32, e mod 2^32, e div 2^32)
//     swap order[i], order[(r (i+1)) div 2^64]
// A batch never spans epochs: the last of an epoch is filled with rows that are not counted. So is
// a batch of a step that takes fewer rows than there is room for (train.batch_ramp).
//
// Packed documents (data.packing): windows hold whole documents instead, as many as follow each
// other and fit T tokens; positions start anew in each, the pair from one document to the next is
// no label, and the rest of a window is padding: input 0, label -100, position -1. A document of
// more than T tokens is cut into pieces of T (each pair of its tokens is still counted once), cut
// off, or left out.
//
// Replay: row r of the array is batch r, in that order, once.
#ifndef DSC_RUNTIME_DATA_BATCHSTREAM_H
#define DSC_RUNTIME_DATA_BATCHSTREAM_H

#include "dsc/Frontend/Spec.h"
#include "dsc/Support/BatchRamp.h"
#include "dsc/Support/Status.h"
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace dsc {

/// A label that is not counted.
inline constexpr int32_t ignoredLabel = -100;

struct DataConfig {
  std::vector<DataFile> train, validation;
  double validationFraction = 0; ///< tail of each training file: floor(fraction * tokens) ids
  int64_t batch = 1;             ///< rows of a window, which training streams give at a time
  int64_t microBatch = 1;        ///< rows of a micro-batch, which evaluation streams give at a time
  BatchRampSettings ramp;        ///< rows of the first steps
  int64_t seq = 0, vocabulary = 0;
  uint64_t seed = 1234;
  bool packDocuments = false;
  LongDocuments longDocuments = LongDocuments::Split;
  std::string folder; ///< relative paths start here

  /// Whether ids of the validation data below 256 stand for one byte of text and all others for
  /// none: text files, or the byte vocabulary.
  bool validationIsBytes() const;

  /// From a resolved spec (Spec::resolved, or "spec" of a plan's manifest).
  static StatusOr<DataConfig> fromResolved(const nlohmann::json &spec, const std::string &folder);
};

/// Where a training stream stands: the next batch starts with row `row` of the order of `epoch`.
struct StreamPosition {
  int64_t epoch = 0, row = 0;
};

class BatchStream {
public:
  virtual ~BatchStream() = default;

  /// Opens every training file and checks it: absent, truncated, shorter than two tokens, ids
  /// outside the vocabulary (files up to 32 Mi tokens whole, larger ones as they are read), replay
  /// shape other than [steps, batch, seq + 1]. Code Input.
  static StatusOr<std::unique_ptr<BatchStream>> open(const DataConfig &config);

  /// Fills tokens and labels, [batch, seq] each, and the number of labels that count.
  /// `positions`, if not null, [batch, seq] too: the place of each token in its document, 0, 1, ...
  /// in a window that is not packed; -1 is padding. `rows` of the batch are taken from the data,
  /// the others are padding; 0: all. At the end of a replay: error (Input) that names rows and
  /// steps.
  virtual Status next(int32_t *tokens, int32_t *labels, int64_t &counted,
                      int32_t *positions = nullptr, int64_t rows = 0) = 0;
  /// What is to be said about the files: documents that were too long.
  virtual std::vector<std::string> notes() const { return {}; }

  virtual StreamPosition position() const = 0;
  virtual void seek(StreamPosition position) = 0;
  /// Windows of an epoch (replay: rows times batch).
  virtual int64_t windowsPerEpoch() const = 0;
  /// Batches of an epoch, each as large as can be (replay: rows).
  virtual int64_t batchesPerEpoch() const = 0;
  virtual bool isReplay() const = 0;

  /// Error when a replay has fewer than `steps` rows.
  Status checkSteps(int64_t steps) const;
};

/// Windows of the validation data in file order, each once; the last batch is filled with uncounted
/// rows.
class EvaluationStream {
public:
  virtual ~EvaluationStream() = default;

  /// Null when the config names no validation data. `ranks` deal batches round robin: rank r gets
  /// batches r, r + ranks, ...
  static StatusOr<std::unique_ptr<EvaluationStream>> open(const DataConfig &config,
                                                          int64_t rank = 0, int64_t ranks = 1);

  virtual void rewind() = 0;
  /// False when all were given. `counted` is the number of labels that count.
  virtual StatusOr<bool> next(int32_t *tokens, int32_t *labels, int64_t &counted,
                              int32_t *positions = nullptr) = 0;
  /// Batches over all ranks, and labels that will be counted in them (0 for replay, where it is
  /// unknown).
  virtual int64_t batches() const = 0;
  virtual int64_t tokens() const = 0;
};

/// [steps, batch, seq + 1] of a replay file, without reading its data.
struct ReplayShape {
  int64_t steps, batch, seq;
};
StatusOr<ReplayShape> replayShape(const std::string &path);

/// Order of `epoch` as in this file's head. At most 2^32 - 1 windows.
std::vector<uint32_t> epochOrder(uint64_t seed, int64_t epoch, int64_t windows);

} // namespace dsc

#endif // DSC_RUNTIME_DATA_BATCHSTREAM_H
