//===- Run.cpp - a training run in float64 ---------------------------------===//
#include "Run.h"
#include "dsc/Dialect/DS/DS.h"
#include "dsc/Plan/Plan.h"
#include "dsc/Runtime/Checkpoint/Initializer.h"
#include "dsc/Runtime/Monitor/Progress.h"
#include "dsc/Runtime/Monitor/StepLog.h"
#include "dsc/Support/Numbers.h"
#include <chrono>
#include <cmath>
#include <csignal>

using namespace dsc;
using reference::Outcome;
using reference::Tensor;
using Clock = std::chrono::steady_clock;

static volatile std::sig_atomic_t caught = 0;

static void noteSignal(int signal) {
  if (caught) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  caught = signal;
}

void dsc::noteSignals() {
  std::signal(SIGINT, noteSignal);
  std::signal(SIGTERM, noteSignal);
}

int dsc::signalCaught() { return caught; }

static double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// A failure whose cause the interpreter has printed.
static Status interpreterFailed() {
  return {ErrorCode::Internal, "the interpreter failed, see the message above"};
}

static Tensor idTensor(int64_t batch, int64_t length, const std::vector<int32_t> &ids) {
  return {{batch, length}, std::vector<double>(ids.begin(), ids.end())};
}

std::vector<std::string> ReferenceRun::parameters() {
  std::vector<std::string> names;
  for (auto variable : module.getOps<ds::VariableOp>())
    if (variable.getRole() == ds::Role::Parameter)
      names.push_back(variable.getSymName().str());
  return names;
}

int64_t ReferenceRun::updates() const {
  auto found = interpreter.variables.find("updates");
  return found == interpreter.variables.end() ? 0 : static_cast<int64_t>(found->second->item());
}

void ReferenceRun::initialise() {
  for (auto variable : module.getOps<ds::VariableOp>()) {
    if (variable.getInitializer() != ds::Initializer::Normal)
      continue; // the interpreter has set zeros and ones
    Tensor tensor = Tensor::filled(reference::shapeOf(variable.getType()), 0);
    fillNormal(spec.initSeed, variable.getSymName().str(), variable.getStddev().convertToDouble(),
               0, tensor.count(), tensor.values.data());
    interpreter.variables[variable.getSymName().str()] =
        std::make_shared<Tensor>(std::move(tensor));
  }
  refreshWorkingCopies();
}

void ReferenceRun::refreshWorkingCopies() {
  for (auto variable : module.getOps<ds::VariableOp>()) {
    if (variable.getRole() != ds::Role::WorkingCopy)
      continue;
    std::string name = variable.getSymName().str();
    Tensor tensor = *interpreter.variables[name.substr(plan::workingCopyPrefix.size())];
    reference::roundToType(tensor, variable.getType());
    interpreter.variables[name] = std::make_shared<Tensor>(std::move(tensor));
  }
}

Status ReferenceRun::load(const std::string &folder) {
  std::map<std::string, Tensor> loaded;
  std::vector<WeightBuffer> buffers;
  for (const std::string &name : parameters()) {
    Tensor &tensor = loaded[name] = *interpreter.variables[name];
    buffers.push_back({name, tensor.shape, SafeType::F64, tensor.values.data()});
  }
  auto result = loadHuggingFace(folder, buffers, &*spec.model.config);
  if (!result.ok())
    return result.status();
  source = std::move(*result);
  for (const std::string &note : source->notes)
    std::printf("note: %s\n", note.c_str());
  for (auto &[name, tensor] : loaded)
    interpreter.variables[name] = std::make_shared<Tensor>(std::move(tensor));
  refreshWorkingCopies();
  return {};
}

static std::string inFolder(const std::string &folder, const std::string &path) {
  return path.empty() || path.front() == '/' || folder.empty() ? path : folder + "/" + path;
}

Status ReferenceRun::startWeights(const std::string &fallback) {
  if (!options.weights.empty())
    return load(options.weights);
  if (!fallback.empty())
    return load(inFolder(spec.folder, fallback));
  initialise();
  return {};
}

Status ReferenceRun::save() {
  if (options.save.empty())
    return {};
  std::vector<ConstWeightBuffer> buffers;
  for (const std::string &name : parameters()) {
    const Tensor &tensor = *interpreter.variables[name];
    buffers.push_back({name, tensor.shape, SafeType::F64, tensor.values.data()});
  }
  SaveOptions saveOptions;
  saveOptions.type = SafeType::F64;
  saveOptions.source = source ? &*source : nullptr;
  return saveHuggingFace(options.save, *spec.model.config, buffers, saveOptions);
}

