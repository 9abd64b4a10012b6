//===- comm-conformance.cpp - one rank of a launcher through the checks ---------------------===//
//   mpirun -n 4 comm-conformance [CHECK...]       all checks, or those named
//   mpirun -n 4 comm-conformance --fault=NAME     one fault, by real signals; --timeout=SECONDS,
//   else 1
#include "Conformance.h"
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

using namespace dsc;
using namespace dsc::conformance;

static void onTermination(int) {
  char text[1024];
  size_t length = describeOperations(text, sizeof text);
  if (write(STDERR_FILENO, text, length) < 0)
    _exit(1);
  _exit(128 + SIGTERM);
}

static int runFault(Rank &rank, const char *name, double timeout) {
  for (const Fault &fault : faults())
    if (!std::strcmp(fault.name, name)) {
      auto start = std::chrono::steady_clock::now();
      Status status = fault.run(rank, {[] { raise(SIGKILL); }, [] { raise(SIGSTOP); }});
      double seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      bool right = status.code() == ErrorCode::Communication &&
                   seconds < fault.within * timeout + 1 &&
                   status.message().find(fault.message) != std::string::npos;
      if (rank.rank() != fault.culprit)
        std::fprintf(stderr, "rank %d, %s: %s\n", rank.rank(), right ? "as it should" : "WRONG",
                     status.message().c_str());
      return status.exitCode();
    }
  std::fprintf(stderr, "no fault %s\n", name);
  return 2;
}

/// Operations of all kinds until one fails; a script stops and kills ranks meanwhile.
static int runLoop(Rank &rank) {
  std::fprintf(stderr, "rank %d is process %d\n", rank.rank(), getpid());
  int n = rank.size(), next = (rank.rank() + 1) % n, last = (rank.rank() + n - 1) % n;
  List large, small;
  large.add(300000, plan::DType::F32);
  small.add(5, plan::DType::F64);
  std::vector<std::byte> out(50000), in(50000);
  Status status = rank.c.barrier();
  for (uint32_t id = 0; status; ++id) {
    List &list = id % 2 ? small : large;
    auto algorithm = static_cast<Algorithm>(id / 2 % 3);
    if (id % 7 == 6) {
      rank.c.enter({"exchange", id, "between neighbours"});
      auto receive = rank.c.receive(last, 1, in.data(), in.size());
      auto send = rank.c.send(next, 1, out.data(), out.size());
      status = receive ? rank.c.wait(*receive) : receive.status();
      if (status)
        status = send ? rank.c.wait(*send) : send.status();
      rank.c.leave();
    } else if (id % 11 == 10) {
      status = rank.c.barrier({"barrier", id});
    } else {
      status = allReduce(rank.c, rank.everybody(), {"all-reduce", id, nameOf(algorithm)},
                         list.tensors, rank.scratch, algorithm, 0.5);
    }
  }
  std::fprintf(stderr, "rank %d ends: %s\n", rank.rank(), status.message().c_str());
  return status.exitCode();
}

int main(int count, char **arguments) {
  const char *fault = nullptr;
  double timeout = 4; // of a fault
  bool loop = false;
  std::vector<std::string_view> names;
  for (int i = 1; i < count; ++i)
    if (!std::strncmp(arguments[i], "--fault=", 8))
      fault = arguments[i] + 8;
    else if (!std::strcmp(arguments[i], "--loop"))
      loop = true;
    else if (!std::strncmp(arguments[i], "--timeout=", 10))
      timeout = std::atof(arguments[i] + 10);
    else
      names.push_back(arguments[i]);
  signal(SIGTERM, onTermination);
  auto environment = findLaunchEnvironment();
  if (!environment) {
    std::fprintf(stderr, "no launcher\n");
    return 2;
  }
  CommunicatorOptions options;
  if (fault || loop)
    options.timeoutSeconds = timeout;
  auto world = joinWorld(*environment, options);
  if (!world) {
    std::fprintf(stderr, "%s\n", world.status().message().c_str());
    return world.status().exitCode();
  }
  Rank rank{**world, {}, {}};
  if (fault)
    return runFault(rank, fault, timeout);
  if (loop)
    return runLoop(rank);
  size_t ran = 0;
  for (const Check &check : checks()) {
    bool asked = names.empty();
    for (std::string_view name : names)
      asked |= name == check.name;
    if (!asked)
      continue;
    check.run(rank);
    ++ran;
  }
  rank.expect(rank.c.close(), "close");
  for (size_t i = 0; i < rank.failures.size() && i < 10; ++i)
    std::fprintf(stderr, "rank %d: %s\n", rank.rank(), rank.failures[i].c_str());
  if (rank.rank() == 0)
    std::printf("%zu checks on %d ranks of %s, by %s\n", ran, rank.size(), rank.c.name(),
                environment->launcher);
  return rank.failures.empty() ? 0 : 1;
}
