//===- CheckpointTest.cpp - the state as a folder ----------------------------===//
#include "dsc/Runtime/Checkpoint/Checkpoint.h"
#include "../Support/TempFolder.h"
#include "dsc/Runtime/Checkpoint/CheckpointFolder.h"
#include "dsc/Support/Hash.h"
#include "dsc/Support/Philox.h"
#include <cstring>
#include <gtest/gtest.h>
#include <thread>

using namespace dsc;

namespace {

/// Tensors of several types in memory, and the layout that saves them.
struct State {
  explicit State(uint64_t shardBytes = 64, unsigned seed = 1) {
    auto planned = planState({{"wte.weight", "parameter", SafeType::F32, {5, 3}},
                              {"adam.m.wte.weight", "optimizer_state", SafeType::F32, {5, 3}},
                              {"updates", "counter", SafeType::F64, {}},
                              {"wte.weight.half", "parameter", SafeType::F16, {5, 3}},
                              {"bytes", "counter", SafeType::I8, {7}}},
                             shardBytes);
    EXPECT_TRUE(planned.ok());
    layout = *planned;
    for (const StateTensor &tensor : layout.tensors) {
      std::string bytes;
      for (uint64_t i = 0; i < tensor.bytes(); ++i)
        bytes += static_cast<char>(philox(seed, i, memory.size())[0]);
      memory.push_back(bytes);
    }
  }
  Status save(const std::string &folder, int64_t step) {
    std::vector<const std::byte *> data;
    for (const std::string &bytes : memory)
      data.push_back(reinterpret_cast<const std::byte *>(bytes.data()));
    CheckpointInfo info;
    info.step = step;
    info.plan = "0123456789abcdef";
    info.spec = {{"train", {{"steps", 10}}}};
    info.epoch = 2;
    info.row = 7;
    info.windowsPerEpoch = 99;
    info.logBytes = 1234;
    info.evaluations = {{3, 0.1}, {6, 1e-300}};
    return writeCheckpoint(folder, info, layout, data);
  }
  /// As load of a run does: manifest, then state.
  Status load(const std::string &folder) {
    auto info = readManifest(folder);
    if (!info.ok())
      return info.status();
    EXPECT_EQ(info->tensors, layout.tensors);
    std::vector<std::byte *> data;
    for (std::string &bytes : memory)
      data.push_back(reinterpret_cast<std::byte *>(bytes.data()));
    return readState(folder, *info, data);
  }

  StateLayout layout;
  std::vector<std::string> memory;
};

std::vector<std::string> filesOf(const std::string &folder) {
  std::vector<std::string> files;
  for (const auto &entry : std::filesystem::directory_iterator(folder))
    files.push_back(entry.path().filename().string());
  std::sort(files.begin(), files.end());
  return files;
}

} // namespace

TEST(Checkpoint, CK_05_EveryTypeComesBackToTheBit) {
  test::TempFolder temp;
  for (uint64_t shardBytes : {uint64_t{1}, uint64_t{64}, uint64_t{1} << 30}) {
    State saved(shardBytes), loaded(shardBytes, /*seed=*/2);
    ASSERT_TRUE(saved.save(temp.path("step-7"), 7).ok());
    EXPECT_NE(saved.memory, loaded.memory);
    Status status = loaded.load(temp.path("step-7"));
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(saved.memory, loaded.memory);
    EXPECT_TRUE(verifyCheckpoint(temp.path("step-7")).ok());
  }
}

TEST(Checkpoint, ManifestKeepsWhatItWasTold) {
  test::TempFolder temp;
  State state;
  ASSERT_TRUE(state.save(temp.path("step-7"), 7).ok());
  auto info = readManifest(temp.path("step-7"));
  ASSERT_TRUE(info.ok()) << info.status().message();
  EXPECT_EQ(info->step, 7);
  EXPECT_EQ(info->plan, "0123456789abcdef");
  EXPECT_EQ(info->spec["train"]["steps"], 10);
  EXPECT_EQ(info->epoch, 2);
  EXPECT_EQ(info->row, 7);
  EXPECT_EQ(info->windowsPerEpoch, 99);
  EXPECT_EQ(info->logBytes, 1234u);
  EXPECT_FALSE(info->evaluationDue);
  ASSERT_EQ(info->evaluations.size(), 2u);
  EXPECT_EQ(info->evaluations[1], (std::pair<int64_t, double>(6, 1e-300)));
  EXPECT_EQ(filesOf(temp.path("step-7")),
            (std::vector<std::string>{"manifest.json", "state-00001-of-00003.safetensors",
                                      "state-00002-of-00003.safetensors",
                                      "state-00003-of-00003.safetensors"}));
}

