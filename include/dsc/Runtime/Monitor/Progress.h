//===- Progress.h - what a person sees while training ----------------------===//
#ifndef DSC_RUNTIME_MONITOR_PROGRESS_H
#define DSC_RUNTIME_MONITOR_PROGRESS_H

#include "dsc/Runtime/Monitor/StepLog.h"
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <optional>
#include <string>

namespace dsc {

/// How the console speaks.
struct ConsoleStyle {
  bool megatron = false; ///< lines as Megatron-LM prints them, one for every step
};

/// On a terminal: one line redrawn in place (bar, step, loss, tokens/s, time left). Elsewhere: a
/// plain line every `every` steps and for the last, and for each evaluation. Calls from several
/// threads are fine.
class Progress {
public:
  /// `steps`: 0 when unknown. `terminal`: absent asks the stream.
  Progress(std::FILE *out, int64_t steps, int64_t every, std::optional<bool> terminal = {},
           ConsoleStyle style = {});
  ~Progress();

  void step(const StepRecord &record);
  /// Prints a line of its own, above the bar.
  void message(const std::string &line);
  /// Leaves the bar's last state and ends its line. Called by the destructor too.
  void finish();

private:
  void draw();
  void erase();

  std::FILE *out;
  int64_t steps, every;
  ConsoleStyle style;
  bool terminal, drawn = false, finished = false;
  std::mutex mutex;
  std::optional<StepRecord> last;
  std::optional<double> lastEvalLoss;
  double speed = 0; ///< tokens/s, smoothed
  int64_t firstStep = 0;
  std::chrono::steady_clock::time_point start, lastDraw;
};

/// The bar's text (no control characters) in at most `width` columns: exposed for tests.
std::string progressText(const StepRecord &record, int64_t steps, double tokensPerSecond,
                         double secondsLeft, std::optional<double> evalLoss, int width);

/// The line that Megatron-LM prints of a step, fields in its order, with its line feed; and those
/// of an evaluation, where the record has one. `time`: "2026-01-31 12:00:00". A skipped step has no
/// loss and no norm; without loss scaling the scale is 1.
std::string megatronLine(const StepRecord &record, int64_t steps, const std::string &time);
std::string megatronEvaluation(const StepRecord &record);

/// 59 s, 2:05, 1:02:03.
std::string printDuration(double seconds);

} // namespace dsc

#endif // DSC_RUNTIME_MONITOR_PROGRESS_H
