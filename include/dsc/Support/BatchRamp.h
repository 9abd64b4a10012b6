//===- BatchRamp.h - how many sequences each step has ----------------------===//
// Megatron-LM's --rampup-batch-size, as a pure function of the step's number:
//   increments = (full - start) / increment
//   size(n)    = start + increment * min(increments, floor(consumed(n) * increments / samples))
//   consumed(n) = size(1) + ... + size(n - 1)
// Sizes are nominal: an epoch that ends within a batch counts as a whole one. Megatron divides in
// floating point; here the quotient is exact.
#ifndef DSC_SUPPORT_BATCHRAMP_H
#define DSC_SUPPORT_BATCHRAMP_H

#include <cstdint>
#include <optional>
#include <vector>

namespace dsc {

/// `start` 0: no ramp.
struct BatchRampSettings {
  int64_t start = 0, increment = 0; ///< sequences; multiples of the micro-batch
  int64_t samples = 0;              ///< sequences over which the size rises

  /// Whether this is a ramp from below `full` up to it in whole micro-batches.
  bool fits(int64_t full, int64_t microBatch) const;
};

class BatchRamp {
public:
  /// `settings` fit `full`, or are no ramp: then every step has `full` sequences.
  explicit BatchRamp(int64_t full, const BatchRampSettings &settings = {});

  /// Of step `number`, from 1.
  int64_t size(int64_t number) const;
  /// Sequences of all steps before `number`; saturates.
  int64_t consumed(int64_t number) const;
  /// The first step that has `full`.
  int64_t fullFrom() const { return phases.back().step; }
  bool ramps() const { return phases.size() > 1; }

  /// Steps that `epochs` of `rows` sequences take, no step spanning two epochs; nothing where they
  /// are more than a number holds.
  std::optional<int64_t> stepsOf(int64_t epochs, int64_t rows) const;

private:
  /// From `step` on, when `consumed` have gone by, every step has `size`.
  struct Phase {
    int64_t step, size, consumed;
  };
  const Phase &phaseOf(int64_t number) const;

  std::vector<Phase> phases;
};

} // namespace dsc

#endif // DSC_SUPPORT_BATCHRAMP_H
