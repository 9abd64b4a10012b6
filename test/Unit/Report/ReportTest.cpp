//===- ReportTest.cpp - what runs left behind, read and compared ------------===//
#include "../Support/TempFolder.h"
#include "dsc/Report/Page.h"
#include <gtest/gtest.h>

using namespace dsc;
using namespace dsc::report;

namespace {
/// Makes the folders of what it writes.
struct TempFolder : dsc::test::TempFolder {
  std::string write(const std::string &name, const std::string &text) {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    return dsc::test::TempFolder::write(name, text);
  }
};
} // namespace

static std::string line(int64_t step, const std::string &more = "") {
  return "{\"step\": " + std::to_string(step) + ", \"updates\": " + std::to_string(step) +
         ", \"loss\": " + std::to_string(3 - 0.01 * static_cast<double>(step)) +
         ", \"grad_norm\": 1, \"learning_rate\": 0.5, \"tokens\": 12, \"counted_tokens\": 10, "
         "\"skipped\": null" +
         more + ", \"tokens_per_second\": 100, \"step_ms\": 500}\n";
}

static std::string errorOf(const std::string &path) {
  auto run = readRun(path);
  EXPECT_EQ(run.status().code(), ErrorCode::Input);
  return run.status().message();
}

TEST(Report, ReadsARun) {
  TempFolder temp;
  temp.write("r/log.jsonl",
             line(1) + line(2, ", \"eval_loss\": 2.5, \"eval_perplexity\": 12.2") +
                 "{\"step\": 3, \"updates\": 2, \"loss\": null, \"grad_norm\": null, "
                 "\"learning_rate\": 0.5, \"skipped\": \"overflow\", \"loss_scale\": 1024}\n" +
                 line(4));
  temp.write("r/run.json", R"({"plan_hash": "ab", "threads": 2, "spec": {"a": {"b": [1, "x"]}}})");
  temp.write("r/log.events.jsonl", R"({"step":2,"event":"checkpoint","message":"saved"}
{"step":4,"event":"checkpoint","message":"saved"}
{"step":2,"event":"resumed","message":"from checkpoint step-2"}
{"step":4,"event":"checkpoint","message":"saved"}
{"step":9,"event":"checkpoint","message":"of a run that went further, before"}
)");
  temp.write("r/log.memory.jsonl", R"({"step": 1, "resident_bytes": 10, "peak_bytes": 11}
{"step": 4, "resident_bytes": 99, "peak_bytes": 99}
no json
{"step": 3, "resident_bytes": 20, "peak_bytes": 21}
{"step": 4, "resi)");
  auto run = readRun(temp.path("r"));
  ASSERT_TRUE(run.ok()) << run.status().message();
  EXPECT_EQ(run->steps, 4);
  EXPECT_EQ(run->updates, 4);
  EXPECT_EQ(run->countedTokens, 30);
  EXPECT_EQ(run->seconds, 1.5);
  EXPECT_EQ(run->series["loss"].size(), 3u);
  EXPECT_EQ(run->series["loss_scale"], (Series{{3, 1024}}));
  EXPECT_EQ(run->series["eval_loss"], (Series{{2, 2.5}}));
  EXPECT_EQ(run->series["resident_bytes"], (Series{{1, 10}, {3, 20}}));
  ASSERT_EQ(run->skipped.size(), 1u);
  EXPECT_EQ(run->skipped[0], (std::pair<int64_t, std::string>(3, "overflow")));
  EXPECT_EQ(run->checkpoints, (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(run->resumed, (std::vector<int64_t>{2}));
  EXPECT_EQ(run->settings["plan"], "ab");
  EXPECT_EQ(run->settings["a.b.1"], "x");
  ASSERT_EQ(run->notes.size(), 1u);
  EXPECT_NE(run->notes[0].find("1 of 5 lines"), std::string::npos) << run->notes[0];
}

TEST(Report, SaysWhatIsWrongAndWhere) {
  TempFolder temp;
  EXPECT_EQ(errorOf(temp.path("none")), "there is no folder '" + temp.path("none") + "'");
  std::filesystem::create_directories(temp.path("bare"));
  EXPECT_NE(errorOf(temp.path("bare")).find("has no log.jsonl"), std::string::npos);
  temp.write("empty/log.jsonl", "");
  EXPECT_NE(errorOf(temp.path("empty")).find("has no step yet"), std::string::npos);
  std::string path = temp.write("d/log.jsonl", line(1) + "{\"step\": 2, \"loss\": x}\n" + line(3));
  EXPECT_EQ(errorOf(temp.path("d")), path +
                                         ":2:21: error: this is no JSON\n"
                                         "  {\"step\": 2, \"loss\": x}\n" +
                                         std::string(22, ' ') + "^");
  for (auto [text, where, what] :
       {std::tuple("[1]\n", ":2:1:", "this is array, expected an object"),
        {"{\"loss\": 1}\n", ":2:1:", "there is no 'step'"},
        {"{\"step\": 1}\n", ":2:10:", "'step' is 1, expected a whole number above 1"},
        {"{\"step\": 2.5}\n", ":2:10:", "'step' is 2.5, expected a whole number above 1"},
        {"{\"step\": 2, \"grad_norm\": \"big\"}\n",
         ":2:26:", "'grad_norm' is string, expected a number or null"},
        {"{\"step\": 2, \"loss\": 1}}\n", ":2:23:", "this is no JSON"},
        {"{\"step\": 2, \"loss\": 1e999}\n", ":2:1:", "a number in this line has no double"},
        {"{\"step\": 2\n{\"step\": 3}\n", ":2:", "this is no JSON"}}) {
    temp.write("d/log.jsonl", line(1) + text);
    std::string error = errorOf(temp.path("d"));
    EXPECT_NE(error.find(path + where), std::string::npos) << error;
    EXPECT_NE(error.find(what), std::string::npos) << error;
  }
  temp.write("d/log.jsonl", line(1));
  temp.write("d/run.json", "{\n  \"spec\": {,}\n}\n");
  EXPECT_NE(errorOf(temp.path("d")).find("run.json:2:12: error: this is no JSON"),
            std::string::npos)
      << errorOf(temp.path("d"));
  // All of several runs at once.
  auto runs = readRuns({temp.path("none"), temp.path("empty")});
  EXPECT_NE(runs.status().message().find("there is no folder"), std::string::npos);
  EXPECT_NE(runs.status().message().find("has no step yet"), std::string::npos);
}

TEST(Report, ALineThatIsBeingWrittenIsLeftOut) {
  TempFolder temp;
  std::string whole = line(1) + line(2);
  for (size_t cut = line(1).size() + 1; cut < whole.size() - 1; ++cut) {
    auto run = readRun(temp.write("log.jsonl", whole.substr(0, cut)));
    ASSERT_TRUE(run.ok()) << run.status().message();
    EXPECT_EQ(run->steps, 1);
    EXPECT_EQ(run->notes.size(), 1u);
  }
}

TEST(Report, HugeNumbersAreHarmless) {
  TempFolder temp;
  temp.write("r/log.jsonl",
             "{\"step\": 1, \"updates\": 1e300, \"tokens\": -1e300, \"loss\": 1e308, "
             "\"step_ms\": 1e308, \"tokens_per_second\": 1e308}\n");
  temp.write("r/log.memory.jsonl",
             "{\"step\": 1, \"resident_bytes\": 1e300, \"peak_bytes\": -1e300}\n");
  auto run = readRun(temp.path("r"));
  ASSERT_TRUE(run.ok()) << run.status().message();
  EXPECT_EQ(run->countedTokens, 0);
  EXPECT_NE(reportPage({*run}).find("\"loss\":[[1],[null]]"), std::string::npos);
  temp.write("r/log.jsonl", "{\"step\": 18446744073709551615}\n");
  EXPECT_NE(errorOf(temp.path("r")).find(":1:10: error: 'step' is 18446744073709551615"),
            std::string::npos);
}

TEST(Report, RandomDamageNeverCrashes) {
  TempFolder temp;
  std::string log = line(1) + line(2, ", \"eval_loss\": 2.5") + line(3),
              info = R"({"plan_hash": "ab", "spec": {"a": {"b": [1, "x"]}}})",
              events = "{\"step\":2,\"event\":\"checkpoint\",\"message\":\"saved\"}\n";
  uint64_t state = 1;
  auto damage = [&](std::string text) {
    for (int changes = 0; changes < 2; ++changes) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      text[(state >> 33) % text.size()] = "\"{}[],:0-eE.\\\n x\xff\0"[(state >> 20) % 19];
    }
    return text;
  };
  int good = 0;
  for (int i = 0; i < 400; ++i) {
    temp.write("r/log.jsonl", damage(log));
    temp.write("r/run.json", i % 2 ? info : damage(info));
    temp.write("r/log.events.jsonl", damage(events));
    temp.write("r/log.memory.jsonl", damage(events));
    auto run = readRun(temp.path("r"));
    if (!run.ok())
      EXPECT_EQ(run.status().code(), ErrorCode::Input);
    else
      good += !reportPage({*run}).empty();
  }
  EXPECT_GT(good, 3);
}

TEST(Report, NamesTellRunsApart) {
  TempFolder temp;
  for (const char *folder : {"x/log", "y/log", "z/log"})
    temp.write(std::string(folder) + "/log.jsonl", line(1));
  auto name = [](const StatusOr<std::vector<report::Run>> &runs, size_t i) {
    return (*runs)[i].name;
  };
  auto one = readRuns({temp.path("x/log/")});
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(name(one, 0), "x/log");
  auto three = readRuns({temp.path("x/log"), temp.path("y/log"), temp.path("z/log/")});
  ASSERT_TRUE(three.ok());
  EXPECT_EQ(name(three, 0), "x/log");
  EXPECT_EQ(name(three, 2), "z/log");
  auto twice = readRuns({temp.path("x/log"), temp.path("x/log")});
  ASSERT_TRUE(twice.ok());
  EXPECT_TRUE(name(twice, 1).ends_with("x/log (2)")) << name(twice, 1);
}

TEST(Report, SettingsAreComparedByName) {
  report::Run a, b;
  a.settings = {{"lr", "0.1"}, {"steps", "3"}, {"log.dir", "a"}, {"old", "1"}};
  b.settings = {{"lr", "0.2"}, {"steps", "3"}, {"log.dir", "b"}};
  auto rows = compareSettings({a, b});
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].key, "log.dir");
  EXPECT_FALSE(rows[0].differs);
  EXPECT_TRUE(rows[1].differs);
  EXPECT_EQ(rows[1].values, (std::vector<std::string>{"0.1", "0.2"}));
  EXPECT_TRUE(rows[2].differs);
  EXPECT_EQ(rows[2].values, (std::vector<std::string>{"1", ""}));
  EXPECT_FALSE(rows[3].differs);
}

