//===- ResolveRamp.cpp - `train.batch_ramp` --------------------------------===//
// Every size on the way is a whole number of micro-batches, the same on each rank of the data axis,
// and the last is the whole batch.
#include "NearestNumbers.h"
#include "ResolverAccess.h"

using namespace dsc;

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
  int64_t full = batch.value, unit = micro.value * data.value;
  std::string micros = "train_micro_batch_size_per_gpu " + std::to_string(micro.value);
  if (data.value > 1)
    micros += " × " + shown("parallel.data", data) + " = " + std::to_string(unit);
  if (unit >= full) {
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
        .fix("a start of at most " + std::to_string(full - unit));
    return;
  }
  if (start.value % unit) {
    errors
        .error(start.where, "'train.batch_ramp.start' is " + std::to_string(start.value) +
                                ", which is not a multiple of " + micros)
        .fix("the nearest: " + nearestMultiples(start.value, unit, full - unit));
    return;
  }
  int64_t rise = full - start.value;
  std::string way = "train_batch_size " + std::to_string(full) + " - start " +
                    std::to_string(start.value) + " = " + std::to_string(rise);
  if (increment.value % unit || rise % increment.value)
    errors
        .error(increment.where,
               "'train.batch_ramp.increment' is " + std::to_string(increment.value) +
                   (increment.value % unit ? ", which is not a multiple of " + micros
                                           : ", which does not divide " + way))
        .note(increment.value % unit ? "it has to divide " + way
                                     : "it has to be a multiple of " + micros)
        .fix("the nearest: " + nearestMultiples(increment.value, unit, rise, rise));
}