Status ReferenceRun::openData() {
  auto data = DataConfig::fromResolved(*spec.resolved, spec.folder);
  if (!data.ok())
    return data.status();
  config = std::move(*data);
  auto opened = EvaluationStream::open(config);
  if (!opened.ok())
    return opened.status();
  validation = std::move(*opened);
  return {};
}

StatusOr<std::optional<EvaluationSum>> ReferenceRun::validationLoss() {
  std::vector<int32_t> tokens(config.microBatch * config.seq), labels(tokens.size()),
      positions(tokens.size());
  EvaluationSum sum(config.validationIsBytes());
  validationBatches = 0;
  validation->rewind();
  while (!spec.evaluation.batches || validationBatches < spec.evaluation.batches) {
    int64_t counted = 0;
    auto more = validation->next(tokens.data(), labels.data(), counted, positions.data());
    if (!more.ok())
      return more.status();
    if (!*more)
      break;
    ++validationBatches;
    if (counted == 0)
      continue;
    std::vector<Tensor> inputs = {idTensor(config.microBatch, config.seq, tokens),
                                  idTensor(config.microBatch, config.seq, labels)};
    if (config.packDocuments)
      inputs.push_back(idTensor(config.microBatch, config.seq, positions));
    auto outcome = interpreter.run("evaluate", std::move(inputs));
    if (failed(outcome))
      return interpreterFailed();
    sum.see(labels);
    sum.add(outcome->reports["loss"].item(), counted);
    if (signalCaught())
      return std::optional<EvaluationSum>();
  }
  if (!sum.tokens())
    return std::optional<EvaluationSum>();
  return std::optional(sum);
}

Status ReferenceRun::stopNumeric(int64_t number, const Outcome &outcome) {
  double loss = outcome.reports.at("loss").item(), norm = outcome.reports.at("grad_norm").item();
  std::string message =
      "step " + std::to_string(number) + ": " +
      (std::isfinite(loss) ? "the gradient norm is " + printShortest(norm)
                           : "the loss is " + printShortest(loss)) +
      ", stopped before the update; first value that is not finite: " + outcome.firstNonFinite;
  if (Status saved = save(); !saved.ok())
    message += "\n" + saved.message();
  else if (!options.save.empty())
    message += "\nweights after the last good step are in " + options.save;
  return {ErrorCode::Numeric, message};
}

Status ReferenceRun::step(int64_t number, StepLog *log, Progress &progress) {
  auto start = Clock::now();
  StepRecord record;
  std::vector<int32_t> tokens(config.batch * config.seq), labels(tokens.size()),
      positions(tokens.size());
  record.samples = ramp->size(number);
  record.consumedSamples = ramp->consumed(number + 1);
  record.tokens = record.samples * config.seq;
  if (Status status = stream->next(tokens.data(), labels.data(), record.countedTokens,
                                   positions.data(), record.samples);
      !status.ok())
    return status;
  for (const StateChange &change : stateChanges)
    if (change.step == number)
      interpreter.variables[change.variable] =
          std::make_shared<Tensor>(Tensor::scalar(change.value));
  auto outcome = interpreter.runStep(idTensor(config.batch, config.seq, tokens),
                                     idTensor(config.batch, config.seq, labels),
                                     idTensor(config.batch, config.seq, positions));
  if (failed(outcome))
    return interpreterFailed();
  if (outcome->end == Outcome::End::Numeric)
    return stopNumeric(number, *outcome);
  double seconds = secondsSince(start);
  record.step = number;
  record.updates = updates();
  record.learningRate = outcome->reports["learning_rate"].item();
  if (auto scale = outcome->reports.find("loss_scale"); scale != outcome->reports.end())
    record.lossScale = scale->second.item();
  record.stepMs = seconds * 1e3;
  record.tokensPerSecond = static_cast<double>(record.countedTokens) / seconds;
  if (outcome->end == Outcome::End::Empty) {
    record.skipped = "empty";
  } else {
    record.loss = outcome->reports["loss"].item();
    if (outcome->end == Outcome::End::Overflow)
      record.skipped = "overflow";
    else
      record.gradNorm = outcome->reports["grad_norm"].item();
  }
  int64_t every = spec.evaluation.every;
  bool due = number == steps || (every > 0 && number % every == 0);
  if (validation && due && !signalCaught()) {
    auto loss = validationLoss();
    if (!loss.ok())
      return loss.status();
    if (*loss) {
      record.evalLoss = (*loss)->loss();
      record.evalBitsPerByte = (*loss)->bitsPerByte();
      stopping.note(number, *record.evalLoss);
    }
  }
  if (log)
    if (Status status = log->step(record); !status.ok())
      return status;
  progress.step(record);
  return {};
}

