//===- TrainingStep.h - one window of data through the plan's schedule -----===//
// What a step does is written in the plan: a table of programs and how often each runs. This class
// deals the rows of the window to them and reads the numbers that the last one reports.
#ifndef DSC_RUNTIME_CORE_TRAININGSTEP_H
#define DSC_RUNTIME_CORE_TRAININGSTEP_H

#include "dsc/Runtime/Core/Executor.h"
#include "dsc/Runtime/Data/BatchStream.h"
#include <optional>

namespace dsc {

class TrainingStep {
public:
  /// Checks that the programs of the schedule take the window's rows, [batch, seq] or a whole
  /// number of parts of it, and report `loss`, `tokens`, `grad_norm`, `learning_rate`. Code
  /// Damaged.
  static StatusOr<TrainingStep> open(Executor &executor, const DataConfig &config);

  /// Where the window goes, [batch, seq] each; run() leaves them as they are.
  int32_t *tokens() { return theTokens.data(); }
  int32_t *labels() { return theLabels.data(); }
  /// Null where no program takes them.
  int32_t *positions() { return thePositions.empty() ? nullptr : thePositions.data(); }

  /// Runs all programs in order. Takes nothing from the heap. The window's sequences from `rows` on
  /// are padding: micro-batches that hold no other are left out, where gradients are added in place
  /// (those of padding are 0); in a tree of micro-batches they run.
  Outcome run(int64_t rows);
  /// After NotFinite: runs the step again from the same state and describes the first tensor with a
  /// value that is not finite.
  std::string firstNonFinite();

  /// The program that ends with the guard.
  size_t update() const { return rows.back().program; }

  double loss() const { return read(lossAt); }
  double count() const { return read(countAt); }
  double norm() const { return read(normAt); }
  double learningRate() const { return read(rateAt); }
  /// The loss scale that the step's gradients were computed with; nothing where the plan has none.
  std::optional<double> lossScale() const {
    return scaleAt ? std::optional(read(scaleAt)) : std::nullopt;
  }

private:
  struct Row {
    size_t program;
    int64_t times, elements; ///< of tokens or labels that one run takes
    int64_t first;           ///< part of the batch: rows of one program share it in turn
    bool alone = false;      ///< no other row has this program
    int32_t *tokens = nullptr, *labels = nullptr, *positions = nullptr;
  };

  explicit TrainingStep(Executor &executor) : executor(&executor) {}
  Status openRow(const plan::Phase &phase, int64_t parts, const DataConfig &config);
  Status openOutputs();
  void give(const Row &row, int64_t part);
  /// Part behind the last one to run.
  int64_t end(const Row &row) const;
  static double read(const std::byte *at);

  Executor *executor;
  std::vector<Row> rows;
  int64_t seq = 0, filled = 0; ///< sequences of the window that are data
  std::vector<int32_t> theTokens, theLabels, thePositions;
  const std::byte *lossAt = nullptr, *countAt = nullptr, *normAt = nullptr, *rateAt = nullptr,
                  *scaleAt = nullptr;
};

} // namespace dsc

#endif // DSC_RUNTIME_CORE_TRAININGSTEP_H
