//===- Collectives.cpp - which engine carries out a collective --------------------------===//
#include "dsc/Runtime/Comm/Collectives.h"
#include "Engines.h"
#include "SharedMemory.h"
#include "Sum.h"
#include <bit>
#include <new>

using namespace dsc;

const char *dsc::nameOf(Algorithm algorithm) {
  static constexpr const char *names[] = {"tree", "ring", "halving"};
  return names[static_cast<int>(algorithm)];
}

void Scratch::Free::operator()(std::byte *memory) const {
  ::operator delete(memory, std::align_val_t(64));
}

std::byte *Scratch::bytes(uint64_t size) {
  if (size > capacity) {
    memory.reset();
    memory.reset(static_cast<std::byte *>(::operator new(size, std::align_val_t(64))));
    capacity = size;
  }
  return memory.get();
}

/// What runs where messages are all there is.
static Algorithm chosen(Algorithm asked, uint64_t ranks, std::span<const Tensor> tensors) {
  bool half = false;
  for (const Tensor &tensor : tensors)
    half |= isHalf(tensor.type);
  if (half || (asked == Algorithm::HalvingDoubling && !std::has_single_bit(ranks)))
    return Algorithm::Tree;
  return asked;
}

static Traffic traffic(Algorithm algorithm, const Parts &parts, uint64_t index, bool sum,
                       bool spread) {
  if (parts.ranks < 2)
    return {};
  switch (chosen(algorithm, parts.ranks, parts.tensors)) {
  case Algorithm::Tree:
    return trafficOfExchange(parts, index, sum, spread);
  case Algorithm::Ring:
    return trafficOfRing(parts, index, sum, spread);
  case Algorithm::HalvingDoubling:
    return trafficOfHalving(parts, index, sum, spread);
  }
  return {};
}

Traffic dsc::trafficOf(Collective collective, Algorithm algorithm, uint64_t index, uint64_t ranks,
                       std::span<const Tensor> tensors, uint64_t block) {
  bool all = collective == Collective::AllReduce;
  return traffic(algorithm, {tensors, ranks, all ? 0 : block}, index,
                 collective != Collective::AllGather, collective != Collective::ReduceScatter);
}

static Status carryOut(const Work &work, Algorithm algorithm) {
  Communicator &c = work.communicator;
  algorithm = chosen(algorithm, work.parts.ranks, work.parts.tensors);
  SharedMemory *memory = c.sharedMemory();
  if (memory && (algorithm != Algorithm::Ring || !work.sum)) {
    c.count(traffic(algorithm, work.parts, work.index, work.sum, work.spread));
    return runShared(work, *memory);
  }
  switch (algorithm) {
  case Algorithm::Tree:
    return runExchange(work);
  case Algorithm::Ring:
    return runRing(work);
  case Algorithm::HalvingDoubling:
    return runHalving(work);
  }
  return {};
}

static Status run(Communicator &communicator, std::span<const int> group,
                  const Operation &operation, std::span<const Tensor> tensors, Scratch &scratch,
                  uint64_t block, Algorithm algorithm, bool sum, bool spread, double scale) {
  auto self = std::find(group.begin(), group.end(), communicator.rank());
  if (self == group.end())
    return {ErrorCode::Internal, "rank " + std::to_string(communicator.rank()) +
                                     " is not in the group of " + describe(operation)};
  if (group.size() == 1) {
    if (sum)
      for (const Tensor &tensor : tensors)
        scaleBy(tensor.type, tensor.data, scale, tensor.elements);
    return {};
  }
  Work work{communicator,
            group,
            static_cast<uint64_t>(self - group.begin()),
            operation,
            {tensors, group.size(), block},
            scratch,
            sum,
            spread,
            scale};
  communicator.enter(operation);
  Status status = carryOut(work, algorithm);
  // After a failure the rank stays at what failed, for who asks.
  if (status)
    communicator.leave();
  return status;
}

Status dsc::allReduce(Communicator &communicator, std::span<const int> group,
                      const Operation &operation, std::span<const Tensor> tensors, Scratch &scratch,
                      Algorithm algorithm, double scale) {
  return run(communicator, group, operation, tensors, scratch, 0, algorithm, true, true, scale);
}

Status dsc::reduceScatter(Communicator &communicator, std::span<const int> group,
                          const Operation &operation, std::span<const Tensor> tensors,
                          Scratch &scratch, uint64_t block, Algorithm algorithm, double scale) {
  return run(communicator, group, operation, tensors, scratch, block, algorithm, true, false,
             scale);
}

Status dsc::allGather(Communicator &communicator, std::span<const int> group,
                      const Operation &operation, std::span<const Tensor> tensors, Scratch &scratch,
                      uint64_t block, Algorithm algorithm) {
  return run(communicator, group, operation, tensors, scratch, block, algorithm, false, true, 1);
}
