//===- ThreadPool.cpp - threads that wait a short while, then sleep --------===//
// run() publishes a task by raising `generation`; workers lower `running` when done, the last wakes
// the caller if it sleeps. A sleeper announces itself before its futex call, which compares the
// value again: raising the value and then reading the announcement (both sequentially consistent)
// never misses one.
#include "dsc/Runtime/CPU/ThreadPool.h"
#include <algorithm>
#include <climits>
#include <csignal>
#include <cstring>
#include <immintrin.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace dsc;

static constexpr int spins = 1500; // some 20 microseconds

static void futexWait(std::atomic<uint32_t> &word, uint32_t value) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

static void futexWake(std::atomic<uint32_t> &word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

int dsc::availableCores() {
  // Larger than any machine of today; a set of the default size fails above 1,024 cores.
  constexpr int most = 1 << 14;
  cpu_set_t *set = CPU_ALLOC(most);
  int cores = 1;
  if (set && sched_getaffinity(0, CPU_ALLOC_SIZE(most), set) == 0)
    cores = CPU_COUNT_S(CPU_ALLOC_SIZE(most), set);
  CPU_FREE(set);
  return std::max(1, cores);
}

StatusOr<std::unique_ptr<ThreadPool>> ThreadPool::create(int workers) {
  std::unique_ptr<ThreadPool> pool(new ThreadPool);
  // Signals are for the main thread.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = 0;
  for (int i = 1; i < workers && !error; ++i) {
    auto worker = std::make_unique<Worker>(Worker{pool.get(), i, {}});
    error = pthread_create(
        &worker->thread, nullptr,
        [](void *argument) -> void * {
          auto *self = static_cast<Worker *>(argument);
          self->pool->work(self->index);
          return nullptr;
        },
        worker.get());
    if (!error)
      pool->workers.push_back(std::move(worker));
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error)
    return Status(ErrorCode::Usage, "cannot start " + std::to_string(workers) + " threads: " +
                                        std::strerror(error) + "; take fewer with --threads=N");
  return pool;
}

ThreadPool::~ThreadPool() {
  stopping = true;
  generation.fetch_add(1);
  futexWake(generation);
  for (auto &worker : workers)
    pthread_join(worker->thread, nullptr);
}

void ThreadPool::run(Task newTask, void *newContext) {
  if (workers.empty()) {
    newTask(newContext, 0);
    return;
  }
  task = newTask;
  context = newContext;
  running.store(static_cast<uint32_t>(workers.size()));
  generation.fetch_add(1);
  if (sleepers.load())
    futexWake(generation);
  newTask(newContext, 0);
  for (int i = 0; i < spins; ++i) {
    if (!running.load(std::memory_order_acquire))
      return;
    _mm_pause();
  }
  callerSleeps.store(1);
  while (uint32_t left = running.load())
    futexWait(running, left);
  callerSleeps.store(0);
}

void ThreadPool::work(int index) {
  uint32_t seen = 0;
  for (;;) {
    bool ready = false;
    for (int i = 0; i < spins && !ready; ++i) {
      ready = generation.load(std::memory_order_acquire) != seen;
      if (!ready)
        _mm_pause();
    }
    while (!ready) {
      sleepers.fetch_add(1);
      futexWait(generation, seen);
      sleepers.fetch_sub(1);
      ready = generation.load() != seen;
    }
    ++seen;
    if (stopping)
      return;
    task(context, index);
    if (running.fetch_sub(1) == 1 && callerSleeps.load())
      futexWake(running);
  }
}
