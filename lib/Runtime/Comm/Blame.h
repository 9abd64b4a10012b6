//===- Blame.h - who keeps a rank waiting, and at what -------------------------===//
#ifndef DSC_LIB_RUNTIME_COMM_BLAME_H
#define DSC_LIB_RUNTIME_COMM_BLAME_H

#include "OperationRecord.h"
#include <functional>

namespace dsc {

/// What is known of a rank; empty: it does not answer.
using Lookup = std::function<std::optional<OperationSnapshot>(int rank)>;

/// The message for `self`, which waits at an operation for `missing`, when `seconds` are over.
/// Ranks that wait for others themselves are not to blame: theirs are asked in turn. "rank 3 never
/// reached all-reduce 17, gradient bucket 2, layers.4 within 60 s"; or, in a circle, who waits for
/// whom.
Status blame(const OperationSnapshot &self, std::span<const int> missing, double seconds,
             const Lookup &lookup);

/// "rank 2", "ranks 2, 3 and 5"
std::string listRanks(std::span<const int> ranks);

/// What other ranks are told of the failure of `rank`.
Status failureOf(const OperationSnapshot &rank, const Status &why);

} // namespace dsc

#endif // DSC_LIB_RUNTIME_COMM_BLAME_H
