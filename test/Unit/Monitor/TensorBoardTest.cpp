//===- TensorBoardTest.cpp - event files, byte by byte ----------------------===//
#include "dsc/Runtime/Monitor/TensorBoard.h"
#include "../Support/TempFolder.h"
#include "dsc/Support/Crc32c.h"
#include <cstring>
#include <gtest/gtest.h>
#include <map>

using namespace dsc;
using dsc::test::TempFolder;

static std::string hex(std::string_view bytes) {
  std::string out;
  for (char c : bytes) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", static_cast<unsigned>(static_cast<uint8_t>(c)));
    out += two;
  }
  return out;
}

TEST(Crc32c, TB_01_CheckValue) {
  EXPECT_EQ(crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(maskedCrc32c("123456789"), 0xC78AB0E5u);
  EXPECT_EQ(crc32c(""), 0u);
  // RFC 3720, B.4: 32 bytes of 0, of 0xff, of 0 to 31.
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAu);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62A8AB43u);
  std::string rising;
  for (char i = 0; i < 32; ++i)
    rising += i;
  EXPECT_EQ(crc32c(rising), 0x46DD794Eu);
}

TEST(TensorBoard, TB_01_FirstRecord) {
  EXPECT_EQ(hex(tensorboard::record(tensorboard::fileVersion(0))),
            "1800000000000000a37f4b22"
            "0900000000000000001a0d627261696e2e4576656e743a32"
            "eedf28a3");
}

TEST(TensorBoard, EventsByHand) {
  // wall_time 1.0, step 300; session_log { status: START }
  EXPECT_EQ(hex(tensorboard::sessionStart(1, 300)), "09000000000000f03f10ac023a020801");
  std::pair<std::string, double> values[] = {{"a/b", 0.5}, {"c", -2}};
  // summary { value { tag: "a/b" simple_value: 0.5 } value { tag: "c" simple_value: -2 } }
  EXPECT_EQ(hex(tensorboard::scalars(1, 3, values)), "09000000000000f03f1003"
                                                     "2a16"
                                                     "0a0a0a03612f62150000003f"
                                                     "0a080a016315000000c0");
}

namespace {

/// What a reader keeps of a folder: files in the order of their names, whole records, START drops
/// what it had of that step and later.
struct Reader {
  std::map<std::string, std::vector<int64_t>> steps; ///< by tag, in the order read
  int versions = 0, starts = 0;

  static uint64_t varint(std::string_view &data) {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      auto byte = static_cast<uint8_t>(data.front());
      data.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80)
        return value;
    }
  }
  static std::string_view piece(std::string_view &data, size_t length) {
    std::string_view result = data.substr(0, length);
    data.remove_prefix(length);
    return result;
  }
  /// Calls `field(number, contents)`; numbers are given as their bytes.
  template <typename F> static void fields(std::string_view data, F field) {
    while (!data.empty()) {
      uint64_t key = varint(data);
      std::string_view before = data;
      switch (key & 7) {
      case 0:
        varint(data);
        field(key >> 3, before.substr(0, before.size() - data.size()));
        break;
      case 1:
        field(key >> 3, piece(data, 8));
        break;
      case 2: {
        uint64_t length = varint(data);
        field(key >> 3, piece(data, length));
        break;
      }
      case 5:
        field(key >> 3, piece(data, 4));
        break;
      default:
        FAIL() << "wire type " << (key & 7);
      }
    }
  }
  void event(std::string_view data) {
    int64_t step = 0;
    fields(data, [&](uint64_t number, std::string_view contents) {
      if (number == 2)
        step = static_cast<int64_t>(varint(contents));
      if (number == 3)
        ++versions;
      if (number == 7) {
        ++starts;
        for (auto &[tag, list] : steps)
          std::erase_if(list, [&](int64_t other) { return other >= step; });
      }
      if (number == 5)
        fields(contents, [&](uint64_t, std::string_view value) {
          fields(value, [&](uint64_t part, std::string_view tag) {
            if (part == 1)
              steps[std::string(tag)].push_back(step);
          });
        });
    });
  }
  void read(std::string_view file) {
    while (!file.empty()) {
      ASSERT_GE(file.size(), 16u);
      uint64_t length;
      uint32_t headSum, dataSum;
      std::memcpy(&length, file.data(), 8);
      std::memcpy(&headSum, file.data() + 8, 4);
      EXPECT_EQ(headSum, maskedCrc32c(file.substr(0, 8)));
      ASSERT_GE(file.size(), length + 16);
      std::string_view data = file.substr(12, length);
      std::memcpy(&dataSum, file.data() + 12 + length, 4);
      EXPECT_EQ(dataSum, maskedCrc32c(data));
      event(data);
      file.remove_prefix(length + 16);
    }
  }
  void readFolder(const TempFolder &temp, const std::string &folder) {
    std::vector<std::string> names;
    for (const auto &entry : std::filesystem::directory_iterator(temp.path(folder)))
      names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    for (const std::string &name : names)
      read(temp.read(folder + "/" + name));
  }
};

} // namespace

