//===- Ranks.h - the ranks of a plan that this process runs ----------------===//
// The session's executor has the whole tensors; each rank has its own executor with what the plan
// says a rank of its stage has. Before training the ranks are given their parts; for evaluation and
// saves the whole is put together again.
#ifndef DSC_RUNTIME_CORE_RANKS_H
#define DSC_RUNTIME_CORE_RANKS_H

#include "dsc/Runtime/Core/TrainingStep.h"
#include <condition_variable>
#include <mutex>
#include <thread>

namespace dsc {

/// A thread for each of so many ranks; run() does a piece of work on all of them.
class RankThreads {
public:
  explicit RankThreads(size_t count);
  ~RankThreads();
  /// work(rank) on every thread; returns when all are done.
  void run(const std::function<void(size_t)> &work);

private:
  void loop(size_t index);

  std::mutex mutex;
  std::condition_variable wake, done;
  const std::function<void(size_t)> *work = nullptr;
  uint64_t round = 0;
  size_t pending = 0;
  bool ending = false;
  std::vector<std::thread> threads;
};

/// Executors of the ranks, all in this process, and the step that they take together.
class Ranks final : public WindowStep {
public:
  /// `whole` is the plan's executor of what is done on one device. Errors as Executor::create and
  /// TrainingStep::open.
  static StatusOr<std::unique_ptr<Ranks>> create(Executor &whole, const DataConfig &config,
                                                 const ExecutorOptions &options,
                                                 double timeoutSeconds);
  ~Ranks() override;

  int32_t *tokens() override { return theTokens.data(); }
  int32_t *labels() override { return theLabels.data(); }
  int32_t *positions() override { return thePositions.empty() ? nullptr : thePositions.data(); }
  Outcome run(int64_t rows) override;
  Status failure() const override { return theFailure; }
  std::string firstNonFinite() override;
  std::optional<size_t> update() const override { return std::nullopt; }
  double loss() const override { return steps.front()->loss(); }
  double count() const override { return steps.front()->count(); }
  double norm() const override { return steps.front()->norm(); }
  double learningRate() const override { return steps.front()->learningRate(); }
  std::optional<double> lossScale() const override { return steps.front()->lossScale(); }
  void scatter() override;
  void gather(bool all) override;

private:
  /// One piece of a variable: bytes of the whole and where a rank has them.
  struct Piece {
    std::byte *whole, *part;
    uint64_t bytes;
    bool home;   ///< gathered from this rank, not from another that has the same
    bool scalar; ///< says how far training is
  };

  explicit Ranks(Executor &whole) : whole(whole) {}
  void findPieces();
  void addPieces(Executor &rank, const Coordinates &at, const plan::Variable &part, size_t index,
                 std::byte *wholeData);
  void give(size_t rank, int64_t rows);

  Executor &whole;
  int64_t seq = 0, batch = 0; ///< rows of the window, over all ranks
  std::vector<std::unique_ptr<Communicator>> communicators;
  std::vector<std::unique_ptr<Executor>> executors;
  std::vector<std::unique_ptr<TrainingStep>> steps;
  std::vector<Piece> pieces;
  std::unique_ptr<RankThreads> threads;
  std::vector<int32_t> theTokens, theLabels, thePositions;
  std::vector<Outcome> outcomes;
  Status theFailure;
};

} // namespace dsc

#endif // DSC_RUNTIME_CORE_RANKS_H
