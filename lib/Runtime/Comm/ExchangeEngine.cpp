//===- ExchangeEngine.cpp - the tree, from one exchange of parts
//-------------------------------===//
// Round s handles range s of every part: rank i sends its share of part k to rank k, which adds
// what came in the order of the tree and sends the sum to all. A round is on its way while the one
// before is added up. Both ends post the messages of a pair in the same order, so one tag does.
#include "Engines.h"
#include "Sum.h"
#include "Tags.h"

using namespace dsc;
using Request = Communicator::Request;

Traffic dsc::trafficOfExchange(const Parts &parts, uint64_t index, bool sum, bool spread) {
  uint64_t mine = parts.bytes(index), others = 0;
  for (uint64_t k = 0; k < parts.ranks; ++k)
    others += k == index ? 0 : parts.bytes(k);
  uint64_t copies = (parts.ranks - 1) * mine;
  return {sum * others + spread * copies, sum * copies + spread * others};
}

namespace {
class Exchange {
public:
  explicit Exchange(const Work &work) : work(work), n(work.group.size()) {
    uint64_t size = 1;
    for (const Tensor &tensor : work.parts.tensors)
      size = std::max<uint64_t>(size, plan::byteSize(tensor.type));
    uint64_t most = 0;
    for (uint64_t k = 0; k < n; ++k)
      most = std::max(most, work.parts.elements(k));
    range = std::max<uint64_t>(1024, Scratch::segmentBytes / (size * (n - 1)));
    range = std::min(range, std::max<uint64_t>(most, 1));
    rounds = (most + range - 1) / range;
    rangeBytes = (range * size + 63) / 64 * 64;
    memory = work.scratch.bytes(2 * (3 * n + 1) * rangeBytes);
    work.scratch.requests().assign(2 * 4 * n, {});
    work.scratch.pointers().resize(n);
  }

  Status run() {
    Status status;
    if (work.sum && rounds)
      status = startSum(0);
    for (uint64_t s = 0; s < rounds && status; ++s) {
      if (work.sum && s + 1 < rounds)
        status = startSum(s + 1);
      if (work.sum && status)
        status = finishSum(s);
      if (work.spread && status)
        status = startSpread(s);
      if (work.spread && s && status)
        status = finishSpread(s - 1);
    }
    if (work.spread && rounds && status)
      status = finishSpread(rounds - 1);
    return status;
  }

private:
  enum Kind { Contribution, Collected, Own, Spread };

  struct Range {
    uint64_t begin, end, bytes;
  };
  Range rangeOf(uint64_t part, uint64_t s) const {
    uint64_t elements = work.parts.elements(part);
    uint64_t begin = std::min(s * range, elements), end = std::min(begin + range, elements);
    return {begin, end, work.parts.bytes(part, begin, end)};
  }
  /// Buffers of round s, for rank k of the group.
  std::byte *buffer(Kind kind, uint64_t s, uint64_t k) const {
    uint64_t first = kind == Contribution ? 0
                     : kind == Collected  ? n
                     : kind == Spread     ? 2 * n
                                          : 3 * n;
    return memory + ((s % 2) * (3 * n + 1) + first + (kind == Own ? 0 : k)) * rangeBytes;
  }
  Request &request(Kind kind, uint64_t s, uint64_t k) const {
    return work.scratch.requests()[((s % 2) * 4 + kind) * n + k];
  }
  Status start(Request &request, bool sends, uint64_t k, std::byte *data, uint64_t bytes) const {
    uint64_t tag = tag::collective(work.operation.id);
    auto started = sends ? work.communicator.send(work.group[k], tag, data, bytes)
                         : work.communicator.receive(work.group[k], tag, data, bytes);
    if (started)
      request = *started;
    return started.status();
  }
  template <typename Do> Status others(Do what) const {
    for (uint64_t step = 1; step < n; ++step)
      if (Status status = what((work.index + step) % n); !status)
        return status;
    return {};
  }

  Status startSum(uint64_t s) const {
    Range mine = rangeOf(work.index, s);
    Status status = others([&](uint64_t k) {
      return mine.bytes
                 ? start(request(Collected, s, k), false, k, buffer(Collected, s, k), mine.bytes)
                 : Status();
    });
    if (!status)
      return status;
    return others([&](uint64_t k) -> Status {
      Range r = rangeOf(k, s);
      if (!r.bytes)
        return {};
      std::byte *from = work.parts.inPlace(k, r.begin, r.end);
      if (!from)
        work.parts.pack(k, r.begin, r.end, from = buffer(Contribution, s, k));
      return start(request(Contribution, s, k), true, k, from, r.bytes);
    });
  }

  Status finishSum(uint64_t s) const {
    Status status = others([&](uint64_t k) { return wait(request(Collected, s, k)); });
    if (!status)
      return status;
    Range mine = rangeOf(work.index, s);
    uint64_t at = 0; // in each message
    work.parts.pieces(work.index, mine.begin, mine.end,
                      [&](size_t t, uint64_t element, uint64_t count) {
                        plan::DType type = work.parts.tensors[t].type;
                        auto &sources = work.scratch.pointers();
                        for (uint64_t k = 0; k < n; ++k)
                          sources[k] = buffer(Collected, s, k) + at;
                        std::byte *own = work.parts.address(t, element);
                        sources[work.index] = own;
                        sumTree(type, sources, work.scale, {&own, 1}, count);
                        at += count * plan::byteSize(type);
                      });
    // What was sent is overwritten by what is spread.
    return others([&](uint64_t k) { return wait(request(Contribution, s, k)); });
  }

  Status startSpread(uint64_t s) const {
    Status status = others([&](uint64_t k) -> Status {
      Range r = rangeOf(k, s);
      if (!r.bytes)
        return {};
      std::byte *into = work.parts.inPlace(k, r.begin, r.end);
      return start(request(Spread, s, k), false, k, into ? into : buffer(Spread, s, k), r.bytes);
    });
    Range mine = rangeOf(work.index, s);
    if (!status || !mine.bytes)
      return status;
    std::byte *from = work.parts.inPlace(work.index, mine.begin, mine.end);
    if (!from)
      work.parts.pack(work.index, mine.begin, mine.end, from = buffer(Own, s, 0));
    return others([&](uint64_t k) { return start(request(Own, s, k), true, k, from, mine.bytes); });
  }

  Status finishSpread(uint64_t s) const {
    Status status = others([&](uint64_t k) -> Status {
      if (Status arrived = wait(request(Spread, s, k)); !arrived)
        return arrived;
      Range r = rangeOf(k, s);
      if (r.bytes && !work.parts.inPlace(k, r.begin, r.end))
        work.parts.unpack(k, r.begin, r.end, buffer(Spread, s, k));
      return {};
    });
    return status ? others([&](uint64_t k) { return wait(request(Own, s, k)); }) : status;
  }

  Status wait(Request &request) const {
    return request.pending() ? work.communicator.wait(request) : Status();
  }

  const Work &work;
  uint64_t n, range, rounds, rangeBytes;
  std::byte *memory;
};
} // namespace

Status dsc::runExchange(const Work &work) { return Exchange(work).run(); }
