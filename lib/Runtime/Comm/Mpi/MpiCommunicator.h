//===- MpiCommunicator.h - a rank that is a process under MPI --------------------------------===//
// Messages are MPI's nonblocking ones on a channel (an MPI communicator) of their own, so that a
// wait can look at its deadline. A third channel carries what ranks tell each other about
// themselves: one that waits long asks whom it waits for what that one is at, and a rank that fails
// tells all why.
#ifndef DSC_LIB_RUNTIME_COMM_MPI_MPICOMMUNICATOR_H
#define DSC_LIB_RUNTIME_COMM_MPI_MPICOMMUNICATOR_H

#include "../Blame.h"
#include "MpiTable.h"
#include <atomic>
#include <deque>
#include <mutex>

namespace dsc {

/// MPI of this process, started once.
struct MpiProcess {
  const DscMpiTable *table;
  int rank = 0, size = 1, largestTag = 0;
  bool threads = false; ///< several may call at once
  std::string library;  ///< Open MPI v4.1.4
  int channels = 0;     ///< opened so far
  int openWorlds = 0;   ///< not yet closed
};

class MpiCommunicator final : public Communicator {
public:
  MpiCommunicator(MpiProcess &mpi, int firstChannel, const CommunicatorOptions &options);
  /// After a failure, or without close(): ends all processes of the launcher, this one among them,
  /// with the failure's exit code. What there is to say of it is said before.
  ~MpiCommunicator() override;

  const char *name() const override { return "mpi"; }
  StatusOr<Request> send(int peer, uint64_t tag, const std::byte *data, uint64_t bytes) override;
  StatusOr<Request> receive(int peer, uint64_t tag, std::byte *data, uint64_t bytes) override;
  Status wait(Request &request) override;
  bool test(Request &request) override;
  void abort(const Status &why) override;
  Status close() override;

  static constexpr int channelsOfWorld = 3;

private:
  using Clock = std::chrono::steady_clock;
  enum Channel { Messages, Collectives, Control };
  struct Slot {
    DscMpiRequest request = 0;
    bool active = false, over = false, receives = false;
    int channel = 0, peer = -1;
    uint64_t bytes = 0, arrived = 0;
  };
  /// On the control channel; small enough to need no answer from the other side.
  struct Note {
    enum Kind : int32_t { Question, Answer, Failure } kind;
    int32_t code;
    OperationSnapshot sender;
    char text[512];
  };
  struct SentNote {
    DscMpiRequest request;
    bool active;
    Note note;
  };
  struct Report {
    OperationSnapshot is;
    Clock::time_point when;
    bool any = false;
  };

  StatusOr<Request> start(bool sends, int peer, uint64_t tag, std::byte *data, uint64_t bytes);
  Status advance(Slot &slot); ///< sets `over`
  void poll();                ///< reads the control channel
  void sendNote(int peer, Note::Kind kind, const Status &why = {});
  bool notesSent();
  void ask(int peer); ///< and whom that one waits for, as far as is known
  Status timedOut(const Slot &slot);
  Status fail(const Status &why); ///< and tells all others
  Status failedStatus();
  Status mpiError(int error, int peer);
  OperationSnapshot self() const;
  double fresh() const { return timeout / 8; } ///< seconds that an answer is believed

  MpiProcess &mpi;
  int firstChannel;
  bool crowded; ///< more ranks than cores
  std::vector<Slot> slots;
  std::vector<uint32_t> freeSlots;
  std::vector<Report> reports;
  std::deque<SentNote> sentNotes;
  Clock::time_point lastPoll;

  std::recursive_mutex controlMutex; // abort() comes from any thread
  std::atomic<bool> failed{false}, tellOthers{false};
  Status why;
  bool first = false; ///< the failure is of this rank's own finding
  bool closed = false;
};

} // namespace dsc

#endif // DSC_LIB_RUNTIME_COMM_MPI_MPICOMMUNICATOR_H
