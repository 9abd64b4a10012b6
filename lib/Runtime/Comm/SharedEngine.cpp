//===- SharedEngine.cpp - collectives in each other's memory -----------------------------===//
// Rank k reads part k of all and writes the sum to all; nobody else touches it, so two meetings are
// all the order there is, and no scratch.
#include "Engines.h"
#include "SharedMemory.h"
#include "Sum.h"

using namespace dsc;

static constexpr uint64_t segmentElements = uint64_t(1) << 16; // between looks at who has failed

static void sumSegment(const Work &work, SharedMemory &memory, uint64_t begin, uint64_t end) {
  size_t n = work.group.size();
  auto &pointers = work.scratch.pointers();
  pointers.resize(n);
  work.parts.pieces(work.index, begin, end, [&](size_t t, uint64_t element, uint64_t count) {
    plan::DType type = work.parts.tensors[t].type;
    for (size_t i = 0; i < n; ++i)
      pointers[i] = memory.tensorsOf(work.group[i])[t].data + element * plan::byteSize(type);
    sumTree(type, pointers, work.scale,
            work.spread ? std::span(pointers) : std::span(&pointers[work.index], 1), count);
  });
}

static void copySegment(const Work &work, SharedMemory &memory, size_t owner, uint64_t begin,
                        uint64_t end) {
  work.parts.pieces(owner, begin, end, [&](size_t t, uint64_t element, uint64_t count) {
    uint64_t size = plan::byteSize(work.parts.tensors[t].type);
    std::memcpy(work.parts.address(t, element),
                memory.tensorsOf(work.group[owner])[t].data + element * size, count * size);
  });
}

Status dsc::runShared(const Work &work, SharedMemory &memory) {
  if (Status met = memory.meet(work.group, work.operation, work.parts.tensors); !met)
    return met;
  if (work.sum) {
    uint64_t elements = work.parts.elements(work.index);
    for (uint64_t at = 0; at < elements && memory.goesOn(); at += segmentElements)
      sumSegment(work, memory, at, std::min(at + segmentElements, elements));
    return memory.part(work.group);
  }
  // Others first that follow this rank, so that not all read from one.
  for (size_t step = 1; step < work.group.size(); ++step) {
    size_t owner = (work.index + step) % work.group.size();
    uint64_t elements = work.parts.elements(owner);
    for (uint64_t at = 0; at < elements && memory.goesOn(); at += segmentElements)
      copySegment(work, memory, owner, at, std::min(at + segmentElements, elements));
  }
  return memory.part(work.group);
}
