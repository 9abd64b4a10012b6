//===- LocalCommunicator.h - a rank that is a thread of this process ------------------------===//
#ifndef DSC_LIB_RUNTIME_COMM_LOCAL_LOCALCOMMUNICATOR_H
#define DSC_LIB_RUNTIME_COMM_LOCAL_LOCALCOMMUNICATOR_H

#include "../Blame.h"
#include "../SharedMemory.h"
#include "LocalWorld.h"
#include <deque>

namespace dsc {

class LocalCommunicator final : public Communicator, private SharedMemory {
public:
  LocalCommunicator(std::shared_ptr<LocalWorld> world, int rank);
  ~LocalCommunicator() override;

  const char *name() const override { return "local"; }
  StatusOr<Request> send(int peer, uint64_t tag, const std::byte *data, uint64_t bytes) override;
  StatusOr<Request> receive(int peer, uint64_t tag, std::byte *data, uint64_t bytes) override;
  Status wait(Request &request) override;
  bool test(Request &request) override;
  void abort(const Status &why) override;
  Status barrier(const Operation &operation) override;
  Status close() override;
  SharedMemory *sharedMemory() override { return world->options.sharedMemory ? this : nullptr; }

private:
  Status meet(std::span<const int> group, const Operation &operation,
              std::span<const Tensor> tensors) override;
  std::span<const Tensor> tensorsOf(int rank) const override {
    return world->stations[rank].tensors;
  }
  bool goesOn() const override { return !world->failed(); }
  Status part(std::span<const int> group) override;

  StatusOr<Request> post(bool sends, int peer, uint64_t tag, std::byte *data, uint64_t bytes);
  /// Copies between a posted message and the other side, which has just come.
  Status copy(LocalSlot &posted, bool sends, std::byte *data, uint64_t bytes);
  LocalSlot *takeSlot(uint32_t &number);
  void withdraw();

  /// Returns when `missing` finds no rank; it writes those it finds to `absent`.
  template <typename Missing> Status await(Missing missing);
  Status failure(const Status &why); ///< for everybody
  Status failed();                   ///< as somebody said
  OperationSnapshot self() const;

  std::shared_ptr<LocalWorld> world;
  LocalStation &station;
  std::deque<LocalSlot> slots; // addresses stay
  std::vector<uint32_t> freeSlots;
  std::vector<int> absent, everybody;
  bool closed = false;
};

} // namespace dsc

#endif // DSC_LIB_RUNTIME_COMM_LOCAL_LOCALCOMMUNICATOR_H
