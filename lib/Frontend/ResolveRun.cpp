//===- ResolveRun.cpp - `evaluation`, `checkpoint`, `log` ------------------===//
#include "ResolverAccess.h"

using namespace dsc;

void Resolver::resolveCheckpoint(bool hasValidation) {
  spec.checkpointDir = text("checkpoint.dir").value;
  Resolved<int64_t> every = integer("checkpoint.every");
  integer("checkpoint.keep");
  Resolved<bool> best = boolean("checkpoint.keep_best");
  boolean("checkpoint.async");
  if (every.given && every.value > 0 && spec.checkpointDir.empty())
    errors
        .error(every.where, "'checkpoint.every' is " + std::to_string(every.value) +
                                ", but there is no folder to save to")
        .fix("add \"dir\": \"FOLDER\" to 'checkpoint'");
  if (best.given && best.value && !hasValidation)
    errors
        .error(best.where, "'checkpoint.keep_best' is true, but there is no validation data to "
                           "tell which checkpoint is best")
        .fix("add \"validation\": [{\"path\": \"FILE\"}] or \"validation_fraction\": 0.05 to "
             "'data'");
}

void Resolver::resolveRun() {
  EvaluationSpec &e = spec.evaluation;
  Resolved<int64_t> every = integer("evaluation.every");
  e.every = every.value;
  const JsonNode *node;
  Resolved<int64_t> batches = start<int64_t>("evaluation.batches", node);
  e.batches =
      batches.given && node->is(JsonNode::Kind::Integer) ? static_cast<int64_t>(node->integer) : 0;
  record("evaluation.batches", e.batches, batches.origin + (e.batches == 0 ? " (all)" : ""));
  bool hasValidation = find("data.validation") || spec.data.validationFraction > 0;
  if (every.given && every.value > 0 && !hasValidation)
    errors
        .error(every.where, "'evaluation.every' is " + std::to_string(every.value) +
                                ", but there is no validation data")
        .fix("add \"validation\": [{\"path\": \"FILE\"}] or \"validation_fraction\": 0.05 to "
             "'data'");
  Resolved<int64_t> patience = integer("evaluation.patience");
  e.patience = patience.value;
  e.minDelta = number("evaluation.min_delta").value;
  if (patience.value > 0 && !patience.broken && !every.broken && every.value == 0)
    errors
        .error(patience.where, "'evaluation.patience' is " + std::to_string(patience.value) +
                                   ", but 'evaluation.every' is 0: there is one evaluation, after "
                                   "the last step")
        .fix("add \"every\": 100 to 'evaluation'");
  spec.generation.batch = integer("generation.batch").value;
  resolveCheckpoint(hasValidation);
  spec.logDir = text("log.dir").value;
  for (const char *key : {"log.csv", "log.tensorboard"})
    if (Resolved<bool> wanted = boolean(key); wanted.value && spec.logDir.empty())
      errors
          .error(wanted.where,
                 "'" + std::string(key) + "' is true, but there is no folder to write to")
          .fix("add \"dir\": \"FOLDER\" to 'log'");
  Resolved<int64_t> lines = integer("log.every"), older = integer("train.steps_per_print");
  if (!lines.given && !lines.broken && older.given)
    infer(lines, "log.every", older.value, "train.steps_per_print (" + older.origin + ")");
  records.erase("train.steps_per_print");
  spec.logEvery = lines.value;
}
