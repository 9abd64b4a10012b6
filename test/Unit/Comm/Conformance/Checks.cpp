//===- Checks.cpp - the table of checks ------------------------------------------------===//
#include "Conformance.h"
#include "dsc/Runtime/Comm/OneBit.h"
#include "dsc/Support/HalfFloat.h"
#include "dsc/Support/Layout.h"
#include <cmath>
#include <cstring>

using namespace dsc;
using namespace dsc::conformance;
using plan::DType;

static constexpr DType types[] = {DType::F32, DType::F64,  DType::F16,
                                  DType::I32, DType::BF16, DType::I8};
static constexpr uint64_t sizes[] = {0, 1, 7, 8, 9, 1023, 1024, 1025, 100003};
static constexpr Algorithm algorithms[] = {Algorithm::Tree, Algorithm::HalvingDoubling,
                                           Algorithm::Ring};

/// Lists with empty entries, of one type and of several; the last is longer than a segment.
static std::vector<List> lists() {
  std::vector<List> all(4);
  for (uint64_t elements : {0, 5, 0, 1024, 1, 3000, 0})
    all[0].add(elements, DType::F32);
  for (uint64_t elements : {3, 0, 2049, 17})
    for (DType type : types)
      all[1].add(elements, type);
  all[2].add(0, DType::F16);
  all[3].add(600001, DType::F32);
  all[3].add(0, DType::F64);
  all[3].add(1300, DType::F64);
  return all;
}

/// Tensors alone, every type and size, then the lists.
static std::vector<List> cases() {
  std::vector<List> all;
  for (DType type : types)
    for (uint64_t size : sizes)
      all.emplace_back().add(size, type);
  for (List &list : lists())
    all.push_back(std::move(list));
  return all;
}

static void checkAllReduce(Rank &rank, Algorithm algorithm) {
  uint32_t id = 0;
  uint64_t n = rank.size();
  for (List &list : cases()) {
    uint64_t seed = ++id;
    fill(list, rank.rank(), seed);
    Operation operation{"all-reduce", id, nameOf(algorithm)};
    rank.expect(
        allReduce(rank.c, rank.everybody(), operation, list.tensors, rank.scratch, algorithm),
        describe(operation));
    // Halves are added in the tree whatever is asked, and with them all of their list.
    bool rings = algorithm == Algorithm::Ring;
    for (const Tensor &tensor : list.tensors)
      rings &= tensor.type != DType::F16 && tensor.type != DType::BF16;
    List sum = rings ? expectedRing(list, n, seed) : expectedSum(list, n, seed);
    std::string text = difference(list, sum);
    rank.expect(text.empty(), describe(operation) + ": " + text);
  }
}

/// The owner's share of every tensor is the sum; gathered again, all have all.
static void checkShares(Rank &rank, Algorithm algorithm) {
  uint32_t id = 0;
  uint64_t n = rank.size(), self = rank.rank();
  for (uint64_t block : {1, 8, 1024})
    for (List &list : lists()) {
      if (block == 8 && list.tensors.front().elements > 100000)
        continue; // the long one
      uint64_t seed = ++id;
      fill(list, self, seed);
      Operation scatter{"reduce-scatter", id, nameOf(algorithm)};
      rank.expect(reduceScatter(rank.c, rank.everybody(), scatter, list.tensors, rank.scratch,
                                block, algorithm),
                  describe(scatter));
      // The ring's own order of additions is that of the owner of a share.
      List sum = expectedSum(list, n, seed);
      bool exact = algorithm != Algorithm::Ring || n < 3;
      for (size_t t = 0; t < list.tensors.size(); ++t) {
        Share share = shareOf(list.tensors[t].elements, block, self, n);
        if (exact) {
          std::string text = difference(list, sum, t, share.begin, share.end);
          rank.expect(text.empty(), describe(scatter) + ": " + text);
        }
        // The rest means nothing: it may not be used.
        uint64_t size = plan::byteSize(list.tensors[t].type);
        if (!exact && share.size())
          std::memcpy(list.tensors[t].data + share.begin * size,
                      sum.tensors[t].data + share.begin * size, share.size() * size);
        if (share.begin)
          std::memset(list.tensors[t].data, 0xFF, share.begin * size);
        if (share.end < list.tensors[t].elements)
          std::memset(list.tensors[t].data + share.end * size, 0xFF,
                      (list.tensors[t].elements - share.end) * size);
      }
      Operation gather{"all-gather", id, nameOf(algorithm)};
      rank.expect(
          allGather(rank.c, rank.everybody(), gather, list.tensors, rank.scratch, block, algorithm),
          describe(gather));
      std::string text = difference(list, sum);
      rank.expect(text.empty(), describe(gather) + ": " + text);
    }
}

