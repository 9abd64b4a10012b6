//===- PlanTest.cpp - writing and reading a plan, damage of every kind -----===//
// Cases PF-02, PF-03, PF-04, PF-06 and PF-07 carry their names.
#include "../../Fuzz/Mutate.h"
#include "../../Fuzz/plan/PlanFuzz.h"
#include "RankPlans.h"
#include "TestPlan.h"
#include "dsc/Plan/Container.h"
#include "dsc/Plan/Print.h"
#include "dsc/Support/Hash.h"
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/resource.h>

using namespace dsc;
using namespace dsc::plan;

static std::string good() {
  static const std::string bytes = serialize(test::testPlan());
  return bytes;
}

/// The message of a refusal; what was accepted fails the test.
static std::string refusal(std::string_view bytes) {
  auto plan = deserialize(bytes);
  EXPECT_FALSE(plan.ok());
  EXPECT_EQ(plan.status().code(), ErrorCode::Damaged);
  EXPECT_NE(plan.status().message().find("section '"), std::string::npos)
      << plan.status().message();
  EXPECT_NE(plan.status().message().find("offset "), std::string::npos) << plan.status().message();
  return plan.status().message();
}

static void expectRefused(std::string_view bytes, const std::string &reason) {
  std::string message = refusal(bytes);
  EXPECT_NE(message.find(reason), std::string::npos) << message;
}

TEST(Plan, ReadsBackWhatWasWritten) {
  auto plan = deserialize(good());
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(serialize(*plan), good());
  std::string before, after;
  Plan original = test::testPlan();
  for (const std::string &section : printableSections()) {
    before += printSection(original, section);
    after += printSection(*plan, section);
  }
  EXPECT_EQ(before, after);
  EXPECT_EQ(plan->images[0].elf, original.images[0].elf);
  EXPECT_EQ(planHash(good()).size(), 16u);
}

TEST(Plan, InstructionsKeepTheirPlace) {
  Plan plan = test::testPlan();
  plan.programs[0].instructions[1].place = "model.json:12";
  auto read = deserialize(serialize(plan));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->programs[0].instructions[1].place, "model.json:12");
  EXPECT_EQ(read->programs[0].instructions[0].place, "");
  EXPECT_NE(printProgram(*read, read->programs[0]).find("\" from model.json:12\n"),
            std::string::npos);
}

TEST(Plan, EqualPlansGiveEqualBytes) {
  EXPECT_EQ(serialize(test::testPlan()), serialize(test::testPlan()));
}

TEST(Plan, PF07_OneFlippedByteAnywhereIsRefused) {
  std::string bytes = good();
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] ^= static_cast<char>(1 << i % 8);
    ASSERT_FALSE(deserialize(bytes).ok()) << "byte " << i;
    bytes[i] ^= static_cast<char>(1 << i % 8);
  }
  EXPECT_TRUE(deserialize(bytes).ok());
}

TEST(Plan, EveryTruncationIsRefused) {
  std::string bytes = good();
  for (size_t length = 0; length < bytes.size(); length += length < 600 ? 1 : 97)
    ASSERT_FALSE(deserialize(std::string_view(bytes).substr(0, length)).ok()) << length;
  expectRefused("", "offset 0: a plan has at least 32 bytes, this file has 0");
  expectRefused(bytes.substr(0, bytes.size() - 1), "section 'header', offset 16: the plan was "
                                                   "written with ");
}

TEST(Plan, PF07_TrailingDataIsRefused) { expectRefused(good() + "x", "offset 16"); }

TEST(Plan, PF07_AnotherFormatVersionIsNamed) {
  std::string bytes = good();
  bytes[8] = 2;
  expectRefused(bytes, "section 'header', offset 8: plan format 2, this program reads format 1: "
                       "compile the spec again");
}

TEST(Plan, NotAPlan) {
  expectRefused(std::string(1000, 'x'), "not a plan: the magic number is missing");
}

//===----------------------------------------------------------------------===//
// Headers
//===----------------------------------------------------------------------===//

