//===- Faults.cpp - the table of what ends a world --------------------------------------===//
#include "Conformance.h"

using namespace dsc;
using namespace dsc::conformance;
using Means = Fault::Means;

static Status reduce(Rank &rank, uint32_t id, std::string_view label, uint64_t elements = 3000,
                     std::vector<int> group = {}) {
  List list;
  list.add(elements, plan::DType::F32);
  if (group.empty())
    group = rank.everybody();
  return allReduce(rank.c, group, {"all-reduce", id, label}, list.tensors, rank.scratch);
}

static Status reduceUnless(Rank &rank, const std::function<void()> &otherwise) {
  Status status = reduce(rank, 16, "gradient bucket 1, layers.5");
  if (rank.rank() != 3)
    return status ? reduce(rank, 17, "gradient bucket 2, layers.4") : status;
  otherwise();
  return status;
}

static const Fault table[] = {
    {"CO_03_stopped_rank", 4,
     [](Rank &rank, const Means &means) { return reduceUnless(rank, means.stop); }, 3,
     "rank 3 never reached all-reduce 17, gradient bucket 2, layers.4 within ", 2},
    {"CO_03_killed_rank", 4,
     [](Rank &rank, const Means &means) { return reduceUnless(rank, means.die); }, 3,
     "rank 3 ended and never reached all-reduce 17, gradient bucket 2, layers.4", 2},
    {"rank_that_gives_up", 4,
     [](Rank &rank, const Means &) {
       return reduceUnless(rank, [&] {
         rank.c.abort({ErrorCode::Memory, "arena of 9 GiB does not fit"});
       });
     },
     3,
     "rank 3 gave up after all-reduce 16, gradient bucket 1, layers.5: arena of 9 GiB does not fit",
     1},
    // Rank 0 waits for 1, which waits for 2, which is to blame.
    {"chain", 3,
     [](Rank &rank, const Means &means) -> Status {
       std::byte data[8];
       if (rank.rank() == 2) {
         means.stop();
         return {};
       }
       if (rank.rank() == 1) {
         rank.c.enter({"receive", 12, "micro-batch 3, layers.3"});
         if (Status status = rank.receive(2, 12, data); !status)
           return status;
         rank.c.leave();
       }
       return reduce(rank, 20, "loss", 1, {0, 1});
     },
     2, "rank 2 never reached receive 12, micro-batch 3, layers.3", 2},
    {"circle", 2,
     [](Rank &rank, const Means &) {
       std::byte data[8];
       rank.c.enter({"receive", static_cast<uint32_t>(rank.rank()), "in a circle"});
       return rank.receive(1 - rank.rank(), 1, data);
     },
     -1, "ranks wait for each other: rank 0 at receive 0, in a circle", 2},
    {"another_operation", 2,
     [](Rank &rank, const Means &) { return reduce(rank, 30 + rank.rank(), "out of step"); }, -1,
     "all-reduce 3", 2},
    {"size_of_message", 2,
     [](Rank &rank, const Means &) {
       std::byte data[16];
       rank.c.enter({rank.rank() ? "receive" : "send", 5, "layers.1"});
       Status status = rank.rank() ? rank.receive(0, 1, {data, 16}) : rank.send(1, 1, {data, 8});
       return status ? rank.c.barrier() : status;
     },
     -1, "rank 0 sent 8 bytes to rank 1, which expects 16", 2},
    // Wait with nobody there, outside of any operation.
    {"message_alone", 2,
     [](Rank &rank, const Means &means) -> Status {
       std::byte data[8];
       if (rank.rank() == 0)
         return rank.receive(1, 1, data);
       means.stop();
       return {};
     },
     1, "rank 1 never reached", 2},
};

std::span<const Fault> conformance::faults() { return table; }
