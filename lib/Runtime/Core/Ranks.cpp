//===- Ranks.cpp - the ranks of a plan that this process runs --------------===//
#include "dsc/Runtime/Core/Ranks.h"
#include <algorithm>
#include <cstring>

using namespace dsc;
using namespace dsc::plan;

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

RankThreads::RankThreads(size_t count) {
  for (size_t index = 0; index < count; ++index)
    threads.emplace_back([this, index] { loop(index); });
}

RankThreads::~RankThreads() {
  {
    std::lock_guard lock(mutex);
    ending = true;
  }
  wake.notify_all();
  for (std::thread &thread : threads)
    thread.join();
}

void RankThreads::loop(size_t index) {
  for (uint64_t seen = 0;;) {
    const std::function<void(size_t)> *now;
    {
      std::unique_lock lock(mutex);
      wake.wait(lock, [&] { return ending || round != seen; });
      if (ending)
        return;
      seen = round;
      now = work;
    }
    (*now)(index);
    std::lock_guard lock(mutex);
    if (--pending == 0)
      done.notify_one();
  }
}

void RankThreads::run(const std::function<void(size_t)> &what) {
  std::unique_lock lock(mutex);
  work = &what;
  pending = threads.size();
  ++round;
  wake.notify_all();
  done.wait(lock, [&] { return pending == 0; });
}

//===----------------------------------------------------------------------===//
// The ranks
//===----------------------------------------------------------------------===//

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

StatusOr<std::unique_ptr<Ranks>> Ranks::create(Executor &whole, const DataConfig &config,
                                               const ExecutorOptions &options,
                                               double timeoutSeconds) {
  std::unique_ptr<Ranks> ranks(new Ranks(whole));
  const Plan &plan = whole.plan();
  const Layout &layout = plan.layout;
  CommunicatorOptions communication;
  communication.timeoutSeconds = timeoutSeconds;
  ranks->communicators = makeLocalWorld(static_cast<int>(layout.ranks()), communication);
  ranks->seq = config.seq;
  ranks->batch = config.batch;
  DataConfig own = config;
  own.batch = config.batch / layout.data;
  for (int64_t rank = 0; rank < layout.ranks(); ++rank) {
    ExecutorOptions one = options;
    one.communicator = ranks->communicators[static_cast<size_t>(rank)].get();
    one.sharing = &whole;
    one.threads = std::max(1, whole.threads() / static_cast<int>(layout.ranks()));
    auto executor = Executor::create(planOf(plan, layout.coordinates(rank).pipeline), one);
    if (!executor.ok())
      return executor.status();
    ranks->executors.push_back(std::move(*executor));
    auto step = TrainingStep::open(*ranks->executors.back(), own);
    if (!step.ok())
      return Status(step.status().code(),
                    "rank " + std::to_string(rank) + ": " + step.status().message());
    ranks->steps.push_back(std::make_unique<TrainingStep>(std::move(*step)));
  }
  size_t elements = static_cast<size_t>(config.batch * config.seq);
  ranks->theTokens.resize(elements);
  ranks->theLabels.resize(elements);
  for (auto &step : ranks->steps)
    if (step->positions())
      ranks->thePositions.resize(elements);
  ranks->outcomes.resize(ranks->executors.size());
  ranks->findPieces();
  ranks->threads = std::make_unique<RankThreads>(ranks->executors.size());
  return ranks;
}

Ranks::~Ranks() {
  if (threads) // each waits for the others
    threads->run([this](size_t rank) { (void)communicators[rank]->close(); });
}

static uint64_t elementsOf(const std::vector<int64_t> &shape) {
  uint64_t elements = 1;
  for (int64_t dimension : shape)
    elements *= static_cast<uint64_t>(dimension);
  return elements;
}

