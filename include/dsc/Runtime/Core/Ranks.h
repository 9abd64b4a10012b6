//===- Ranks.h - the ranks of a plan ---------------------------------------===//
// The session's executor has the whole tensors; each rank has its own executor with what the plan
// says a rank of its stage has. Before training the ranks are given their parts; for evaluation and
// saves the whole is put together again. Ranks are threads of this process, or processes that a
// launcher started: then rank 0 trains, and the others do as it says (follow).
#ifndef DSC_RUNTIME_CORE_RANKS_H
#define DSC_RUNTIME_CORE_RANKS_H

#include "dsc/Runtime/Core/Pieces.h"
#include "dsc/Runtime/Core/RankThreads.h"
#include "dsc/Runtime/Core/TrainingStep.h"

namespace dsc {

class Ranks final : public WindowStep {
public:
  /// All ranks in this process. `whole` is the plan's executor of what is done on one device.
  /// Errors as Executor::create and TrainingStep::open.
  static StatusOr<std::unique_ptr<Ranks>> createLocal(Executor &whole, const DataConfig &config,
                                                      const ExecutorOptions &options,
                                                      double timeoutSeconds);
  /// The rank of `world` that this process is. Code Usage where the plan is for another number.
  static StatusOr<std::unique_ptr<Ranks>> join(Executor &whole, const DataConfig &config,
                                               const ExecutorOptions &options,
                                               std::unique_ptr<Communicator> world,
                                               const std::string &planHash);
  ~Ranks() override;

  /// Of a rank other than 0: works until rank 0 is done. Returns an error with rank 0's exit code
  /// and no message, or its own.
  Status follow();

  int32_t *tokens() override { return theTokens.data(); }
  int32_t *labels() override { return theLabels.data(); }
  int32_t *positions() override { return thePositions.empty() ? nullptr : thePositions.data(); }
  Outcome run(int64_t rows) override;
  Status failure() const override { return theFailure; }
  std::string firstNonFinite() override;
  std::optional<size_t> update() const override { return std::nullopt; }
  double loss() const override { return mine.front().step->loss(); }
  double count() const override { return mine.front().step->count(); }
  double norm() const override { return mine.front().step->norm(); }
  double learningRate() const override { return mine.front().step->learningRate(); }
  std::optional<double> lossScale() const override { return mine.front().step->lossScale(); }
  Status scatter() override;
  Status gather(bool all) override;
  void keepAlive() override;
  std::string description() const override;
  void endedWith(ErrorCode code) override { endCode = code; }

private:
  /// A rank that this process runs.
  struct Mine {
    int64_t rank;
    Communicator *communicator;
    std::unique_ptr<Executor> executor;
    std::unique_ptr<TrainingStep> step;
    std::vector<Piece> pieces;
    Traffic planned; ///< in a step that runs to its end
    Outcome outcome = Outcome::Done;
  };
  /// What rank 0 tells the others.
  enum class Order : int64_t { Step, Scatter, Gather, Busy, End };
  struct Command {
    Order order;
    int64_t rows = 0, first = 0; ///< of a step: rows of data and number of the first
    int64_t code = 0;            ///< of an end: exit code
  };

  Ranks(Executor &whole, const DataConfig &config);
  Status add(int64_t rank, Communicator &communicator, const DataConfig &config,
             ExecutorOptions options, int threads);
  std::byte *part(const Mine &rank, const Piece &piece) const;
  std::byte *entire(const Piece &piece) const {
    return whole.variable(piece.whole) + piece.wholeOffset;
  }
  void setScalars(Mine &rank);
  Command stepOf(int64_t rank, int64_t rows) const;
  /// Copies the rows of a step from the window to `to`, padding behind them.
  void pick(const std::vector<int32_t> &window, const Command &command, int32_t *to) const;
  void deal(Mine &rank, const Command &command);
  void pad(Mine &rank, const Command &command) const;
  void execute(Mine &rank, const Command &command);
  bool remote() const { return world != nullptr; }
  Status send(int64_t rank, const void *data, uint64_t bytes);
  Status receive(int64_t rank, void *data, uint64_t bytes);
  Status command(const Command &command);
  Status sendStep(int64_t rank, int64_t rows);
  Status receiveStep(Mine &rank, const Command &command);

  Executor &whole;
  Layout layout;
  int64_t seq, batch;                  ///< rows of the window, over all ranks
  std::unique_ptr<Communicator> world; ///< of this process; null: all ranks are in it
  std::vector<std::unique_ptr<Communicator>> communicators;
  std::vector<Mine> mine;
  std::vector<std::vector<Piece>> others; ///< rank 0 of processes: what each of them has
  std::unique_ptr<RankThreads> threads;
  std::vector<int32_t> theTokens, theLabels, thePositions, packed;
  std::chrono::steady_clock::time_point lastOrder;
  ErrorCode endCode = ErrorCode::Ok;
  Status theFailure;
};

} // namespace dsc

#endif // DSC_RUNTIME_CORE_RANKS_H
