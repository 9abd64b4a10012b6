//===- LocalCommunicator.cpp - a rank that is a thread of this process ----------------------===//
// A message is copied once, from memory to memory, by the side that comes second; so whoever has
// posted needs no turn of its own for it to arrive.
#include "LocalCommunicator.h"
#include <cstring>
#include <immintrin.h>

using namespace dsc;

std::vector<std::unique_ptr<Communicator>> dsc::makeLocalWorld(int ranks,
                                                               const CommunicatorOptions &options) {
  auto world = std::make_shared<LocalWorld>(ranks, options);
  std::vector<std::unique_ptr<Communicator>> communicators;
  for (int rank = 0; rank < ranks; ++rank)
    communicators.push_back(std::make_unique<LocalCommunicator>(world, rank));
  return communicators;
}

LocalCommunicator::LocalCommunicator(std::shared_ptr<LocalWorld> shared, int rank)
    : Communicator(rank, shared->ranks, shared->options.timeoutSeconds), world(std::move(shared)),
      station(world->stations[rank]) {
  station.record = record;
  absent.reserve(size_);
  // As many as are posted at once; how many that are depends on who comes first.
  slots.resize(64 + 8 * size_);
  for (uint32_t slot = 0; slot < slots.size(); ++slot)
    freeSlots.push_back(slot);
  for (int other = 0; other < size_; ++other)
    everybody.push_back(other);
}

LocalCommunicator::~LocalCommunicator() {
  station.gone.store(1);
  withdraw();
  for (int other = 0; other < size_; ++other)
    if (other != rank_)
      world->notify(other, true);
}

OperationSnapshot LocalCommunicator::self() const {
  OperationSnapshot snapshot;
  record->read(snapshot);
  return snapshot;
}

void LocalCommunicator::abort(const Status &why) { world->fail(failureOf(self(), why)); }

Status LocalCommunicator::failure(const Status &why) {
  world->fail(why);
  return failed();
}

Status LocalCommunicator::failed() {
  blockedBy(-1);
  withdraw();
  world->awaitQuiet(rank_);
  return world->why();
}

//===----------------------------------------------------------------------===//
// Waiting
//===----------------------------------------------------------------------===//

