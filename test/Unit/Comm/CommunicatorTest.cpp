//===- CommunicatorTest.cpp - launchers, descriptions, blame, allocation ----------------===//
#include "Conformance.h"
#include <atomic>
#include <cstdlib>
#include <gtest/gtest.h>
#include <map>
#include <new>
#include <thread>

using namespace dsc;
using namespace dsc::conformance;

// Sanitizers bring operators of their own.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define SANITIZED
#endif

static std::atomic<uint64_t> allocations{0};
#ifndef SANITIZED
void *operator new(size_t size) {
  ++allocations;
  if (void *memory = std::malloc(size))
    return memory;
  throw std::bad_alloc();
}
void *operator new(size_t size, std::align_val_t alignment) {
  ++allocations;
  size_t unit = static_cast<size_t>(alignment);
  if (void *memory = std::aligned_alloc(unit, (size + unit - 1) / unit * unit))
    return memory;
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
void operator delete(void *memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void *memory, size_t, std::align_val_t) noexcept { std::free(memory); }
#endif

namespace {

std::map<std::string, const char *> variables;
std::optional<LaunchEnvironment> launched(std::map<std::string, const char *> set) {
  variables = std::move(set);
  return findLaunchEnvironment([](const char *name) -> const char * {
    auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second;
  });
}

TEST(Launch, Launchers) {
  auto open = launched({{"OMPI_COMM_WORLD_RANK", "3"},
                        {"OMPI_COMM_WORLD_SIZE", "8"},
                        {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                        {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                        {"SLURM_PROCID", "0"},
                        {"SLURM_NTASKS", "1"}});
  ASSERT_TRUE(open);
  EXPECT_STREQ(open->launcher, "mpirun (Open MPI)");
  EXPECT_EQ(open->rank, 3);
  EXPECT_EQ(open->size, 8);
  EXPECT_EQ(open->localRank, 1);
  EXPECT_EQ(open->localSize, 2);

  auto pmi = launched({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}});
  ASSERT_TRUE(pmi);
  EXPECT_STREQ(pmi->launcher, "mpiexec (PMI)");
  EXPECT_EQ(pmi->localRank, -1);

  auto slurm =
      launched({{"SLURM_PROCID", "5"}, {"SLURM_STEP_NUM_TASKS", "6"}, {"SLURM_NTASKS", "64"}});
  ASSERT_TRUE(slurm);
  EXPECT_STREQ(slurm->launcher, "srun (Slurm)");
  EXPECT_EQ(slurm->rank, 5);
  EXPECT_EQ(slurm->size, 6);
  EXPECT_EQ(launched({{"SLURM_PROCID", "5"}, {"SLURM_NTASKS", "64"}})->size, 64);

  auto torch = launched({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "1"}});
  ASSERT_TRUE(torch);
  EXPECT_STREQ(torch->launcher, "torchrun (RANK, WORLD_SIZE)");
}

TEST(Launch, Alone) {
  EXPECT_FALSE(launched({}));
  EXPECT_FALSE(launched({{"RANK", "1"}}));
  EXPECT_FALSE(launched({{"RANK", "2"}, {"WORLD_SIZE", "2"}}));
  EXPECT_FALSE(launched({{"RANK", "-1"}, {"WORLD_SIZE", "2"}}));
  EXPECT_FALSE(launched({{"RANK", "1x"}, {"WORLD_SIZE", "2"}}));
  EXPECT_FALSE(launched({{"RANK", ""}, {"WORLD_SIZE", "2"}}));
}

TEST(Launch, WithoutMpi) {
  CommunicatorOptions options;
  options.mpiModule = "/no/such/folder/dsc-mpi.so";
  auto world = joinWorld({"mpirun (Open MPI)", 0, 4}, options);
  ASSERT_FALSE(world);
  EXPECT_EQ(world.status().code(), ErrorCode::Usage);
  EXPECT_EQ(world.status().message(),
            "mpirun (Open MPI) started 4 processes, but there is no /no/such/folder/dsc-mpi.so, "
            "which holds MPI: build with libopenmpi-dev installed");
}

TEST(Describe, Operation) {
  EXPECT_EQ(describe({"all-reduce", 17, "gradient bucket 2, layers.4"}),
            "all-reduce 17, gradient bucket 2, layers.4");
  EXPECT_EQ(describe({"barrier"}), "barrier");
  EXPECT_EQ(describe({"send", 4294967294, ""}), "send 4294967294");
}

TEST(Describe, RanksOfTheProcess) {
  auto world = makeLocalWorld(2);
  char text[400];
  auto described = [&](size_t capacity) {
    return std::string(text, describeOperations(text, capacity));
  };
  EXPECT_EQ(described(sizeof text), "");
  world[1]->enter({"all-reduce", 17, "gradient bucket 2, layers.4"});
  EXPECT_EQ(described(sizeof text), "rank 1 is at all-reduce 17, gradient bucket 2, layers.4\n");
  world[1]->leave();
  world[0]->enter({"send", 1, std::string(300, 'x')}); // kept: 128 bytes
  std::string both = described(sizeof text);
  EXPECT_NE(both.find("rank 1 was last at all-reduce 17, gradient bucket 2, layers.4\n"),
            std::string::npos);
  EXPECT_NE(both.find("rank 0 is at send 1, " + std::string(128, 'x') + "\n"), std::string::npos);
  EXPECT_EQ(described(10).size(), 10u);
  world.clear();
  EXPECT_EQ(described(sizeof text), "");
}

/// After the first call of its size a collective, and a message, allocate nothing.
TEST(Allocation, NoneAfterTheFirst) {
#ifdef SANITIZED
  GTEST_SKIP() << "allocations are not counted under a sanitizer";
#endif
  for (const Row &row : communicators()) {
    std::atomic<uint64_t> during{0};
    auto failures = runRanks(row.make(3, {}), [&](Rank &rank) {
      List list;
      list.add(300000, plan::DType::F32);
      list.add(0, plan::DType::F32);
      list.add(1000, plan::DType::F16);
      List small;
      small.add(1, plan::DType::F64);
      auto group = rank.everybody();
      std::byte data[64] = {};
      auto all = [&] {
        for (Algorithm algorithm : {Algorithm::Tree, Algorithm::Ring, Algorithm::HalvingDoubling})
          for (List *each : {&list, &small}) {
            Status status = allReduce(rank.c, group, {"all-reduce", 1, "a"}, each->tensors,
                                      rank.scratch, algorithm);
            if (status)
              status = reduceScatter(rank.c, group, {"reduce-scatter", 2, "b"}, each->tensors,
                                     rank.scratch, 1024, algorithm);
            if (status)
              status = allGather(rank.c, group, {"all-gather", 3, "c"}, each->tensors, rank.scratch,
                                 1024, algorithm);
            rank.expect(status, "collectives");
          }
        int next = (rank.rank() + 1) % 3, last = (rank.rank() + 2) % 3;
        auto in = rank.c.receive(last, 1, data, 32);
        auto out = rank.c.send(next, 1, data + 32, 32);
        rank.expect(rank.c.wait(*in), "receive");
        rank.expect(rank.c.wait(*out), "send");
      };
      for (int i = 0; i < 3; ++i)
        all();
      rank.expect(rank.c.barrier(), "barrier");
      uint64_t before = allocations;
      rank.expect(rank.c.barrier(), "barrier");
      all();
      rank.expect(rank.c.barrier(), "barrier");
      during += allocations - before;
      rank.expect(rank.c.barrier(), "barrier");
    });
    EXPECT_TRUE(failures.empty()) << failures.front();
    EXPECT_EQ(during, 0u) << row.name;
  }
}

/// A rank that fails leaves no trace in the memory that it gives back.
TEST(Failure, NobodyWritesAfterwards) {
  for (const Row &row : communicators())
    for (int round = 0; round < 20; ++round) {
      auto failures = runRanks(row.make(3, {}), [&](Rank &rank) {
        auto list = std::make_unique<List>();
        list->add(200000, plan::DType::F32);
        if (rank.rank() == 2 && round % 2)
          std::this_thread::sleep_for(std::chrono::microseconds(100 * round));
        if (rank.rank() == 2)
          rank.c.abort({ErrorCode::Memory, "no memory"});
        Status status = allReduce(rank.c, rank.everybody(), {"all-reduce", 1, "a"}, list->tensors,
                                  rank.scratch);
        std::fill(list->memory[0].begin(), list->memory[0].end(), std::byte(0x55));
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        bool same = true;
        for (std::byte value : list->memory[0])
          same &= value == std::byte(0x55);
        rank.expect(same, "the memory changed");
        rank.expect(!status, "an all-reduce of a world that failed");
      });
      EXPECT_TRUE(failures.empty()) << failures.front();
    }
}

} // namespace