static void checkTraffic(Rank &rank) {
  uint64_t n = rank.size(), self = rank.rank();
  for (Algorithm algorithm : algorithms)
    for (List &list : lists()) {
      fill(list, self, 1);
      Operation operation{"all-reduce", 1, nameOf(algorithm)};
      Traffic start = rank.c.traffic();
      auto check = [&](Collective collective, const Status &status) {
        Traffic now = rank.c.traffic();
        Traffic delta{now.sentBytes - start.sentBytes, now.receivedBytes - start.receivedBytes};
        start = now;
        rank.expect(status, describe(operation));
        Traffic planned = trafficOf(collective, algorithm, self, n, list.tensors, 1024);
        rank.expect(delta == planned, std::string(nameOf(algorithm)) + " moved " +
                                          std::to_string(delta.sentBytes) + " out, " +
                                          std::to_string(delta.receivedBytes) + " in; planned " +
                                          std::to_string(planned.sentBytes) + ", " +
                                          std::to_string(planned.receivedBytes));
      };
      auto group = rank.everybody();
      check(Collective::AllReduce,
            allReduce(rank.c, group, operation, list.tensors, rank.scratch, algorithm));
      check(Collective::ReduceScatter,
            reduceScatter(rank.c, group, operation, list.tensors, rank.scratch, 1024, algorithm));
      check(Collective::AllGather,
            allGather(rank.c, group, operation, list.tensors, rank.scratch, 1024, algorithm));
    }
}

/// Messages of one pair and tag arrive in order, those of other tags independently of them; sizes
/// from nothing to more than any transport sends at once.
static void checkOrder(Rank &rank) {
  int n = rank.size(), next = (rank.rank() + 1) % n, last = (rank.rank() + n - 1) % n;
  if (n == 1)
    return;
  constexpr uint64_t bytes[] = {8, 0, 1000000, 1, 70000, 8};
  std::vector<std::vector<std::byte>> out, in;
  std::vector<Communicator::Request> requests;
  for (uint64_t tag : {5, 6})
    for (uint64_t i = 0; i < std::size(bytes); ++i) {
      out.emplace_back(bytes[i], static_cast<std::byte>(16 * tag + i));
      auto request = rank.c.send(next, tag, out.back().data(), bytes[i]);
      rank.expect(request.status(), "send");
      requests.push_back(*request);
    }
  // The other tag first.
  for (uint64_t tag : {6, 5})
    for (uint64_t i = 0; i < std::size(bytes); ++i) {
      in.emplace_back(bytes[i]);
      auto request = rank.c.receive(last, tag, in.back().data(), bytes[i]);
      rank.expect(request.status(), "receive");
      rank.expect(rank.c.wait(*request), "wait for a receive");
      bool same = true;
      for (std::byte value : in.back())
        same &= value == static_cast<std::byte>(16 * tag + i);
      rank.expect(same, "message " + std::to_string(i) + " of tag " + std::to_string(tag) +
                            " is another one");
    }
  for (auto &request : requests)
    rank.expect(rank.c.wait(request), "wait for a send");
}

/// test() alone brings a message in.
static void checkProgress(Rank &rank) {
  int peer = rank.rank() ^ 1;
  if (peer >= rank.size())
    return;
  std::vector<std::byte> out(300000, static_cast<std::byte>(rank.rank() + 1)), in(out.size());
  auto receive = rank.c.receive(peer, 9, in.data(), in.size());
  auto send = rank.c.send(peer, 9, out.data(), out.size());
  rank.expect(receive.status(), "receive");
  rank.expect(send.status(), "send");
  while (!rank.c.test(*receive) || !rank.c.test(*send)) {
  }
  rank.expect(rank.c.wait(*receive), "wait for a receive");
  rank.expect(rank.c.wait(*send), "wait for a send");
  rank.expect(in == std::vector<std::byte>(out.size(), static_cast<std::byte>(peer + 1)),
              "the bytes are others");
}

