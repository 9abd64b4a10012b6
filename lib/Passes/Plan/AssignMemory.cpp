//===- AssignMemory.cpp - plan-assign-memory -------------------------------===//
// One arena: what lives across programs at the front, then one region that the programs use in
// turn; those with caches keep them at its start. In it buffers that are alive at the same time get
// disjoint bytes. Placing is quadratic in the number of buffers, which is a few thousand for the
// largest models.
#include "Lifetimes.h"
#include "dsc/Passes/Passes.h"
#include "dsc/Support/Fault.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace dsc {
#define GEN_PASS_DEF_PLANASSIGNMEMORY
#include "dsc/Passes/Passes.h.inc"
} // namespace dsc

using namespace mlir;
using namespace dsc;
using namespace dsc::plan;

static constexpr int64_t alignment = 64;
static constexpr int64_t page = 4096;

/// Bytes reserved for a buffer: whole cache lines; behind a large one five more, so that a run of
/// equal buffers starts at ever different places of a page.
static int64_t reserve(int64_t bytes) {
  bytes = llvm::alignTo(std::max<int64_t>(bytes, 1), alignment);
  return bytes >= page ? bytes + 5 * alignment : bytes;
}

namespace {
struct Reservation {
  BufferOp buffer;
  Lifetime life;
  int64_t bytes;
  int64_t offset = 0;
};
} // namespace

/// Places blocks in the given order, each in the tightest gap between those alive with it. Returns
/// the peak.
static int64_t placeInOrder(std::vector<Reservation> &blocks, const std::vector<size_t> &order) {
  std::vector<size_t> placed; // by offset
  int64_t peak = 0;
  for (size_t index : order) {
    Reservation &block = blocks[index];
    int64_t best = -1, bestGap = 0, end = 0;
    for (size_t other : placed) {
      if (DSC_FAULT(9, !blocks[other].life.overlaps(block.life), true))
        continue;
      int64_t gap = blocks[other].offset - end;
      if (gap >= block.bytes && (best < 0 || gap < bestGap)) {
        best = end;
        bestGap = gap;
      }
      end = std::max(end, blocks[other].offset + blocks[other].bytes);
    }
    block.offset = best < 0 ? end : best;
    peak = std::max(peak, block.offset + block.bytes);
    auto after = [&](size_t a, size_t b) { return blocks[a].offset < blocks[b].offset; };
    placed.insert(std::upper_bound(placed.begin(), placed.end(), index, after), index);
  }
  return peak;
}

static int64_t liveBound(const std::vector<Reservation> &blocks, int64_t instructions) {
  std::vector<int64_t> change(instructions + 2, 0);
  for (const Reservation &block : blocks) {
    change[block.life.first] += block.bytes;
    change[block.life.last + 1] -= block.bytes;
  }
  int64_t live = 0, bound = 0;
  for (int64_t delta : change)
    bound = std::max(bound, live += delta);
  return bound;
}

/// Tries orders by size, by size times lifetime and by start; keeps the one with the lowest peak.
static int64_t layOut(std::vector<Reservation> &blocks) {
  using Before = bool (*)(const Reservation &, const Reservation &);
  static const Before orders[] = {
      [](const Reservation &a, const Reservation &b) { return a.bytes > b.bytes; },
      [](const Reservation &a, const Reservation &b) {
        return double(a.bytes) * (a.life.last - a.life.first + 1) >
               double(b.bytes) * (b.life.last - b.life.first + 1);
      },
      [](const Reservation &a, const Reservation &b) {
        return a.life.last - a.life.first > b.life.last - b.life.first;
      },
      [](const Reservation &a, const Reservation &b) { return a.life.first < b.life.first; },
  };
  int64_t bestPeak = -1;
  std::vector<int64_t> bestOffsets(blocks.size());
  for (Before before : orders) {
    std::vector<size_t> order(blocks.size());
    for (size_t i = 0; i < order.size(); ++i)
      order[i] = i;
    llvm::sort(order, [&](size_t a, size_t b) {
      bool less = before(blocks[a], blocks[b]), more = before(blocks[b], blocks[a]);
      return less != more ? less : a < b;
    });
    int64_t peak = placeInOrder(blocks, order);
    if (bestPeak >= 0 && peak >= bestPeak)
      continue;
    bestPeak = peak;
    for (size_t i = 0; i < blocks.size(); ++i)
      bestOffsets[i] = blocks[i].offset;
  }
  for (size_t i = 0; i < blocks.size(); ++i)
    blocks[i].offset = bestOffsets[i];
  return std::max<int64_t>(bestPeak, 0);
}

