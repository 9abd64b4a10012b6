//===- Trainer.cpp - the training loop, evaluation -------------------------===//
// A step: batch into the input buffers, program `train`, one line of the log. The step itself takes
// nothing from the heap; logging and evaluation come after it.
#include "dsc/Runtime/Core/Trainer.h"
#include "dsc/Runtime/Core/Checkpointing.h"
#include "dsc/Runtime/Core/Digest.h"
#include "dsc/Runtime/Core/Interrupt.h"
#include "dsc/Runtime/Core/Settings.h"
#include "dsc/Runtime/Core/TrainingStep.h"
#include "dsc/Runtime/Core/WorkingCopies.h"
#include "dsc/Runtime/Monitor/Progress.h"
#include "dsc/Runtime/Monitor/StepLog.h"
#include "dsc/Support/File.h"
#include "dsc/Support/Numbers.h"
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

/// Where program `evaluate` takes batches and leaves results.
struct Ports {
  size_t program = 0;
  int32_t *tokens = nullptr, *labels = nullptr;
  const std::byte *loss = nullptr, *count = nullptr;
};

} // namespace

static StatusOr<Ports> openPorts(Executor &executor, const DataConfig &config) {
  Ports ports;
  const char *name = "evaluate";
  auto program = executor.program(name);
  if (!program.ok())
    return program.status();
  ports.program = *program;
  auto input = [&](const char *buffer, int32_t *&out) -> Status {
    auto found = executor.find(*program, buffer, Kind::Input, DType::I32);
    if (!found.ok())
      return found.status();
    if ((*found)->shape != std::vector<int64_t>{config.microBatch, config.seq})
      return damagedError(std::string("program '") + name + "': input '" + buffer +
                          "' does not have the shape [" + std::to_string(config.microBatch) + ", " +
                          std::to_string(config.seq) +
                          "] of train_micro_batch_size_per_gpu and seq_length");
    out = reinterpret_cast<int32_t *>(executor.data(**found));
    return {};
  };
  auto output = [&](const char *buffer, const std::byte *&out) -> Status {
    auto found = executor.find(*program, buffer, Kind::Output, DType::F64);
    if (!found.ok())
      return found.status();
    out = executor.data(**found);
    return {};
  };
  for (Status status : {input("tokens", ports.tokens), input("labels", ports.labels),
                        output("loss", ports.loss), output("tokens", ports.count)})
    if (!status.ok())
      return status;
  return ports;
}

StatusOr<EvaluationResult> dsc::evaluate(Session &session, EvaluationStream &stream,
                                         int64_t limit) {
  Executor &executor = session.executor();
  auto config = session.dataConfig();
  if (!config.ok())
    return config.status();
  auto ports = openPorts(executor, *config);
  if (!ports.ok())
    return ports.status();
  EvaluationResult result;
  double sum = 0;
  stream.rewind();
  while (!limit || result.batches < limit) {
    int64_t counted = 0;
    auto more = stream.next(ports->tokens, ports->labels, counted);
    if (!more.ok())
      return more.status();
    if (!*more)
      break;
    ++result.batches;
    if (counted == 0)
      continue;
    executor.run(ports->program);
    sum += scalarAt(ports->loss) * static_cast<double>(counted);
    result.tokens += counted;
    if (interruptSignal()) {
      result.complete = false;
      break;
    }
  }
  result.loss = result.tokens ? sum / static_cast<double>(result.tokens) : 0;
  return result;
}

namespace {

class Trainer {
public:
  explicit Trainer(Session &session) : session(session), executor(session.executor()) {}
  Status run();

private:
  Status open();
  Status decideSteps();
  Status startOrResume();
  Status openLogs();
  Status catchUp();
  Status step(int64_t number);
  Status stopNotFinite(int64_t number);
  Status evaluateAfter(int64_t number, StepRecord &record);
  TrainingPoint pointAfter(int64_t number) const;
  Status finish(Status status);
  int64_t updates() const {
    return updatesCounter ? static_cast<int64_t>(scalarAt(updatesCounter)) : 0;
  }

