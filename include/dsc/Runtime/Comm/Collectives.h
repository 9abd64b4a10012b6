//===- Collectives.h - sums and exchanges over a group of ranks ---------------===//
// The sum over the n ranks of a group is that of the left-complete binary tree over their index in
// it, T(0..n) = T(0..p) + T(p..n) with p the largest power of two below n, whatever the transport,
// the chunks and the list of tensors: same bits for all (NaN payloads apart). Additions are in the
// tensor's own type; f16 and bf16 are added in f32 and rounded once, at the end; integers wrap.
// Who adds what is free: rank k of the group adds chunk k of all.
#ifndef DSC_RUNTIME_COMM_COLLECTIVES_H
#define DSC_RUNTIME_COMM_COLLECTIVES_H

#include "dsc/Plan/Plan.h"
#include "dsc/Runtime/Comm/Communicator.h"
#include "dsc/Support/Layout.h"

namespace dsc {

/// Elements in this rank's memory, aligned for their type.
struct Tensor {
  std::byte *data = nullptr;
  uint64_t elements = 0;
  plan::DType type = plan::DType::F32;
};

/// Tree and HalvingDoubling have the same bits; the latter sends fewer messages, log2 n in place of
/// n - 1 each way, where n is a power of two and no tensor is f16 or bf16, else it is Tree. Ring
/// adds chunk k in the order k + 1, k + 2, ..., k, so its bits differ above two ranks; with f16 or
/// bf16 it is Tree.
enum class Algorithm : uint8_t { Tree, Ring, HalvingDoubling };
const char *nameOf(Algorithm algorithm); ///< tree, ring, halving

/// Memory of collectives, kept from call to call: none allocates after the first of its size.
class Scratch {
public:
  /// Data go in segments of so many bytes; a scratch has a small multiple of it at most.
  static constexpr uint64_t segmentBytes = uint64_t(1) << 20;

  std::byte *bytes(uint64_t size); ///< at least; 64-byte aligned; what was there is lost
  std::vector<Communicator::Request> &requests() { return requests_; }
  std::vector<std::byte *> &pointers() { return pointers_; }

private:
  struct Free {
    void operator()(std::byte *memory) const;
  };
  std::unique_ptr<std::byte, Free> memory;
  uint64_t capacity = 0;
  std::vector<Communicator::Request> requests_;
  std::vector<std::byte *> pointers_;
};

/// All ranks of `group` (ranks of the communicator, each once, this one among them) call alike,
/// with tensors of the same elements and types. A list is one message. Each function enters and
/// leaves `operation`. Errors: those of Communicator::wait; ErrorCode::Communication also where
/// ranks that share memory come with different operations or sizes.

/// In place: every rank gets the sums, each multiplied by `scale` before it is rounded (floating
/// types only), so that means of f16 neither overflow nor vanish.
Status allReduce(Communicator &communicator, std::span<const int> group, const Operation &operation,
                 std::span<const Tensor> tensors, Scratch &scratch,
                 Algorithm algorithm = Algorithm::Tree, double scale = 1);

/// In place: the share of each tensor (shareOf in Layout.h, by `block` elements and the index in
/// the group) is summed on its owner; the rest of the buffer may be overwritten or not, it means
/// nothing.
Status reduceScatter(Communicator &communicator, std::span<const int> group,
                     const Operation &operation, std::span<const Tensor> tensors, Scratch &scratch,
                     uint64_t block, Algorithm algorithm = Algorithm::Tree, double scale = 1);

/// In place, the inverse: each share goes from its owner to all. Any type.
Status allGather(Communicator &communicator, std::span<const int> group, const Operation &operation,
                 std::span<const Tensor> tensors, Scratch &scratch, uint64_t block,
                 Algorithm algorithm = Algorithm::Tree);

enum class Collective : uint8_t { AllReduce, ReduceScatter, AllGather };

/// Bytes that one of these calls sends and receives on the rank with `index` of `ranks`; data of
/// the tensors are not looked at. `block` as above, ignored by AllReduce.
Traffic trafficOf(Collective collective, Algorithm algorithm, uint64_t index, uint64_t ranks,
                  std::span<const Tensor> tensors, uint64_t block = 1);

} // namespace dsc

#endif // DSC_RUNTIME_COMM_COLLECTIVES_H