/// A container whose hash over all is right whatever else is wrong.
class Forged {
public:
  Forged() { bytes = writeContainer({{"manifest", "{}"}, {"programs", std::string(100, 'p')}}); }
  Forged &set(size_t at, uint64_t value, size_t width = 8) {
    std::memcpy(bytes.data() + at, &value, width);
    return *this;
  }
  /// Refused for `reason`, not for the hash, which is written anew as Container.h says.
  void expect(const std::string &reason) {
    uint64_t parts[2] = {hash64(std::string_view(bytes).substr(0, 24)),
                         hash64(std::string_view(bytes).substr(32))};
    set(24, hash64(parts, sizeof parts));
    expectRefused(bytes, reason);
  }

private:
  std::string bytes;
};

TEST(Plan, PF02_TableOfHeaders) {
  // Section table: entries of 64 bytes from 32; name[40], offset at +40, bytes at +48.
  constexpr size_t first = 32, second = 96;
  Forged().set(first + 40, uint64_t(-64)).expect("section 'manifest' starts at");
  Forged().set(first + 40, 0).expect("section 'manifest' starts at 0");
  Forged().set(first + 40, 128).expect("sections are sorted, without gap or overlap");
  Forged().set(second + 40, 192).expect("sections are sorted, without gap or overlap");
  Forged().set(second + 40, 1 << 20).expect("section 'programs' starts at");
  Forged()
      .set(first + 48, uint64_t(-1))
      .expect("section 'manifest' has 18446744073709551615 bytes");
  Forged().set(second + 48, 1 << 20).expect("section 'programs' has 1048576 bytes");
  Forged().set(second + 48, 99).expect("section 'programs', offset 256: the checksum");
  Forged().set(12, 0xffffffff, 4).expect("4294967295 sections do not fit");
  Forged().set(first, 0).expect("a section's name is empty");
  Forged().set(first, 0x0101010101010101).expect("do not print");
  Forged().set(second, 0x74736566696e616d).expect("section 'manifest' occurs twice");
  Forged().set(first + 56, 1).expect("section 'manifest', offset 192: the checksum");
  Forged().set(194, 1, 1).expect("padding before section 'programs' is not zero");
  Forged().set(12, 1, 4).expect("section 'manifest' starts at 192, expected 128");
}

TEST(Plan, PF06_TinyFileThatAsksForGigabytes) {
  // A vector whose count says 2^30 in a section of 200 bytes, at every place of the section.
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  for (size_t at = 0; at + 4 <= 200; at += 4) {
    std::string programs(200, '\0');
    programs[0] = 16;
    uint32_t count = 1u << 30;
    std::memcpy(programs.data() + at, &count, 4);
    ASSERT_FALSE(deserialize(writeContainer({{"manifest", "{}"}, {"programs", programs}})).ok());
  }
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 50 * 1024);
}

TEST(Plan, MissingSections) {
  expectRefused(writeContainer({}), "section 'manifest', offset 0: [section]");
  expectRefused(writeContainer({{"manifest", "{}"}}), "section 'programs', offset 0: [section]");
  expectRefused(writeContainer({{"manifest", "{}"}, {"programs", ""}}), "[flatbuffer]");
  expectRefused(writeContainer({{"manifest", "{"}, {"programs", ""}}), "[manifest]");
}

TEST(Plan, DeepManifestIsRefused) {
  std::string deep = std::string(100000, '[') + std::string(100000, ']');
  expectRefused(writeContainer({{"manifest", deep}, {"programs", ""}}), "[manifest]");
}

//===----------------------------------------------------------------------===//
// Contents
//===----------------------------------------------------------------------===//

static Buffer &bufferNamed(Plan &plan, const char *program, const char *name, bool output = false) {
  Program &in = plan.programs[static_cast<size_t>(findProgram(plan, program))];
  return in.buffers[static_cast<size_t>(findBuffer(in, name, output))];
}

template <typename Change> static void expectRule(const std::string &reason, Change change) {
  Plan plan = test::testPlan();
  change(plan);
  EXPECT_TRUE(reason == "[enum]" || !verify(plan).ok()) << reason; // in memory there is no other
  std::string message = refusal(serialize(plan));
  EXPECT_EQ(message.find("section 'programs', offset "), 0u) << message;
  EXPECT_NE(message.find(reason), std::string::npos) << message;
}

TEST(PlanRules, PF03_ShapeProducts) {
  expectRule("[shape]", [](Plan &p) {
    bufferNamed(p, "train", "rows").shape = {4, 1073741823, 1073741825};
  });
  expectRule("[shape]", [](Plan &p) {
    Buffer &rows = bufferNamed(p, "train", "rows");
    rows.shape = {int64_t{1} << 33, int64_t{1} << 31};
    rows.bytes = 0;
  });
  expectRule("[shape]", [](Plan &p) { p.variables[0].shape = {int64_t{1} << 33, 1 << 31}; });
}