  Session &session;
  Executor &executor;
  DataConfig config;
  std::unique_ptr<BatchStream> stream;
  std::unique_ptr<EvaluationStream> validation;
  std::optional<TrainingStep> window;
  const std::byte *updatesCounter = nullptr;
  int64_t steps = 0, evaluateEvery = 0, evaluateBatches = 0;
  int64_t done = 0;           ///< steps, those before a resumption included
  bool evaluationDue = false; ///< that of step `done` was left out because of a signal
  std::optional<CheckpointInfo> resumed;
  std::vector<std::string> notes;
  std::string logPath;
  std::unique_ptr<StepLog> log;
  std::unique_ptr<EventLog> events;
  std::unique_ptr<Digest> digest;
  std::unique_ptr<Progress> progress;
  std::unique_ptr<Checkpointing> checkpoints; ///< null without checkpoint.dir; after what it uses
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
  if (findProgram(executor.plan(), "evaluate") >= 0) {
    auto opened = EvaluationStream::open(config);
    if (!opened.ok())
      return opened.status();
    validation = std::move(*opened);
  }
  evaluateEvery = session.integer("evaluation.every");
  evaluateBatches = session.integer("evaluation.batches");
  auto opened = TrainingStep::open(executor, config);
  if (!opened.ok())
    return opened.status();
  window.emplace(std::move(*opened));
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
    auto product = checkedMultiply(epochs, stream->batchesPerEpoch());
    if (!product)
      return inputError("train.epochs " + std::to_string(epochs) + " is too large");
    steps = *product;
  }
  // A plan compiled without its data cannot know how many steps its epochs have.
  const nlohmann::json *total = findSetting(session.spec(), "train.scheduler.params.total_steps");
  if (!total || *total == 0)
    executor.setScalar("train.scheduler.params.total_steps", static_cast<double>(steps));
  if (session.options().steps >= 0)
    steps = session.options().steps;
  return stream->checkSteps(steps);
}

TrainingPoint Trainer::pointAfter(int64_t number) const {
  // The order of a replay does not depend on how many rows it has.
  int64_t windows = stream->isReplay() ? 0 : stream->windowsPerEpoch();
  return {number, stream->position(), windows, log.get(), {}, evaluationDue};
}

/// Initial weights, or with --resume the newest checkpoint's state and place in the data.
Status Trainer::startOrResume() {
  if (Status status = session.startWeights(); !status.ok())
    return status;
  notes = session.notes();
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
      stream->seek({resumed->epoch, resumed->batch});
      return {};
    }
    notes.push_back("no checkpoint to resume from in '" + checkpoints->path() +
                    "': the run starts afresh");
    return session.startWeights(); // a checkpoint may have been half read
  }
  return {};
}

Status Trainer::openLogs() {
  std::string folder = session.text("log.dir");
  if (!folder.empty()) {
    folder = session.outputPath(folder);
    if (Status status = makeFolders(folder); !status.ok())
      return status;
    RunInfo info;
    info.spec = session.spec();
    info.planHash = session.planHash();
    info.isa = executor.isa();
    info.threads = executor.threads();
    info.versions = {{"dsrun", session.options().version}, {"compiler", session.compiler()}};
    if (Status status = writeRunInfo(folder + "/run.json", info); !status.ok())
      return status;
    logPath = folder + "/log.jsonl";
  }
  if (!session.options().log.empty())
    logPath = session.options().log;
  if (!logPath.empty()) {
    std::string note;
    auto created = resumed ? StepLog::resume(logPath, done, resumed->logBytes, note)
                           : StepLog::create(logPath);
    if (!created.ok())
      return created.status();
    log = std::move(*created);
    if (!note.empty())
      notes.push_back(note);
  }
  events = std::make_unique<EventLog>(EventLog::pathFor(logPath), /*anew=*/!resumed);
  if (resumed)
    events->write(done, "resumed", "from checkpoint step-" + std::to_string(done));
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
  auto result = evaluate(session, *validation, evaluateBatches);
  if (!result.ok())
    return result.status();
  evaluationDue = !result->complete;
  if (result->complete && result->tokens)
    record.evalLoss = result->loss;
  return {};
}

/// After a resumption: the evaluation that a signal had cut off.
Status Trainer::catchUp() {
  if (!resumed || !evaluationDue)
    return {};
  StepRecord record;
  if (Status status = evaluateAfter(done, record); !status.ok())
    return status;
  if (!record.evalLoss)
    return {};
  if (log)
    if (Status status = log->completeLast(*record.evalLoss); !status.ok())
      return status;
  progress->message("step " + printGrouped(done) + "  eval_loss " +
                    printFixed(*record.evalLoss, 4));
  TrainingPoint point = pointAfter(done);
  point.evalLoss = record.evalLoss;
  checkpoints->afterStep(point);
  return {};
}

