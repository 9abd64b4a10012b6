//===- TrainingStep.h - one window of data through the plan's schedule -----===//
// What a step does is written in the plan: a table of programs and how often each runs. This class
// deals the rows of the window to them and reads the numbers that the last one reports.
#ifndef DSC_RUNTIME_CORE_TRAININGSTEP_H
#define DSC_RUNTIME_CORE_TRAININGSTEP_H

#include "dsc/Runtime/Core/Executor.h"
#include "dsc/Runtime/Data/BatchStream.h"
#include <optional>

namespace dsc {

/// One attempted update, on one rank or on all.
class WindowStep {
public:
  virtual ~WindowStep() = default;

  /// Where the window goes, [batch, seq] each; run() leaves them as they are.
  virtual int32_t *tokens() = 0;
  virtual int32_t *labels() = 0;
  /// Null where no program takes them.
  virtual int32_t *positions() = 0;

  /// Runs all programs in order. Takes nothing from the heap. The window's sequences from `rows` on
  /// are padding: micro-batches that hold no other are left out, where gradients are added in place
  /// (those of padding are 0); in a tree of micro-batches they run.
  virtual Outcome run(int64_t rows) = 0;
  /// Of run(), after Failed.
  virtual Status failure() const = 0;
  /// After NotFinite: describes the first tensor with a value that is not finite.
  virtual std::string firstNonFinite() = 0;

  virtual double loss() const = 0;
  virtual double count() const = 0;
  virtual double norm() const = 0;
  virtual double learningRate() const = 0;
  /// The loss scale that the step's gradients were computed with; nothing where the plan has none.
  virtual std::optional<double> lossScale() const = 0;

  /// The program that ends with the guard, of the executor whose gradients a digest reads; none
  /// where ranks have them.
  virtual std::optional<size_t> update() const = 0;
  /// Give the variables of the session's executor to the ranks, and bring them back: all, or
  /// scalars that say how far training is. Code Communication.
  virtual Status scatter() { return {}; }
  virtual Status gather(bool all) {
    (void)all;
    return {};
  }
  /// To be called now and then while something long is done that no rank has a part in.
  virtual void keepAlive() {}
  /// "4 ranks, data 4, threads of this process"; empty for one rank.
  virtual std::string description() const { return {}; }
  /// How the run ends, for the processes of other ranks.
  virtual void endedWith(ErrorCode code) { (void)code; }
};

class TrainingStep final : public WindowStep {
public:
  /// Checks that the programs of the schedule take the window's rows, [batch, seq] or a whole
  /// number of parts of it, and report `loss`, `tokens`, `grad_norm`, `learning_rate`. Code
  /// Damaged.
  static StatusOr<TrainingStep> open(Executor &executor, const DataConfig &config);

  int32_t *tokens() override { return theTokens.data(); }
  int32_t *labels() override { return theLabels.data(); }
  int32_t *positions() override { return thePositions.empty() ? nullptr : thePositions.data(); }

  Outcome run(int64_t rows) override;
  Status failure() const override { return executor->failure(); }
  /// Runs the step again from the same state.
  std::string firstNonFinite() override;
  std::optional<size_t> update() const override { return rows.back().program; }

  /// Runs of a program that the last step left out: they had padding only.
  int64_t leftOut(size_t program) const;

  double loss() const override { return read(lossAt); }
  double count() const override { return read(countAt); }
  double norm() const override { return read(normAt); }
  double learningRate() const override { return read(rateAt); }
  std::optional<double> lossScale() const override {
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
