//===- TableTest.cpp - every key of the table, every kind of mistake -------===//
// One test case for each row and kind, made from the row. A new key is tested by being in the
// table.
#include "SpecBuilder.h"
#include <cmath>

using namespace dsc;
using namespace dsc::test;

namespace dsc {
static void PrintTo(const SpecKey &key, std::ostream *out) { *out << key.path; }
} // namespace dsc

class EveryKey : public testing::TestWithParam<SpecKey> {
protected:
  const SpecKey &key() const { return GetParam(); }
  /// A spec in which the key may stand.
  Json base() const {
    Json spec = smallSpec();
    if (key().belongsTo.empty())
      return spec;
    bool schedule = key().path.rfind("train.scheduler.", 0) == 0;
    spec["train"][schedule ? "scheduler" : "optimizer"]["type"] = key().belongsTo[0];
    return spec;
  }
  SpecResult read(const Placed &spec) const { return readText(spec.text); }
};

static std::string testName(const testing::TestParamInfo<SpecKey> &info) {
  std::string name;
  for (char c : info.param.path)
    name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

TEST_P(EveryKey, WrongType) {
  struct Candidate {
    unsigned types;
    const char *text;
  };
  const Candidate candidates[] = {{TInteger | TNumber, "7"},
                                  {TNumber, "7.5"},
                                  {TString | TPath, "\"7\""},
                                  {TBool, "true"},
                                  {TObject, "{}"},
                                  {TList, "[]"},
                                  {TNull, "null"}};
  if (key().types & TAny)
    GTEST_SKIP() << "takes any value";
  int tried = 0;
  for (const Candidate &c : candidates) {
    if (key().types & c.types)
      continue;
    Placed spec = withValue(key(), c.text, base());
    EXPECT_TRUE(hasError(read(spec), spec, "must be ")) << c.text;
    ++tried;
  }
  EXPECT_GT(tried, 0);
}

TEST_P(EveryKey, OutOfRange) {
  std::vector<std::string> values;
  bool whole = !(key().types & TNumber);
  auto add = [&](double v) {
    values.push_back(whole ? Json(static_cast<int64_t>(v)).dump() : Json(v).dump());
  };
  if (key().types & (TNumber | TInteger)) {
    if (std::isfinite(key().min)) {
      add(key().aboveMin ? key().min : key().min - 1);
      if (key().min > -1)
        values.push_back("-1");
      values.push_back("-9223372036854775808");
    }
    if (std::isfinite(key().max)) {
      if (key().max < 9e15)
        add(key().belowMax ? key().max : key().max + 1);
      if (whole)
        values.push_back("18446744073709551616");
    }
  }
  if (key().use == KeyUse::Used && !key().choices.empty())
    values.push_back("\"no such choice\"");
  if (key().use == KeyUse::Limited)
    values = {key().types & TBool      ? Json::parse(key().only)[0] == true ? "false" : "true"
              : key().types & TNumber  ? "0.5"
              : key().types & TInteger ? "2"
              : key().types & TString  ? "\"float16\""
                                       : "{\"a\": 1}"};
  if (key().use == KeyUse::Absent)
    values = {"7", "{\"enabled\": true}", "\"x\""};
  if (values.empty())
    GTEST_SKIP() << "any value of its type is legal";
  std::string expected =
      key().use == KeyUse::Used || key().use == KeyUse::Ignored ? "expected" : "not available yet";
  for (const std::string &value : values) {
    Placed spec = withValue(key(), value, base());
    EXPECT_TRUE(hasError(read(spec), spec, expected)) << value;
  }
}

TEST_P(EveryKey, UnknownNeighbour) {
  if (key().path.substr(key().path.size() - 2) == "[]")
    GTEST_SKIP() << "items have no name";
  std::string name(key().name());
  std::string misspelt = name;
  misspelt.insert(misspelt.size() / 2, "q");
  Json spec = base();
  (*container(spec, key().path))[misspelt] = "@HERE@";
  Placed placed =
      place(spec.dump(2), "\"" + misspelt + "\": \"@HERE@\"", "\"" + misspelt + "\": 1");
  SpecResult result = read(placed);
  EXPECT_TRUE(hasError(result, placed, "unknown key '" + misspelt + "'"));
  EXPECT_TRUE(hasError(result, "did you mean '" + name + "'?"));
}

TEST_P(EveryKey, Duplicate) {
  if (key().path.substr(key().path.size() - 2) == "[]")
    GTEST_SKIP() << "items have no name";
  std::string name(key().name());
  Json spec = base();
  (*container(spec, key().path))[name] = "@HERE@";
  std::string first = "\"" + name + "\": null,\n";
  Placed placed =
      place(spec.dump(2), "\"" + name + "\": \"@HERE@\"", first + "\"" + name + "\": null");
  placed.line += 1;
  placed.column = 1;
  SpecResult result = read(placed);
  EXPECT_TRUE(hasError(result, placed, "duplicate key '" + name + "'"));
  for (std::string_view alias : key().aliases) {
    Json two = base();
    (*container(two, key().path))[name] = "@HERE@";
    Placed other = place(two.dump(2), "\"" + name + "\": \"@HERE@\"",
                         first + "\"" + std::string(alias) + "\": null");
    other.line += 1;
    other.column = 1;
    EXPECT_TRUE(hasError(read(other), other, "two names of one key")) << alias;
  }
}

/// Whether the default itself passes the row's own checks.
TEST_P(EveryKey, DefaultIsLegal) {
  if (key().fallback.empty())
    GTEST_SKIP() << "no default";
  Placed spec = withValue(key(), std::string(key().fallback), base());
  for (const Diagnostic &d : read(spec).errors)
    EXPECT_FALSE(d.line == spec.line && d.column == spec.column) << d.str();
}

INSTANTIATE_TEST_SUITE_P(SpecTable, EveryKey, testing::ValuesIn(specTable()), testName);

TEST(SpecTable, RowsAreWellFormed) {
  std::set<std::string_view> paths;
  for (const SpecKey &key : specTable()) {
    SCOPED_TRACE(std::string(key.path));
    EXPECT_TRUE(paths.insert(key.path).second) << "two rows of one path";
    EXPECT_FALSE(key.doc.empty());
    EXPECT_EQ(key.use == KeyUse::Limited, !key.only.empty());
    if (key.use == KeyUse::Ignored) {
      EXPECT_FALSE(key.reason.empty());
    }
    if (!key.fallback.empty()) {
      EXPECT_TRUE(Json::accept(key.fallback));
    }
    // A parent stands before its children.
    std::string_view parent = key.path.substr(0, key.path.find_last_of('.'));
    if (parent.size() < key.path.size()) {
      EXPECT_TRUE(paths.count(parent)) << parent;
    }
  }
}
