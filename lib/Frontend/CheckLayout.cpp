//===- CheckLayout.cpp - what a layout demands of the rest -----------------===//
#include "NearestNumbers.h"
#include "ResolverAccess.h"
#include <functional>

using namespace dsc;

static constexpr int64_t maxRanks = 1 << 16;

void Resolver::checkLayout() {
  const Layout &layout = spec.parallel.layout;
  __int128 ranks = __int128(layout.data) * layout.tensor * layout.context * layout.pipeline;
  if (ranks > maxRanks)
    errors
        .error(place("parallel"),
               "a grid of " + shown("parallel.pipeline", pipeline) + " × " +
                   shown("parallel.data", data) + " × " + shown("parallel.context", context) +
                   " × " + shown("parallel.tensor", tensor) + " has " + toString(ranks) + " ranks")
        .fix("at most " + std::to_string(maxRanks) + " ranks");
  checkHeads();
  checkPairs();
  if (ranks <= maxRanks && !batch.broken)
    checkMicroBatches();
}

/// What is dealt out within a sequence.
void Resolver::checkHeads() {
  const ParallelSpec &p = spec.parallel;
  if (!tensor.broken && !heads.broken && heads.value % tensor.value) {
    std::string legal;
    for (int64_t degree = 1; degree <= heads.value; ++degree)
      if (heads.value % degree == 0)
        legal += (legal.empty() ? "" : ", ") + std::to_string(degree);
    errors
        .error(tensor.where, "'parallel.tensor' is " + std::to_string(tensor.value) +
                                 ", which does not divide " + shown("n_head", heads) +
                                 ": each head is on one rank")
        .note("n_head " + std::to_string(heads.value) + " divides by " + legal)
        .fix("the nearest: " + nearestDivisors(tensor.value, heads.value));
  }
  Resolved<int64_t> length = sequence;
  length.value = spec.data.seqLength;
  if (length.broken || length.value < 1)
    return;
  if (!context.broken && context.value > 1 && length.value < 2 * context.value)
    errors
        .error(context.where, "'parallel.context' is " + std::to_string(context.value) +
                                  ", each with two parts of a sequence, but there are " +
                                  shown("seq_length", length) + " tokens for " +
                                  std::to_string(2 * context.value) + " parts")
        .fix((length.value < 4 ? std::string("write 1")
                               : "at most " + std::to_string(length.value / 2) + " ranks") +
             ", or sequences of at least " + std::to_string(2 * context.value) + " tokens");
  Location where = place("parallel.sequence_parallel");
  if (p.sequenceParallel && !tensor.broken && tensor.value == 1)
    warnings.error(where, "'parallel.sequence_parallel' has no effect: " +
                              shown("parallel.tensor", tensor));
  else if (p.sequenceParallel && length.value < tensor.value)
    errors
        .error(where, "'parallel.sequence_parallel' shares the positions of a sequence, but there "
                      "are " +
                          shown("seq_length", length) + " for " + shown("parallel.tensor", tensor) +
                          " ranks")
        .fix("sequences of at least " + std::to_string(tensor.value) + " tokens");
}

/// Values that do not go together, each pair with its reason and what to write instead.
void Resolver::checkPairs() {
  const ParallelSpec &p = spec.parallel;
  constexpr const char *zero = "train.zero_optimization.stage",
                       *compression = "parallel.compression", *local = "parallel.local_sgd",
                       *optimizer = "train.optimizer.type", *reproducible = "train.reproducible";
  bool adafactor = spec.train.optimizer == OptimizerKind::Adafactor;
  bool isAdam =
      spec.train.optimizer == OptimizerKind::Adam || spec.train.optimizer == OptimizerKind::AdamW;
  bool exact = spec.train.reproducible == Reproducible::Layout;
  bool shards = p.zeroStage > 0 && p.layout.data > 1, cut = p.layout.tensor > 1 && !tensor.broken;
  bool oneBit = p.compression == GradientCompression::OneBit;
  bool compresses = p.compression != GradientCompression::None;
  struct Pair {
    bool asked;
    const char *first, *second, *why, *fix;
  };
  const Pair pairs[] = {
      {shards && adafactor, zero, optimizer,
       "its second moment is means over rows and columns of a whole variable",
       "write \"stage\": 0, or an optimizer such as AdamW"},
      {cut && adafactor, "parallel.tensor", optimizer,
       "its second moment is means over rows and columns of a whole variable",
       "write \"tensor\": 1, or an optimizer such as AdamW"},
      {cut && spec.train.optimizer == OptimizerKind::Lamb, "parallel.tensor", optimizer,
       "its trust ratio has the norm of a whole variable",
       "write \"tensor\": 1, or an optimizer such as AdamW"},
      {compresses && exact, compression, reproducible,
       "rounding gradients on their way makes the result depend on the ranks",
       "write \"reproducible\": \"run\", or \"compression\": \"none\""},
      {p.localSgd > 0 && exact, local, reproducible,
       "ranks that update alone make the result depend on their number",
       "write \"reproducible\": \"run\", or \"local_sgd\": 0"},
      {p.localSgd > 0 && shards, local, zero,
       "ranks that update alone need the whole state of the optimizer",
       "write \"local_sgd\": 0, or \"stage\": 0"},
      {p.localSgd > 0 && compresses, local, compression, "no gradients travel",
       "write \"local_sgd\": 0, or \"compression\": \"none\""},
      {oneBit && !isAdam, compression, optimizer, "it is part of 1-bit Adam",
       "write \"half\", or the optimizer Adam or AdamW"},
      {oneBit && shards, compression, zero, "error feedback belongs to whole gradients",
       "write \"half\", or \"stage\": 0"},
      {oneBit && cut, compression, "parallel.tensor", "error feedback belongs to whole gradients",
       "write \"half\", or \"tensor\": 1"},
      {oneBit && p.layout.pipeline > 1, compression, "parallel.pipeline",
       "error feedback belongs to whole gradients", "write \"half\", or \"pipeline\": 1"},
  };
  auto value = [&](const char *path) {
    return "'" + std::string(path) + "' = " + records[path].value.dump();
  };
  for (const Pair &pair : pairs)
    if (pair.asked)
      errors
          .error(place(pair.first), value(pair.first) + " does not go with " + value(pair.second) +
                                        " (" + records[pair.second].origin + "): " + pair.why)
          .fix(pair.fix);
  if (p.zeroStage > 0 && data.value == 1 && !batch.broken)
    warnings.error(place(zero), value(zero) + " has no effect: " + shown("parallel.data", data));
}