TEST(Checkpoint, SavingTwiceGivesTheSameBytes) {
  test::TempFolder temp;
  State state;
  ASSERT_TRUE(state.save(temp.path("a"), 7).ok());
  ASSERT_TRUE(state.save(temp.path("b"), 7).ok());
  for (const std::string &name : filesOf(temp.path("a")))
    EXPECT_EQ(temp.read("a/" + name), temp.read("b/" + name)) << name;
}

TEST(Checkpoint, CK_03_AShardOfAnotherStepIsNamed) {
  test::TempFolder temp;
  State first, second(64, /*seed=*/2);
  ASSERT_TRUE(first.save(temp.path("step-1"), 1).ok());
  ASSERT_TRUE(second.save(temp.path("step-2"), 2).ok());
  for (int shard = 1; shard <= 3; ++shard) {
    std::string name = "state-0000" + std::to_string(shard) + "-of-00003.safetensors";
    std::string whole = temp.read("step-2/" + name);
    temp.write("step-2/" + name, temp.read("step-1/" + name));
    for (Status status :
         {verifyCheckpoint(temp.path("step-2")), second.load(temp.path("step-2"))}) {
      EXPECT_EQ(status.code(), ErrorCode::Damaged);
      EXPECT_NE(status.message().find(name), std::string::npos) << status.message();
      EXPECT_NE(status.message().find("the manifest says"), std::string::npos);
    }
    temp.write("step-2/" + name, whole);
  }
  EXPECT_TRUE(verifyCheckpoint(temp.path("step-2")).ok());
  // A manifest beside shards of another step is refused as well.
  temp.write("step-2/manifest.json", temp.read("step-1/manifest.json"));
  EXPECT_FALSE(verifyCheckpoint(temp.path("step-2")).ok());
}

TEST(Checkpoint, CK_10_EveryTruncationIsRefused) {
  test::TempFolder temp;
  State state;
  ASSERT_TRUE(state.save(temp.path("x"), 1).ok());
  for (const std::string &name : filesOf(temp.path("x"))) {
    std::string whole = temp.read("x/" + name);
    for (size_t part = 0; part < 64; ++part) {
      temp.write("x/" + name, whole.substr(0, whole.size() * part / 64));
      for (Status status : {verifyCheckpoint(temp.path("x")), state.load(temp.path("x"))}) {
        EXPECT_EQ(status.code(), ErrorCode::Damaged) << name << " " << part;
        EXPECT_NE(status.message().find(name), std::string::npos) << status.message();
      }
    }
    temp.write("x/" + name, whole + "x");
    EXPECT_EQ(verifyCheckpoint(temp.path("x")).code(), ErrorCode::Damaged);
    std::filesystem::remove(temp.path("x/" + name));
    EXPECT_EQ(verifyCheckpoint(temp.path("x")).code(), ErrorCode::Damaged);
    temp.write("x/" + name, whole);
  }
  EXPECT_TRUE(state.load(temp.path("x")).ok());
}

TEST(Checkpoint, CK_10_EveryFlippedByteIsRefused) {
  test::TempFolder temp;
  State state;
  ASSERT_TRUE(state.save(temp.path("x"), 1).ok());
  uint64_t draw = 0;
  for (const std::string &name : filesOf(temp.path("x"))) {
    std::string whole = temp.read("x/" + name);
    for (int i = 0; i < 200; ++i) {
      auto random = philox(10, draw++, 0);
      std::string flipped = whole;
      size_t at = random[0] % whole.size();
      flipped[at] = static_cast<char>(flipped[at] ^ (1 + random[1] % 255));
      temp.write("x/" + name, flipped);
      for (Status status : {verifyCheckpoint(temp.path("x")), state.load(temp.path("x"))})
        EXPECT_EQ(status.code(), ErrorCode::Damaged) << name << " byte " << at;
    }
    temp.write("x/" + name, whole);
  }
  EXPECT_TRUE(state.load(temp.path("x")).ok());
}

