//===- RankCommands.cpp - what rank 0 tells the processes of other ranks ---===//
// Each order is a small message, what it needs follows in messages of the same channel. Rank 0
// reads the data and has the whole tensors, so the others need neither files nor decisions.
#include "dsc/Runtime/Core/Ranks.h"
#include <algorithm>
#include <cstring>

using namespace dsc;
using namespace dsc::plan;
using Clock = std::chrono::steady_clock;

/// Above the channels of stages, below those of collectives.
static constexpr uint64_t orderTag = Communicator::tags - 1;

Status Ranks::send(int64_t rank, const void *data, uint64_t bytes) {
  auto request =
      world->send(static_cast<int>(rank), orderTag, static_cast<const std::byte *>(data), bytes);
  return request.ok() ? world->wait(*request) : request.status();
}

Status Ranks::receive(int64_t rank, void *data, uint64_t bytes) {
  auto request =
      world->receive(static_cast<int>(rank), orderTag, static_cast<std::byte *>(data), bytes);
  return request.ok() ? world->wait(*request) : request.status();
}

/// To all others.
Status Ranks::command(const Command &what) {
  world->enter({"order", Operation::noId, "of rank 0"});
  Status status;
  for (int64_t rank = 1; rank < layout.ranks() && status.ok(); ++rank)
    status = send(rank, &what, sizeof what);
  world->leave();
  lastOrder = Clock::now();
  return status;
}

Status Ranks::sendStep(int64_t rank, int64_t rows) {
  Command step = stepOf(rank, rows);
  packed.resize(static_cast<size_t>(step.rows * seq));
  world->enter({"rows of a step", Operation::noId, "from rank 0"});
  Status status = send(rank, &step, sizeof step);
  for (const std::vector<int32_t> *window : {&theTokens, &theLabels, &thePositions})
    if (status.ok() && !window->empty()) {
      pick(*window, step, packed.data());
      status = send(rank, packed.data(), packed.size() * sizeof(int32_t));
    }
  world->leave();
  lastOrder = Clock::now();
  return status;
}

Status Ranks::receiveStep(Mine &rank, const Command &step) {
  uint64_t bytes = static_cast<uint64_t>(step.rows * seq) * sizeof(int32_t);
  Status status = receive(0, rank.step->tokens(), bytes);
  if (status.ok())
    status = receive(0, rank.step->labels(), bytes);
  if (status.ok() && !thePositions.empty()) {
    packed.resize(static_cast<size_t>(step.rows * seq));
    status = receive(0, packed.data(), bytes);
    if (rank.step->positions())
      std::copy(packed.begin(), packed.end(), rank.step->positions());
  }
  pad(rank, step);
  return status;
}

Status Ranks::scatter() {
  if (!remote() || world->rank() == 0)
    for (Mine &rank : mine) {
      setScalars(rank);
      for (const Piece &piece : rank.pieces)
        std::memcpy(part(rank, piece), entire(piece), piece.bytes);
    }
  if (!remote())
    return {};
  if (Status status = command({Order::Scatter}); !status.ok())
    return theFailure = status;
  std::vector<double> scalars;
  for (const Scalar &scalar : whole.plan().scalars)
    scalars.push_back(scalar.value);
  for (int64_t rank = 1; rank < layout.ranks(); ++rank) {
    world->enter({"scatter of weights", Operation::noId, "from rank 0"});
    Status status = send(rank, scalars.data(), scalars.size() * sizeof(double));
    for (const Piece &piece : others[static_cast<size_t>(rank)])
      if (status.ok())
        status = send(rank, entire(piece), piece.bytes);
    world->leave();
    if (!status.ok())
      return theFailure = status;
  }
  return {};
}

Status Ranks::gather(bool all) {
  for (Mine &rank : mine)
    for (const Piece &piece : rank.pieces)
      if (piece.home && (all || piece.scalar))
        std::memcpy(entire(piece), part(rank, piece), piece.bytes);
  if (!remote() || !all)
    return {};
  if (Status status = command({Order::Gather}); !status.ok())
    return theFailure = status;
  for (int64_t rank = 1; rank < layout.ranks(); ++rank) {
    world->enter({"gather of weights", Operation::noId, "to rank 0"});
    Status status;
    for (const Piece &piece : others[static_cast<size_t>(rank)])
      if (status.ok() && piece.home)
        status = receive(rank, entire(piece), piece.bytes);
    world->leave();
    if (!status.ok())
      return theFailure = status;
  }
  return {};
}

/// While rank 0 is at something that the others have no part in.
void Ranks::keepAlive() {
  constexpr auto often = std::chrono::seconds(1);
  if (remote() && theFailure.ok() && Clock::now() - lastOrder > often)
    theFailure = command({Order::Busy});
}

Status Ranks::follow() {
  Mine &rank = mine.front();
  for (;;) {
    Command order;
    world->enter({"order", Operation::noId, "of rank 0"});
    Status status = receive(0, &order, sizeof order);
    world->leave();
    if (!status.ok())
      return theFailure = status;
    switch (order.order) {
    case Order::Step:
      status = receiveStep(rank, order);
      if (!status.ok())
        break;
      execute(rank, order);
      if (rank.outcome == Outcome::Failed)
        status = rank.executor->failure();
      break;
    case Order::Scatter: {
      std::vector<double> scalars(whole.plan().scalars.size());
      status = receive(0, scalars.data(), scalars.size() * sizeof(double));
      for (size_t i = 0; i < scalars.size(); ++i)
        whole.setScalar(whole.plan().scalars[i].path, scalars[i]);
      setScalars(rank);
      for (const Piece &piece : rank.pieces)
        if (status.ok())
          status = receive(0, part(rank, piece), piece.bytes);
      break;
    }
    case Order::Gather:
      for (const Piece &piece : rank.pieces)
        if (status.ok() && piece.home)
          status = send(0, part(rank, piece), piece.bytes);
      break;
    case Order::Busy:
      break;
    case Order::End:
      return order.code ? Status(static_cast<ErrorCode>(order.code), "") : Status();
    }
    if (!status.ok())
      return theFailure = status;
  }
}
