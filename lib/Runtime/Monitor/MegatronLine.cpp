//===- MegatronLine.cpp - the console line that Megatron-LM prints -----------===//
// Same fields, order and widths, so that what reads its logs reads ours.
#include "dsc/Runtime/Monitor/Evaluation.h"
#include "dsc/Runtime/Monitor/Progress.h"

using namespace dsc;

template <typename... T> static std::string format(const char *pattern, T... values) {
  char text[128];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

std::string dsc::megatronLine(const StepRecord &record, int64_t steps, const std::string &time) {
  auto count = [](int64_t n) { return static_cast<long long>(n); };
  bool skipped = !record.skipped.empty();
  std::string line = " [" + time + "]";
  line += format(" iteration %8lld/%8lld |", count(record.step), count(steps));
  line += format(" consumed samples: %12lld |", count(record.consumedSamples));
  line += format(" elapsed time per iteration (ms): %.1f |", record.stepMs);
  line += format(" learning rate: %.6E |", record.learningRate);
  line += format(" global batch size: %5lld |", count(record.samples));
  if (!skipped)
    line += format(" lm loss: %.6E |", record.loss);
  line += format(" loss scale: %.1f |", record.lossScale.value_or(1));
  if (record.gradNorm)
    line += format(" grad norm: %.3f |", *record.gradNorm);
  line += format(" number of skipped iterations: %3d |", skipped ? 1 : 0);
  // A run ends at the first loss that is not finite, unless the step is skipped for it.
  return line + " number of nan iterations:   0 |\n";
}

std::string dsc::megatronEvaluation(const StepRecord &record) {
  if (!record.evalLoss)
    return {};
  std::string line =
      format(" validation loss at iteration %lld | ", static_cast<long long>(record.step)) +
      format("lm loss value: %.6E | ", *record.evalLoss) +
      format("lm loss PPL: %.6E | ", perplexityOf(*record.evalLoss));
  std::string rule(line.size() + 1, '-');
  return rule + "\n" + line + "\n" + rule + "\n";
}