/// The first size of a growing batch that gives each rank a number of micro-batches that is not
/// `legal`; 0: none does.
static int64_t firstWrongSize(const Spec &spec, const std::function<bool(int64_t)> &legal) {
  const BatchRampSettings &ramp = spec.train.ramp;
  int64_t unit = spec.train.microBatch * spec.parallel.layout.data;
  if (!ramp.fits(spec.train.batch, unit)) // none, or with an error already
    return 0;
  for (int64_t size = ramp.start; size < spec.train.batch; size += ramp.increment)
    if (!legal(size / unit))
      return size;
  return 0;
}

/// How many micro-batches a rank has, of every size that a batch has.
void Resolver::checkMicroBatches() {
  std::string sizes = shown("train_batch_size", batch) + ", " +
                      shown("train_micro_batch_size_per_gpu", micro) + ", " +
                      shown("parallel.data", data);
  int64_t count = spec.microBatches(), stages = pipeline.value;
  if (spec.parallel.interleave > 1 && !pipeline.broken)
    checkRounds(sizes);
  else if (count < stages && !pipeline.broken)
    warnings
        .error(pipeline.given ? pipeline.where : place("parallel.stages"),
               "'parallel.pipeline' is " + std::to_string(stages) + ", but a rank has " +
                   std::to_string(count) + (count == 1 ? " micro-batch" : " micro-batches") +
                   ": most of the time, most stages wait")
        .note(sizes)
        .fix("gradient_accumulation_steps of at least " + std::to_string(stages));
  if (spec.train.reproducible == Reproducible::Layout && data.value > 1)
    checkTree(sizes);
}

/// Interleaved schedules take as many micro-batches in turn as there are stages.
void Resolver::checkRounds(const std::string &sizes) {
  int64_t count = spec.microBatches(), stages = pipeline.value, unit = micro.value * data.value;
  auto legal = [&](int64_t n) { return n % stages == 0; };
  std::string rounds = "schedule \"interleaved\" takes micro-batches in rounds of " +
                       shown("parallel.pipeline", pipeline) + ", a rank has ";
  if (!legal(count))
    errors
        .error(accumulation.given ? accumulation.where : pipeline.where,
               rounds + std::to_string(count))
        .note(sizes)
        .fix("the nearest gradient_accumulation_steps: " +
             nearestMultiples(count, stages, INT32_MAX));
  else if (int64_t size = firstWrongSize(spec, legal))
    errors
        .error(place("train.batch_ramp"), rounds + std::to_string(size / unit) + " in steps of " +
                                              std::to_string(size) + " sequences")
        .fix("a start and an increment that are multiples of " + std::to_string(unit * stages));
}

/// Ranks add whole branches to the tree over all micro-batches, or are its lowest levels.
void Resolver::checkTree(const std::string &sizes) {
  auto legal = [](int64_t n) { return (n & (n - 1)) == 0; };
  std::string cause = " with 'train.reproducible' \"layout\" and " + shown("parallel.data", data);
  if (spec.parallel.zeroStage >= 2) {
    if (!legal(data.value))
      errors
          .error(data.given ? data.where : batch.where,
                 "ranks are not a power of two," + cause +
                     ", and ZeRO from stage 2 on: they are the lowest levels of the tree by which "
                     "gradients are added")
          .fix("the nearest: " + nearestPowersOfTwo(data.value));
    return;
  }
  int64_t count = spec.microBatches();
  std::string branch = ": those of a rank are a branch of the tree by which gradients are added";
  if (!legal(count))
    errors
        .error(accumulation.given ? accumulation.where : batch.where,
               "gradient_accumulation_steps " + std::to_string(count) + " is not a power of two," +
                   cause + branch)
        .note(sizes)
        .fix("the nearest: " + nearestPowersOfTwo(count) + ", or \"reproducible\": \"run\"");
  else if (int64_t size = firstWrongSize(spec, legal))
    errors
        .error(place("train.batch_ramp"), "steps of " + std::to_string(size) + " sequences have " +
                                              std::to_string(size / (micro.value * data.value)) +
                                              " micro-batches a rank, not a power of two," + cause +
                                              branch)
        .fix("write \"reproducible\": \"run\", or remove 'batch_ramp'");
}
