//===- MpiCommunicator.cpp - a rank that is a process under MPI ------------------------------===//
#include "MpiCommunicator.h"
#include <algorithm>
#include <cstring>
#include <immintrin.h>
#include <sched.h>
#include <thread>

using namespace dsc;

MpiCommunicator::MpiCommunicator(MpiProcess &mpi, int firstChannel,
                                 const CommunicatorOptions &options)
    : Communicator(mpi.rank, mpi.size, options.timeoutSeconds), mpi(mpi),
      firstChannel(firstChannel), slots(64 + 8 * size_), reports(size_) {
  for (uint32_t slot = 0; slot < slots.size(); ++slot)
    freeSlots.push_back(slot);
  cpu_set_t set;
  crowded = !sched_getaffinity(0, sizeof set, &set) && size_ > CPU_COUNT(&set);
  ++mpi.openWorlds;
}

MpiCommunicator::~MpiCommunicator() {
  if (closed)
    return;
  if (!failed.load())
    static_cast<void>(fail(
        failureOf(self(), {ErrorCode::Communication, "rank " + std::to_string(rank_) + " ended"})));
  // The others have been told: time to say it before they are ended. One rank ends all; the rest go
  // by themselves, with MPI not finalised, should that one not get there.
  double seconds = std::min(1.0, timeout / 4);
  std::this_thread::sleep_for(std::chrono::duration<double>(first ? seconds : 2 * seconds));
  if (first)
    mpi.table->abort(why.exitCode());
}

Status MpiCommunicator::close() {
  if (closed)
    return {};
  Status status = barrier({"end"});
  if (!status)
    return status;
  closed = true;
  --mpi.openWorlds;
  return {};
}

OperationSnapshot MpiCommunicator::self() const {
  OperationSnapshot snapshot;
  record->read(snapshot);
  return snapshot;
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

StatusOr<Communicator::Request> MpiCommunicator::send(int peer, uint64_t tag, const std::byte *data,
                                                      uint64_t bytes) {
  traffic_.sentBytes += bytes;
  return start(true, peer, tag, const_cast<std::byte *>(data), bytes); // only read
}

StatusOr<Communicator::Request> MpiCommunicator::receive(int peer, uint64_t tag, std::byte *data,
                                                         uint64_t bytes) {
  traffic_.receivedBytes += bytes;
  return start(false, peer, tag, data, bytes);
}

StatusOr<Communicator::Request> MpiCommunicator::start(bool sends, int peer, uint64_t tag,
                                                       std::byte *data, uint64_t bytes) {
  if (peer < 0 || peer >= size_ || peer == rank_)
    return Status(ErrorCode::Internal,
                  "rank " + std::to_string(rank_) + " has no peer " + std::to_string(peer));
  if (failed.load())
    return failedStatus();
  uint64_t number = tag, limit = static_cast<uint64_t>(mpi.largestTag);
  Channel channel = Messages;
  if (tag >= tags) {
    channel = Collectives;
    // Both sides post in the same order, so that two tags may share a number.
    number = (tag - tags) % limit;
  } else if (tag > limit) {
    return Status(ErrorCode::Internal, "tag " + std::to_string(tag) + " is above " +
                                           std::to_string(limit) + ", the largest of " +
                                           mpi.library);
  }
  if (freeSlots.empty()) {
    freeSlots.push_back(static_cast<uint32_t>(slots.size()));
    slots.emplace_back();
    freeSlots.reserve(slots.size());
  }
  uint32_t place = freeSlots.back();
  freeSlots.pop_back();
  Slot &slot = slots[place];
  slot = {0, true, false, !sends, channel, peer, bytes, 0};
  int error = sends ? mpi.table->send(firstChannel + channel, peer, static_cast<int>(number), data,
                                      bytes, &slot.request)
                    : mpi.table->receive(firstChannel + channel, peer, static_cast<int>(number),
                                         data, bytes, &slot.request);
  if (error)
    return fail(mpiError(error, peer));
  return Request{place, peer, bytes};
}

Status MpiCommunicator::mpiError(int error, int peer) {
  char text[256] = "";
  mpi.table->describe(error, text, sizeof text);
  return {ErrorCode::Communication, "rank " + std::to_string(peer) + " cannot be reached at " +
                                        std::string(self().text()) + ": " + mpi.library + " says " +
                                        text};
}

Status MpiCommunicator::advance(Slot &slot) {
  if (slot.over)
    return {};
  int over = 0;
  if (int error = mpi.table->test(&slot.request, &over, &slot.arrived))
    return mpiError(error, slot.peer);
  slot.over = over;
  if (slot.over && slot.receives && slot.arrived != slot.bytes)
    return {ErrorCode::Communication,
            "rank " + std::to_string(slot.peer) + " sent " + std::to_string(slot.arrived) +
                " bytes to rank " + std::to_string(rank_) + ", which expects " +
                std::to_string(slot.bytes) + ", at " + std::string(self().text())};
  return {};
}

bool MpiCommunicator::test(Request &request) {
  if (!request.pending() || failed.load())
    return true;
  Slot &slot = slots[request.slot];
  if (Status status = advance(slot); !status) {
    static_cast<void>(fail(status));
    return true;
  }
  if (!slot.over && Clock::now() - lastPoll > std::chrono::microseconds(500))
    poll();
  return slot.over || failed.load();
}

Status MpiCommunicator::wait(Request &request) {
  if (failed.load())
    return failedStatus();
  if (!request.pending())
    return {};
  Slot &slot = slots[request.slot];
  startWait();
  // Looks first, gives the core away next, sleeps at last: messages of shared memory move only when
  // both sides look, so not before a segment's time.
  auto share = [&](int of) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeout / of));
  };
  Clock::time_point began = Clock::now(), blockedSince{}, nextQuestion{};
  bool blocked = false;
  for (uint64_t looks = 0;; ++looks) {
    if (Status status = advance(slot); !status)
      return fail(status);
    if (slot.over)
      break;
    if (looks < (crowded ? 20 : 200)) {
      _mm_pause();
      continue;
    }
    Clock::time_point now = Clock::now();
    if (!blocked) {
      blockedBy(slot.peer);
      blocked = true;
      blockedSince = now;
      nextQuestion = now + (secondsLeft() > timeout / 2 ? share(4) : share(64));
    }
    if (now - lastPoll > std::chrono::microseconds(500)) {
      poll();
      if (failed.load()) {
        blockedBy(-1);
        return failedStatus();
      }
    }
    if (now >= nextQuestion) {
      ask(slot.peer);
      nextQuestion = now + share(64);
    }
    // Who is to blame is known after a few questions, also where a long operation stops at its end.
    if (secondsLeft() <= 0 && now - blockedSince > share(16))
      return timedOut(slot);
    if (now - began < std::chrono::milliseconds(2))
      sched_yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  if (blocked)
    blockedBy(-1);
  slot.active = false;
  freeSlots.push_back(request.slot);
  request.slot = Request::over;
  return {};
}

