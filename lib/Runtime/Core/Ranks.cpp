//===- Ranks.cpp - the ranks of a plan -------------------------------------===//
#include "dsc/Runtime/Core/Ranks.h"
#include "dsc/Runtime/Comm/PlanTraffic.h"
#include <algorithm>
#include <cstring>

using namespace dsc;
using namespace dsc::plan;

/// The plan of one rank: what its stage has, and the kernels of all.
static Plan planOf(const Plan &whole, int64_t stage) {
  Plan plan;
  static_cast<Role &>(plan) = whole.stages[static_cast<size_t>(stage)];
  plan.manifest = whole.manifest;
  plan.kernels = whole.kernels;
  plan.workspaceBytes = whole.workspaceBytes;
  plan.layout = whole.layout;
  return plan;
}

/// Parts are padded with zeros, which no step changes.
static void zeroPadding(Executor &executor) {
  const Plan &plan = executor.plan();
  for (size_t v = 0; v < plan.variables.size(); ++v) {
    const Variable &variable = plan.variables[v];
    if (variable.cut.axis == Axis::None || variable.role == Kind::Window ||
        variable.role == Kind::Stash)
      continue;
    uint64_t elements = 1;
    for (int64_t dimension : variable.shape)
      elements *= static_cast<uint64_t>(dimension);
    if (variable.share != Axis::None)
      elements = largestShare(elements, shareBlock,
                              static_cast<uint64_t>(plan.layout.size(variable.share)));
    std::memset(executor.variable(v), 0,
                elements * static_cast<uint64_t>(byteSize(variable.dtype)));
  }
}

Ranks::Ranks(Executor &whole, const DataConfig &config)
    : whole(whole), layout(whole.plan().layout), seq(config.seq), batch(config.batch) {
  size_t elements = static_cast<size_t>(config.batch * config.seq);
  theTokens.resize(elements);
  theLabels.resize(elements);
}

/// Whether the rows of a window go into equal shares for the ranks.
static Status checkRows(const Plan &plan, const DataConfig &config) {
  int64_t each = config.batch / plan.layout.data, turn = static_cast<int64_t>(plan.rowsInTurn);
  if (each && each * plan.layout.data == config.batch && (!turn || each % turn == 0))
    return {};
  return damagedError("the rows of a window, " + std::to_string(config.batch) +
                      ", cannot be dealt to " + std::to_string(plan.layout.data) + " ranks, " +
                      std::to_string(turn) + " at a time");
}

Status Ranks::add(int64_t rank, Communicator &communicator, const DataConfig &config,
                  ExecutorOptions options, int threadsOfRank) {
  options.communicator = &communicator;
  options.sharing = &whole;
  options.threads = std::max(1, threadsOfRank);
  auto executor =
      Executor::create(planOf(whole.plan(), layout.coordinates(rank).pipeline), options);
  if (!executor.ok())
    return executor.status();
  zeroPadding(**executor);
  DataConfig own = config;
  own.batch = config.batch / layout.data;
  auto step = TrainingStep::open(**executor, own);
  if (!step.ok())
    return Status(step.status().code(),
                  "rank " + std::to_string(rank) + ": " + step.status().message());
  mine.push_back({rank, &communicator, std::move(*executor),
                  std::make_unique<TrainingStep>(std::move(*step)), piecesOf(whole.plan(), rank),
                  trafficOfStep(whole.plan(), rank)});
  return {};
}

/// Whether any rank takes positions: then the window has them.
static bool takesPositions(const Plan &plan) {
  for (const Role &stage : plan.stages)
    for (const Program &program : stage.programs)
      if (findBuffer(program, "position_ids") >= 0)
        return true;
  return false;
}

