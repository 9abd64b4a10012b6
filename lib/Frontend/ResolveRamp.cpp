//===- ResolveRamp.cpp - `train.batch_ramp` --------------------------------===//
// Every size on the way is a whole number of micro-batches, and the last is the whole batch.
#include "ResolverAccess.h"
#include <algorithm>

using namespace dsc;

/// "4 and 8": the multiples of `unit` below and above `value` that lie in [unit, most] and, where
/// `whole` is given, divide it.
static std::string nearestMultiples(int64_t value, int64_t unit, int64_t most, int64_t whole = 0) {
  auto legal = [&](int64_t number) { return !whole || whole % number == 0; };
  int64_t below = std::min(value / unit * unit, most / unit * unit);
  int64_t above = std::max(unit, (value / unit + 1) * unit);
  while (below >= unit && !legal(below))
    below -= unit;
  while (above <= most && !legal(above))
    above += unit;
  std::string text = below >= unit ? std::to_string(below) : "";
  if (above <= most)
    text += (text.empty() ? "" : " and ") + std::to_string(above);
  return text;
}

void Resolver::resolveRamp() {
  const JsonNode *node = find("train.batch_ramp");
  if (!node || !node->is(JsonNode::Kind::Object))
    return;
  Resolved<int64_t> start = integer("train.batch_ramp.start"),
                    increment = integer("train.batch_ramp.increment"),
                    samples = integer("train.batch_ramp.samples");
  if (hasReplay) {
    errors
        .error(node->where, "'train.batch_ramp' does not go with a replay file, whose rows say "
                            "what each step holds")
        .fix("remove it, and give \"labels\" that are -100 in the sequences that are not to count");
    return;
  }
  // One that is absent has its error already.
  for (const Resolved<int64_t> *value : {&start, &increment, &samples})
    if (!value->given)
      return;
  if (batch.broken)
    return;
  spec.train.ramp = {start.value, increment.value, samples.value};
  int64_t full = batch.value, micro = spec.train.microBatch;
  std::string micros = "train_micro_batch_size_per_gpu " + std::to_string(micro);
  if (micro >= full) {
    errors
        .error(node->where, "'train.batch_ramp' has no way to grow: a batch grows by whole "
                            "micro-batches, and " +
                                micros + " is all of " + shown("train_batch_size", batch))
        .fix("remove it, or give a smaller 'train_micro_batch_size_per_gpu'");
    return;
  }
  if (start.value >= full) {
    errors
        .error(start.where, "'train.batch_ramp.start' is " + std::to_string(start.value) +
                                ", which is not below " + shown("train_batch_size", batch))
        .fix("a start of at most " + std::to_string(full - micro));
    return;
  }
  if (start.value % micro) {
    errors
        .error(start.where, "'train.batch_ramp.start' is " + std::to_string(start.value) +
                                ", which is not a multiple of " + micros)
        .fix("the nearest: " + nearestMultiples(start.value, micro, full - micro));
    return;
  }
  int64_t rise = full - start.value;
  std::string way = "train_batch_size " + std::to_string(full) + " - start " +
                    std::to_string(start.value) + " = " + std::to_string(rise);
  if (increment.value % micro || rise % increment.value)
    errors
        .error(increment.where,
               "'train.batch_ramp.increment' is " + std::to_string(increment.value) +
                   (increment.value % micro ? ", which is not a multiple of " + micros
                                            : ", which does not divide " + way))
        .note(increment.value % micro ? "it has to divide " + way
                                      : "it has to be a multiple of " + micros)
        .fix("the nearest: " + nearestMultiples(increment.value, micro, rise, rise));
}