namespace {
struct AssignMemory : dsc::impl::PlanAssignMemoryBase<AssignMemory> {
  void runOnOperation() override {
    cachePlaces.clear();
    cacheBytes = 0;
    int64_t front = assignPersistent();
    int64_t largest = 0, largestBound = 0;
    for (auto program : getOperation().getOps<ProgramOp>()) {
      Lifetimes lifetimes = computeLifetimes(program);
      std::vector<Reservation> blocks;
      for (auto [buffer, life] : lifetimes.buffers)
        if (!livesAcrossPrograms(BufferOp(buffer).getKind()))
          blocks.push_back(
              {buffer, life.last < life.first ? Lifetime{0, 0} : life, reserve(extentOf(buffer))});
      int64_t caches = placeCaches(program, front);
      int64_t programPeak = caches + layOut(blocks);
      for (Reservation &block : blocks)
        block.buffer.setOffset(front + caches + block.offset);
      if (programPeak > largest) {
        largest = programPeak;
        largestBound = caches + liveBound(blocks, lifetimes.instructions.size());
      }
    }
    persistent += front;
    peak += largest;
    bound += largestBound;
  }

  /// Gives every cache its place behind `front`, the same in each program. Returns the bytes of all
  /// of them if `program` has any.
  int64_t placeCaches(ProgramOp program, int64_t front) {
    if (cachePlaces.empty())
      getOperation().walk([&](BufferOp buffer) {
        if (buffer.getKind() != BufferKind::Cache)
          return;
        if (cachePlaces.try_emplace(buffer.getLabel(), cacheBytes).second)
          cacheBytes = llvm::alignTo(cacheBytes + reserve(extentOf(buffer)), alignment);
      });
    bool found = false;
    for (auto buffer : program.getOps<BufferOp>())
      if (buffer.getKind() == BufferKind::Cache) {
        found = true;
        buffer.setOffset(front + cachePlaces.at(buffer.getLabel()));
      }
    return found ? llvm::alignTo(cacheBytes, page) : 0;
  }
  std::map<StringRef, int64_t> cachePlaces;
  int64_t cacheBytes = 0;

  /// Same label, same bytes. By kind, then in the order of first mention. Returns where the rest
  /// may start.
  int64_t assignPersistent() {
    int64_t end = 0;
    for (uint32_t kind : {uint32_t(BufferKind::Hyperparameter), uint32_t(BufferKind::Counter),
                          uint32_t(BufferKind::Parameter), uint32_t(BufferKind::WorkingCopy),
                          uint32_t(BufferKind::OptimizerState), uint32_t(BufferKind::StepState),
                          uint32_t(BufferKind::Window), uint32_t(BufferKind::Stash),
                          uint32_t(BufferKind::Gradient)}) {
      std::map<StringRef, int64_t> offsets;
      getOperation().walk([&](BufferOp buffer) {
        if (uint32_t(buffer.getKind()) != kind)
          return;
        auto [entry, inserted] = offsets.try_emplace(buffer.getLabel(), end);
        if (inserted)
          end += reserve(extentOf(buffer));
        buffer.setOffset(entry->second);
      });
      end = llvm::alignTo(end, page);
    }
    return end;
  }
};
} // namespace
