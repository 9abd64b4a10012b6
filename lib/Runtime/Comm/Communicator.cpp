//===- Communicator.cpp - what all transports share ----------------------------===//
#include "dsc/Runtime/Comm/Communicator.h"
#include "Blame.h"
#include "Tags.h"
#include <algorithm>
#include <array>
#include <cstring>

using namespace dsc;
using Clock = std::chrono::steady_clock;

Communicator::Communicator(int rank, int size, double timeoutSeconds)
    : rank_(rank), size_(size), timeout(timeoutSeconds), started(Clock::now()),
      record(takeRecord(rank)) {}

Communicator::~Communicator() { releaseRecord(record); }

void Communicator::enter(const Operation &operation) {
  record->enter(operation);
  inside = true;
  started = Clock::now();
}

void Communicator::leave() {
  record->leave();
  inside = false;
}

void Communicator::startWait() {
  if (!inside)
    started = Clock::now();
}

double Communicator::secondsLeft() const {
  return timeout - std::chrono::duration<double>(Clock::now() - started).count();
}

void Communicator::blockedBy(int peer) { record->blockedBy.store(peer, std::memory_order_release); }

void Communicator::count(const Traffic &more) {
  traffic_.sentBytes += more.sentBytes;
  traffic_.receivedBytes += more.receivedBytes;
}

/// Sends and receives, then waits for both.
static Status exchange(Communicator &c, int to, const std::byte *out, uint64_t outBytes, int from,
                       std::byte *in, uint64_t inBytes, uint64_t tag) {
  auto receive = c.receive(from, tag, in, inBytes);
  if (!receive)
    return receive.status();
  auto send = c.send(to, tag, out, outBytes);
  if (!send)
    return send.status();
  Status status = c.wait(*receive);
  return status ? c.wait(*send) : status;
}

Status Communicator::barrier(const Operation &operation) {
  enter(operation);
  Status status;
  // After round k each rank has heard, by way of others, of 2^(k + 1) ranks.
  for (int distance = 1; distance < size_ && status; distance *= 2)
    status = exchange(*this, (rank_ + distance) % size_, nullptr, 0,
                      (rank_ - distance + size_) % size_, nullptr, 0, tag::barrier);
  if (status)
    leave();
  return status;
}

Status Communicator::broadcast(int root, std::byte *data, uint64_t bytes,
                               const Operation &operation) {
  enter(operation);
  int index = (rank_ - root + size_) % size_; // the root is 0 of a binomial tree
  int bit = 1;
  for (; bit < size_ && !(index & bit); bit *= 2) {
  }
  if (index) {
    auto request = receive((index - bit + root) % size_, tag::broadcast, data, bytes);
    if (!request)
      return request.status();
    if (Status status = wait(*request); !status)
      return status;
  }
  for (bit /= 2; bit; bit /= 2)
    if (index + bit < size_) {
      auto request = send((index + bit + root) % size_, tag::broadcast, data, bytes);
      if (!request)
        return request.status();
      if (Status status = wait(*request); !status)
        return status;
    }
  leave();
  return {};
}

Status Communicator::gather(int root, const std::byte *mine, uint64_t bytes, std::byte *all,
                            const Operation &operation) {
  enter(operation);
  if (rank_ != root) {
    auto request = send(root, tag::gather, mine, bytes);
    if (!request)
      return request.status();
    if (Status status = wait(*request); !status)
      return status;
    leave();
    return {};
  }
  std::vector<Request> requests;
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_) {
      if (bytes)
        std::memcpy(all + peer * bytes, mine, bytes);
      continue;
    }
    auto request = receive(peer, tag::gather, all + peer * bytes, bytes);
    if (!request)
      return request.status();
    requests.push_back(*request);
  }
  for (Request &request : requests)
    if (Status status = wait(request); !status)
      return status;
  leave();
  return {};
}

Status Communicator::agree(std::string_view what, std::span<const std::byte> value) {
  constexpr size_t limit = 64, verdictBytes = 512;
  using Brought = std::array<std::byte, 1 + limit>; // length, then the bytes
  if (value.size() > limit)
    return {ErrorCode::Internal, "agree() takes at most 64 bytes"};
  Brought mine{};
  mine[0] = static_cast<std::byte>(value.size());
  std::copy(value.begin(), value.end(), mine.begin() + 1);
  std::vector<Brought> all(rank_ == 0 ? size_ : 0);
  Operation operation{"start", Operation::noId, what};
  if (Status status =
          gather(0, mine.data(), sizeof mine, reinterpret_cast<std::byte *>(all.data()), operation);
      !status)
    return status;
  std::array<char, verdictBytes> verdict{};
  std::vector<int> others;
  for (int peer = 0; peer < static_cast<int>(all.size()); ++peer)
    if (all[peer] != mine)
      others.push_back(peer);
  if (!others.empty()) {
    std::string text = listRanks(others) + (others.size() == 1 ? " has" : " have") + " another " +
                       std::string(what) + " than rank 0";
    text.copy(verdict.data(), verdictBytes - 1);
  }
  if (Status status =
          broadcast(0, reinterpret_cast<std::byte *>(verdict.data()), verdictBytes, operation);
      !status)
    return status;
  return verdict[0] ? Status(ErrorCode::Usage, verdict.data()) : Status();
}
