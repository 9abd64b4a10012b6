//===- CasesTest.cpp - worked cases of collectives ---------------------------------------===//
#include "Conformance.h"
#include "dsc/Support/HalfFloat.h"
#include <cmath>
#include <gtest/gtest.h>
#include <thread>

using namespace dsc;
using namespace dsc::conformance;

namespace {

/// 20000 + 20000 + 20000 + 20000 is beyond f16, 2^-24 / 4 below it; their means are not.
TEST(Comm, CO_01_MeansOfHalves) {
  for (const Row &row : communicators())
    for (float value : {20000.0f, std::ldexp(1.0f, -24)}) {
      auto failures = runRanks(row.make(4, {}), [&](Rank &rank) {
        uint16_t bits = floatToHalf(value);
        Tensor tensor{reinterpret_cast<std::byte *>(&bits), 1, plan::DType::F16};
        rank.expect(allReduce(rank.c, rank.everybody(), {"all-reduce", 1, "mean"}, {&tensor, 1},
                              rank.scratch, Algorithm::Tree, 0.25),
                    "all-reduce");
        rank.expect(halfToFloat(bits) == value, "the mean is " + std::to_string(halfToFloat(bits)));
      });
      EXPECT_TRUE(failures.empty()) << failures.front();
    }
}

/// One of four ranks ends, or stands still: all others say so, and where, within their limit.
TEST(Comm, CO_03_RankThatNeverComes) {
  int seen = 0;
  for (const Fault &fault : faults()) {
    if (std::string_view(fault.name).substr(0, 5) != "CO_03")
      continue;
    ++seen;
    CommunicatorOptions options;
    options.timeoutSeconds = 1;
    auto failures = runRanks(makeLocalWorld(fault.ranks, options), [&](Rank &rank) {
      Fault::Means means{[] {}, [] { std::this_thread::sleep_for(std::chrono::seconds(2)); }};
      auto start = std::chrono::steady_clock::now();
      Status status = fault.run(rank, means);
      if (rank.rank() == fault.culprit)
        return;
      std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      rank.expect(status.exitCode() == 5, "exit code " + std::to_string(status.exitCode()));
      rank.expect(status.message().find(fault.message) == 0, status.message());
      rank.expect(seconds.count() < fault.within + 1, "too late");
    });
    EXPECT_TRUE(failures.empty()) << failures.front();
  }
  EXPECT_EQ(seen, 2);
}

} // namespace
