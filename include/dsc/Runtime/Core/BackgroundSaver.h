//===- BackgroundSaver.h - one copy, then a thread writes ------------------===//
#ifndef DSC_RUNTIME_CORE_BACKGROUNDSAVER_H
#define DSC_RUNTIME_CORE_BACKGROUNDSAVER_H

#include "dsc/Runtime/CPU/Arena.h"
#include "dsc/Runtime/CPU/ThreadPool.h"
#include "dsc/Runtime/Checkpoint/Checkpoint.h"
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

namespace dsc {

class Profile;
class StepLog;

/// Writes checkpoints. With a snapshot the caller pays one copy of the state and a thread writes
/// the copy; without, save() writes from the state itself. The files are the same.
class BackgroundSaver {
public:
  struct Job {
    std::string folder;
    CheckpointInfo info;
    StepLog *log = nullptr;             ///< synced before the checkpoint appears
    std::function<Status()> afterwards; ///< when it is in place; its error is told, too
    Profile *profile = nullptr;         ///< told of copying and writing
    uint64_t flow = 0;                  ///< of the profile; save() fills it in
  };
  struct Result {
    int64_t step;
    bool written; ///< else the checkpoint is not there
    Status status;
  };

  /// `asynchronous`: takes memory for the snapshot (code Memory) and touches it, so that the first
  /// save is no slower than others.
  static StatusOr<std::unique_ptr<BackgroundSaver>> create(const StateLayout &layout,
                                                           std::vector<std::byte *> memory,
                                                           bool asynchronous, ThreadPool &workers);
  /// Waits for what is being written.
  ~BackgroundSaver();

  /// Waits for the save before, copies, returns while the thread writes. The result of each save is
  /// to be collected before the next.
  void save(Job job);
  /// How the last save ended; nothing when that was told already or, without `wait`, is not known
  /// yet.
  std::optional<Result> collect(bool wait);

private:
  BackgroundSaver(const StateLayout &layout, std::vector<std::byte *> memory, ThreadPool &workers)
      : layout(layout), memory(std::move(memory)), workers(workers) {}
  void copyState();
  void work();
  Result write(Job &job, std::span<const std::byte *const> data) const;

  const StateLayout &layout;
  std::vector<std::byte *> memory;
  ThreadPool &workers;
  Arena snapshot;
  std::vector<std::byte *> copies; ///< empty: synchronous
  std::thread thread;
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<Job> pending; ///< until it is written
  std::optional<Result> result;
  bool stopping = false;
};

} // namespace dsc

#endif // DSC_RUNTIME_CORE_BACKGROUNDSAVER_H