static StepRecord recordOf(int64_t step) {
  StepRecord record;
  record.step = record.updates = step;
  record.loss = 2;
  record.gradNorm = 1;
  record.lossScale = 1024;
  return record;
}

TEST(TensorBoard, TB_02_AResumedRunDoesNotDoubleBack) {
  TempFolder temp;
  auto clock = [] { return 1.7e9; }; // both starts within one second
  {
    auto log = TensorBoardLog::open(temp.path("run"), 0, Cadence(1, 0), clock);
    ASSERT_TRUE(log.ok()) << log.status().message();
    for (int64_t step = 0; step <= 150; ++step)
      ASSERT_TRUE((*log)->step(recordOf(step)).ok());
  }
  {
    auto log = TensorBoardLog::open(temp.path("run"), 100, Cadence(1, 0), clock);
    ASSERT_TRUE(log.ok()) << log.status().message();
    EXPECT_TRUE((*log)->path().ends_with("/events.out.tfevents.1700000001.dsc")) << (*log)->path();
    // Before its first step the file says already that the rest is void.
    Reader reader;
    reader.readFolder(temp, "run");
    EXPECT_EQ(reader.steps["train/loss"].size(), 100u);
    for (int64_t step = 100; step <= 200; ++step)
      ASSERT_TRUE((*log)->step(recordOf(step)).ok());
  }
  Reader reader;
  reader.readFolder(temp, "run");
  EXPECT_EQ(reader.versions, 2);
  EXPECT_EQ(reader.starts, 2);
  std::vector<int64_t> expected;
  for (int64_t step = 0; step <= 200; ++step)
    expected.push_back(step);
  for (const char *tag :
       {"train/loss", "train/learning_rate", "train/grad_norm", "train/loss_scale",
        "train/tokens_per_second", "memory/resident_bytes", "memory/peak_bytes"})
    EXPECT_EQ(reader.steps[tag], expected) << tag;
}

TEST(TensorBoard, WritesWhatIsShownAndOnlyWhatIsThere) {
  TempFolder temp;
  auto log = TensorBoardLog::open(temp.path("run"), 1, Cadence(10, 25));
  ASSERT_TRUE(log.ok()) << log.status().message();
  for (int64_t step = 1; step <= 25; ++step) {
    StepRecord record = recordOf(step);
    if (step == 7)
      record.evalLoss = 1.5;
    if (step == 20) {
      record.skipped = "overflow";
      record.gradNorm.reset();
    }
    record.lossScale.reset();
    ASSERT_TRUE((*log)->step(record).ok());
  }
  StepRecord late;
  late.step = 25;
  late.evalLoss = 1.25;
  late.evalBitsPerByte = 2;
  ASSERT_TRUE((*log)->evaluated(late).ok());
  Reader reader;
  reader.readFolder(temp, "run");
  using Steps = std::vector<int64_t>;
  EXPECT_EQ(reader.steps["train/loss"], (Steps{1, 7, 10, 20, 25}));
  EXPECT_EQ(reader.steps["train/grad_norm"], (Steps{1, 7, 10, 25}));
  EXPECT_EQ(reader.steps["eval/loss"], (Steps{7, 25}));
  EXPECT_EQ(reader.steps["eval/bits_per_byte"], (Steps{25}));
  EXPECT_EQ(reader.steps.count("train/loss_scale"), 0u);
}