template <typename Missing> Status LocalCommunicator::await(Missing missing) {
  absent.clear();
  missing();
  for (int i = 0; i < world->spins && !absent.empty() && !world->failed(); ++i) {
    _mm_pause();
    absent.clear();
    missing();
  }
  if (absent.empty() && !world->failed())
    return {};
  startWait();
  for (;;) {
    uint32_t seen = station.event.load();
    absent.clear();
    missing();
    if (world->failed())
      return failed();
    if (absent.empty()) {
      blockedBy(-1);
      return {};
    }
    blockedBy(absent.front());
    for (int peer : absent)
      if (world->stations[peer].gone.load()) {
        // Was it here before it left?
        absent.clear();
        missing();
        if (std::find(absent.begin(), absent.end(), peer) == absent.end())
          break;
        OperationSnapshot at = self();
        return failure({ErrorCode::Communication, "rank " + std::to_string(peer) +
                                                      " ended and never reached " +
                                                      std::string(at.text())});
      }
    double left = secondsLeft();
    if (left <= 0) {
      auto lookup = [&](int peer) -> std::optional<OperationSnapshot> {
        if (world->stations[peer].gone.load())
          return std::nullopt;
        OperationSnapshot snapshot;
        world->stations[peer].record->read(snapshot);
        return snapshot;
      };
      return failure(blame(self(), absent, timeout, lookup));
    }
    world->sleep(rank_, seen, static_cast<uint32_t>(absent.size()), left);
  }
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

LocalSlot *LocalCommunicator::takeSlot(uint32_t &number) {
  if (freeSlots.empty()) {
    freeSlots.push_back(static_cast<uint32_t>(slots.size()));
    slots.emplace_back();
    freeSlots.reserve(slots.size());
  }
  number = freeSlots.back();
  freeSlots.pop_back();
  return &slots[number];
}

/// Takes the first message with this tag, or the very `slot`, out of a list.
static LocalSlot *unlink(LocalSlot **list, uint64_t tag, const LocalSlot *slot = nullptr) {
  for (; *list; list = &(*list)->next)
    if (slot ? *list == slot : (*list)->tag == tag) {
      LocalSlot *found = *list;
      *list = found->next;
      found->next = nullptr;
      return found;
    }
  return nullptr;
}

StatusOr<Communicator::Request> LocalCommunicator::send(int peer, uint64_t tag,
                                                        const std::byte *data, uint64_t bytes) {
  traffic_.sentBytes += bytes;
  return post(true, peer, tag, const_cast<std::byte *>(data), bytes); // only read
}

StatusOr<Communicator::Request> LocalCommunicator::receive(int peer, uint64_t tag, std::byte *data,
                                                           uint64_t bytes) {
  traffic_.receivedBytes += bytes;
  return post(false, peer, tag, data, bytes);
}

StatusOr<Communicator::Request> LocalCommunicator::post(bool sends, int peer, uint64_t tag,
                                                        std::byte *data, uint64_t bytes) {
  if (peer < 0 || peer >= size_ || peer == rank_)
    return Status(ErrorCode::Internal,
                  "rank " + std::to_string(rank_) + " has no peer " + std::to_string(peer));
  if (world->failed())
    return failed();
  LocalChannel &channel = sends ? world->channel(rank_, peer) : world->channel(peer, rank_);
  Request request{Request::over, peer, bytes};
  LocalSlot *other;
  {
    std::lock_guard lock(channel.mutex);
    other = unlink(sends ? &channel.receives : &channel.sends, tag);
    if (other) {
      other->state.store(LocalSlot::Copying);
      station.working.store(1); // before the lock opens: its owner may be about to withdraw
    } else {
      LocalSlot *slot = takeSlot(request.slot);
      slot->owner = rank_;
      slot->tag = tag;
      slot->data = data;
      slot->bytes = bytes;
      slot->state.store(LocalSlot::Posted);
      LocalSlot **end = sends ? &channel.sends : &channel.receives;
      while (*end)
        end = &(*end)->next;
      *end = slot;
    }
  }
  if (!other)
    return request;
  Status status = copy(*other, sends, data, bytes);
  station.working.store(0);
  return status ? StatusOr<Request>(request) : failure(status);
}

Status LocalCommunicator::copy(LocalSlot &posted, bool sends, std::byte *data, uint64_t bytes) {
  int owner = posted.owner;
  if (world->failed() || world->stations[owner].gone.load())
    return {ErrorCode::Communication, "rank " + std::to_string(owner) + " ended"};
  if (posted.bytes != bytes) {
    int sender = sends ? rank_ : owner, receiver = sends ? owner : rank_;
    uint64_t sent = sends ? bytes : posted.bytes, expected = sends ? posted.bytes : bytes;
    return {ErrorCode::Communication,
            "rank " + std::to_string(sender) + " sent " + std::to_string(sent) + " bytes to rank " +
                std::to_string(receiver) + ", which expects " + std::to_string(expected) + ", at " +
                std::string(self().text())};
  }
  if (bytes)
    std::memcpy(sends ? posted.data : data, sends ? data : posted.data, bytes);
  posted.state.store(LocalSlot::Over);
  world->notify(owner);
  return {};
}

Status LocalCommunicator::wait(Request &request) {
  if (!request.pending())
    return world->failed() ? failed() : Status();
  LocalSlot &slot = slots[request.slot];
  int peer = request.peer;
  Status status = await([&] {
    if (slot.state.load(std::memory_order_acquire) != LocalSlot::Over)
      absent.push_back(peer);
  });
  if (status)
    freeSlots.push_back(request.slot);
  request.slot = Request::over;
  return status;
}

bool LocalCommunicator::test(Request &request) {
  return !request.pending() || world->failed() ||
         slots[request.slot].state.load(std::memory_order_acquire) == LocalSlot::Over ||
         world->stations[request.peer].gone.load();
}

/// Takes back what is posted. Who found a message before says so under the channel's lock; when it
/// is done nobody will touch this rank's memory.
void LocalCommunicator::withdraw() {
  bool posted = false;
  for (LocalSlot &slot : slots) {
    if (slot.state.load() == LocalSlot::Over)
      continue;
    posted = true;
    for (int peer = 0; peer < size_; ++peer)
      for (bool sends : {true, false}) {
        LocalChannel &channel = sends ? world->channel(rank_, peer) : world->channel(peer, rank_);
        std::lock_guard lock(channel.mutex);
        unlink(sends ? &channel.sends : &channel.receives, 0, &slot);
      }
  }
  if (!posted)
    return;
  world->awaitQuiet(rank_);
  for (LocalSlot &slot : slots)
    slot.state.store(LocalSlot::Over);
}

//===----------------------------------------------------------------------===//
// Meetings
//===----------------------------------------------------------------------===//

Status LocalCommunicator::meet(std::span<const int> group, const Operation &operation,
                               std::span<const Tensor> tensors) {
  if (world->failed())
    return failed();
  station.kind = operation.kind;
  station.id = operation.id;
  station.tensors = tensors;
  for (int peer : group)
    if (peer != rank_) {
      world->cell(rank_, peer).met.fetch_add(1);
      world->notify(peer);
    }
  // Two ranks meet and part in turns, so neither is ahead of the other by more than one.
  Status status = await([&] {
    for (int peer : group)
      if (peer != rank_ && static_cast<int32_t>(world->cell(peer, rank_).met.load() -
                                                world->cell(rank_, peer).met.load()) < 0)
        absent.push_back(peer);
  });
  if (!status)
    return status;
  station.working.store(1);
  if (world->failed()) {
    station.working.store(0);
    return failed();
  }
  for (int peer : group) {
    const LocalStation &theirs = world->stations[peer];
    std::string difference;
    if (std::string_view(theirs.kind) != operation.kind || theirs.id != operation.id) {
      OperationSnapshot at;
      theirs.record->read(at);
      difference = "rank " + std::to_string(peer) + " is at " + std::string(at.text());
    } else if (theirs.tensors.size() != tensors.size()) {
      difference = "rank " + std::to_string(peer) + " brings " +
                   std::to_string(theirs.tensors.size()) + " tensors, not " +
                   std::to_string(tensors.size());
    } else {
      for (size_t t = 0; t < tensors.size() && difference.empty(); ++t)
        if (theirs.tensors[t].elements != tensors[t].elements ||
            theirs.tensors[t].type != tensors[t].type)
          difference = "tensor " + std::to_string(t) + " of rank " + std::to_string(peer) +
                       " has " + std::to_string(theirs.tensors[t].elements) + " " +
                       plan::nameOf(theirs.tensors[t].type) + ", not " +
                       std::to_string(tensors[t].elements) + " " + plan::nameOf(tensors[t].type);
    }
    if (!difference.empty()) {
      station.working.store(0);
      return failure({ErrorCode::Communication, difference + ", when rank " +
                                                    std::to_string(rank_) + " is at " +
                                                    std::string(self().text())});
    }
  }
  return {};
}

Status LocalCommunicator::part(std::span<const int> group) {
  station.working.store(0);
  for (int peer : group)
    if (peer != rank_) {
      world->cell(rank_, peer).parted.fetch_add(1);
      world->notify(peer);
    }
  return await([&] {
    for (int peer : group)
      if (peer != rank_ && static_cast<int32_t>(world->cell(peer, rank_).parted.load() -
                                                world->cell(rank_, peer).parted.load()) < 0)
        absent.push_back(peer);
  });
}

Status LocalCommunicator::barrier(const Operation &operation) {
  enter(operation);
  Status status = meet(everybody, operation, {});
  if (status)
    status = part(everybody);
  if (status)
    leave();
  return status;
}

Status LocalCommunicator::close() {
  Status status = closed ? Status() : barrier({"end"});
  closed = true;
  return status;
}