/// Two halves reduce at once, then even and odd ranks, while messages between them are on the way.
static void checkGroups(Rank &rank) {
  int n = rank.size(), self = rank.rank();
  if (n < 4)
    return;
  int across = (self + n / 2) % n, back = (self + n - n / 2) % n;
  std::vector<std::byte> out(100, static_cast<std::byte>(self)), in(100);
  auto receive = rank.c.receive(back, 3, in.data(), in.size());
  auto send = rank.c.send(across, 3, out.data(), out.size());
  for (int round = 0; round < 20; ++round)
    for (bool halves : {true, false}) {
      std::vector<int> group;
      for (int i = 0; i < n; ++i)
        if (halves ? (i < n / 2) == (self < n / 2) : i % 2 == self % 2)
          group.push_back(i);
      uint64_t index = 0;
      while (group[index] != self)
        ++index;
      List list;
      list.add(5000, DType::F32);
      uint64_t seed = 100 * round + 10 * halves + group.front();
      fill(list, index, seed);
      Operation operation{"all-reduce", static_cast<uint32_t>(2 * round + halves), "a group"};
      rank.expect(allReduce(rank.c, group, operation, list.tensors, rank.scratch),
                  describe(operation));
      std::string text = difference(list, expectedSum(list, group.size(), seed));
      rank.expect(text.empty(), describe(operation) + ": " + text);
    }
  rank.expect(rank.c.wait(*receive), "wait for a receive");
  rank.expect(rank.c.wait(*send), "wait for a send");
  rank.expect(in[99] == static_cast<std::byte>(back), "the bytes are others");
}

static void checkRoots(Rank &rank) {
  for (int root = 0; root < rank.size(); ++root)
    for (size_t bytes : {size_t(0), size_t(1), size_t(200000)}) {
      std::vector<std::byte> data(bytes, static_cast<std::byte>(rank.rank()));
      std::vector<std::byte> all(rank.rank() == root ? bytes * rank.size() : 0);
      rank.expect(rank.c.gather(root, data.data(), bytes, all.data()), "gather");
      bool right = true;
      for (size_t i = 0; i < all.size(); ++i)
        right &= all[i] == static_cast<std::byte>(i / bytes);
      rank.expect(right, "gathered bytes are others");
      rank.expect(rank.c.broadcast(root, data.data(), bytes), "broadcast");
      rank.expect(data == std::vector<std::byte>(bytes, static_cast<std::byte>(root)),
                  "broadcast bytes are others");
    }
  for (int i = 0; i < 20; ++i)
    rank.expect(rank.c.barrier(), "barrier");
}

static void checkAgreement(Rank &rank) {
  std::byte hash[16] = {std::byte(7)};
  rank.expect(rank.c.agree("plan", hash), "agree");
  if (rank.size() < 4)
    return;
  hash[15] = static_cast<std::byte>(rank.rank() == 1 || rank.rank() == 3);
  Status status = rank.c.agree("plan", hash);
  rank.expect(status.code() == ErrorCode::Usage, "two ranks with another plan agree");
  rank.expect(status.message() == "ranks 1 and 3 have another plan than rank 0", status.message());
}

