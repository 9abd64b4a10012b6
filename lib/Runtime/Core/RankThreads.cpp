//===- RankThreads.cpp - a thread for each rank of this process ------------===//
#include "dsc/Runtime/Core/RankThreads.h"

using namespace dsc;

RankThreads::RankThreads(size_t count) {
  for (size_t index = 0; index < count; ++index)
    threads.emplace_back([this, index] { loop(index); });
}

RankThreads::~RankThreads() {
  {
    std::lock_guard lock(mutex);
    ending = true;
  }
  wake.notify_all();
  for (std::thread &thread : threads)
    thread.join();
}

void RankThreads::loop(size_t index) {
  for (uint64_t seen = 0;;) {
    const std::function<void(size_t)> *now;
    {
      std::unique_lock lock(mutex);
      wake.wait(lock, [&] { return ending || round != seen; });
      if (ending)
        return;
      seen = round;
      now = work;
    }
    (*now)(index);
    std::lock_guard lock(mutex);
    if (--pending == 0)
      done.notify_one();
  }
}

void RankThreads::run(const std::function<void(size_t)> &what) {
  std::unique_lock lock(mutex);
  work = &what;
  pending = threads.size();
  ++round;
  wake.notify_all();
  done.wait(lock, [&] { return pending == 0; });
}
