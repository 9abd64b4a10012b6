//===- RankThreads.h - a thread for each rank of this process --------------===//
#ifndef DSC_RUNTIME_CORE_RANKTHREADS_H
#define DSC_RUNTIME_CORE_RANKTHREADS_H

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace dsc {

class RankThreads {
public:
  explicit RankThreads(size_t count);
  ~RankThreads();
  /// work(index) on every thread; returns when all are done.
  void run(const std::function<void(size_t)> &work);

private:
  void loop(size_t index);

  std::mutex mutex;
  std::condition_variable wake, done;
  const std::function<void(size_t)> *work = nullptr;
  uint64_t round = 0;
  size_t pending = 0;
  bool ending = false;
  std::vector<std::thread> threads;
};

} // namespace dsc

#endif // DSC_RUNTIME_CORE_RANKTHREADS_H