Status Trainer::stopNotFinite(int64_t number) {
  double loss = window->loss(), norm = window->norm();
  std::string which = std::isfinite(loss) ? "the gradient norm is " + printShortest(norm)
                                          : "the loss is " + printShortest(loss);
  // Save first: what follows is for the message only.
  Status saved = session.save(updates() > 0);
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

Status Trainer::step(int64_t number) {
  auto begin = Clock::now();
  StepRecord record;
  if (Status status = stream->next(window->tokens(), window->labels(), record.tokens); !status.ok())
    return status;
  Outcome outcome = window->run();
  double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  if (outcome == Outcome::NotFinite)
    return stopNotFinite(number);
  record.step = number;
  record.updates = updates();
  record.learningRate = window->learningRate();
  record.lossScale = window->lossScale();
  record.stepMs = seconds * 1e3;
  record.tokensPerSecond = static_cast<double>(record.tokens) / seconds;
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
  if (log)
    if (Status status = log->write(record); !status.ok())
      return status;
  progress->step(record);
  done = number;
  if (checkpoints) {
    TrainingPoint point = pointAfter(number);
    point.evalLoss = record.evalLoss;
    checkpoints->afterStep(point);
  }
  return {};
}

Status Trainer::finish(Status status) {
  progress->finish();
  // Asked once: a signal that comes while the end is being saved finds a run that is done.
  bool interrupted = interruptSignal() != 0;
  // A numeric stop has saved already; so has nothing to do with how the run ended.
  if (checkpoints && !status.ok())
    checkpoints->drain();
  if (status.code() == ErrorCode::Numeric)
    return status;
  Status kept;
  if (checkpoints && status.ok())
    kept = checkpoints->finish(pointAfter(done), interrupted);
  Status saved = session.save(updates() > 0);
  if (!status.ok())
    return status;
  if (log && saved.ok())
    if (Status synced = log->sync(); !synced.ok())
      saved = damagedError(synced.message());
  if (!saved.ok())
    return saved;
  if (!kept.ok())
    return kept;
  double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  std::printf("%s after %s updates in %s\n", interrupted ? "stopped by a signal" : "done",
              printGrouped(updates()).c_str(), printDuration(seconds).c_str());
  for (const std::string &folder : session.saveFolders())
    std::printf("weights: %s\n", folder.c_str());
  if (session.saveFolders().empty())
    std::printf("weights are not kept: the plan has no checkpoint.dir, and --save=DIR is absent\n");
  if (!logPath.empty())
    std::printf("log: %s\n", logPath.c_str());
  return {};
}

Status Trainer::run() {
  if (Status status = open(); !status.ok())
    return status;
  if (Status status = decideSteps(); !status.ok())
    return status;
  auto opened = Checkpointing::open(session);
  if (!opened.ok())
    return opened.status();
  checkpoints = std::move(*opened);
  if (Status status = startOrResume(); !status.ok())
    return status;
  if (Status status = openLogs(); !status.ok())
    return status;
  if (checkpoints && !resumed && steps > 0)
    if (Status status = checkpoints->startAfresh(notes); !status.ok())
      return status;
  std::printf("plan %s for %s, %d thread%s, %s tokens a step, %s steps\n",
              session.planHash().c_str(), executor.isa().c_str(), executor.threads(),
              executor.threads() == 1 ? "" : "s", printGrouped(config.batch * config.seq).c_str(),
              printGrouped(steps).c_str());
  for (const std::string &note : notes)
    std::printf("note: %s\n", note.c_str());
  if (resumed)
    std::printf("resumed after step %s\n", printGrouped(done).c_str());
  std::fflush(stdout);
  progress = std::make_unique<Progress>(stdout, steps, session.integer("log.every", 10));
  if (checkpoints)
    checkpoints->onNote([this](const std::string &line) { progress->message(line); }, *events);
  start = Clock::now();
  Status status = catchUp();
  for (int64_t number = done + 1; number <= steps && status.ok() && !interruptSignal(); ++number)
    status = step(number);
  return finish(std::move(status));
}

Status dsc::train(Session &session) { return Trainer(session).run(); }

Status dsc::evaluateOnly(Session &session) {
  auto config = session.dataConfig();
  if (!config.ok())
    return config.status();
  if (Status status = session.checkFiles(false); !status.ok())
    return status;
  auto stream = EvaluationStream::open(*config);
  if (!stream.ok())
    return stream.status();
  if (!*stream)
    return inputError("the plan has no validation data: give data.validation or "
                      "data.validation_fraction and compile again");
  if (Status status = session.finalWeights(); !status.ok())
    return status;
  auto result = evaluate(session, **stream, session.integer("evaluation.batches"));
  if (!result.ok())
    return result.status();
  if (!result->complete)
    return {};
  if (!result->tokens)
    return inputError("the validation data has no token that counts");
  if (!std::isfinite(result->loss))
    return {ErrorCode::Numeric, "the loss is " + printShortest(result->loss)};
  std::printf("loss %s nats a token, perplexity %s, over %s tokens in %s batches\n",
              print17(result->loss).c_str(), printFixed(std::exp(result->loss), 3).c_str(),
              printGrouped(result->tokens).c_str(), printGrouped(result->batches).c_str());
  return {};
}