/// CO-01: means of f16 whose sum overflows, or whose terms vanish when they are divided first.
static void checkMeans(Rank &rank) {
  double n = rank.size();
  for (float value : {20000.0f, std::ldexp(1.0f, -24), 65504.0f, -std::ldexp(1.0f, -14)}) {
    std::vector<uint16_t> data(1025, floatToHalf(value));
    Tensor tensor{reinterpret_cast<std::byte *>(data.data()), data.size(), DType::F16};
    for (Algorithm algorithm : algorithms)
      rank.expect(allReduce(rank.c, rank.everybody(), {"all-reduce", 1, "a mean"}, {&tensor, 1},
                            rank.scratch, algorithm, 1 / n),
                  "all-reduce");
    bool power = rank.size() == 1 || rank.size() == 2 || rank.size() == 4 || rank.size() == 8;
    for (uint16_t bits : data)
      if (power && halfToFloat(bits) != value) {
        rank.expect(false, std::to_string(rank.size()) + " times " + std::to_string(value) +
                               " have the mean " + std::to_string(halfToFloat(bits)));
        break;
      }
  }
  List list;
  for (DType type : types)
    list.add(2000, type);
  fill(list, rank.rank(), 5);
  rank.expect(allReduce(rank.c, rank.everybody(), {"all-reduce", 2, "scaled"}, list.tensors,
                        rank.scratch, Algorithm::Tree, 1 / n),
              "all-reduce");
  std::string text = difference(list, expectedSum(list, rank.size(), 5, 1 / n));
  rank.expect(text.empty(), text);
}

/// OB-03: what one rank encodes another decodes, from the message alone.
static void checkOneBit(Rank &rank) {
  int n = rank.size(), self = rank.rank(), next = (self + 1) % n, last = (self + n - 1) % n;
  if (n == 1)
    return;
  auto numbers = [](int from) {
    return std::vector<float>{1, -2, 0, 3, -0.0f, 0.5f * from, -7, 8, -9};
  };
  std::vector<float> p = numbers(self), c(p.size());
  std::vector<std::byte> out(onebit::encodedBytes(p.size())), in(out.size());
  onebit::encode(p, out);
  auto receive = rank.c.receive(last, 4, in.data(), in.size());
  auto send = rank.c.send(next, 4, out.data(), out.size());
  rank.expect(rank.c.wait(*receive), "receive");
  rank.expect(rank.c.wait(*send), "send");
  onebit::decode(in, c);
  std::vector<float> theirs = numbers(last);
  double sum = 0;
  for (float value : theirs)
    sum += std::fabs(value);
  float mean = static_cast<float>(sum / 9);
  for (size_t i = 0; i < theirs.size(); ++i)
    rank.expect(c[i] == (theirs[i] < 0 ? -mean : mean), "value " + std::to_string(i));
}

/// Infinities and NaN stay what they are, on every rank.
static void checkNotFinite(Rank &rank) {
  float inf = INFINITY;
  float terms[] = {1, rank.rank() == 0 ? inf : 1, rank.rank() == rank.size() - 1 ? NAN : 1,
                   std::ldexp(1.0f, -149)};
  for (Algorithm algorithm : algorithms) {
    float sums[4];
    std::memcpy(sums, terms, sizeof sums);
    Tensor tensor{reinterpret_cast<std::byte *>(sums), 4, DType::F32};
    rank.expect(allReduce(rank.c, rank.everybody(), {"all-reduce", 1, "not finite"}, {&tensor, 1},
                          rank.scratch, algorithm),
                "all-reduce");
    rank.expect(sums[0] == static_cast<float>(rank.size()) && sums[1] == inf &&
                    std::isnan(sums[2]) && sums[3] == static_cast<float>(rank.size()) * terms[3],
                std::string("not finite, ") + nameOf(algorithm));
  }
}

static const Check table[] = {
    {"tree", [](Rank &rank) { checkAllReduce(rank, Algorithm::Tree); }},
    {"halving", [](Rank &rank) { checkAllReduce(rank, Algorithm::HalvingDoubling); }},
    {"ring", [](Rank &rank) { checkAllReduce(rank, Algorithm::Ring); }},
    {"shares_tree", [](Rank &rank) { checkShares(rank, Algorithm::Tree); }},
    {"shares_halving", [](Rank &rank) { checkShares(rank, Algorithm::HalvingDoubling); }},
    {"shares_ring", [](Rank &rank) { checkShares(rank, Algorithm::Ring); }},
    {"traffic", checkTraffic},
    {"order", checkOrder},
    {"progress", checkProgress},
    {"groups", checkGroups},
    {"roots", checkRoots},
    {"agreement", checkAgreement},
    {"CO_01_means", checkMeans},
    {"OB_03_one_bit", checkOneBit},
    {"not_finite", checkNotFinite},
};

std::span<const Check> conformance::checks() { return table; }