Status ReferenceRun::readStateChanges() {
  std::vector<std::string> names;
  for (auto variable : module.getOps<ds::VariableOp>())
    if ((variable.getRole() == ds::Role::StepState || variable.getRole() == ds::Role::Counter) &&
        reference::shapeOf(variable.getType()).empty())
      names.push_back(variable.getSymName().str());
  auto changes = parseStateChanges(options.setState, names, steps);
  if (!changes.ok())
    return changes.status();
  stateChanges = std::move(*changes);
  return {};
}

Status ReferenceRun::train() {
  if (Status status = openData(); !status.ok())
    return status;
  auto opened = BatchStream::open(config);
  if (!opened.ok())
    return opened.status();
  stream = std::move(*opened);
  ramp.emplace(config.batch, config.ramp);
  steps = spec.train.steps;
  if (steps <= 0) {
    auto count = ramp->stepsOf(spec.train.epochs, stream->windowsPerEpoch());
    if (!count)
      return inputError("train.epochs " + std::to_string(spec.train.epochs) + " is too large");
    steps = *count;
  }
  // Unknown to a spec whose length is given in epochs.
  double &total = interpreter.hyperparameters["train.scheduler.params.total_steps"];
  if (total == 0)
    total = static_cast<double>(steps);
  if (options.steps >= 0)
    steps = options.steps;
  if (Status status = stream->checkSteps(steps); !status.ok())
    return status;
  if (Status status = readStateChanges(); !status.ok())
    return status;
  if (Status status = startWeights(spec.initFrom.value_or("")); !status.ok())
    return status;
  std::unique_ptr<StepLog> log;
  if (!options.log.empty()) {
    auto created = StepLog::create(options.log);
    if (!created.ok())
      return created.status();
    log = std::move(*created);
  }
  auto start = Clock::now();
  Status status;
  stopping = EarlyStopping(spec.evaluation.patience, spec.evaluation.minDelta);
  int64_t done = 0;
  {
    Progress progress(stdout, steps, spec.logEvery);
    for (; done < steps && status.ok() && !signalCaught() && !stopping.stop(); ++done)
      status = step(done + 1, log.get(), progress);
  }
  if (status.code() == ErrorCode::Numeric)
    return status; // has saved
  Status saved = save();
  if (!status.ok() || !saved.ok())
    return status.ok() ? saved : status;
  if (stopping.stop() && done < steps)
    std::printf("stopped early: %s\n", stopping.reason().c_str());
  std::printf("%s after %lld updates in %s, at most %s MB of values at once\n",
              signalCaught() ? "stopped by a signal" : "done", (long long)updates(),
              printDuration(secondsSince(start)).c_str(),
              printFixed(static_cast<double>(interpreter.peakBytes()) / 1e6, 1).c_str());
  if (!options.save.empty())
    std::printf("weights: %s\n", options.save.c_str());
  if (!options.log.empty())
    std::printf("log: %s\n", options.log.c_str());
  return {};
}

Status ReferenceRun::evaluate() {
  if (Status status = openData(); !status.ok())
    return status;
  if (!validation)
    return inputError("the spec has no validation data: give data.validation or "
                      "data.validation_fraction");
  std::string final = spec.checkpointDir.empty() ? "" : spec.checkpointDir + "/final";
  if (final.empty() && options.weights.empty())
    return inputError("there are no weights to evaluate: give --weights=DIR, or checkpoint.dir");
  if (Status status = startWeights(final); !status.ok())
    return status;
  auto loss = validationLoss();
  if (!loss.ok())
    return loss.status();
  if (signalCaught())
    return {};
  if (!loss->has_value())
    return inputError("the validation data has no token that counts");
  double mean = (*loss)->loss();
  if (!std::isfinite(mean))
    return {ErrorCode::Numeric, "the loss is " + printShortest(mean)};
  std::string bits;
  if (auto perByte = (*loss)->bitsPerByte())
    bits = ", " + printFixed(*perByte, 4) + " bits a byte";
  std::printf("loss %s nats a token, perplexity %s%s, over %s tokens in %s batches\n",
              print17(mean).c_str(), printFixed(perplexityOf(mean), 3).c_str(), bits.c_str(),
              printGrouped((*loss)->tokens()).c_str(), printGrouped(validationBatches).c_str());
  return {};
}