//===----------------------------------------------------------------------===//
// What ranks tell each other
//===----------------------------------------------------------------------===//

void MpiCommunicator::sendNote(int peer, Note::Kind kind, const Status &status) {
  std::lock_guard lock(controlMutex);
  notesSent();
  SentNote *sent = nullptr;
  for (SentNote &each : sentNotes)
    if (!each.active)
      sent = &each;
  if (!sent)
    sent = &sentNotes.emplace_back();
  sent->note = {};
  sent->note.kind = kind;
  sent->note.code = status.exitCode();
  record->read(sent->note.sender);
  sent->note.sender.rank = rank_;
  status.message().copy(sent->note.text, sizeof sent->note.text - 1);
  sent->active =
      !mpi.table->send(firstChannel + Control, peer, 0, &sent->note, sizeof(Note), &sent->request);
}

bool MpiCommunicator::notesSent() {
  bool all = true;
  for (SentNote &each : sentNotes) {
    int over = 0;
    uint64_t bytes;
    if (each.active && (mpi.table->test(&each.request, &over, &bytes) || over))
      each.active = false;
    all &= !each.active;
  }
  return all;
}

void MpiCommunicator::poll() {
  std::lock_guard lock(controlMutex);
  lastPoll = Clock::now();
  if (tellOthers.exchange(false))
    for (int peer = 0; peer < size_; ++peer)
      if (peer != rank_)
        sendNote(peer, Note::Failure, why);
  int there = 0, peer = -1;
  while (!mpi.table->probe(firstChannel + Control, &there, &peer) && there) {
    Note note;
    if (mpi.table->take(firstChannel + Control, peer, &note, sizeof note))
      return;
    note.text[sizeof note.text - 1] = 0;
    note.sender.length = std::min<uint32_t>(note.sender.length, OperationSnapshot::textBytes);
    reports[peer] = {note.sender, Clock::now(), true};
    if (note.kind == Note::Question)
      sendNote(peer, Note::Answer);
    if (note.kind == Note::Failure && !failed.load()) {
      why = {ErrorCode::Communication, note.text};
      failed.store(true);
    }
  }
}

void MpiCommunicator::ask(int peer) {
  std::vector<int> asked;
  while (peer >= 0 && peer != rank_ && peer < size_ &&
         std::find(asked.begin(), asked.end(), peer) == asked.end()) {
    asked.push_back(peer);
    sendNote(peer, Note::Question);
    const Report &report = reports[peer];
    peer = report.any && report.is.inside ? report.is.blockedBy : -1;
  }
}

Status MpiCommunicator::timedOut(const Slot &slot) {
  // All that the same collective waits for.
  std::vector<int> missing = {slot.peer};
  for (Slot &other : slots)
    if (other.active && other.channel == slot.channel && slot.channel == Collectives &&
        other.receives && advance(other) && !other.over &&
        std::find(missing.begin(), missing.end(), other.peer) == missing.end())
      missing.push_back(other.peer);
  std::sort(missing.begin(), missing.end());
  auto lookup = [&](int rank) -> std::optional<OperationSnapshot> {
    if (rank < 0 || rank >= size_ || !reports[rank].any ||
        std::chrono::duration<double>(Clock::now() - reports[rank].when).count() > fresh())
      return std::nullopt;
    return reports[rank].is;
  };
  return fail(blame(self(), missing, timeout, lookup));
}

Status MpiCommunicator::fail(const Status &status) {
  std::lock_guard lock(controlMutex);
  blockedBy(-1);
  if (failed.exchange(true))
    return why;
  why = status;
  first = true;
  for (int peer = 0; peer < size_; ++peer)
    if (peer != rank_)
      sendNote(peer, Note::Failure, why);
  // Messages move when this rank looks; a rank that stands still may never take its note.
  Clock::time_point until = Clock::now() + std::chrono::milliseconds(200);
  while (!notesSent() && Clock::now() < until)
    sched_yield();
  return why;
}

Status MpiCommunicator::failedStatus() {
  std::lock_guard lock(controlMutex);
  return why;
}

void MpiCommunicator::abort(const Status &status) {
  Status failure = failureOf(self(), status);
  if (mpi.threads) {
    static_cast<void>(fail(failure));
    return;
  }
  // The thread that owns this communicator tells the others when it next looks.
  std::lock_guard lock(controlMutex);
  if (!failed.load()) {
    why = failure;
    first = true;
    tellOthers.store(true);
    failed.store(true);
  }
}
