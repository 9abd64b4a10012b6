//===- SchedulesTest.cpp - properties that every schedule has --------------===//
#include "Parallel/Schedules.h"
#include "gtest/gtest.h"
#include <set>

using namespace dsc;

namespace {

std::vector<std::vector<PipelineRow>> allRows(const PipelineFamily &family,
                                              const PipelineShape &shape) {
  std::vector<std::vector<PipelineRow>> rows;
  for (int64_t stage = 0; stage < shape.stages; ++stage)
    rows.push_back(family.rows(shape, stage));
  return rows;
}

/// Every shape that is legal for a schedule, small ones.
template <typename Check> void forEachShape(const PipelineFamily &family, Check check) {
  bool interleaves = std::string_view(family.name) == "interleaved";
  for (int64_t stages = 2; stages <= 6; ++stages)
    for (int64_t interleave = interleaves ? 2 : 1; interleave <= (interleaves ? 3 : 1);
         ++interleave)
      for (int64_t microBatches = 1; microBatches <= 13; ++microBatches)
        if (!interleaves || microBatches % stages == 0) {
          SCOPED_TRACE(testing::Message()
                       << family.name << ", " << stages << " stages x " << interleave << ", "
                       << microBatches << " micro-batches");
          check(PipelineShape{stages, interleave, microBatches});
        }
}

class Schedules : public testing::TestWithParam<const char *> {
protected:
  const PipelineFamily &family = *findPipelineFamily(GetParam());
};

TEST_P(Schedules, EveryMicroBatchOnceAndInOrder) {
  forEachShape(family, [&](const PipelineShape &shape) {
    for (int64_t stage = 0; stage < shape.stages; ++stage) {
      std::map<std::pair<WorkKind, int64_t>, int64_t> next;
      for (const PipelineRow &row : family.rows(shape, stage)) {
        EXPECT_EQ(shape.stageOf(row.part), stage);
        EXPECT_EQ(row.microBatch, (next[{row.kind, row.part}]++));
        if (row.kind != WorkKind::Forward) {
          WorkKind before = row.kind == WorkKind::Weights ? WorkKind::Backward : WorkKind::Forward;
          EXPECT_GT((next[{before, row.part}]), row.microBatch);
        }
      }
      EXPECT_EQ(next.size(),
                static_cast<size_t>((family.splitsBackward ? 3 : 2) * shape.interleave));
      for (auto &[work, count] : next)
        EXPECT_EQ(count, shape.microBatches);
    }
  });
}

TEST_P(Schedules, InFlightAsTheorySays) {
  forEachShape(family, [&](const PipelineShape &shape) {
    for (int64_t stage = 0; stage < shape.stages; ++stage) {
      std::vector<PipelineRow> rows = family.rows(shape, stage);
      std::map<std::pair<int64_t, int64_t>, int64_t> left; // rows of a micro-batch yet to come
      for (const PipelineRow &row : rows)
        ++left[{row.part, row.microBatch}];
      int64_t now = 0, most = 0;
      std::map<int64_t, std::set<int64_t>> places; // in use, by part
      for (const PipelineRow &row : rows) {
        int64_t count = placesOf(rows, row.part), place = row.microBatch % count;
        if (row.kind == WorkKind::Forward) {
          most = std::max(most, ++now);
          EXPECT_TRUE(places[row.part].insert(place).second) << "place used twice";
        }
        if (--left[{row.part, row.microBatch}] == 0) {
          --now;
          places[row.part].erase(place);
        }
      }
      EXPECT_EQ(most, family.inFlight(shape, stage)) << "stage " << stage;
      if (shape.interleave == 1)
        EXPECT_EQ(placesOf(rows, stage), most);
    }
  });
}

TEST_P(Schedules, NoDeadlockAndTheBubbleOfTheory) {
  forEachShape(family, [&](const PipelineShape &shape) {
    std::optional<PipelineTimes> times = simulate(shape, family, allRows(family, shape));
    ASSERT_TRUE(times);
    // Theory speaks of pipelines that fill.
    if (shape.microBatches >= shape.stages)
      EXPECT_NEAR(times->bubble, family.bubble(shape), 1e-12);
  });
}

TEST_P(Schedules, TheLastPartIsFusedUnlessAllGoForwardFirst) {
  forEachShape(family, [&](const PipelineShape &shape) {
    std::vector<PipelineRow> rows = family.rows(shape, shape.stages - 1);
    bool expected = std::string_view(family.name) != "gpipe" || shape.microBatches == 1;
    EXPECT_EQ(isFused(rows, shape.parts() - 1), expected);
  });
}

INSTANTIATE_TEST_SUITE_P(All, Schedules,
                         testing::Values("gpipe", "1f1b", "interleaved", "zero_bubble"),
                         [](auto &info) {
                           std::string name = info.param;
                           return name == "1f1b" ? "OneForwardOneBackward" : name;
                         });

std::string text(const std::vector<PipelineRow> &rows) {
  std::string out;
  for (const PipelineRow &row : rows)
    out += std::string(out.empty() ? "" : " ") + "FBW"[static_cast<int>(row.kind)] +
           std::to_string(row.microBatch) + (row.part >= 2 ? "'" : "");
  return out;
}

TEST(SchedulesExample, TwoStages) {
  auto rows = [](const char *name, int64_t stage, int64_t interleave = 1) {
    return text(findPipelineFamily(name)->rows({2, interleave, 4}, stage));
  };
  EXPECT_EQ(rows("gpipe", 0), "F0 F1 F2 F3 B0 B1 B2 B3");
  EXPECT_EQ(rows("1f1b", 0), "F0 F1 B0 F2 B1 F3 B2 B3");
  EXPECT_EQ(rows("1f1b", 1), "F0 B0 F1 B1 F2 B2 F3 B3");
  EXPECT_EQ(rows("zero_bubble", 0), "F0 F1 B0 W0 F2 B1 W1 F3 B2 W2 B3 W3");
  EXPECT_EQ(rows("zero_bubble", 1), "F0 B0 F1 B1 W0 F2 B2 W1 F3 B3 W2 W3");
  EXPECT_EQ(rows("interleaved", 0, 2), "F0 F1 F0' F1' F2 B0' F3 B1' F2' B0 F3' B1 B2' B3' B2 B3");
}

TEST(SchedulesExample, ARowTooEarlyIsADeadlock) {
  const PipelineFamily &family = *findPipelineFamily("1f1b");
  PipelineShape shape{2, 1, 2};
  auto rows = allRows(family, shape);
  std::swap(rows[0][1], rows[0][2]); // F0 B0 F1 B1 on the first stage goes
  EXPECT_TRUE(simulate(shape, family, rows));
  std::swap(rows[0][0], rows[0][1]); // B0 F0 does not
  EXPECT_FALSE(simulate(shape, family, rows));
}

} // namespace
