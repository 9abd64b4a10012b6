//===- OneBit.h - sums of signs, with error feedback ----------------------------------------===//
// C(p) = mean|p| sign(p), sign(0) = +1: a message of n values is their scale and n bits. What C
// loses is added to what is sent next, so that nothing is lost for good: the sum of all that was
// sent and the residual is the sum of all that was to be sent. Seide et al.: 1-bit stochastic
// gradient descent (2014); Tang et al.: 1-bit Adam (2021).
#ifndef DSC_RUNTIME_COMM_ONEBIT_H
#define DSC_RUNTIME_COMM_ONEBIT_H

#include "dsc/Runtime/Comm/Collectives.h"

namespace dsc::onebit {

/// Of a message of so many values: 4 bytes of scale, a bit a value (1: negative), the last byte
/// filled up with 0.
uint64_t encodedBytes(uint64_t elements);

/// `message` has encodedBytes(values.size()) bytes. The scale is the mean in f64, over blocks of
/// 1,024 values in order, rounded to f32; of no values it is 0. Values that are not finite make it
/// infinite or NaN, and so everything that is decoded.
void encode(std::span<const float> values, std::span<std::byte> message);

/// C(p) of the encoded p.
void decode(std::span<const std::byte> message, std::span<float> values);

/// residual[i] = values[i] - C(values)[i], for the message that `values` were encoded to.
/// `residual` may be `values`.
void residual(std::span<const float> values, std::span<const std::byte> message,
              std::span<float> residual);

/// Bytes that one call of allReduce sends and receives.
Traffic trafficOf(uint64_t elements, uint64_t index, uint64_t ranks);

/// Values that the rank with `index` of `ranks` owns, and has a second residual of.
Share ownShare(uint64_t elements, uint64_t index, uint64_t ranks);

/// Replaces `values` by an approximation of their sum over the group, the same bits on every rank.
/// Each rank adds `residual` (as long as `values`) and sends the signs of each share to its owner;
/// the owner adds what came in the order of the tree (Collectives.h), adds `ownResidual` (as long
/// as its share) and sends the signs of that to all. Both residuals are replaced: all zeros before
/// the first call, kept by element and not by message after that. Allocates nothing after the first
/// call of its size.
Status allReduce(Communicator &communicator, std::span<const int> group, const Operation &operation,
                 std::span<float> values, std::span<float> residual, std::span<float> ownResidual,
                 Scratch &scratch);

} // namespace dsc::onebit

#endif // DSC_RUNTIME_COMM_ONEBIT_H
