//===- Engines.h - the ways in which a collective is carried out ---------------------===//
// Each sums part k of the group's tensors on rank k (`sum`), gives each part to all ranks
// (`spread`), or both.
#ifndef DSC_LIB_RUNTIME_COMM_ENGINES_H
#define DSC_LIB_RUNTIME_COMM_ENGINES_H

#include "Parts.h"

namespace dsc {

struct Work {
  Communicator &communicator;
  std::span<const int> group;
  uint64_t index; ///< of this rank in the group
  const Operation &operation;
  Parts parts;
  Scratch &scratch;
  bool sum, spread;
  double scale;
};

/// Each rank in the memory of all others: the tree.
Status runShared(const Work &work, SharedMemory &memory);
/// Each part goes from all ranks to its owner in one message, and back: the tree.
Status runExchange(const Work &work);
/// Powers of two, no f16 or bf16: the tree in log2 n messages each way.
Status runHalving(const Work &work);
/// Each part goes once around to be summed and once to be spread.
Status runRing(const Work &work);

/// Bytes of the same.
Traffic trafficOfExchange(const Parts &parts, uint64_t index, bool sum, bool spread);
Traffic trafficOfHalving(const Parts &parts, uint64_t index, bool sum, bool spread);
Traffic trafficOfRing(const Parts &parts, uint64_t index, bool sum, bool spread);

} // namespace dsc

#endif // DSC_LIB_RUNTIME_COMM_ENGINES_H
