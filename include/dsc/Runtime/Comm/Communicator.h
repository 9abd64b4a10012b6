//===- Communicator.h - how ranks reach each other ---------------------------===//
// One interface, an implementation a transport. Every wait has a deadline; who lets it pass is
// named with the operation it did not come to. Collectives (Collectives.h) are built on these
// messages, or on the ranks' memory where it is shared.
#ifndef DSC_RUNTIME_COMM_COMMUNICATOR_H
#define DSC_RUNTIME_COMM_COMMUNICATOR_H

#include "dsc/Support/Status.h"
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dsc {

struct OperationRecord;
class SharedMemory;

/// What a rank is doing, for messages: "all-reduce 17, gradient bucket 2, layers.4".
struct Operation {
  static constexpr uint32_t noId = UINT32_MAX; ///< left out of the text
  const char *kind = "";                       ///< lives as long as the program
  uint32_t id = noId;
  std::string_view label = {}; ///< copied, its first 128 bytes
};
std::string describe(const Operation &operation);

/// Bytes and messages that a rank handed over and took since its start; those of collectives count
/// as trafficOf (Collectives.h) says, also where memory is shared.
struct Traffic {
  uint64_t sentBytes = 0, receivedBytes = 0;
  bool operator==(const Traffic &) const = default;
};

/// One object a rank; only one thread at a time uses it, but for abort(). A failure is final: every
/// later call returns it.
class Communicator {
public:
  /// A started message. wait() ends it; a default one is over.
  struct Request {
    static constexpr uint32_t over = UINT32_MAX;
    uint32_t slot = over;
    int32_t peer = -1;
    uint64_t bytes = 0;
    bool pending() const { return slot != over; }
  };
  /// Tags of users are below this; those above are for collectives.
  static constexpr uint64_t tags = uint64_t(1) << 30;

  /// Without close() before it, others take it for a failure of this rank. Over MPI it then ends
  /// the processes of all ranks, with the failure's exit code: say before what there is to say.
  virtual ~Communicator();
  Communicator(const Communicator &) = delete;
  Communicator &operator=(const Communicator &) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  virtual const char *name() const = 0; ///< local, mpi

  /// Start a message; the bytes are neither changed (send) nor read or changed (receive) by the
  /// caller until wait(). Messages of one pair of ranks and one tag arrive in order; both sides
  /// name the same number of bytes, which may be 0. No rank sends to itself.
  virtual StatusOr<Request> send(int peer, uint64_t tag, const std::byte *data, uint64_t bytes) = 0;
  virtual StatusOr<Request> receive(int peer, uint64_t tag, std::byte *data, uint64_t bytes) = 0;
  /// Returns when the message is over, or with ErrorCode::Communication: at the deadline of the
  /// current operation (outside of any, counted from this call), or when another rank has failed.
  /// After a failure nobody touches the bytes any more.
  virtual Status wait(Request &request) = 0;
  /// Whether wait() would return at once. For a thread that drives messages beside computation; it
  /// has no deadline, and others do not see whom this rank waits for.
  virtual bool test(Request &request) = 0;

  /// What this rank is at, until leave() or the next enter(): for messages, and the start of the
  /// deadline.
  void enter(const Operation &operation);
  void leave();

  /// Makes the calls of all other ranks fail soon, with a message that names this rank and `why`
  /// (or `why` alone where it is itself an error of communication). From any thread.
  virtual void abort(const Status &why) = 0;

  /// All ranks have come here. Enters `operation`.
  virtual Status barrier(const Operation &operation = {"barrier"});
  /// `bytes` of `root` to all ranks, by a binomial tree. Enters `operation`.
  Status broadcast(int root, std::byte *data, uint64_t bytes,
                   const Operation &operation = {"broadcast"});
  /// Everybody's `bytes` to `root`, those of rank r at `all` + r `bytes`. Enters `operation`.
  Status gather(int root, const std::byte *mine, uint64_t bytes, std::byte *all,
                const Operation &operation = {"gather"});
  /// Fails on all ranks alike, with ErrorCode::Usage, unless all bring the same bytes (at most 64):
  /// "ranks 2 and 3 have another plan than rank 0".
  Status agree(std::string_view what, std::span<const std::byte> value);
  /// All ranks are done, and part in good order.
  virtual Status close() = 0;

  /// Not null where ranks reach each other's memory: collectives then work there.
  virtual SharedMemory *sharedMemory() { return nullptr; }

  const Traffic &traffic() const { return traffic_; }
  /// For collectives in shared memory.
  void count(const Traffic &more);

protected:
  Communicator(int rank, int size, double timeoutSeconds);

  double secondsLeft() const; ///< to the deadline of the current operation
  /// Marks the rank as blocked by `peer` (or by nobody: -1), for the others to see.
  void blockedBy(int peer);
  /// Starts the deadline of a wait outside of any operation.
  void startWait();

  int rank_, size_;
  double timeout;
  std::chrono::steady_clock::time_point started;
  bool inside = false;
  OperationRecord *record; ///< of this rank; stays readable after it
  Traffic traffic_;
};

struct CommunicatorOptions {
  double timeoutSeconds = 60;
  /// For all processes of a launcher to be there.
  double startSeconds = 60;
  /// Ranks of one process reduce in each other's memory; tests of the algorithms that are made of
  /// messages switch it off.
  bool sharedMemory = true;
  /// The file with what needs MPI; empty: beside the program.
  std::string mpiModule;
};

/// Ranks as threads of this process: a communicator each, of one world.
std::vector<std::unique_ptr<Communicator>> makeLocalWorld(int ranks,
                                                          const CommunicatorOptions &options = {});

/// What a launcher says about this process.
struct LaunchEnvironment {
  const char *launcher; ///< "mpirun (Open MPI)", ...
  int rank, size;
  int localRank = -1, localSize = -1; ///< on this machine; -1: the launcher does not say
};

/// Open MPI's mpirun (OMPI_COMM_WORLD_*), others' by PMI (PMI_RANK, PMI_SIZE), Slurm's srun
/// (SLURM_PROCID, SLURM_STEP_NUM_TASKS or SLURM_NTASKS), torchrun's names (RANK, WORLD_SIZE), in
/// this order; empty: alone. A rank without a size, or out of its range, counts as absent.
std::optional<LaunchEnvironment> findLaunchEnvironment();
/// The same with variables looked up elsewhere.
std::optional<LaunchEnvironment> findLaunchEnvironment(const char *(*variable)(const char *name));

/// This process's rank among those that a launcher started, through the module that holds MPI,
/// which is loaded here: programs start in milliseconds and run where MPI is not installed. Each
/// call is a world of its own, and all ranks call equally often. ErrorCode::Usage where MPI is
/// absent or counts other processes than the launcher.
StatusOr<std::unique_ptr<Communicator>> joinWorld(const LaunchEnvironment &environment,
                                                  const CommunicatorOptions &options = {});

/// What this process's ranks are at, one a line ("rank 2 is at all-reduce 17, ..."), cut at
/// `capacity`, without a final zero; returns the bytes written. Async-signal-safe: handlers of
/// SIGTERM call it.
size_t describeOperations(char *buffer, size_t capacity);

} // namespace dsc

#endif // DSC_RUNTIME_COMM_COMMUNICATOR_H
