//===- CheckpointWrite.cpp - the state into a folder ------------------------===//
#include "dsc/Runtime/Checkpoint/Checkpoint.h"
#include "dsc/Support/AtomicFolder.h"
#include <cstdio>
#include <set>

using namespace dsc;

static std::string shardName(size_t index, size_t count) {
  char text[64];
  std::snprintf(text, sizeof text, "state-%05zu-of-%05zu.safetensors", index + 1, count);
  return text;
}

StatusOr<StateLayout> dsc::planState(std::vector<StateTensor> tensors, uint64_t shardBytes) {
  StateLayout layout;
  std::set<std::string> names;
  uint64_t inShard = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!names.insert(tensors[i].name).second)
      return Status(ErrorCode::Internal,
                    "two tensors of the state are named '" + tensors[i].name + "'");
    uint64_t bytes = tensors[i].bytes();
    if (layout.shards.empty() || inShard + bytes > shardBytes) {
      layout.shards.push_back({"", "", i, i});
      inShard = 0;
    }
    layout.shards.back().end = i + 1;
    inShard += bytes;
    layout.bytes += bytes;
  }
  for (size_t s = 0; s < layout.shards.size(); ++s) {
    StateLayout::Shard &shard = layout.shards[s];
    shard.name = shardName(s, layout.shards.size());
    std::vector<SafeTensor> entries;
    for (size_t i = shard.begin; i < shard.end; ++i)
      entries.push_back({tensors[i].name, tensors[i].type, tensors[i].shape, 0, 0});
    shard.header = safetensorsHeader(entries);
  }
  layout.tensors = std::move(tensors);
  return layout;
}

static Status writeAll(const std::string &path, CheckpointInfo &info, const StateLayout &layout,
                       std::span<const std::byte *const> data) {
  auto folder = AtomicFolder::create(path);
  if (!folder)
    return folder.status();
  info.tensors = layout.tensors;
  info.files.clear();
  for (const StateLayout::Shard &shard : layout.shards) {
    if (Status status = folder->begin(shard.name); !status)
      return status;
    if (Status status = folder->write(shard.header); !status)
      return status;
    for (size_t i = shard.begin; i < shard.end; ++i)
      if (Status status = folder->write(data[i], layout.tensors[i].bytes()); !status)
        return status;
    auto file = folder->end();
    if (!file)
      return file.status();
    info.files.push_back({shard.name, file->bytes, file->hash});
  }
  if (Status status = folder->begin("manifest.json"); !status)
    return status;
  if (Status status = folder->write(manifestText(info)); !status)
    return status;
  if (auto file = folder->end(); !file)
    return file.status();
  return folder->commit();
}

Status dsc::writeCheckpoint(const std::string &folder, CheckpointInfo &info,
                            const StateLayout &layout, std::span<const std::byte *const> data) {
  Status status = writeAll(folder, info, layout, data);
  return status ? status : damagedError(status.message());
}
