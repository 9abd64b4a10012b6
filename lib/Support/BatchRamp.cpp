//===- BatchRamp.cpp - how many sequences each step has --------------------===//
#include "dsc/Support/BatchRamp.h"
#include "dsc/Support/Fault.h"
#include "dsc/Support/Numbers.h"
#include <algorithm>
#include <limits>

using namespace dsc;

static constexpr int64_t most = std::numeric_limits<int64_t>::max();

bool BatchRampSettings::fits(int64_t full, int64_t microBatch) const {
  return microBatch > 0 && start > 0 && increment > 0 && samples > 0 && start < full &&
         start % microBatch == 0 && increment % microBatch == 0 && (full - start) % increment == 0;
}

BatchRamp::BatchRamp(int64_t full, const BatchRampSettings &settings) {
  int64_t step = 1, consumed = 0;
  int64_t increments = settings.start ? (full - settings.start) / settings.increment : 0;
  for (int64_t done = 0; done < increments;) {
    int64_t size = settings.start + settings.increment * done;
    phases.push_back({step, size, consumed});
    // The least that is enough for one increment more: ceil((done + 1) * samples / increments).
    __int128 enough =
        (static_cast<__int128>(done + 1) * settings.samples + increments - 1) / increments;
    auto steps = static_cast<int64_t>((enough - consumed + size - 1) / size);
    step += steps;
    consumed += steps * size;
    __int128 reached = static_cast<__int128>(consumed) * increments / settings.samples;
    done = static_cast<int64_t>(std::min<__int128>(reached, increments));
  }
  phases.push_back({step, full, consumed});
}

const BatchRamp::Phase &BatchRamp::phaseOf(int64_t number) const {
  auto next = std::upper_bound(phases.begin(), phases.end(), number,
                               [](int64_t n, const Phase &phase) { return n < phase.step; });
  return next == phases.begin() ? *next : *std::prev(next);
}

int64_t BatchRamp::size(int64_t number) const {
  return phaseOf(DSC_FAULT(98, number, number - 1)).size;
}

int64_t BatchRamp::consumed(int64_t number) const {
  const Phase &phase = phaseOf(number);
  __int128 total = static_cast<__int128>(number - phase.step) * phase.size + phase.consumed;
  return static_cast<int64_t>(std::clamp<__int128>(total, 0, most));
}

std::optional<int64_t> BatchRamp::stepsOf(int64_t epochs, int64_t rows) const {
  if (epochs < 1 || rows < 1)
    return 0;
  int64_t steps = 0, epoch = 0, row = 0;
  for (size_t i = 0; i < phases.size() && epoch < epochs; ++i) {
    int64_t left = i + 1 < phases.size() ? phases[i + 1].step - phases[i].step : most;
    int64_t size = phases[i].size;
    auto stepsFrom = [&](int64_t row) { return (rows - row - 1) / size + 1; }; // to the epoch's end
    while (left > 0 && epoch < epochs) {
      int64_t whole = row ? 0 : std::min(left / stepsFrom(0), epochs - epoch);
      int64_t taken = whole ? whole * stepsFrom(0) : std::min(left, stepsFrom(row));
      if (taken > most - steps)
        return std::nullopt;
      steps += taken;
      left -= taken;
      epoch += whole;
      if (whole)
        continue;
      if (taken == stepsFrom(row)) {
        ++epoch;
        row = 0;
      } else {
        row += taken * size;
      }
    }
  }
  // More would have overflowed before: `left` of the last phase is the greatest number there is.
  return epoch < epochs ? std::nullopt : std::optional(steps);
}
