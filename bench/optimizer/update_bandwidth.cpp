//===- update_bandwidth.cpp - the update of a plan against moving its bytes -===//
// dsc-bench-update PLAN [THREADS [ROUNDS]]: runs the last program of a step that accumulates, which
// is the update and nothing else: norm, finite check, unscaling, clipping, AdamW with a two-byte
// copy. In turn with it a plain loop reads and writes the same bytes of the same buffers, in the
// same two passes. Prints medians, best rounds and their ratios.
#include "dsc/Runtime/Core/Executor.h"
#include "dsc/Support/File.h"
#include "dsc/Support/Numbers.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <emmintrin.h>

using namespace dsc;
using Clock = std::chrono::steady_clock;

template <typename T> static T orDie(StatusOr<T> value) {
  if (value.ok())
    return std::move(*value);
  std::fprintf(stderr, "dsc-bench-update: error: %s\n", value.status().message().c_str());
  std::exit(value.status().exitCode());
}

namespace {

/// One parameter: the buffers that its update touches.
struct Slice {
  float *weight, *gradient, *m, *v;
  uint16_t *half;
  int64_t count;
};

/// Milliseconds of the pass over gradients and of the pass over everything.
struct Times {
  std::vector<double> norm, update, total;
  void add(double first, double both) {
    norm.push_back(first);
    update.push_back(both - first);
    total.push_back(both);
  }
};

/// What the workers of the plain loop share.
struct Plain {
  const std::vector<Slice> *slices;
  int workers;
  bool streamed; ///< halves are written past the caches
  float none;    ///< 0, unknown to the compiler
  std::vector<double> sums;
};

} // namespace

static double milliseconds(Clock::time_point since) {
  return std::chrono::duration<double, std::milli>(Clock::now() - since).count();
}

static double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

static double least(const std::vector<double> &values) {
  return *std::min_element(values.begin(), values.end());
}

/// The part of `count` elements, in cache lines of halves, that is a worker's.
static std::pair<int64_t, int64_t> part(int64_t count, int worker, int workers) {
  int64_t lines = count / 32, low = lines * worker / workers * 32;
  return {low, worker + 1 == workers ? count : lines * (worker + 1) / workers * 32};
}

static void readGradients(void *context, int worker) {
  Plain &plain = *static_cast<Plain *>(context);
  __m128 sums[4] = {};
  for (const Slice &s : *plain.slices) {
    auto [low, high] = part(s.count, worker, plain.workers);
    for (int64_t i = low; i + 16 <= high; i += 16)
      for (int k = 0; k < 4; ++k)
        sums[k] = _mm_add_ps(sums[k], _mm_loadu_ps(s.gradient + i + 4 * k));
  }
  float total[4];
  _mm_storeu_ps(total, _mm_add_ps(_mm_add_ps(sums[0], sums[1]), _mm_add_ps(sums[2], sums[3])));
  plain.sums[static_cast<size_t>(worker)] = total[0] + total[1] + total[2] + total[3];
}

/// Reads four arrays and writes three of them, unchanged, and the halves.
static void moveAll(void *context, int worker) {
  Plain &plain = *static_cast<Plain *>(context);
  __m128 none = _mm_set1_ps(plain.none);
  for (const Slice &s : *plain.slices) {
    auto [low, high] = part(s.count, worker, plain.workers);
    for (int64_t i = low; i + 8 <= high; i += 8) {
      __m128 weights[2];
      for (int k = 0; k < 2; ++k) {
        int64_t at = i + 4 * k;
        __m128 extra = _mm_mul_ps(none, _mm_loadu_ps(s.gradient + at));
        weights[k] = _mm_add_ps(_mm_loadu_ps(s.weight + at), extra);
        _mm_storeu_ps(s.weight + at, weights[k]);
        _mm_storeu_ps(s.m + at, _mm_add_ps(_mm_loadu_ps(s.m + at), extra));
        _mm_storeu_ps(s.v + at, _mm_add_ps(_mm_loadu_ps(s.v + at), extra));
      }
      __m128i halves = _mm_packs_epi32(_mm_castps_si128(weights[0]), _mm_castps_si128(weights[1]));
      if (plain.streamed)
        _mm_stream_si128(reinterpret_cast<__m128i *>(s.half + i), halves);
      else
        _mm_storeu_si128(reinterpret_cast<__m128i *>(s.half + i), halves);
    }
  }
  _mm_sfence();
}

static void runPlain(ThreadPool &pool, Plain &plain, Times &times) {
  auto begin = Clock::now();
  pool.run(readGradients, &plain);
  double first = milliseconds(begin);
  pool.run(moveAll, &plain);
  times.add(first, milliseconds(begin));
}

