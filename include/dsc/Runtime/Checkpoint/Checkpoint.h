//===- Checkpoint.h - the whole state of a run as a folder ------------------===//
// step-N/
//   state-00001-of-0000K.safetensors   every tensor that lives across steps, in the plan's order
//   manifest.json                      written last: sizes and hashes of the others, and what the
//                                      state belongs to; it holds its own hash as well
//
// The folder appears under its name only when all of it is on the disk. docs/Checkpoints.md says
// what a user may rely on. Nothing here knows what a tensor is for.
#ifndef DSC_RUNTIME_CHECKPOINT_CHECKPOINT_H
#define DSC_RUNTIME_CHECKPOINT_CHECKPOINT_H

#include "dsc/Runtime/Checkpoint/Safetensors.h"
#include "dsc/Support/Json.h"
#include "dsc/Support/Status.h"
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace dsc {

/// A tensor of the state.
struct StateTensor {
  std::string name, role; ///< role as in the plan: parameter, optimizer_state, ...
  SafeType type;
  std::vector<int64_t> shape;
  uint64_t bytes() const;
  bool operator==(const StateTensor &) const = default;
};

struct CheckpointFile {
  std::string name;
  uint64_t bytes = 0, hash = 0; ///< hash64 of the contents
};

/// What manifest.json says.
struct CheckpointInfo {
  int64_t step = 0;                               ///< steps attempted
  std::string plan;                               ///< hash of the plan that ran
  nlohmann::json spec = nlohmann::json::object(); ///< settings that the state depends on
  std::vector<StateTensor> tensors;
  int64_t epoch = 0, row = 0, windowsPerEpoch = 0; ///< the next window to train on
  uint64_t logBytes = 0;                           ///< length of the log after the line of `step`
  bool evaluationDue = false; ///< a signal came between the step and its evaluation
  /// Step and eval_loss, in order; NaN: one that was not finite.
  std::vector<std::pair<int64_t, double>> evaluations;
  std::vector<CheckpointFile> files;
};

/// The text of manifest.json, with its own hash.
std::string manifestText(const CheckpointInfo &info);
/// Checks that hash, then everything else; `path` is for messages. Code Damaged.
StatusOr<CheckpointInfo> parseManifest(std::string_view text, const std::string &path);
/// folder/manifest.json.
StatusOr<CheckpointInfo> readManifest(const std::string &folder);

/// Where each tensor goes: planned once, since neither names nor shapes change.
struct StateLayout {
  struct Shard {
    std::string name, header; ///< of the file; its first bytes
    size_t begin, end;        ///< tensors
  };
  std::vector<StateTensor> tensors;
  std::vector<Shard> shards;
  uint64_t bytes = 0; ///< of all tensors
};

/// Files of at most `shardBytes` of tensors, each with at least one. Code Internal when two tensors
/// have one name.
StatusOr<StateLayout> planState(std::vector<StateTensor> tensors,
                                uint64_t shardBytes = uint64_t{1} << 30);

/// Writes `folder` as a whole; `data[i]` is the memory of tensor i. Fills info.tensors and
/// info.files. Code Damaged.
Status writeCheckpoint(const std::string &folder, CheckpointInfo &info, const StateLayout &layout,
                       std::span<const std::byte *const> data);

/// Reads every tensor of `info` (from readManifest) into `data[i]`, which has the size of
/// info.tensors[i] or is null for a tensor that is not wanted, and checks every hash. After an
/// error (Damaged) the memory holds anything.
Status readState(const std::string &folder, const CheckpointInfo &info,
                 std::span<std::byte *const> data);

/// Every file against the manifest. Code Damaged.
Status verifyCheckpoint(const std::string &folder);

} // namespace dsc

#endif // DSC_RUNTIME_CHECKPOINT_CHECKPOINT_H