TEST(PlanRules, PF04_ZeroDimensionsAndAlignment) {
  expectRule("[shape]", [](Plan &p) { bufferNamed(p, "train", "rows").shape = {0}; });
  expectRule("[shape]", [](Plan &p) { bufferNamed(p, "train", "rows").shape = {-1, 12}; });
  for (uint64_t offset : {1, 3, 32, 63})
    expectRule("[align]", [&](Plan &p) { bufferNamed(p, "train", "rows").offset += offset; });
  expectRule("[arena]", [](Plan &p) { bufferNamed(p, "train", "rows").offset = uint64_t(-64); });
  expectRule("[arena]", [](Plan &p) { bufferNamed(p, "train", "rows").offset = 1 << 30; });
}

TEST(PlanRules, PF07_OverlapsAndNames) {
  expectRule("[overlap] buffers 'rows' and 'labels'",
             [](Plan &p) { bufferNamed(p, "train", "rows").offset = 448; });
  expectRule("which lives always",
             [](Plan &p) { bufferNamed(p, "train", "updates").offset = 192; });
  // A program may not touch what only another program keeps.
  expectRule("[overlap] buffers 'rows' and 'updates' of program 'evaluate'",
             [](Plan &p) { bufferNamed(p, "evaluate", "rows").offset = 192; });
  expectRule("[unique] two buffers",
             [](Plan &p) { bufferNamed(p, "train", "rows").name = "labels"; });
  expectRule("[unique] two kernels", [](Plan &p) { p.kernels[1].name = p.kernels[0].name; });
  expectRule("[unique] two programs", [](Plan &p) { p.programs[1].name = "train"; });
  expectRule("[unique] two variables", [](Plan &p) { p.variables[1].name = "wte.weight"; });
  expectRule("[shape] buffer 'rows' of program 'train' has 95 bytes",
             [](Plan &p) { bufferNamed(p, "train", "rows").bytes = 95; });
  expectRule("[persistent]", [](Plan &p) { bufferNamed(p, "logits", "wte.weight").offset = 640; });
}

TEST(PlanRules, LiveRanges) {
  expectRule("[live] buffer 'rows'", [](Plan &p) { bufferNamed(p, "train", "rows").first = 3; });
  expectRule("[live] buffer 'rows'", [](Plan &p) { bufferNamed(p, "train", "rows").last = 9; });
  expectRule("[live] instruction 2", [](Plan &p) { bufferNamed(p, "train", "rows").last = 1; });
  // Reused bytes are fine as long as lives do not meet.
  Plan plan = test::testPlan();
  bufferNamed(plan, "train", "grad:wte.weight").offset = 768;
  plan.arenaBytes = 1152;
  EXPECT_TRUE(verify(plan).ok()) << verify(plan).message();
}

TEST(PlanRules, Instructions) {
  auto at = [](Plan &p, size_t i) -> Instruction & { return p.programs[0].instructions[i]; };
  expectRule("[kernel]", [&](Plan &p) { at(p, 0).kernel = 9; });
  expectRule("[operand]", [&](Plan &p) { at(p, 0).operands.pop_back(); });
  expectRule("[operand]", [&](Plan &p) { at(p, 0).operands[0].buffer = 999; });
  expectRule("[operand]", [&](Plan &p) { at(p, 1).operands[0].offset = 4; });
  expectRule("[operand]", [&](Plan &p) { at(p, 1).operands[0].offset = 1 << 20; });
  expectRule("[operand]", [&](Plan &p) { at(p, 1).operands[0].offset = 2; });
  expectRule("[operand]", [&](Plan &p) { at(p, 1).operands[0].offset = uint64_t(-4); });
  expectRule("[operand]", [&](Plan &p) { p.kernels[0].operands[0] = 257; });
  expectRule("[guard]", [&](Plan &p) { at(p, 5).operands.pop_back(); });
  expectRule("[guard]", [&](Plan &p) { at(p, 5).operands[0] = at(p, 1).operands[0]; });
  expectRule("[guard]", [&](Plan &p) { at(p, 4) = at(p, 5); });
  expectRule("[copy]", [](Plan &p) { p.programs[2].instructions[0].operands[1].offset = 4; });
  expectRule("[text]", [&](Plan &p) { at(p, 0).label = "\xff"; });
  expectRule("[text]", [&](Plan &p) { at(p, 0).label = "\x1b[2J"; });
  expectRule("[text]", [&](Plan &p) { at(p, 0).place = "a\nb"; });
  expectRule("[enum]", [&](Plan &p) { at(p, 0).opcode = static_cast<Opcode>(8); });
}