/// The parameters of `program` with their gradients and state, all filled with plausible numbers.
static std::vector<Slice> slicesOf(Executor &executor, size_t program) {
  std::vector<Slice> slices;
  auto find = [&](const std::string &name, plan::Kind kind, plan::DType type) {
    return executor.data(*orDie(executor.find(program, name, kind, type)));
  };
  uint32_t random = 1;
  auto fill = [&](float *values, int64_t count, float scale, bool positive) {
    for (int64_t i = 0; i < count; ++i) {
      random = random * 1664525 + 1013904223;
      float value = static_cast<float>(random >> 8) * 0x1p-24f;
      values[i] = scale * (positive ? value + 0.5f : 2 * value - 1);
    }
  };
  for (const plan::Variable &variable : executor.plan().variables) {
    if (variable.role != plan::Kind::Parameter)
      continue;
    Slice s{};
    s.count = 1;
    for (int64_t size : variable.shape)
      s.count *= size;
    auto f32 = [&](const char *prefix, plan::Kind kind) {
      return reinterpret_cast<float *>(find(prefix + variable.name, kind, plan::DType::F32));
    };
    s.weight = f32("", plan::Kind::Parameter);
    s.gradient = f32("grad:", plan::Kind::Window);
    s.m = f32("adam.m.", plan::Kind::OptimizerState);
    s.v = f32("adam.v.", plan::Kind::OptimizerState);
    // Products read matrices; gains and biases have no copy.
    if (plan::findBuffer(executor.plan().programs[program], "half." + variable.name) >= 0)
      s.half = reinterpret_cast<uint16_t *>(
          find("half." + variable.name, plan::Kind::WorkingCopy, plan::DType::F16));
    fill(s.weight, s.count, 0.05f, false);
    fill(s.gradient, s.count, 1e-3f, false);
    fill(s.m, s.count, 1e-8f, false);
    fill(s.v, s.count, 1e-15f, true);
    if (s.half) // what has none is less than a thousandth
      slices.push_back(s);
  }
  return slices;
}

int main(int argc, char **argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: dsc-bench-update PLAN [THREADS [ROUNDS]]\n");
    return 2;
  }
  auto number = [&](int index, int64_t fallback) {
    return argc > index ? parseInt(argv[index]).value_or(fallback) : fallback;
  };
  ExecutorOptions options;
  options.threads = static_cast<int>(number(2, availableCores()));
  int64_t rounds = std::max<int64_t>(number(3, 9), 1);
  auto file = orDie(MappedFile::open(argv[1]));
  auto executor = orDie(Executor::create(orDie(plan::deserialize(file.bytes())), options));
  if (executor->plan().schedule.size() < 3) {
    std::fprintf(stderr, "dsc-bench-update: error: the plan does not accumulate, so its update is "
                         "no program of its own\n");
    return 1;
  }
  size_t program = executor->plan().schedule.back().program;
  executor->storeScalars();
  std::vector<Slice> slices = slicesOf(*executor, program);
  auto set = [&](const char *name, plan::Kind kind, double value) {
    std::memcpy(executor->data(*orDie(executor->find(program, name, kind, plan::DType::F64))),
                &value, sizeof value);
  };
  set("window.count", plan::Kind::Window, 64);
  set("window.loss", plan::Kind::Window, 10);
  set("loss_scale.scale", plan::Kind::StepState, 65536);
  int64_t parameters = 0;
  for (const Slice &s : slices)
    parameters += s.count;

  Clock::time_point begin;
  double guard = 0;
  executor->beforeUpdate([&](size_t) { guard = milliseconds(begin); });
  Times ours, plainTimes, streamedTimes;
  Plain plain{&slices, executor->threads(), false, 0, std::vector<double>(64)};
  volatile float none = 0;
  plain.none = none;
  for (int64_t round = -1; round < rounds; ++round) {
    Times unused;
    begin = Clock::now();
    if (executor->run(program) != Outcome::Done) {
      std::fprintf(stderr, "dsc-bench-update: error: the update was skipped\n");
      return 1;
    }
    (round < 0 ? unused : ours).add(guard, milliseconds(begin));
    for (bool streamed : {false, true}) {
      plain.streamed = streamed;
      runPlain(executor->workers(), plain,
               round < 0  ? unused
               : streamed ? streamedTimes
                          : plainTimes);
    }
  }
  double bytes = 34.0 * static_cast<double>(parameters);
  std::string features;
  for (const char *name : {"f16c", "avx2", "fma", "avx512f", "amx_tile"})
    if (options.features.count(name))
      features += std::string(features.empty() ? "" : ", ") + name;
  std::printf(
      "%lld parameters, 34 bytes each, %d threads, %lld rounds, kernels for %s, CPU with %s\n",
      static_cast<long long>(parameters), executor->threads(), static_cast<long long>(rounds),
      executor->isa().c_str(), features.c_str());
  auto print = [&](const char *what, const Times &t) {
    std::printf("%-28s median %7.1f ms (%5.1f + %5.1f), %5.1f GB/s; best %7.1f ms, %5.1f GB/s\n",
                what, median(t.total), median(t.norm), median(t.update),
                bytes / median(t.total) / 1e6, least(t.total), bytes / least(t.total) / 1e6);
  };
  print("norm + update", ours);
  print("plain loop", plainTimes);
  print("plain loop, halves streamed", streamedTimes);
  double fastest = std::min(median(plainTimes.total), median(streamedTimes.total));
  double best = std::min(least(plainTimes.total), least(streamedTimes.total));
  std::printf("ratio to the faster loop: median %.2f, best %.2f\n", median(ours.total) / fastest,
              least(ours.total) / best);
  return 0;
}
