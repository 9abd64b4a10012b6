//===- BackgroundSaver.cpp - one copy, then a thread writes -----------------===//
// The snapshot belongs to the thread from save() until the result is there; the state itself
// belongs to the caller at all times.
#include "dsc/Runtime/Core/BackgroundSaver.h"
#include "dsc/Runtime/Core/Profile.h"
#include "dsc/Runtime/Monitor/StepLog.h"
#include <csignal>
#include <cstring>
#include <immintrin.h>

using namespace dsc;

StatusOr<std::unique_ptr<BackgroundSaver>> BackgroundSaver::create(const StateLayout &layout,
                                                                   std::vector<std::byte *> memory,
                                                                   bool asynchronous,
                                                                   ThreadPool &workers) {
  std::unique_ptr<BackgroundSaver> saver(new BackgroundSaver(layout, std::move(memory), workers));
  if (!asynchronous)
    return saver;
  // Each tensor on a line of its own; the copy is dealt out in lines.
  constexpr uint64_t line = 64;
  uint64_t total = 0;
  std::vector<uint64_t> offsets;
  for (const StateTensor &tensor : layout.tensors) {
    offsets.push_back(total);
    total += (tensor.bytes() + line - 1) / line * line;
  }
  auto arena = Arena::create(total, "copy of the state for saving while training goes on; "
                                    "checkpoint.async=false does without");
  if (!arena.ok())
    return arena.status();
  saver->snapshot = std::move(*arena);
  for (uint64_t offset : offsets)
    saver->copies.push_back(saver->snapshot.data() + offset);
  saver->copyState(); // touches every page
  // Signals are for the main thread.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  saver->thread = std::thread([self = saver.get()] { self->work(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return saver;
}

BackgroundSaver::~BackgroundSaver() {
  if (!thread.joinable())
    return;
  {
    std::lock_guard lock(mutex);
    stopping = true;
  }
  changed.notify_all();
  thread.join();
}

/// memcpy past the caches: nothing reads the copy before the step goes on, and a target that is not
/// fetched first saves a third of the traffic. The C library does so for large blocks only; most
/// tensors are small ones.
static void copyPastCaches(std::byte *to, const std::byte *from, uint64_t bytes) {
  constexpr uint64_t line = 64;
  uint64_t head = std::min(bytes, -reinterpret_cast<uintptr_t>(to) % line);
  std::memcpy(to, from, head);
  uint64_t at = head;
  for (; at + line <= bytes; at += line) {
    auto *target = reinterpret_cast<__m128i *>(to + at);
    auto *source = reinterpret_cast<const __m128i *>(from + at);
    __m128i a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1),
            c = _mm_loadu_si128(source + 2), d = _mm_loadu_si128(source + 3);
    _mm_stream_si128(target, a);
    _mm_stream_si128(target + 1, b);
    _mm_stream_si128(target + 2, c);
    _mm_stream_si128(target + 3, d);
  }
  std::memcpy(to + at, from + at, bytes - at);
  _mm_sfence(); // before another thread is told that it is there
}

void BackgroundSaver::copyState() {
  struct Copy {
    const BackgroundSaver *saver;
    uint64_t workers;
  } copy{this, static_cast<uint64_t>(workers.size())};
  // Worker i copies bytes [total i / n, total (i + 1) / n) of the tensors laid end to end.
  workers.run(
      [](void *context, int worker) {
        const Copy &c = *static_cast<Copy *>(context);
        uint64_t total = c.saver->layout.bytes, index = static_cast<uint64_t>(worker);
        uint64_t begin = total / c.workers * index + total % c.workers * index / c.workers;
        uint64_t end =
            total / c.workers * (index + 1) + total % c.workers * (index + 1) / c.workers;
        uint64_t at = 0;
        for (size_t i = 0; i < c.saver->memory.size() && at < end; ++i) {
          uint64_t bytes = c.saver->layout.tensors[i].bytes();
          uint64_t from = std::max(begin, at), to = std::min(end, at + bytes);
          if (from < to)
            copyPastCaches(c.saver->copies[i] + (from - at), c.saver->memory[i] + (from - at),
                           to - from);
          at += bytes;
        }
      },
      &copy);
}

BackgroundSaver::Result BackgroundSaver::write(Job &job,
                                               std::span<const std::byte *const> data) const {
  Result result{job.info.step, false, {}};
  // The log first: a checkpoint never knows of lines that a power cut takes away.
  if (job.log)
    result.status = job.log->sync();
  if (result.status.ok())
    result.status = writeCheckpoint(job.folder, job.info, layout, data);
  result.written = result.status.ok();
  if (result.written && job.afterwards)
    result.status = job.afterwards();
  return result;
}

void BackgroundSaver::save(Job job) {
  Profile *profile = job.profile;
  if (copies.empty()) {
    ProfileSpan span(profile, "write checkpoint");
    result = write(job, {memory.data(), memory.size()});
    return;
  }
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return !pending; });
  }
  uint64_t begin = profile ? Profile::now() : 0;
  copyState();
  if (profile) {
    job.flow = profile->newFlow();
    profile->span(Profile::Track::Main, "copy state", begin, Profile::now(), job.flow);
  }
  {
    std::lock_guard lock(mutex);
    pending = std::move(job);
    result.reset();
  }
  changed.notify_all();
}

std::optional<BackgroundSaver::Result> BackgroundSaver::collect(bool wait) {
  std::unique_lock lock(mutex);
  if (wait)
    changed.wait(lock, [&] { return !pending; });
  return std::exchange(result, std::nullopt);
}

void BackgroundSaver::work() {
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [&] { return pending || stopping; });
    if (!pending)
      return;
    lock.unlock();
    Profile *profile = pending->profile;
    uint64_t begin = profile ? Profile::now() : 0;
    Result written = write(*pending, {copies.data(), copies.size()});
    if (profile)
      profile->span(Profile::Track::Saver, "write checkpoint", begin, Profile::now(),
                    pending->flow);
    lock.lock();
    result = std::move(written);
    pending.reset();
    changed.notify_all();
  }
}