StatusOr<std::unique_ptr<Ranks>> Ranks::createLocal(Executor &whole, const DataConfig &config,
                                                    const ExecutorOptions &options,
                                                    double timeoutSeconds) {
  if (Status status = checkRows(whole.plan(), config); !status.ok())
    return status; // before there are as many threads as the layout says
  std::unique_ptr<Ranks> ranks(new Ranks(whole, config));
  int count = static_cast<int>(ranks->layout.ranks());
  CommunicatorOptions communication;
  communication.timeoutSeconds = timeoutSeconds;
  ranks->communicators = makeLocalWorld(count, communication);
  for (int rank = 0; rank < count; ++rank)
    if (Status status = ranks->add(rank, *ranks->communicators[static_cast<size_t>(rank)], config,
                                   options, whole.threads() / count);
        !status.ok())
      return status;
  if (takesPositions(whole.plan()))
    ranks->thePositions.resize(ranks->theTokens.size());
  ranks->threads = std::make_unique<RankThreads>(ranks->mine.size());
  return ranks;
}

StatusOr<std::unique_ptr<Ranks>> Ranks::join(Executor &whole, const DataConfig &config,
                                             const ExecutorOptions &options,
                                             std::unique_ptr<Communicator> world,
                                             const std::string &planHash) {
  if (Status status = checkRows(whole.plan(), config); !status.ok())
    return status;
  std::unique_ptr<Ranks> ranks(new Ranks(whole, config));
  if (Status status = world->agree("plan", std::as_bytes(std::span(planHash))); !status.ok())
    return status;
  if (world->size() != ranks->layout.ranks())
    return Status(ErrorCode::Usage, "the plan is for " + std::to_string(ranks->layout.ranks()) +
                                        " ranks, the launcher started " +
                                        std::to_string(world->size()) + " processes");
  ranks->world = std::move(world);
  if (Status status =
          ranks->add(ranks->world->rank(), *ranks->world, config, options, whole.threads());
      !status.ok()) {
    ranks->world->abort(status);
    return status;
  }
  if (takesPositions(whole.plan()))
    ranks->thePositions.resize(ranks->theTokens.size());
  if (ranks->world->rank() == 0)
    for (int64_t rank = 0; rank < ranks->layout.ranks(); ++rank)
      ranks->others.push_back(piecesOf(whole.plan(), rank));
  return ranks;
}

Ranks::~Ranks() {
  if (threads) { // each waits for the others
    threads->run([this](size_t index) { (void)mine[index].communicator->close(); });
  } else if (world) {
    if (world->rank() == 0 && theFailure.ok())
      (void)command({Order::End, 0, 0, static_cast<int64_t>(endCode)});
    (void)world->close();
  }
}

std::string Ranks::description() const {
  std::string text = std::to_string(layout.ranks()) + " ranks";
  for (Axis axis : {Axis::Data, Axis::Tensor, Axis::Pipeline, Axis::Context})
    if (layout.size(axis) > 1)
      text += std::string(", ") + nameOf(axis) + " " + std::to_string(layout.size(axis));
  return text + (remote() ? ", processes" : ", threads of this process");
}

std::byte *Ranks::part(const Mine &rank, const Piece &piece) const {
  return rank.executor->variable(piece.variable) + piece.partOffset;
}

/// Scalars of the plan, which --set may have changed, and those that say which rank this is.
void Ranks::setScalars(Mine &rank) {
  Coordinates at = layout.coordinates(rank.rank);
  for (const Scalar &scalar : whole.plan().scalars)
    rank.executor->setScalar(scalar.path, scalar.value);
  rank.executor->setScalar("rank.data", static_cast<double>(at.data));
  rank.executor->setScalar("rank.tensor", static_cast<double>(at.tensor));
}

/// What a rank does of a window with so many rows of data.
Ranks::Command Ranks::stepOf(int64_t rank, int64_t rows) const {
  int64_t each = rows / layout.data, turn = static_cast<int64_t>(whole.plan().rowsInTurn);
  return {Order::Step, each, layout.coordinates(rank).data * (turn ? turn : each), 0};
}

