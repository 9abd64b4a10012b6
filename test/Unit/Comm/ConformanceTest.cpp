//===- ConformanceTest.cpp - communicators of one process, each through all checks -----===//
#include "Conformance.h"
#include <gtest/gtest.h>
#include <thread>

using namespace dsc;
using namespace dsc::conformance;

namespace {
template <typename Entry> using Parameter = std::tuple<Row, Entry>;
template <typename Entry> std::string nameOf(const testing::TestParamInfo<Parameter<Entry>> &info) {
  return std::string(std::get<0>(info.param).name) + "_" + std::get<1>(info.param).name;
}
std::string joined(const std::vector<std::string> &lines) {
  std::string text;
  for (size_t i = 0; i < lines.size() && i < 10; ++i)
    text += lines[i] + "\n";
  return text;
}

class Conformance : public testing::TestWithParam<Parameter<Check>> {};
TEST_P(Conformance, Holds) {
  auto [row, check] = GetParam();
  for (int ranks = 1; ranks <= 8; ++ranks) {
    auto failures = runRanks(row.make(ranks, {}), [&](Rank &rank) {
      check.run(rank);
      rank.expect(rank.c.close(), "close");
    });
    EXPECT_EQ(joined(failures), "");
  }
}
INSTANTIATE_TEST_SUITE_P(All, Conformance,
                         testing::Combine(testing::ValuesIn(communicators().begin(),
                                                            communicators().end()),
                                          testing::ValuesIn(checks().begin(), checks().end())),
                         nameOf<Check>);

class Faults : public testing::TestWithParam<Parameter<Fault>> {};
TEST_P(Faults, AreNamed) {
  auto [row, fault] = GetParam();
  CommunicatorOptions options;
  options.timeoutSeconds = 1;
  auto failures = runRanks(row.make(fault.ranks, options), [&](Rank &rank) {
    auto start = std::chrono::steady_clock::now();
    // A thread that dies takes its communicator with it, at the end of this function.
    Fault::Means means{[] {}, [] { std::this_thread::sleep_for(std::chrono::seconds(3)); }};
    Status status = fault.run(rank, means);
    if (rank.rank() == fault.culprit)
      return;
    double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    rank.expect(status.code() == ErrorCode::Communication, "no error of communication");
    rank.expect(status.message().find(fault.message) != std::string::npos,
                "another message: " + status.message());
    rank.expect(seconds < fault.within + 1, "after " + std::to_string(seconds) + " s");
  });
  EXPECT_EQ(joined(failures), "");
}
INSTANTIATE_TEST_SUITE_P(All, Faults,
                         testing::Combine(testing::ValuesIn(communicators().begin(),
                                                            communicators().end()),
                                          testing::ValuesIn(faults().begin(), faults().end())),
                         nameOf<Fault>);
} // namespace
