//===- HalvingEngine.cpp - the tree by recursive halving and doubling
//----------------------------===//
// At bit b each rank swaps with the one whose index differs in it: out go its sums of the parts
// whose owner has the partner's bit, in come those of the others. Nearest first, so that what is
// added is what the tree adds: T of 2^b ranks from here, T of the next 2^b from there. Thakur,
// Rabenseifner, Gropp: Optimization of collective communication operations in MPICH (2005).
#include "Engines.h"
#include "Sum.h"
#include "Tags.h"

using namespace dsc;

/// Calls visit(part) for the parts whose owners agree with `like` in the bits below `bit` and at
/// it.
template <typename Visit>
static void partsLike(uint64_t like, uint64_t bit, uint64_t ranks, Visit visit) {
  for (uint64_t part = like & (2 * bit - 1); part < ranks; part += 2 * bit)
    visit(part);
}

Traffic dsc::trafficOfHalving(const Parts &parts, uint64_t index, bool sum, bool spread) {
  uint64_t own = 0, partners = 0; // bytes of parts like this rank, and like its partners
  for (uint64_t bit = 1; bit < parts.ranks; bit *= 2) {
    partsLike(index, bit, parts.ranks, [&](uint64_t part) { own += parts.bytes(part); });
    partsLike(index ^ bit, bit, parts.ranks, [&](uint64_t part) { partners += parts.bytes(part); });
  }
  return {sum * partners + spread * own, sum * own + spread * partners};
}

namespace {
class Halving {
public:
  explicit Halving(const Work &work) : work(work), n(work.group.size()) {
    uint64_t size = 1;
    for (const Tensor &tensor : work.parts.tensors)
      size = std::max<uint64_t>(size, plan::byteSize(tensor.type));
    for (uint64_t k = 0; k < n; ++k)
      most = std::max(most, work.parts.elements(k));
    range = std::max<uint64_t>(1024, Scratch::segmentBytes / (size * (n / 2)));
    range = std::min(range, std::max<uint64_t>(most, 1));
    uint64_t half = (n / 2 * range * size + 63) / 64 * 64;
    out = work.scratch.bytes(2 * half);
    in = out + half;
  }

  Status run() {
    for (begin = 0; begin < most; begin += range) {
      if (work.sum)
        for (uint64_t bit = 1; bit < n; bit *= 2)
          if (Status status = swap(bit, work.index ^ bit, work.index, true); !status)
            return status;
      each(work.index, [&](size_t t, uint64_t element, uint64_t count) {
        if (work.sum)
          scaleBy(work.parts.tensors[t].type, work.parts.address(t, element), work.scale, count);
      });
      if (work.spread)
        for (uint64_t bit = n / 2; bit; bit /= 2)
          if (Status status = swap(bit, work.index, work.index ^ bit, false); !status)
            return status;
    }
    return {};
  }

private:
  /// Pieces of this round's range of a part.
  template <typename Visit> void each(uint64_t part, Visit visit) const {
    work.parts.pieces(part, begin, std::min(begin + range, work.parts.elements(part)), visit);
  }

  /// Sends the parts like `give` to the partner and adds, or stores, those like `take`.
  Status swap(uint64_t bit, uint64_t give, uint64_t take, bool adds) const {
    int partner = work.group[work.index ^ bit];
    uint64_t outBytes = 0, inBytes = 0;
    partsLike(give, bit, n, [&](uint64_t part) {
      each(part, [&](size_t t, uint64_t element, uint64_t count) {
        uint64_t bytes = count * plan::byteSize(work.parts.tensors[t].type);
        std::memcpy(out + outBytes, work.parts.address(t, element), bytes);
        outBytes += bytes;
      });
    });
    partsLike(take, bit, n, [&](uint64_t part) {
      each(part, [&](size_t t, uint64_t, uint64_t count) {
        inBytes += count * plan::byteSize(work.parts.tensors[t].type);
      });
    });
    uint64_t tag = tag::collective(work.operation.id);
    Communicator &c = work.communicator;
    Communicator::Request receive, send;
    if (inBytes) {
      auto started = c.receive(partner, tag, in, inBytes);
      if (!started)
        return started.status();
      receive = *started;
    }
    if (outBytes) {
      auto started = c.send(partner, tag, out, outBytes);
      if (!started)
        return started.status();
      send = *started;
    }
    if (Status status = inBytes ? c.wait(receive) : Status(); !status)
      return status;
    const std::byte *from = in;
    partsLike(take, bit, n, [&](uint64_t part) {
      each(part, [&](size_t t, uint64_t element, uint64_t count) {
        plan::DType type = work.parts.tensors[t].type;
        std::byte *own = work.parts.address(t, element);
        if (adds)
          addTo(type, own, from, count);
        else
          std::memcpy(own, from, count * plan::byteSize(type));
        from += count * plan::byteSize(type);
      });
    });
    return outBytes ? c.wait(send) : Status();
  }

  const Work &work;
  uint64_t n, range, most = 0, begin = 0;
  std::byte *out, *in;
};
} // namespace

Status dsc::runHalving(const Work &work) { return Halving(work).run(); }