void Ranks::pick(const std::vector<int32_t> &window, const Command &command, int32_t *to) const {
  int64_t turn = static_cast<int64_t>(whole.plan().rowsInTurn);
  int64_t run = turn ? turn : command.rows, stride = run * layout.data;
  for (int64_t row = 0, from = command.first; row < command.rows; row += run, from += stride)
    std::memcpy(to + row * seq, window.data() + from * seq,
                static_cast<size_t>(run * seq) * sizeof(int32_t));
}

/// This rank's rows of the window in this process.
void Ranks::deal(Mine &rank, const Command &command) {
  pick(theTokens, command, rank.step->tokens());
  pick(theLabels, command, rank.step->labels());
  if (rank.step->positions())
    pick(thePositions, command, rank.step->positions());
  pad(rank, command);
}

/// Rows behind those of data count for nothing.
void Ranks::pad(Mine &rank, const Command &command) const {
  int64_t from = command.rows * seq, to = batch / layout.data * seq;
  std::fill(rank.step->tokens() + from, rank.step->tokens() + to, 0);
  std::fill(rank.step->labels() + from, rank.step->labels() + to, -100);
  if (rank.step->positions())
    std::fill(rank.step->positions() + from, rank.step->positions() + to, -1);
}

void Ranks::execute(Mine &rank, const Command &command) {
  rank.executor->setScalar("rank.sample", static_cast<double>(command.first));
  Traffic before = rank.communicator->traffic();
  rank.outcome = rank.step->run(command.rows);
  if (rank.outcome != Outcome::Failed && !rank.executor->finishSends().ok())
    rank.outcome = Outcome::Failed;
  if (rank.outcome == Outcome::Failed)
    return rank.communicator->abort(rank.executor->failure());
  // A step that runs to its end moves what the plan says, and nothing else.
  Traffic now = rank.communicator->traffic();
  uint64_t sent = now.sentBytes - before.sentBytes;
  uint64_t received = now.receivedBytes - before.receivedBytes;
  Traffic planned = rank.planned;
  const Plan &plan = rank.executor->plan();
  for (size_t program = 0; program < plan.programs.size(); ++program)
    if (int64_t runs = rank.step->leftOut(program)) {
      Traffic one = trafficOf(plan, plan.programs[program], rank.rank);
      planned.sentBytes -= one.sentBytes * static_cast<uint64_t>(runs);
      planned.receivedBytes -= one.receivedBytes * static_cast<uint64_t>(runs);
    }
  if (rank.outcome != Outcome::Done ||
      (sent == planned.sentBytes && received == planned.receivedBytes))
    return;
  rank.executor->fail(Status(
      ErrorCode::Internal,
      "rank " + std::to_string(rank.rank) + " sent " + std::to_string(sent) + " and received " +
          std::to_string(received) + " bytes in a step, the plan has " +
          std::to_string(planned.sentBytes) + " and " + std::to_string(planned.receivedBytes)));
  rank.outcome = Outcome::Failed;
  rank.communicator->abort(rank.executor->failure());
}

Outcome Ranks::run(int64_t rows) {
  if (remote()) {
    for (int64_t rank = 1; rank < layout.ranks() && theFailure.ok(); ++rank)
      theFailure = sendStep(rank, rows);
    if (!theFailure.ok())
      return Outcome::Failed;
    deal(mine.front(), stepOf(0, rows));
    execute(mine.front(), stepOf(0, rows));
  } else {
    threads->run([&](size_t index) {
      Command step = stepOf(mine[index].rank, rows);
      deal(mine[index], step);
      execute(mine[index], step);
    });
  }
  for (Mine &rank : mine)
    if (rank.outcome == Outcome::Failed) {
      theFailure = rank.executor->failure();
      return Outcome::Failed;
    }
  return mine.front().outcome;
}

std::string Ranks::firstNonFinite() {
  for (const Mine &rank : mine) {
    std::string found = rank.executor->badVariable();
    if (found.empty())
      found = rank.executor->badSum();
    if (!found.empty())
      return "rank " + std::to_string(rank.rank) + ": " + found;
  }
  return remote() ? "on another rank than 0" : "no sum of gradients on any rank";
}
