//===- LocalWorld.h - what the ranks of one process share ----------------------------------===//
// A rank waits on a word of its own, its event counter, which whoever does something it could wait
// for raises. A rank that works in others' memory says so first and looks after that whether
// anybody has failed; one that fails says so first and then waits until nobody works in its memory.
// Both sequentially consistent, so that memory never goes away under a reader.
#ifndef DSC_LIB_RUNTIME_COMM_LOCAL_LOCALWORLD_H
#define DSC_LIB_RUNTIME_COMM_LOCAL_LOCALWORLD_H

#include "../OperationRecord.h"
#include "dsc/Runtime/Comm/Collectives.h"
#include <mutex>

namespace dsc {

/// A message that one side has posted.
struct LocalSlot {
  enum State : uint32_t { Posted, Copying, Over };
  std::atomic<uint32_t> state{Over};
  int owner = -1;
  uint64_t tag = 0;
  std::byte *data = nullptr;
  uint64_t bytes = 0;
  LocalSlot *next = nullptr;
};

/// Messages from one rank to another whose other side has not come, in the order of posting.
struct LocalChannel {
  std::mutex mutex;
  LocalSlot *sends = nullptr, *receives = nullptr;
};

/// How often `from` has met, and parted from, `to`.
struct alignas(64) LocalCell {
  std::atomic<uint32_t> met{0}, parted{0};
};

struct alignas(64) LocalStation {
  std::atomic<uint32_t> event{0};               ///< what the rank sleeps on
  std::atomic<uint32_t> sleeping{0};            ///< it may sleep
  std::atomic<uint32_t> wakeAt{0};              ///< until `event` is this
  alignas(64) std::atomic<uint32_t> working{0}; ///< in others' memory
  std::atomic<uint32_t> gone{0};
  OperationRecord *record = nullptr; ///< outlives the rank
  // What it brings to a meeting; unchanged while others may look.
  const char *kind = nullptr;
  uint32_t id = 0;
  std::span<const Tensor> tensors;
};

struct LocalWorld {
  LocalWorld(int ranks, const CommunicatorOptions &options);

  LocalChannel &channel(int from, int to) { return channels[from * ranks + to]; }
  LocalCell &cell(int from, int to) { return cells[from * ranks + to]; }

  void notify(int rank, bool always = false); ///< always: however much it waits for
  /// Sleeps until the rank's event counter reaches `seen` + `events`, or for `seconds`; less is
  /// possible.
  void sleep(int rank, uint32_t seen, uint32_t events, double seconds);
  void fail(const Status &why); ///< the first one counts
  bool failed() const { return failed_.load(); }
  Status why();
  /// Returns when nobody but `rank` works in others' memory; some rank has failed or gone.
  void awaitQuiet(int rank);

  int ranks;
  CommunicatorOptions options;
  int spins; ///< before sleeping
  std::unique_ptr<LocalStation[]> stations;
  std::unique_ptr<LocalCell[]> cells;
  std::unique_ptr<LocalChannel[]> channels;

private:
  std::atomic<bool> failed_{false};
  std::mutex mutex;
  Status why_;
};

} // namespace dsc

#endif // DSC_LIB_RUNTIME_COMM_LOCAL_LOCALWORLD_H
