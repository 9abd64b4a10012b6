//===- Trainer.cpp - the training loop -------------------------------------===//
// A step: batch into the input buffers, program `train`, one line of the log. The step itself takes
// nothing from the heap; logging and evaluation come after it.
#include "dsc/Runtime/Core/Trainer.h"
#include "dsc/Runtime/Core/Checkpointing.h"
#include "dsc/Runtime/Core/Digest.h"
#include "dsc/Runtime/Core/Interrupt.h"
#include "dsc/Runtime/Core/Ranks.h"
#include "dsc/Runtime/Core/RunLogs.h"
#include "dsc/Runtime/Core/Settings.h"
#include "dsc/Runtime/Core/TrainingStep.h"
#include "dsc/Runtime/Core/WorkingCopies.h"
#include "dsc/Runtime/Monitor/Evaluation.h"
#include "dsc/Runtime/Monitor/Progress.h"
#include "dsc/Support/Fault.h"
#include "dsc/Support/Numbers.h"
#include "dsc/Support/StateChange.h"
#include <chrono>
#include <cmath>
#include <cstring>

using namespace dsc;
using namespace dsc::plan;
using Clock = std::chrono::steady_clock;

static double scalarAt(const std::byte *data) {
  double value;
  std::memcpy(&value, data, sizeof value);
  return value;
}

namespace {

class Trainer {
public:
  explicit Trainer(Session &session) : session(session), executor(session.executor()) {}
  Status run();
  void end(ErrorCode code) {
    if (window)
      window->endedWith(code);
  }

private:
  Status open();
  Status decideSteps();
  Status readStateChanges();
  void changeState(int64_t number);
  Status startOrResume();
  Status openLogs();
  Status catchUp();
  Status step(int64_t number);
  Status nextWindow(int64_t rows, int64_t &counted);
  Status tell(const StepRecord &record);
  Status saveWeights();
  Status stopNotFinite(int64_t number);
  Status evaluateAfter(int64_t number, StepRecord &record);
  TrainingPoint pointAfter(int64_t number) const;
  Status profiled(Profile &profile);
  Status finish(Status status);
  std::string tokensText() const;
  bool goesOn(const Status &status) const {
    return status.ok() && !interruptSignal() && !stopping->stop();
  }
  int64_t updates() const {
    return updatesCounter ? static_cast<int64_t>(scalarAt(updatesCounter)) : 0;
  }

  Session &session;
  Executor &executor;
  DataConfig config;
  std::unique_ptr<BatchStream> stream;
  std::unique_ptr<EvaluationStream> validation;
  std::unique_ptr<WindowStep> window;
  std::optional<BatchRamp> ramp;
  const std::byte *updatesCounter = nullptr;
  int64_t steps = 0, evaluateEvery = 0, evaluateBatches = 0;
  int64_t done = 0;           ///< steps, those before a resumption included
  bool evaluationDue = false; ///< that of step `done` was left out because of a signal
  std::optional<CheckpointInfo> resumed;
  std::vector<std::string> notes;
  std::vector<StateChange> stateChanges;
  std::optional<EarlyStopping> stopping;
  std::unique_ptr<RunLogs> logs;
  std::unique_ptr<Digest> digest;
  std::unique_ptr<Progress> progress;
  std::unique_ptr<Checkpointing> checkpoints; ///< null without checkpoint.dir; after what it uses
  bool earlierKept = false;                   ///< the final weights of a run before
  Clock::time_point start;
};

} // namespace

Status Trainer::open() {
  auto data = session.dataConfig();
  if (!data.ok())
    return data.status();
  config = std::move(*data);
  if (Status status = session.checkFiles(session.options().weights.empty()); !status.ok())
    return status;
  auto batches = BatchStream::open(config);
  if (!batches.ok())
    return batches.status();
  stream = std::move(*batches);
  ramp.emplace(config.batch, config.ramp);
  if (findProgram(executor.plan(), "evaluate") >= 0) {
    auto opened = EvaluationStream::open(config);
    if (!opened.ok())
      return opened.status();
    validation = std::move(*opened);
  }
  evaluateEvery = session.integer("evaluation.every");
  evaluateBatches = session.integer("evaluation.batches");
  stopping.emplace(session.integer("evaluation.patience"), session.number("evaluation.min_delta"));
  auto opened = session.openStep(config);
  if (!opened.ok())
    return opened.status();
  window = std::move(*opened);
  const auto &variables = executor.plan().variables;
  for (size_t i = 0; i < variables.size(); ++i)
    if (variables[i].name == "updates" && variables[i].dtype == DType::F64)
      updatesCounter = executor.variable(i);
  if (!updatesCounter)
    return damagedError("the plan has no counter 'updates' of type f64");
  return {};
}

