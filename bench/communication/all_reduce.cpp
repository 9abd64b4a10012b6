//===- all_reduce.cpp - our all-reduce against Open MPI's ------------------------------------===//
//   mpirun -n 2 dsc-bench-communication [MIB [ROUNDS]]     ring, tree, halving and MPI_Allreduce in
//   turns dsc-bench-communication [MIB [ROUNDS [RANKS]]]         the tree over threads, and a copy
//   of as much
// of f32. A round's time is that of its slowest rank; prints medians and best rounds in
// milliseconds, and their ratios to the peer.
#include "dsc/Runtime/Comm/Collectives.h"
#include "dsc/Support/Numbers.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mpi.h>
#include <thread>

using namespace dsc;
using Clock = std::chrono::steady_clock;

static void orDie(const Status &status) {
  if (status)
    return;
  std::fprintf(stderr, "%s\n", status.message().c_str());
  std::exit(status.exitCode());
}

namespace {
struct Contestant {
  std::string name;
  std::function<void()> run;
  std::vector<double> times;
};
} // namespace

/// The last one is the peer.
static void print(std::vector<Contestant> &all, int64_t mebibytes, const char *where) {
  auto median = [](std::vector<double> times) {
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
  };
  auto best = [](const std::vector<double> &times) {
    return *std::min_element(times.begin(), times.end());
  };
  const Contestant &peer = all.back();
  std::printf("%lld MiB of f32, %s, %zu rounds\n", static_cast<long long>(mebibytes), where,
              peer.times.size());
  for (const Contestant &each : all)
    std::printf("%-14s median %8.2f ms  %.2fx   best %8.2f ms  %.2fx\n", each.name.c_str(),
                median(each.times), median(each.times) / median(peer.times), best(each.times),
                best(each.times) / best(peer.times));
}

static void runRounds(Communicator &c, std::vector<Contestant> &all, int64_t rounds) {
  for (int64_t round = -1; round < rounds; ++round) // the first is not counted
    for (Contestant &each : all) {
      orDie(c.barrier());
      auto start = Clock::now();
      each.run();
      double mine = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
      std::vector<double> times(c.size());
      orDie(c.gather(0, reinterpret_cast<std::byte *>(&mine), sizeof mine,
                     reinterpret_cast<std::byte *>(times.data())));
      if (round >= 0)
        each.times.push_back(*std::max_element(times.begin(), times.end()));
    }
}

static std::vector<int> everybody(const Communicator &c) {
  std::vector<int> group;
  for (int rank = 0; rank < c.size(); ++rank)
    group.push_back(rank);
  return group;
}

static int againstMpi(const LaunchEnvironment &environment, int64_t mebibytes, int64_t rounds) {
  auto world = joinWorld(environment);
  orDie(world.status());
  Communicator &c = **world;
  std::vector<float> data(mebibytes << 18, 1), sum(data.size());
  Tensor tensor{reinterpret_cast<std::byte *>(data.data()), data.size(), plan::DType::F32};
  Scratch scratch;
  auto group = everybody(c);
  std::vector<Contestant> all;
  for (Algorithm algorithm : {Algorithm::Ring, Algorithm::Tree, Algorithm::HalvingDoubling})
    all.push_back({nameOf(algorithm),
                   [&, algorithm] {
                     orDie(allReduce(c, group, {"all-reduce", 1, "of the benchmark"}, {&tensor, 1},
                                     scratch, algorithm, 1.0 / c.size()));
                   },
                   {}});
  all.push_back({"MPI_Allreduce",
                 [&] {
                   if (MPI_Allreduce(MPI_IN_PLACE, sum.data(), static_cast<int>(sum.size()),
                                     MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD))
                     std::exit(5);
                 },
                 {}});
  runRounds(c, all, rounds);
  std::string where = std::to_string(c.size()) + " ranks of MPI";
  if (c.rank() == 0)
    print(all, mebibytes, where.c_str());
  orDie(c.close());
  return 0;
}

static int amongThreads(int64_t mebibytes, int64_t rounds, int ranks) {
  auto world = makeLocalWorld(ranks);
  std::vector<std::thread> threads;
  for (auto &communicator : world)
    threads.emplace_back([&] {
      Communicator &c = *communicator;
      std::vector<float> data(mebibytes << 18, 1), copy(data.size());
      Tensor tensor{reinterpret_cast<std::byte *>(data.data()), data.size(), plan::DType::F32};
      Scratch scratch;
      auto group = everybody(c);
      std::vector<Contestant> all;
      all.push_back({"tree",
                     [&] {
                       orDie(allReduce(c, group, {"all-reduce", 1, "of the benchmark"},
                                       {&tensor, 1}, scratch, Algorithm::Tree));
                     },
                     {}});
      all.push_back({"copy",
                     [&] { std::memcpy(copy.data(), data.data(), copy.size() * sizeof(float)); },
                     {}});
      runRounds(c, all, rounds);
      std::string where = std::to_string(ranks) + " threads";
      if (c.rank() == 0)
        print(all, mebibytes, where.c_str());
      orDie(c.close());
    });
  for (std::thread &thread : threads)
    thread.join();
  return 0;
}

int main(int count, char **arguments) {
  auto number = [&](int index, int64_t otherwise) {
    return count > index ? parseInt(arguments[index]).value_or(otherwise) : otherwise;
  };
  int64_t mebibytes = number(1, 64), rounds = number(2, 15);
  if (auto environment = findLaunchEnvironment())
    return againstMpi(*environment, mebibytes, rounds);
  return amongThreads(mebibytes, rounds, static_cast<int>(number(3, 2)));
}
