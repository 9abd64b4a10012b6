//===- Checkpointing.h - saving while training goes on, and resuming -------===//
#ifndef DSC_RUNTIME_CORE_CHECKPOINTING_H
#define DSC_RUNTIME_CORE_CHECKPOINTING_H

#include "dsc/Runtime/Checkpoint/Checkpoint.h"
#include "dsc/Runtime/Checkpoint/CheckpointFolder.h"
#include "dsc/Runtime/Core/BackgroundSaver.h"
#include "dsc/Runtime/Core/Session.h"
#include "dsc/Runtime/Monitor/StepLog.h"
#include <functional>
#include <memory>
#include <optional>

namespace dsc {

/// Where a run stands between two steps.
struct TrainingPoint {
  int64_t step = 0;
  StreamPosition data;
  int64_t windowsPerEpoch = 0;
  StepLog *log = nullptr; ///< null: there is none
  std::optional<double> evalLoss;
  bool evaluationDue = false; ///< the step's evaluation was left out because of a signal
};

/// The checkpoints of one run: decides when, keeps history, tells what went wrong. What is saved is
/// every variable of the plan whose contents live across steps, whatever it is for.
class Checkpointing {
public:
  /// Null when the plan has no checkpoint.dir. Takes the folder's lock and the memory that saving
  /// needs. Code Usage when another run has the folder, or `--resume` has none.
  static StatusOr<std::unique_ptr<Checkpointing>> open(Session &session);
  ~Checkpointing();

  const std::string &path() const { return folder->path(); }

  /// Where it is told what went wrong. To be set before the first save.
  void onNote(std::function<void(const std::string &)> show, EventLog &log) {
    note = std::move(show);
    events = &log;
  }

  /// Called before the variables are read.
  void beforeSave(std::function<void()> hook) { gather = std::move(hook); }

  /// --resume: fills the variables from the newest checkpoint that verifies and returns what it
  /// says. Nothing: there is none; the variables may hold anything then. `notes`: checkpoints that
  /// were skipped, settings that changed. Code Damaged: the checkpoint is of another model or run,
  /// with every difference.
  StatusOr<std::optional<CheckpointInfo>> resume(const TrainingPoint &now,
                                                 std::vector<std::string> &notes);
  /// A new run: moves checkpoints of earlier ones out of the way and says so in `notes`.
  Status startAfresh(std::vector<std::string> &notes);
  /// Before the final weights of a new run are saved: those of an earlier one are kept as well.
  Status keepEarlierWeights();

  /// After a step: saves if it is due. What fails is told, and training goes on.
  void afterStep(const TrainingPoint &point);
  /// At the end of a run, whatever ended it: saves if the state since the last save would be lost,
  /// and waits. `interrupted`: also where checkpoint.every is 0. Code Damaged when this last
  /// checkpoint could not be written.
  Status finish(const TrainingPoint &point, bool interrupted);
  /// After an error: waits for what is being written.
  void drain() { (void)collect(/*wait=*/true); }

private:
  explicit Checkpointing(Session &session) : session(session) {}
  Status prepare();
  /// Hands the state to the saver; waits for the save before.
  void save(const TrainingPoint &point);
  CheckpointInfo describe(const TrainingPoint &point) const;
  /// Tells how the last save ended, once it has.
  Status collect(bool wait);

  Session &session;
  int64_t every = 0, keep = 0;
  bool keepBest = false;
  std::unique_ptr<CheckpointFolder> folder;
  StateLayout layout;
  std::vector<std::byte *> memory; ///< of each tensor
  std::unique_ptr<BackgroundSaver> saver;
  std::vector<std::pair<int64_t, double>> evaluations;
  int64_t best = 0; ///< step of the lowest eval_loss, 0: none yet
  double bestLoss = 0;
  int64_t lastSaved = -1, lastTried = -1; ///< steps
  std::function<void()> gather = [] {};
  std::function<void(const std::string &)> note;
  EventLog *events = nullptr;
};

} // namespace dsc

#endif // DSC_RUNTIME_CORE_CHECKPOINTING_H
