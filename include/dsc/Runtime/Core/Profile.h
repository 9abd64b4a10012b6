//===- Profile.h - who did what when, as a Chrome trace ----------------------===//
// Off, it costs one comparison an instruction. On, each worker notes its share of each instruction
// in memory of its own; the file is written when the wanted steps are done.
#ifndef DSC_RUNTIME_CORE_PROFILE_H
#define DSC_RUNTIME_CORE_PROFILE_H

#include "dsc/Plan/Plan.h"
#include "dsc/Support/File.h"
#include <chrono>
#include <memory>
#include <mutex>

namespace dsc {

class Profile {
public:
  /// Threads of the trace beside the workers; worker 0 is the main thread.
  enum class Track { Main, Saver };

  /// `steps`: of this start that are recorded. Makes a file beside `path` at once, so that what
  /// cannot be written is known before training. Code Input.
  static StatusOr<std::unique_ptr<Profile>> open(const std::string &path, int64_t steps);
  /// Takes memory for what is to come. `plan` must outlive the profile.
  void prepare(const plan::Plan &plan, int threads);

  /// Nanoseconds of a clock that never goes back.
  static uint64_t now() {
    return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                     std::chrono::steady_clock::now().time_since_epoch())
                                     .count());
  }

  /// False once the wanted steps are over.
  bool recording() const { return active; }

  /// A worker's share of an instruction; called by that worker.
  void slice(int worker, uint32_t program, uint32_t instruction, uint64_t begin, uint64_t end) {
    auto &list = slices[static_cast<size_t>(worker)];
    if (list.size() < most)
      list.push_back({program, instruction, begin, end});
  }

  /// A stretch of other work; from any thread. Two with the same `flow` (not 0), one of the main
  /// thread that hands something over and one of the saver that takes it up, are joined by an
  /// arrow.
  void span(Track track, std::string name, uint64_t begin, uint64_t end, uint64_t flow = 0);
  uint64_t newFlow() { return ++flows; }

  /// A step is over; writes the file after the last that is wanted.
  Status stepDone();
  /// The run is over: writes the file if that has not been done.
  Status finish();

  /// The trace: events sorted by thread, then time.
  std::string text() const;

private:
  struct Slice {
    uint32_t program, instruction;
    uint64_t begin, end;
  };
  struct Named {
    Track track;
    std::string name;
    uint64_t begin, end, flow;
  };
  static constexpr size_t most = size_t{1} << 22; ///< slices of a worker: 96 MiB

  Profile() = default;
  AtomicFile file;
  int64_t stepsLeft = 0;
  bool active = true;
  uint64_t start = now();
  const plan::Plan *plan = nullptr;
  std::vector<std::vector<Slice>> slices; ///< of each worker
  std::vector<Named> spans;
  uint64_t flows = 0;
  mutable std::mutex mutex; ///< of spans
};

/// Notes the time from its creation to its end; nothing without a profile.
class ProfileSpan {
public:
  ProfileSpan(Profile *profile, const char *name)
      : profile(profile && profile->recording() ? profile : nullptr), name(name),
        begin(this->profile ? Profile::now() : 0) {}
  ~ProfileSpan() {
    if (profile)
      profile->span(Profile::Track::Main, name, begin, Profile::now());
  }
  ProfileSpan(const ProfileSpan &) = delete;

private:
  Profile *profile;
  const char *name;
  uint64_t begin;
};

} // namespace dsc

#endif // DSC_RUNTIME_CORE_PROFILE_H
