//===- OperationRecord.h - what a rank is at, readable by all -----------------===//
// Written by the thread of the rank; read by threads of other ranks and by signal handlers, hence
// neither locks nor allocation: a reader whose copy was overtaken by a writer takes it again.
#ifndef DSC_LIB_RUNTIME_COMM_OPERATIONRECORD_H
#define DSC_LIB_RUNTIME_COMM_OPERATIONRECORD_H

#include "dsc/Runtime/Comm/Communicator.h"
#include <array>
#include <atomic>

namespace dsc {

/// A copy of what a rank was at; also what ranks of different processes send each other.
struct OperationSnapshot {
  static constexpr size_t textBytes = 176;
  int32_t rank = -1;
  int32_t inside = 0;     ///< the operation has not ended
  int32_t blockedBy = -1; ///< the rank that it waits for
  uint32_t length = 0;
  std::array<char, textBytes> bytes{}; ///< "all-reduce 17, gradient bucket 2"
  std::string_view text() const { return {bytes.data(), length}; }
};

struct OperationRecord {
  static constexpr size_t labelBytes = 128;
  std::atomic<uint32_t> version{0}; ///< odd while it is written
  std::atomic<int32_t> rank{-1};    ///< -1: of nobody
  std::atomic<int32_t> blockedBy{-1};
  std::atomic<uint32_t> inside{0};
  std::atomic<const char *> kind{""};
  std::atomic<uint32_t> id{Operation::noId};
  std::atomic<uint32_t> labelLength{0};
  std::array<std::atomic<uint64_t>, labelBytes / 8> label{};
  OperationRecord *next = nullptr;

  void enter(const Operation &operation);
  void leave() { inside.store(0, std::memory_order_release); }
  void read(OperationSnapshot &into) const; ///< async-signal-safe
};

/// A record for a rank; release keeps it for the next one, so that a handler may read it any time.
OperationRecord *takeRecord(int rank);
void releaseRecord(OperationRecord *record);

} // namespace dsc

#endif // DSC_LIB_RUNTIME_COMM_OPERATIONRECORD_H