TEST(Report, ThinningKeepsEndsAndExtremes) {
  Series series;
  for (int64_t step = 1; step <= 100000; ++step)
    series.emplace_back(step, step == 54321 ? -7 : step == 12345 ? 99 : step % 17);
  Series few = thin(series, 1000);
  EXPECT_LE(few.size(), 1000u);
  EXPECT_GT(few.size(), 900u);
  EXPECT_EQ(few.front(), series.front());
  EXPECT_EQ(few.back(), series.back());
  for (auto wanted : {std::pair<int64_t, double>(54321, -7), {12345, 99}})
    EXPECT_NE(std::find(few.begin(), few.end(), wanted), few.end());
  for (size_t i = 1; i < few.size(); ++i)
    EXPECT_LT(few[i - 1].first, few[i].first);
  EXPECT_EQ(thin(few, 1000), few);
  EXPECT_EQ(median({{1, 5}, {2, 1}, {3, 3}}), 3);
  EXPECT_EQ(median({}), 0);
}

TEST(Report, NothingInARunCanLeaveItsPlaceInThePage) {
  report::Run run;
  run.name = "</script><b>\"&";
  run.steps = run.firstStep = 1;
  run.series["loss"] = {{1, 2}};
  run.settings = {{"<i>", "</td>"}};
  run.events = {{1, "e<", "<img src=x>"}};
  std::string page = reportPage({run});
  EXPECT_EQ(page.find("</script><b>"), std::string::npos);
  EXPECT_EQ(page.find("<img"), std::string::npos);
  EXPECT_EQ(page.find("<i>"), std::string::npos);
  EXPECT_EQ(page.find("http"), page.find("http://www.w3.org/2000/svg")); // a name, not an address
  EXPECT_EQ(page, reportPage({run}));
}