Status Trainer::decideSteps() {
  steps = session.integer("train.steps");
  if (steps <= 0) {
    int64_t epochs = session.integer("train.epochs");
    auto count = ramp->stepsOf(epochs, stream->windowsPerEpoch());
    if (!count)
      return inputError("train.epochs " + std::to_string(epochs) + " is too large");
    steps = *count;
  }
  // A plan compiled without its data cannot know how many steps its epochs have.
  const nlohmann::json *total = findSetting(session.spec(), "train.scheduler.params.total_steps");
  if (!total || *total == 0)
    executor.setScalar("train.scheduler.params.total_steps", static_cast<double>(steps));
  if (session.options().steps >= 0)
    steps = session.options().steps;
  return stream->checkSteps(steps);
}

/// What --set-state names: scalars that steps carry on, by their roles.
Status Trainer::readStateChanges() {
  std::vector<std::string> names;
  const nlohmann::json *fixed = findSetting(session.spec(), "train.fp16.loss_scale");
  bool fixedScale = fixed && fixed->is_number() && *fixed != 0;
  for (const Variable &variable : executor.plan().variables)
    if ((variable.role == Kind::StepState || variable.role == Kind::Counter) &&
        variable.dtype == DType::F64 && variable.shape.empty() &&
        !(fixedScale && variable.name.starts_with("loss_scale.")))
      names.push_back(variable.name);
  auto changes = parseStateChanges(session.options().setState, names, steps);
  if (!changes.ok())
    return changes.status();
  stateChanges = std::move(*changes);
  return {};
}

void Trainer::changeState(int64_t number) {
  bool changed = false;
  const auto &variables = executor.plan().variables;
  for (const StateChange &change : stateChanges)
    for (size_t i = 0; i < variables.size(); ++i)
      if (change.step == number && variables[i].name == change.variable)
        std::memcpy(executor.variable(i), &change.value, sizeof change.value), changed = true;
  if (!changed)
    return;
  (void)window->gather(/*all=*/true); // but for what was just changed
  for (const StateChange &change : stateChanges)
    for (size_t i = 0; i < variables.size(); ++i)
      if (change.step == number && variables[i].name == change.variable)
        std::memcpy(executor.variable(i), &change.value, sizeof change.value);
  (void)window->scatter(); // a failure shows in the step
}

TrainingPoint Trainer::pointAfter(int64_t number) const {
  // The order of a replay does not depend on how many rows it has.
  int64_t windows = stream->isReplay() ? 0 : stream->windowsPerEpoch();
  return {number, stream->position(), windows, logs ? logs->log() : nullptr, {}, evaluationDue};
}

/// Initial weights, or with --resume the newest checkpoint's state and place in the data.
Status Trainer::startOrResume() {
  if (Status status = session.startWeights(); !status.ok())
    return status;
  notes = session.notes();
  for (std::string &note : stream->notes())
    notes.push_back(std::move(note));
  if (!checkpoints)
    return {};
  if (session.options().resume) {
    auto found = checkpoints->resume(pointAfter(0), notes);
    if (!found.ok())
      return found.status();
    if ((resumed = std::move(*found))) {
      refreshWorkingCopies(session.executor());
      done = resumed->step;
      evaluationDue = resumed->evaluationDue;
      if (DSC_FAULT(82, true, false))
        stream->seek({resumed->epoch, resumed->row});
      for (const auto &[step, loss] : resumed->evaluations)
        stopping->note(step, loss);
      return {};
    }
    notes.push_back("no checkpoint to resume from in '" + checkpoints->path() +
                    "': the run starts afresh");
    return session.startWeights(); // a checkpoint may have been half read
  }
  return {};
}

Status Trainer::openLogs() {
  RunLogs::Start begin{steps, done, {}};
  if (resumed)
    begin.log = resumed->logBytes;
  auto opened = RunLogs::open(session, begin, notes);
  if (!opened.ok())
    return opened.status();
  logs = std::move(*opened);
  if (!session.options().digest.empty()) {
    auto created = Digest::create(session.options().digest, executor, window->update());
    if (!created.ok())
      return created.status();
    digest = std::move(*created);
  }
  return {};
}

