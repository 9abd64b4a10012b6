//===- ThreadPool.h - threads that wait a short while, then sleep ----------===//
#ifndef DSC_RUNTIME_CPU_THREADPOOL_H
#define DSC_RUNTIME_CPU_THREADPOOL_H

#include "dsc/Support/Status.h"
#include <atomic>
#include <cstdint>
#include <memory>
#include <pthread.h>
#include <vector>

namespace dsc {

/// A fixed number of workers; the caller of run() is worker 0. No allocation, no exceptions after
/// create(). Waiting: a short spin, since launches follow each other within microseconds, then a
/// futex, since another process may need the core.
class ThreadPool {
public:
  /// Called once on each worker.
  using Task = void (*)(void *context, int worker);

  static StatusOr<std::unique_ptr<ThreadPool>> create(int workers);
  ~ThreadPool();

  int size() const { return static_cast<int>(workers.size()) + 1; }

  /// Returns when every worker has returned from `task`. Not reentrant.
  void run(Task task, void *context);

private:
  struct Worker {
    ThreadPool *pool;
    int index;
    pthread_t thread;
  };

  ThreadPool() = default;
  void work(int index);

  std::vector<std::unique_ptr<Worker>> workers;
  Task task = nullptr;
  void *context = nullptr;
  bool stopping = false;
  // On lines of their own: every worker watches the first, every worker writes the second.
  alignas(64) std::atomic<uint32_t> generation{0};
  std::atomic<int32_t> sleepers{0};
  alignas(64) std::atomic<uint32_t> running{0};
  std::atomic<uint32_t> callerSleeps{0};
};

/// Cores that this process may run on (sched_getaffinity).
int availableCores();

} // namespace dsc

#endif // DSC_RUNTIME_CPU_THREADPOOL_H
