//===- ThreadPoolTest.cpp --------------------------------------------------===//
#include "dsc/Runtime/CPU/ThreadPool.h"
#include <gtest/gtest.h>
#include <unistd.h>

using namespace dsc;

TEST(ThreadPool, EachWorkerRunsOnceAndAllAreDone) {
  for (int size : {1, 2, 3, 7}) {
    auto pool = ThreadPool::create(size);
    ASSERT_TRUE(pool.ok()) << pool.status().message();
    ASSERT_EQ((*pool)->size(), size);
    std::vector<int> counts(static_cast<size_t>(size));
    for (int round = 1; round <= 300; ++round) {
      (*pool)->run([](void *context, int worker) { ++static_cast<int *>(context)[worker]; },
                   counts.data());
      for (int count : counts)
        ASSERT_EQ(count, round);
    }
  }
}

TEST(ThreadPool, WakesSleepersAndWaitsForSlowOnes) {
  auto pool = ThreadPool::create(3);
  ASSERT_TRUE(pool.ok());
  std::vector<int> counts(3);
  for (int round = 0; round < 5; ++round) {
    usleep(3000); // longer than any spin
    (*pool)->run(
        [](void *context, int worker) {
          usleep(static_cast<useconds_t>(1000 * worker));
          ++static_cast<int *>(context)[worker];
        },
        counts.data());
  }
  EXPECT_EQ(counts, std::vector<int>(3, 5));
}

TEST(ThreadPool, CountsCores) { EXPECT_GE(availableCores(), 1); }
