//===- Checkpointing.cpp - saving while training goes on, and resuming ------===//
#include "dsc/Runtime/Core/Checkpointing.h"
#include "CheckpointIdentity.h"
#include <algorithm>
#include <cmath>
#include <map>

using namespace dsc;

StatusOr<std::unique_ptr<Checkpointing>> Checkpointing::open(Session &session) {
  std::string dir = session.text("checkpoint.dir");
  if (dir.empty()) {
    bool regular = session.integer("checkpoint.every") > 0;
    if (session.options().resume || regular)
      return Status(ErrorCode::Usage,
                    std::string(regular ? "checkpoint.every" : "--resume") +
                        " needs a folder of checkpoints, but the plan has no checkpoint.dir: name "
                        "one with --set checkpoint.dir=DIR");
    return std::unique_ptr<Checkpointing>();
  }
  std::unique_ptr<Checkpointing> opened(new Checkpointing(session));
  auto folder = CheckpointFolder::open(session.outputPath(dir));
  if (!folder.ok())
    return folder.status();
  opened->folder = std::move(*folder);
  if (Status status = opened->prepare(); !status.ok())
    return status;
  return opened;
}

Checkpointing::~Checkpointing() = default;

Status Checkpointing::prepare() {
  every = session.integer("checkpoint.every");
  keep = std::max<int64_t>(1, session.integer("checkpoint.keep", 3));
  keepBest = session.boolean("checkpoint.keep_best", false);
  Executor &executor = session.executor();
  std::vector<size_t> indices;
  auto planned = planState(stateOf(executor.plan(), indices));
  if (!planned.ok())
    return planned.status();
  layout = std::move(*planned);
  for (size_t index : indices)
    memory.push_back(executor.variable(index));
  // Without regular saves there is one at most, after a signal: nothing trains beside it.
  bool asynchronous = session.boolean("checkpoint.async", true) && (every > 0 || keepBest);
  auto created = BackgroundSaver::create(layout, memory, asynchronous, executor.workers());
  if (!created.ok())
    return created.status();
  saver = std::move(*created);
  return {};
}

//===----------------------------------------------------------------------===//
// Resuming
//===----------------------------------------------------------------------===//

StatusOr<std::optional<CheckpointInfo>> Checkpointing::resume(const TrainingPoint &now,
                                                              std::vector<std::string> &notes) {
  auto steps = folder->steps();
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    std::string path = folder->stepPath(*step);
    auto skipped = [&](const Status &status) {
      notes.push_back("checkpoint '" + path + "' is skipped: " + status.message());
    };
    auto info = readManifest(path);
    if (!info.ok()) {
      skipped(info.status());
      continue;
    }
    if (info->step != *step) {
      skipped(damagedError("its manifest is of step " + std::to_string(info->step)));
      continue;
    }
    IdentityCheck check = compareIdentity(*info, layout.tensors, session.spec(), session.planHash(),
                                          now.windowsPerEpoch);
    if (!check.differences.empty()) {
      std::string message =
          "cannot resume from '" + path + "': it is of another model or another run";
      for (const std::string &difference : check.differences)
        message += "\n  " + difference;
      return damagedError(message + "\nstart a new run without --resume, or name another folder "
                                    "with --set checkpoint.dir=DIR");
    }
    // The manifest may list the same tensors in another order.
    std::map<std::string_view, std::byte *> byName;
    for (size_t i = 0; i < layout.tensors.size(); ++i)
      byName[layout.tensors[i].name] = memory[i];
    std::vector<std::byte *> places;
    for (const StateTensor &tensor : info->tensors)
      places.push_back(byName[tensor.name]);
    if (Status status = readState(path, *info, places); !status.ok()) {
      skipped(status);
      continue;
    }
    for (const std::string &change : check.changes)
      notes.push_back(change);
    evaluations = info->evaluations;
    for (const auto &[at, loss] : evaluations)
      if (std::isfinite(loss) && (!best || loss < bestLoss)) {
        best = at;
        bestLoss = loss;
      }
    lastSaved = lastTried = *step;
    return std::optional(std::move(*info));
  }
  return std::optional<CheckpointInfo>();
}

Status Checkpointing::startAfresh(std::vector<std::string> &notes) {
  auto moved = folder->setAside();
  if (!moved.ok())
    return moved.status();
  if (!moved->empty())
    notes.push_back("checkpoints of an earlier run are now in '" + *moved +
                    "'; --resume would have continued it");
  return {};
}

Status Checkpointing::keepEarlierWeights() {
  auto moved = folder->setFinalAside();
  if (!moved.ok())
    return moved.status();
  if (!moved->empty())
    std::printf("note: the final weights of an earlier run are now in '%s'\n", moved->c_str());
  return {};
}

//===----------------------------------------------------------------------===//
// Saving
//===----------------------------------------------------------------------===//

CheckpointInfo Checkpointing::describe(const TrainingPoint &point) const {
  CheckpointInfo info;
  info.step = point.step;
  info.plan = session.planHash();
  info.spec = notedSettings(session.spec());
  info.epoch = point.data.epoch;
  info.row = point.data.row;
  info.windowsPerEpoch = point.windowsPerEpoch;
  info.logBytes = point.log ? point.log->size() : 0;
  info.evaluationDue = point.evaluationDue;
  info.evaluations = evaluations;
  return info;
}

Status Checkpointing::collect(bool wait) {
  auto result = saver->collect(wait);
  if (!result)
    return {};
  if (result->written)
    lastSaved = std::max(lastSaved, result->step);
  if (result->status.ok()) {
    if (events)
      events->write(result->step, "checkpoint", "saved to " + folder->stepPath(result->step));
    return {};
  }
  std::string message = result->status.message();
  std::string whole;
  if (!result->written) {
    message = "checkpoint of step " + std::to_string(result->step) + " was not saved: " + message;
    whole = lastSaved >= 0 ? "; the newest is '" + folder->stepPath(lastSaved) + "'"
                           : "; there is none yet";
  }
  if (note)
    note("note: " + message + whole);
  if (events)
    events->write(result->step, result->written ? "checkpoint kept" : "checkpoint failed",
                  message + whole);
  return result->written ? Status() : damagedError(message);
}

void Checkpointing::save(const TrainingPoint &point) {
  // What the save before ended with is told, and does not keep this one from trying.
  (void)collect(/*wait=*/true);
  lastTried = point.step;
  gather();
  auto prune = [store = folder.get(), step = point.step, keep = keep, kept = keepBest ? best : 0] {
    return store->prune(step, keep, kept);
  };
  Profile *profile = session.profile();
  saver->save({folder->stepPath(point.step), describe(point), point.log, prune,
               profile && profile->recording() ? profile : nullptr});
}

void Checkpointing::afterStep(const TrainingPoint &point) {
  bool isBest = false;
  if (point.evalLoss) {
    evaluations.emplace_back(point.step, *point.evalLoss);
    isBest = std::isfinite(*point.evalLoss) && (!best || *point.evalLoss < bestLoss);
    if (isBest) {
      best = point.step;
      bestLoss = *point.evalLoss;
    }
  }
  (void)collect(/*wait=*/false);
  if ((every > 0 && point.step % every == 0) || (keepBest && isBest))
    save(point);
}

Status Checkpointing::finish(const TrainingPoint &point, bool interrupted) {
  Status status = collect(/*wait=*/true);
  bool wanted = point.step > 0 && (every > 0 || interrupted);
  if (!wanted)
    return {};
  if (lastTried == point.step) // just now, or by the run that is resumed
    return status;
  save(point);
  return collect(/*wait=*/true);
}
