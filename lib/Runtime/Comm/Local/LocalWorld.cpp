//===- LocalWorld.cpp - what the ranks of one process share --------------------------------===//
#include "LocalWorld.h"
#include <algorithm>
#include <climits>
#include <cmath>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

using namespace dsc;

LocalWorld::LocalWorld(int ranks, const CommunicatorOptions &options)
    : ranks(ranks), options(options), stations(new LocalStation[ranks]),
      cells(new LocalCell[ranks * ranks]), channels(new LocalChannel[ranks * ranks]) {
  // Some 20 microseconds, the time that sleeping and waking take; with more ranks than cores the
  // one that is waited for needs this core.
  cpu_set_t set;
  int cores = sched_getaffinity(0, sizeof set, &set) ? INT_MAX : CPU_COUNT(&set);
  spins = ranks <= cores ? 1500 : 50;
}

void LocalWorld::notify(int rank, bool always) {
  LocalStation &station = stations[rank];
  uint32_t now = station.event.fetch_add(1) + 1;
  if (always || (station.sleeping.load() && static_cast<int32_t>(now - station.wakeAt.load()) >= 0))
    syscall(SYS_futex, &station.event, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

void LocalWorld::sleep(int rank, uint32_t seen, uint32_t events, double seconds) {
  LocalStation &station = stations[rank];
  station.wakeAt.store(seen + events);
  station.sleeping.store(1);
  // A notifier either sees `sleeping`, or raised the counter before this look.
  uint32_t now = station.event.load();
  if (static_cast<int32_t>(now - (seen + events)) < 0 && !failed()) {
    seconds = std::clamp(seconds, 0.0, 3600.0);
    timespec limit{static_cast<time_t>(seconds),
                   static_cast<long>((seconds - std::floor(seconds)) * 1e9)};
    syscall(SYS_futex, &station.event, FUTEX_WAIT_PRIVATE, now, &limit, nullptr, 0);
  }
  station.sleeping.store(0);
}

void LocalWorld::fail(const Status &why) {
  {
    std::lock_guard lock(mutex);
    if (failed_.load())
      return;
    why_ = why;
    failed_.store(true);
  }
  for (int rank = 0; rank < ranks; ++rank)
    notify(rank, true);
}

Status LocalWorld::why() {
  std::lock_guard lock(mutex);
  return why_;
}

void LocalWorld::awaitQuiet(int rank) {
  for (int other = 0; other < ranks; ++other)
    while (other != rank && stations[other].working.load())
      std::this_thread::yield();
}