/// Pieces of one variable on one rank. `part` is the variable of the rank's stage.
void Ranks::addPieces(Executor &rank, const Coordinates &at, const Variable &part, size_t index,
                      std::byte *wholeData) {
  uint64_t size = static_cast<uint64_t>(byteSize(part.dtype));
  std::byte *data = rank.variable(index);
  // Ranks that differ in what the variable is not cut along have the same.
  bool home = true;
  for (Axis axis : {Axis::Data, Axis::Tensor, Axis::Context})
    home &= axis == part.share || axis == part.cut.axis || at.on(axis) == 0;
  bool scalar = part.shape.empty();
  if (part.cut.axis != Axis::None) {
    const Cut &cut = part.cut;
    uint64_t ranks = static_cast<uint64_t>(rank.plan().layout.size(cut.axis));
    uint64_t each = (cut.count + ranks - 1) / ranks;
    uint64_t begin = std::min(each * static_cast<uint64_t>(at.on(cut.axis)), cut.count);
    uint64_t count = std::min(each, cut.count - begin);
    for (uint64_t outer = 0; outer < cut.outer && count; ++outer)
      pieces.push_back({wholeData + (outer * cut.count + begin) * cut.inner * size,
                        data + outer * each * cut.inner * size, count * cut.inner * size, home,
                        scalar});
    return;
  }
  uint64_t elements = elementsOf(part.shape);
  Share share{0, elements};
  if (part.share != Axis::None)
    share = shareOf(elements, shareBlock, static_cast<uint64_t>(at.on(part.share)),
                    static_cast<uint64_t>(rank.plan().layout.size(part.share)));
  if (share.size())
    pieces.push_back({wholeData + share.begin * size, data, share.size() * size, home, scalar});
}

void Ranks::findPieces() {
  const Plan &plan = whole.plan();
  for (size_t r = 0; r < executors.size(); ++r) {
    Coordinates at = plan.layout.coordinates(static_cast<int64_t>(r));
    const std::vector<Variable> &parts = executors[r]->plan().variables;
    for (size_t p = 0; p < parts.size(); ++p)
      for (size_t v = 0; v < plan.variables.size(); ++v)
        if (plan.variables[v].name == parts[p].name)
          addPieces(*executors[r], at, parts[p], p, whole.variable(v));
  }
}

/// Scalars of the plan, which --set may have changed, and every rank's parts of the variables.
void Ranks::scatter() {
  const Plan &plan = whole.plan();
  for (size_t r = 0; r < executors.size(); ++r) {
    Coordinates at = plan.layout.coordinates(static_cast<int64_t>(r));
    for (const Scalar &scalar : plan.scalars)
      executors[r]->setScalar(scalar.path, scalar.value);
    executors[r]->setScalar("rank.data", static_cast<double>(at.data));
    executors[r]->setScalar("rank.tensor", static_cast<double>(at.tensor));
  }
  for (const Piece &piece : pieces)
    std::memcpy(piece.part, piece.whole, piece.bytes);
}

void Ranks::gather(bool all) {
  for (const Piece &piece : pieces)
    if (piece.home && (all || piece.scalar))
      std::memcpy(piece.whole, piece.part, piece.bytes);
}

/// This rank's rows of a window with so many rows of data.
void Ranks::give(size_t rank, int64_t rows) {
  const Layout &layout = whole.plan().layout;
  int64_t data = layout.coordinates(static_cast<int64_t>(rank)).data;
  int64_t own = batch / layout.data, each = rows / layout.data, first = data * each;
  TrainingStep &step = *steps[rank];
  auto deal = [&](const int32_t *from, int32_t *to, int32_t padding) {
    std::memcpy(to, from + first * seq, static_cast<size_t>(each * seq) * sizeof(int32_t));
    std::fill(to + each * seq, to + own * seq, padding);
  };
  deal(theTokens.data(), step.tokens(), 0);
  deal(theLabels.data(), step.labels(), -100);
  if (step.positions())
    deal(thePositions.data(), step.positions(), -1);
  executors[rank]->setScalar("rank.sample", static_cast<double>(first));
}

Outcome Ranks::run(int64_t rows) {
  theFailure = {};
  threads->run([&](size_t rank) {
    give(rank, rows);
    outcomes[rank] = steps[rank]->run(rows / whole.plan().layout.data);
    if (outcomes[rank] == Outcome::Failed)
      return;
    if (Status status = executors[rank]->finishSends(); !status.ok())
      outcomes[rank] = Outcome::Failed;
  });
  for (size_t rank = 0; rank < outcomes.size(); ++rank)
    if (outcomes[rank] == Outcome::Failed) {
      theFailure = executors[rank]->failure();
      return Outcome::Failed;
    }
  return outcomes.front();
}

std::string Ranks::firstNonFinite() {
  for (size_t rank = 0; rank < executors.size(); ++rank) {
    std::string found = executors[rank]->badVariable();
    if (found.empty())
      found = executors[rank]->badSum();
    if (!found.empty())
      return "rank " + std::to_string(rank) + ": " + found;
  }
  return "no sum of gradients on any rank";
}
