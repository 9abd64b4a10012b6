//===- SharedMemory.h - ranks that reach each other's memory -----------------------===//
// Between meet() and part() the ranks of a group may read and write each other's tensors; nobody's
// memory goes away in between, also when a rank fails.
#ifndef DSC_LIB_RUNTIME_COMM_SHAREDMEMORY_H
#define DSC_LIB_RUNTIME_COMM_SHAREDMEMORY_H

#include "dsc/Runtime/Comm/Collectives.h"

namespace dsc {

class SharedMemory {
public:
  /// Returns when all ranks of `group` are here, within the deadline, with the same operation
  /// and tensors of the same elements and types.
  virtual Status meet(std::span<const int> group, const Operation &operation,
                      std::span<const Tensor> tensors) = 0;
  /// Of a rank that was met.
  virtual std::span<const Tensor> tensorsOf(int rank) const = 0;
  /// False once a rank has failed: then leave the memory of others alone and call part().
  virtual bool goesOn() const = 0;
  /// Returns when all ranks of `group` are here.
  virtual Status part(std::span<const int> group) = 0;

protected:
  ~SharedMemory() = default;
};

} // namespace dsc

#endif // DSC_LIB_RUNTIME_COMM_SHAREDMEMORY_H