Status Trainer::evaluateAfter(int64_t number, StepRecord &record) {
  bool due = number == steps || (evaluateEvery > 0 && number % evaluateEvery == 0);
  evaluationDue = validation && due;
  if (!evaluationDue || interruptSignal())
    return {};
  ProfileSpan span(session.profile(), "evaluate");
  if (Status status = window->gather(/*all=*/true); !status.ok())
    return status;
  auto result = evaluate(session, *validation, evaluateBatches, [this] { window->keepAlive(); });
  if (!result.ok())
    return result.status();
  evaluationDue = !result->complete;
  if (result->complete && result->tokens) {
    record.evalLoss = result->loss;
    record.evalBitsPerByte = result->bitsPerByte;
    stopping->note(number, result->loss);
  }
  return {};
}

/// After a resumption: the evaluation that a signal had cut off.
Status Trainer::catchUp() {
  if (!resumed || !evaluationDue)
    return {};
  StepRecord record;
  record.step = done;
  if (Status status = evaluateAfter(done, record); !status.ok())
    return status;
  if (!record.evalLoss)
    return {};
  if (Status status = logs->evaluated(record); !status.ok())
    return status;
  progress->message("step " + printGrouped(done) + "  eval_loss " +
                    printFixed(*record.evalLoss, 4));
  TrainingPoint point = pointAfter(done);
  point.evalLoss = record.evalLoss;
  checkpoints->afterStep(point);
  return {};
}

/// A run that goes on where another stopped replaces that one's weights; a new one does not.
Status Trainer::saveWeights() {
  if (Status status = window->gather(/*all=*/true); !status.ok())
    return status;
  if (checkpoints && !resumed && !std::exchange(earlierKept, true))
    if (Status status = checkpoints->keepEarlierWeights(); !status.ok())
      return status;
  return session.save(updates() > 0);
}

Status Trainer::stopNotFinite(int64_t number) {
  double loss = window->loss(), norm = window->norm();
  std::string which = std::isfinite(loss) ? "the gradient norm is " + printShortest(norm)
                                          : "the loss is " + printShortest(loss);
  // Save first: what follows is for the message only.
  Status saved = saveWeights();
  std::string message =
      "step " + std::to_string(number) + ": " + which +
      ", stopped before the update; first tensor that is not finite: " + window->firstNonFinite();
  if (!saved.ok())
    message += "\n" + saved.message();
  else
    for (const std::string &folder : session.saveFolders())
      message += "\nweights after the last good step are in " + folder;
  return {ErrorCode::Numeric, message};
}

Status Trainer::nextWindow(int64_t rows, int64_t &counted) {
  ProfileSpan span(session.profile(), "data");
  return stream->next(window->tokens(), window->labels(), counted, window->positions(), rows);
}

Status Trainer::tell(const StepRecord &record) {
  ProfileSpan span(session.profile(), "log");
  if (Status status = logs->step(record); !status.ok())
    return status;
  progress->step(record);
  return {};
}

Status Trainer::step(int64_t number) {
  ProfileSpan span(session.profile(), "step");
  auto begin = Clock::now();
  StepRecord record;
  record.samples = ramp->size(number);
  record.consumedSamples = ramp->consumed(number + 1);
  record.tokens = record.samples * config.seq;
  if (Status status = nextWindow(record.samples, record.countedTokens); !status.ok())
    return status;
  changeState(number);
  Outcome outcome = window->run(record.samples);
  double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  if (outcome == Outcome::Failed)
    return window->failure();
  if (Status status = window->gather(/*all=*/digest != nullptr); !status.ok())
    return status;
  if (outcome == Outcome::NotFinite)
    return stopNotFinite(number);
  record.step = number;
  record.updates = updates();
  record.learningRate = window->learningRate();
  record.lossScale = window->lossScale();
  record.stepMs = seconds * 1e3;
  record.tokensPerSecond = static_cast<double>(record.countedTokens) / seconds;
  if (outcome == Outcome::Empty) {
    record.skipped = "empty";
  } else {
    record.loss = window->loss();
    if (outcome == Outcome::Overflow)
      record.skipped = "overflow";
    else
      record.gradNorm = window->norm();
  }
  if (digest)
    if (Status status = digest->write(number); !status.ok())
      return status;
  if (Status status = evaluateAfter(number, record); !status.ok())
    return status;
  if (Status status = tell(record); !status.ok())
    return status;
  done = number;
  if (checkpoints) {
    ProfileSpan saving(session.profile(), "checkpoint");
    TrainingPoint point = pointAfter(number);
    point.evalLoss = record.evalLoss;
    checkpoints->afterStep(point);
  }
  return {};
}