TEST(PlanRules, Schedule) {
  expectRule("[schedule] row 0 runs program 9 of", [](Plan &p) { p.schedule = {{9, 1}}; });
  expectRule("[schedule] row 1 runs a program 0 times", [](Plan &p) {
    p.schedule = {{0, 1}, {0, 0}};
  });
  expectRule("[schedule]", [](Plan &p) { p.schedule = {{0, (uint64_t{1} << 32) + 1}}; });
  expectRule("[init]", [](Plan &p) { p.variables[0].value = INFINITY; });
}

TEST(PlanRules, Tables) {
  expectRule("[finite]", [](Plan &p) { p.scalars[0].value = 0.0 / 0.0; });
  expectRule("[arena]", [](Plan &p) { p.scalars[0].offset = 1148; });
  expectRule("[persistent]", [](Plan &p) { p.scalars[0].offset = 328; });
  expectRule("[scalar]", [](Plan &p) { p.scalars.clear(); });
  expectRule("[items]", [](Plan &p) { p.kernels[0].items = 0; });
  expectRule("[items]", [](Plan &p) { p.kernels[0].items = uint64_t(-1); });
  expectRule("[workspace]", [](Plan &p) { p.kernels[0].workspace = 65; });
  expectRule("[arena]", [](Plan &p) { p.arenaBytes = uint64_t(-1); });
  expectRule("[arena]", [](Plan &p) { p.workspaceBytes = uint64_t(-1); });
  expectRule("[name]", [](Plan &p) { p.kernels[0].name = ""; });
  expectRule("[role]", [](Plan &p) { p.variables[1].role = Kind::Activation; });
  expectRule("[init]", [](Plan &p) { p.variables[0].stddev = -1; });
  expectRule("[variable]", [](Plan &p) { p.variables[0].shape = {64}; });
  expectRule("[variable] variable 'extra' has no buffer", [](Plan &p) {
    p.variables.push_back({"extra", Kind::Parameter, DType::F32, {1}});
  });
  expectRule("[elf]", [](Plan &p) { p.images[0].elf[18] = 3; });
  expectRule("[elf]", [](Plan &p) { p.images[0].elf.resize(60); });
  expectRule("[elf] the kernels of 'x86-64': a segment lies outside",
             [](Plan &p) { p.images[0].elf.resize(p.images[0].elf.size() / 3); });
  expectRule("[elf]", [](Plan &p) { p.images.clear(); });
  expectRule("[program]", [](Plan &p) {
    p.programs.clear();
    p.variables.clear();
  });
  expectRule("[name]", [](Plan &p) { p.images[0].features = {""}; });
}

//===----------------------------------------------------------------------===//
// Damage that the checksums do not see
//===----------------------------------------------------------------------===//

TEST(Plan, RandomDamageNeverCrashes) {
  std::vector<std::string> samples{good()};
  for (Plan small : {test::testPlan(), test::twoRanks(), test::pipeline(3, 4, 2)}) {
    small.images[0].elf.resize(64);
    small.images[0].elf[56] = small.images[0].elf[57] = 0; // segments
    samples.push_back(serialize(small));
  }
  fuzz::mutate(samples, 4000, fuzz::plan);
}

// Found by fuzzing: a list whose length lies where FlatBuffers want it and whose elements do not.
TEST(Plan, ListsOffTheirAlignmentAreRefused) {
  std::ifstream file(DSC_SOURCE_DIR "/test/Unit/Plan/Inputs/misaligned-list.plan",
                     std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  ASSERT_EQ(bytes.size(), 5010u);
  auto plan = deserialize(fuzz::repairPlan(bytes));
  ASSERT_FALSE(plan.ok());
  EXPECT_NE(plan.status().message().find("[flatbuffer] the elements of a list"), std::string::npos)
      << plan.status().message();
}
