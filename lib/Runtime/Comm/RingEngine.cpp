//===- RingEngine.cpp - parts that go around
//-------------------------------------------------------===//
// Step t sends what step t - 1 received. In the first n - 1 steps a part gathers the terms of all
// ranks and ends at its owner, in the next it goes around again as the sum. Steps are cut into
// ranges of parts, several of which are on their way at once: message q = step * ranges + range.
#include "Engines.h"
#include "Sum.h"
#include "Tags.h"

using namespace dsc;
using Request = Communicator::Request;

Traffic dsc::trafficOfRing(const Parts &parts, uint64_t index, bool sum, bool spread) {
  uint64_t n = parts.ranks, all = 0;
  for (uint64_t k = 0; k < n; ++k)
    all += parts.bytes(k);
  uint64_t mine = parts.bytes(index);
  return {sum * (all - mine) + spread * (all - parts.bytes((index + 1) % n)),
          sum * (all - parts.bytes((index + n - 1) % n)) + spread * (all - mine)};
}

namespace {
class Ring {
public:
  explicit Ring(const Work &work) : work(work), n(work.group.size()) {
    uint64_t size = 1, most = 0;
    for (const Tensor &tensor : work.parts.tensors)
      size = std::max<uint64_t>(size, plan::byteSize(tensor.type));
    for (uint64_t k = 0; k < n; ++k)
      most = std::max(most, work.parts.elements(k));
    range = std::min(Scratch::segmentBytes / window / size, std::max<uint64_t>(most, 1));
    ranges = (most + range - 1) / range;
    sumSteps = work.sum ? n - 1 : 0;
    messages = (sumSteps + (work.spread ? n - 1 : 0)) * ranges;
    slotBytes = (range * size + 63) / 64 * 64;
    out = work.scratch.bytes(2 * window * slotBytes);
    in = out + window * slotBytes;
    work.scratch.requests().assign(2 * window, {});
    to = work.group[(work.index + 1) % n];
    from = work.group[(work.index + n - 1) % n];
  }

  Status run() {
    for (uint64_t q = 0; q < messages; ++q) {
      while (nextReceive < messages && nextReceive < q + window && mayReceive(nextReceive))
        if (Status status = startReceive(nextReceive++); !status)
          return status;
      // Message q leaves when q - ranges, which it passes on, has been handled.
      while (nextSend < messages && nextSend < q + window &&
             (nextSend < ranges || nextSend - ranges < q))
        if (Status status = startSend(nextSend++); !status)
          return status;
      if (nextReceive == q) {
        if (Status status = finishSends(q + 1 - sumSteps * ranges); !status)
          return status;
        if (Status status = startReceive(nextReceive++); !status)
          return status;
      }
      if (Status status = finishReceive(q); !status)
        return status;
    }
    return finishSends(messages);
  }

private:
  static constexpr uint64_t window = 4;

  struct Message {
    uint64_t part, begin, end, bytes;
  };
  Message message(uint64_t q, bool sends) const {
    uint64_t step = q / ranges;
    // Sum: parts index - 1, index - 2, ... leave; spread: index, index - 1, ...
    uint64_t back = step < sumSteps ? step + 1 : step - sumSteps;
    uint64_t part = (work.index + 2 * n - back - (sends ? 0 : 1)) % n;
    uint64_t elements = work.parts.elements(part);
    uint64_t begin = std::min(q % ranges * range, elements);
    uint64_t end = std::min(begin + range, elements);
    return {part, begin, end, work.parts.bytes(part, begin, end)};
  }
  bool adds(uint64_t q) const { return q / ranges < sumSteps; }

  /// A sum comes to where the rank's own terms were: those have left first.
  bool mayReceive(uint64_t r) const {
    return adds(r) || !work.sum || sendsOver > r - sumSteps * ranges;
  }

  std::byte *place(uint64_t q, const Message &m) const {
    std::byte *here = adds(q) ? nullptr : work.parts.inPlace(m.part, m.begin, m.end);
    return here ? here : in + q % window * slotBytes;
  }

  Status startReceive(uint64_t q) {
    Message m = message(q, false);
    if (!m.bytes)
      return {};
    auto started =
        work.communicator.receive(from, tag::collective(work.operation.id), place(q, m), m.bytes);
    if (started)
      work.scratch.requests()[q % window] = *started;
    return started.status();
  }

  Status startSend(uint64_t q) {
    // The slot's message before.
    if (q >= window)
      if (Status status = finishSends(q - window + 1); !status)
        return status;
    Message m = message(q, true);
    if (!m.bytes)
      return {};
    std::byte *data = work.parts.inPlace(m.part, m.begin, m.end);
    if (!data)
      work.parts.pack(m.part, m.begin, m.end, data = out + q % window * slotBytes);
    auto started = work.communicator.send(to, tag::collective(work.operation.id), data, m.bytes);
    if (started)
      work.scratch.requests()[window + q % window] = *started;
    return started.status();
  }

  Status finishSends(uint64_t count) {
    for (; sendsOver < count && sendsOver < nextSend; ++sendsOver)
      if (Status status = finish(work.scratch.requests()[window + sendsOver % window]); !status)
        return status;
    return {};
  }

  Status finishReceive(uint64_t q) {
    if (Status status = finish(work.scratch.requests()[q % window]); !status)
      return status;
    Message m = message(q, false);
    const std::byte *data = place(q, m);
    if (!adds(q)) {
      if (!work.parts.inPlace(m.part, m.begin, m.end))
        work.parts.unpack(m.part, m.begin, m.end, data);
      return {};
    }
    bool whole = q / ranges + 1 == sumSteps;
    work.parts.pieces(m.part, m.begin, m.end, [&](size_t t, uint64_t element, uint64_t count) {
      plan::DType type = work.parts.tensors[t].type;
      std::byte *own = work.parts.address(t, element);
      addTo(type, own, data, count);
      if (whole)
        scaleBy(type, own, work.scale, count);
      data += count * plan::byteSize(type);
    });
    return {};
  }

  Status finish(Request &request) const {
    return request.pending() ? work.communicator.wait(request) : Status();
  }

  const Work &work;
  uint64_t n, range, ranges, sumSteps, messages, slotBytes;
  uint64_t nextReceive = 0, nextSend = 0, sendsOver = 0;
  std::byte *out, *in;
  int to, from;
};
} // namespace

Status dsc::runRing(const Work &work) { return Ring(work).run(); }