Status Trainer::profiled(Profile &profile) {
  Status status = profile.stepDone();
  if (!profile.recording())
    executor.profileWith(nullptr);
  return status;
}

Status Trainer::finish(Status status) {
  progress->finish();
  // Asked once: a signal that comes while the end is being saved finds a run that is done.
  bool interrupted = interruptSignal() != 0;
  // A numeric stop has saved already; so has nothing to do with how the run ended.
  if (checkpoints && !status.ok())
    checkpoints->drain();
  // Nor does a run end well whose ranks have stopped at different places: the last checkpoint is
  // what it goes on from.
  if (status.code() == ErrorCode::Numeric || status.code() == ErrorCode::Communication)
    return status;
  Status kept;
  if (checkpoints && status.ok())
    kept = checkpoints->finish(pointAfter(done), interrupted);
  Status saved = saveWeights();
  if (!status.ok())
    return status;
  if (logs->log() && saved.ok())
    if (Status synced = logs->log()->sync(); !synced.ok())
      saved = damagedError(synced.message());
  if (!saved.ok())
    return saved;
  if (!kept.ok())
    return kept;
  if (stopping->stop() && done < steps)
    std::printf("stopped early: %s\n", stopping->reason().c_str());
  double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  std::printf("%s after %s updates in %s\n", interrupted ? "stopped by a signal" : "done",
              printGrouped(updates()).c_str(), printDuration(seconds).c_str());
  for (const std::string &folder : session.saveFolders())
    std::printf("weights: %s\n", folder.c_str());
  if (session.saveFolders().empty())
    std::printf("weights are not kept: the plan has no checkpoint.dir, and --save=DIR is absent\n");
  if (!logs->path().empty())
    std::printf("log: %s\n", logs->path().c_str());
  return {};
}

/// Of a step: "1,024", or "128 to 1,024" where the batch grows.
std::string Trainer::tokensText() const {
  std::string full = printGrouped(config.batch * config.seq);
  return ramp->ramps() ? printGrouped(ramp->size(1) * config.seq) + " to " + full : full;
}

Status Trainer::run() {
  if (Status status = open(); !status.ok())
    return status;
  if (Status status = decideSteps(); !status.ok())
    return status;
  if (Status status = readStateChanges(); !status.ok())
    return status;
  auto opened = Checkpointing::open(session);
  if (!opened.ok())
    return opened.status();
  checkpoints = std::move(*opened);
  if (Status status = session.checkSaveFolders(); !status.ok())
    return status;
  if (Status status = startOrResume(); !status.ok())
    return status;
  if (Status status = openLogs(); !status.ok())
    return status;
  if (checkpoints && !resumed && steps > 0)
    if (Status status = checkpoints->startAfresh(notes); !status.ok())
      return status;
  std::printf("plan %s for %s, %d thread%s, %s tokens a step, %s steps\n",
              session.planHash().c_str(), executor.isa().c_str(), executor.threads(),
              executor.threads() == 1 ? "" : "s", tokensText().c_str(),
              printGrouped(steps).c_str());
  if (std::string ranks = window->description(); !ranks.empty())
    std::printf("%s\n", ranks.c_str());
  for (const std::string &note : notes)
    std::printf("note: %s\n", note.c_str());
  if (resumed)
    std::printf("resumed after step %s\n", printGrouped(done).c_str());
  std::fflush(stdout);
  progress = std::make_unique<Progress>(stdout, steps, session.integer("log.every", 10),
                                        std::nullopt, ConsoleStyle{session.options().megatron});
  if (checkpoints)
    checkpoints->beforeSave([this] { (void)window->gather(/*all=*/true); });
  if (checkpoints)
    checkpoints->onNote([this](const std::string &line) { progress->message(line); },
                        logs->events());
  start = Clock::now();
  Status status = window->scatter();
  if (status.ok())
    status = catchUp();
  for (int64_t number = done + 1; number <= steps && goesOn(status); ++number) {
    status = step(number);
    if (Profile *profile = session.profile(); profile && status.ok())
      status = profiled(*profile);
  }
  return finish(std::move(status));
}

Status dsc::train(Session &session) {
  if (session.isFollower()) {
    auto config = session.dataConfig();
    if (!config.ok())
      return config.status();
    auto ranks = session.joinRanks(*config);
    return ranks.ok() ? (*ranks)->follow() : ranks.status();
  }
  Trainer trainer(session);
  Status status = trainer.run();
  trainer.end(status.code());
  return status;
}