/// A manifest whose hash is right whatever it says.
static std::string sealed(const CheckpointInfo &info,
                          const std::vector<std::pair<std::string, std::string>> &changes) {
  std::string text = manifestText(info);
  for (const auto &[from, to] : changes) {
    size_t at = text.find(from);
    EXPECT_NE(at, text.npos) << from;
    text.replace(at, from.size(), to);
  }
  size_t hash = text.find(": \"") + 3;
  text.replace(hash, 16, std::string(16, '0'));
  return text.replace(hash, 16, hex64(hash64(text)));
}

TEST(Checkpoint, WrongManifestsAreRefusedOneByOne) {
  CheckpointInfo info;
  info.plan = "p";
  info.files = {{"state", 10, 1}};
  info.tensors = {{"a", "parameter", SafeType::F32, {2}}};
  ASSERT_TRUE(parseManifest(sealed(info, {}), "m").ok());
  const struct {
    const char *from, *to, *message;
  } cases[] = {
      {"dsc checkpoint 2", "dsc checkpoint 3", "its format is 'dsc checkpoint 3'"},
      {"\"step\": 0", "\"step\": -1", "'step' is no whole number"},
      {"\"step\": 0", "\"step\": 1.5", "'step' is no whole number"},
      {"\"step\": 0", "\"stop\": 0", "'step' is absent"},
      {"\"epoch\": 0", "\"epoch\": 2305843009213693952", "data: 'epoch' is no whole number"},
      {"\"evaluation_due\": false", "\"evaluation_due\": 0", "neither true nor false"},
      {"\"evaluations\": []", "\"evaluations\": [[1]]", "pairs of step and loss"},
      {"\"name\": \"state\"", "\"name\": \"../state\"", "is no name of a file"},
      {"\"name\": \"state\"", "\"name\": \"\"", "is no name of a file"},
      {"\"xxh3\": \"0", "\"xxh3\": \"g", "is no hash of 16"},
      {"\"dtype\": \"F32\"", "\"dtype\": \"F33\"", "'dtype' is unknown"},
      {"        2\n", "        -2\n", "something else than whole numbers"},
      {"        2\n", "        4611686018427387904\n", "more bytes than a machine can hold"},
      {"\"spec\": {}", "\"spec\": []", "'spec' is no object"},
      {"\"plan\": \"p\"", "\"plan\": \"p\",\n  \"plan\": \"p\"", "duplicate key 'plan'"},
  };
  for (const auto &c : cases) {
    auto parsed = parseManifest(sealed(info, {{c.from, c.to}}), "m");
    ASSERT_FALSE(parsed.ok()) << c.to;
    EXPECT_EQ(parsed.status().code(), ErrorCode::Damaged);
    EXPECT_NE(parsed.status().message().find(c.message), std::string::npos)
        << parsed.status().message();
  }
}

TEST(Checkpoint, CK_02_TwoSaversAlwaysLeaveOneWholeCheckpoint) {
  test::TempFolder temp;
  auto writer = [&](unsigned seed) {
    State state(64, seed);
    for (int i = 0; i < 200; ++i) {
      Status status = state.save(temp.path("step-1"), 1);
      EXPECT_TRUE(status.ok()) << status.message();
    }
  };
  std::thread other(writer, 2);
  writer(1);
  other.join();
  EXPECT_TRUE(verifyCheckpoint(temp.path("step-1")).ok());
  EXPECT_EQ(filesOf(temp.folder).size(), 1u);
}

//===----------------------------------------------------------------------===//
// The folder of checkpoints
//===----------------------------------------------------------------------===//

TEST(CheckpointFolder, CK_02_HasOneOwner) {
  test::TempFolder temp;
  auto first = CheckpointFolder::open(temp.path("c"));
  ASSERT_TRUE(first.ok()) << first.status().message();
  auto second = CheckpointFolder::open(temp.path("c"));
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), ErrorCode::Usage);
  EXPECT_NE(second.status().message().find("process " + std::to_string(::getpid())),
            std::string::npos)
      << second.status().message();
  first->reset();
  EXPECT_TRUE(CheckpointFolder::open(temp.path("c")).ok());
}

