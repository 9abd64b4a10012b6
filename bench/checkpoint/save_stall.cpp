//===- save_stall.cpp - how long a step waits for an asynchronous save -----===//
// dsc-bench-save FOLDER [MIB [THREADS [ROUNDS]]]: saves a state of MIB mebibytes and, in turn with
// that, copies as many bytes with as many threads. Prints medians in milliseconds, their ratio, and
// the same of the best rounds.
#include "dsc/Runtime/Core/BackgroundSaver.h"
#include "dsc/Support/Numbers.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace dsc;
using Clock = std::chrono::steady_clock;

static double milliseconds(Clock::time_point since) {
  return std::chrono::duration<double, std::milli>(Clock::now() - since).count();
}

static double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

template <typename T> static T orDie(StatusOr<T> value) {
  if (value.ok())
    return std::move(*value);
  std::fprintf(stderr, "%s\n", value.status().message().c_str());
  std::exit(1);
}

int main(int argc, char **argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: dsc-bench-save FOLDER [MIB [THREADS [ROUNDS]]]\n");
    return 2;
  }
  auto number = [&](int index, int64_t fallback) {
    return argc > index ? parseInt(argv[index]).value_or(fallback) : fallback;
  };
  int64_t mebibytes = number(2, 256), threads = number(3, 2), rounds = number(4, 7);
  // As a GPT-2 has them: many small tensors between large ones.
  std::vector<StateTensor> tensors;
  int64_t elements = mebibytes << 18, large = std::max<int64_t>(elements / 16, 1);
  for (int64_t left = elements, i = 0; left > 0; ++i) {
    int64_t count = std::min(left, i % 3 ? int64_t{768} : large);
    tensors.push_back({"v" + std::to_string(i), "parameter", SafeType::F32, {count}});
    left -= count;
  }
  auto layout = orDie(planState(std::move(tensors)));
  auto state = orDie(Arena::create(layout.bytes, "state")),
       target = orDie(Arena::create(layout.bytes, "copy"));
  std::memset(state.data(), 1, layout.bytes);
  std::memset(target.data(), 2, layout.bytes);
  std::vector<std::byte *> memory;
  std::byte *next = state.data();
  for (const StateTensor &tensor : layout.tensors) {
    memory.push_back(next);
    next += tensor.bytes();
  }
  auto pool = orDie(ThreadPool::create(static_cast<int>(threads)));
  auto saver = orDie(BackgroundSaver::create(layout, memory, true, *pool));

  struct Copy {
    std::byte *to;
    const std::byte *from;
    uint64_t bytes, workers;
  } copy{target.data(), state.data(), layout.bytes, static_cast<uint64_t>(threads)};
  std::vector<double> stalls, copies, writes;
  for (int64_t round = 0; round < rounds; ++round) {
    auto begin = Clock::now();
    pool->run(
        [](void *context, int worker) {
          const Copy &c = *static_cast<Copy *>(context);
          uint64_t index = static_cast<uint64_t>(worker);
          uint64_t from = c.bytes / c.workers * index,
                   to = index + 1 == c.workers ? c.bytes : c.bytes / c.workers * (index + 1);
          std::memcpy(c.to + from, c.from + from, to - from);
        },
        &copy);
    copies.push_back(milliseconds(begin));
    begin = Clock::now();
    saver->save({std::string(argv[1]) + "/step-1", {}, nullptr, {}});
    stalls.push_back(milliseconds(begin));
    auto result = saver->collect(/*wait=*/true);
    writes.push_back(milliseconds(begin));
    if (!result || !result->status.ok()) {
      std::fprintf(stderr, "%s\n", result ? result->status.message().c_str() : "no result");
      return 1;
    }
  }
  // A machine that others use makes medians jump; the best round is what the code can do.
  double bestCopy = *std::min_element(copies.begin(), copies.end()),
         bestStall = *std::min_element(stalls.begin(), stalls.end());
  std::printf("%s, %lld threads, %lld rounds: copy %.2f ms, stall of a save %.2f ms, ratio %.2f "
              "(best %.2f, %.2f, %.2f); written after %.0f ms\n",
              printBytes(layout.bytes).c_str(), static_cast<long long>(threads),
              static_cast<long long>(rounds), median(copies), median(stalls),
              median(stalls) / median(copies), bestCopy, bestStall, bestStall / bestCopy,
              median(writes));
  return 0;
}
