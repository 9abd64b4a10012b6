//===- CheckpointFolder.h - checkpoint.dir and the checkpoints in it -------===//
#ifndef DSC_RUNTIME_CHECKPOINT_CHECKPOINTFOLDER_H
#define DSC_RUNTIME_CHECKPOINT_CHECKPOINTFOLDER_H

#include "dsc/Support/Status.h"
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace dsc {

/// The folder a run saves into. While it is open no other process can open it (flock on `.lock`,
/// which the system lets go when the process ends, however it ends).
class CheckpointFolder {
public:
  /// Makes the folder, takes the lock, removes what killed runs left half written. Code Usage when
  /// another process has the lock (its id is in the message), Damaged when it cannot be written.
  static StatusOr<std::unique_ptr<CheckpointFolder>> open(const std::string &path);
  ~CheckpointFolder();

  const std::string &path() const { return folder; }
  std::string stepPath(int64_t step) const;

  /// Steps of which there is a checkpoint, good or bad, ascending.
  std::vector<int64_t> steps() const;

  /// Moves all checkpoints into `earlier-1/`, or the first such name that is free: a new run
  /// starts. Returns that folder, or nothing when there were none. Code Damaged.
  StatusOr<std::string> setAside();

  /// Moves `final/`, which a run before this one left, to where setAside() has put its checkpoints.
  /// Returns its new place, or nothing when there was none. Code Damaged.
  StatusOr<std::string> setFinalAside();

  /// Removes checkpoints up to step `newest` but for the `keep` newest of them and `best` (0:
  /// none). Nothing is removed unless one that stays verifies.
  Status prune(int64_t newest, int64_t keep, int64_t best);

private:
  CheckpointFolder(std::string folder, int lock) : folder(std::move(folder)), lock(lock) {}
  void removeLeftovers();
  StatusOr<std::string> earlierFolder();
  std::string folder, earlier; ///< where setAside() has moved what was here
  int lock;
};

} // namespace dsc

#endif // DSC_RUNTIME_CHECKPOINT_CHECKPOINTFOLDER_H