TEST(CheckpointFolder, KeepsTheNewestAndTheBest) {
  test::TempFolder temp;
  auto folder = CheckpointFolder::open(temp.folder);
  ASSERT_TRUE(folder.ok());
  State state;
  for (int64_t step : {2, 4, 6, 8, 10, 12})
    ASSERT_TRUE(state.save((*folder)->stepPath(step), step).ok());
  temp.write("step-x", "no checkpoint");
  EXPECT_TRUE((*folder)->prune(/*newest=*/10, /*keep=*/2, /*best=*/4).ok());
  // 12 is newer than this run knows of: another future, left to be overwritten.
  EXPECT_EQ((*folder)->steps(), (std::vector<int64_t>{4, 8, 10, 12}));
  EXPECT_TRUE((*folder)->prune(10, 1, 10).ok());
  EXPECT_EQ((*folder)->steps(), (std::vector<int64_t>{10, 12}));
  EXPECT_EQ(filesOf(temp.folder),
            (std::vector<std::string>{".lock", "step-10", "step-12", "step-x"}));
}

TEST(CheckpointFolder, NeverRemovesTheOnlyOneThatVerifies) {
  test::TempFolder temp;
  auto folder = CheckpointFolder::open(temp.folder);
  ASSERT_TRUE(folder.ok());
  State state;
  for (int64_t step : {1, 2, 3})
    ASSERT_TRUE(state.save((*folder)->stepPath(step), step).ok());
  for (int step : {2, 3})
    temp.write("step-" + std::to_string(step) + "/manifest.json", "{}");
  Status status = (*folder)->prune(3, 2, 0);
  EXPECT_FALSE(status.ok());
  EXPECT_EQ((*folder)->steps(), (std::vector<int64_t>{1, 2, 3}));
  ASSERT_TRUE(state.save((*folder)->stepPath(3), 3).ok());
  EXPECT_TRUE((*folder)->prune(3, 2, 0).ok());
  EXPECT_EQ((*folder)->steps(), (std::vector<int64_t>{2, 3}));
}

TEST(CheckpointFolder, RemovesWhatKilledRunsLeft) {
  test::TempFolder temp;
  std::filesystem::create_directories(temp.path(".tmp-step-3-17-0"));
  temp.write(".tmp-step-3-17-0/state", "half");
  std::filesystem::create_directories(temp.path("final"));
  temp.write("final/model.safetensors", "whole");
  temp.write("final/model.safetensors.tmp-17-0", "half");
  auto folder = CheckpointFolder::open(temp.folder);
  ASSERT_TRUE(folder.ok());
  EXPECT_EQ(filesOf(temp.folder), (std::vector<std::string>{".lock", "final"}));
  EXPECT_EQ(filesOf(temp.path("final")), std::vector<std::string>{"model.safetensors"});
}

TEST(CheckpointFolder, SetsEarlierRunsAside) {
  test::TempFolder temp;
  auto folder = CheckpointFolder::open(temp.folder);
  ASSERT_TRUE(folder.ok());
  State state;
  auto nothing = (*folder)->setAside();
  ASSERT_TRUE(nothing.ok());
  EXPECT_EQ(*nothing, "");
  for (int run = 1; run <= 2; ++run) {
    for (int64_t step : {1, 2})
      ASSERT_TRUE(state.save((*folder)->stepPath(step), step).ok());
    auto moved = (*folder)->setAside();
    ASSERT_TRUE(moved.ok()) << moved.status().message();
    EXPECT_EQ(*moved, temp.path("earlier-" + std::to_string(run)));
    EXPECT_TRUE((*folder)->steps().empty());
    EXPECT_TRUE(verifyCheckpoint(*moved + "/step-2").ok());
  }
}

TEST(CheckpointFolder, SetsFinalWeightsAsideBesideTheirCheckpoints) {
  test::TempFolder temp;
  State state;
  for (int run = 1; run <= 2; ++run) {
    auto folder = CheckpointFolder::open(temp.folder);
    ASSERT_TRUE(folder.ok());
    EXPECT_EQ(*(*folder)->setFinalAside(), "");
    if (run == 2) { // the first has no checkpoints
      ASSERT_TRUE(state.save((*folder)->stepPath(1), 1).ok());
      ASSERT_TRUE((*folder)->setAside().ok());
    }
    std::filesystem::create_directory(temp.path("final"));
    std::string place = temp.path("earlier-" + std::to_string(run) + "/final");
    EXPECT_EQ(*(*folder)->setFinalAside(), place);
    EXPECT_TRUE(std::filesystem::is_directory(place));
    EXPECT_FALSE(std::filesystem::exists(temp.path("final")));
  }
}
