//===- Conformance.cpp - the table of communicators, and ranks as threads --------------===//
#include "Conformance.h"
#include <mutex>
#include <thread>

using namespace dsc;
using namespace dsc::conformance;

/// The communicators that one process can hold all ranks of. Others: comm-conformance.
static const Row rows[] = {
    {"local", makeLocalWorld},
    {"local_messages",
     [](int ranks, const CommunicatorOptions &options) {
       CommunicatorOptions messages = options;
       messages.sharedMemory = false;
       return makeLocalWorld(ranks, messages);
     }},
};

std::span<const Row> conformance::communicators() { return rows; }

std::vector<int> Rank::everybody() const {
  std::vector<int> ranks;
  for (int i = 0; i < size(); ++i)
    ranks.push_back(i);
  return ranks;
}

void Rank::expect(bool holds, const std::string &what) {
  if (!holds)
    failures.push_back(what);
}

void Rank::expect(const Status &status, const std::string &what) {
  if (!status)
    failures.push_back(what + ": " + status.message());
}

Status Rank::send(int peer, uint64_t tag, std::span<const std::byte> data) {
  auto request = c.send(peer, tag, data.data(), data.size());
  return request ? c.wait(*request) : request.status();
}

Status Rank::receive(int peer, uint64_t tag, std::span<std::byte> data) {
  auto request = c.receive(peer, tag, data.data(), data.size());
  return request ? c.wait(*request) : request.status();
}

std::vector<std::string> conformance::runRanks(std::vector<std::unique_ptr<Communicator>> world,
                                               const std::function<void(Rank &)> &body) {
  std::mutex mutex;
  std::vector<std::string> failures;
  std::vector<std::thread> threads;
  for (auto &communicator : world)
    threads.emplace_back([&, mine = std::move(communicator)]() mutable {
      Rank rank{*mine, {}, {}};
      body(rank);
      std::lock_guard lock(mutex);
      for (const std::string &failure : rank.failures)
        failures.push_back("rank " + std::to_string(rank.rank()) + " of " +
                           std::to_string(rank.size()) + ": " + failure);
      mine.reset();
    });
  for (std::thread &thread : threads)
    thread.join();
  return failures;
}
