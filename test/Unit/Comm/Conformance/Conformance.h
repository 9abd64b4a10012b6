//===- Conformance.h - what every communicator has to show ---------------------------===//
// Two tables: communicators of one process (a line each), and checks that every rank of a world
// runs together. Under a launcher comm-conformance runs the same checks, a process a rank.
#ifndef DSC_TEST_COMM_CONFORMANCE_H
#define DSC_TEST_COMM_CONFORMANCE_H

#include "dsc/Runtime/Comm/Collectives.h"
#include <functional>

namespace dsc::conformance {

struct Row {
  const char *name;
  std::vector<std::unique_ptr<Communicator>> (*make)(int ranks, const CommunicatorOptions &);
};
std::span<const Row> communicators();

/// One rank in a check.
struct Rank {
  Communicator &c;
  Scratch scratch;
  std::vector<std::string> failures;

  int rank() const { return c.rank(); }
  int size() const { return c.size(); }
  std::vector<int> everybody() const;
  void expect(bool holds, const std::string &what);
  void expect(const Status &status, const std::string &what);
  /// Sends or receives and waits.
  Status send(int peer, uint64_t tag, std::span<const std::byte> data);
  Status receive(int peer, uint64_t tag, std::span<std::byte> data);
};

struct Check {
  const char *name;
  void (*run)(Rank &rank);
};
std::span<const Check> checks();

/// A check that ends the world: the calls of ranks that live on fail with ErrorCode::Communication.
struct Fault {
  const char *name;
  int ranks;
  /// What the rank does; its last status. A rank that a process would lose calls `die` (or `stop`,
  /// which stays for long) and returns.
  struct Means {
    std::function<void()> die, stop;
  };
  Status (*run)(Rank &rank, const Means &means);
  /// Who is at fault: has no status to judge.
  int culprit;
  /// All others' messages contain it.
  const char *message;
  /// Timeouts until the last of them has it.
  double within;
};
std::span<const Fault> faults();

/// Threads that run `body` as the ranks of a world; their failures, with the rank in front.
std::vector<std::string> runRanks(std::vector<std::unique_ptr<Communicator>> world,
                                  const std::function<void(Rank &)> &body);

//===----------------------------------------------------------------------===//
// Known values
//===----------------------------------------------------------------------===//

/// A list of tensors with memory of its own.
struct List {
  std::vector<Tensor> tensors;
  std::vector<std::vector<std::byte>> memory;
  void add(uint64_t elements, plan::DType type);
};

/// Fills with what the rank with this index brings: numbers of many magnitudes, so that another
/// order of additions has other bits.
void fill(List &list, uint64_t index, uint64_t seed);
/// What the tree makes of what n ranks bring, times `scale`; written apart from the library.
List expectedSum(const List &like, uint64_t n, uint64_t seed, double scale = 1);
/// The same in the ring's order.
List expectedRing(const List &like, uint64_t n, uint64_t seed);
/// First difference in [begin, end) of tensor t, as text; empty if there is none.
std::string difference(const List &is, const List &expected, size_t t, uint64_t begin,
                       uint64_t end);
std::string difference(const List &is, const List &expected);

} // namespace dsc::conformance

#endif // DSC_TEST_COMM_CONFORMANCE_H
