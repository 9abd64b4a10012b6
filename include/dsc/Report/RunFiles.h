//===- RunFiles.h - what a run left behind ----------------------------------===//
// Files of another program, perhaps being written this moment: nothing is taken for granted. The
// last line of a log may be half there; any other line that is not as it should be is an error with
// its place.
#ifndef DSC_REPORT_RUNFILES_H
#define DSC_REPORT_RUNFILES_H

#include "dsc/Support/Json.h"
#include "dsc/Support/Status.h"
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace dsc::report {

/// Values by step, in order.
using Series = std::vector<std::pair<int64_t, double>>;

struct RunEvent {
  int64_t step;
  std::string event, message;
};

/// A folder of docs/Watching.md, read.
struct Run {
  std::string path; ///< as given
  std::string name; ///< short, for legends; distinct between the runs of a page
  /// By the key of the log: loss, grad_norm, learning_rate, loss_scale, eval_loss,
  /// eval_perplexity, eval_bits_per_byte, tokens_per_second; and resident_bytes, peak_bytes. What
  /// is null or absent is left out.
  std::map<std::string, Series> series;
  std::vector<std::pair<int64_t, std::string>> skipped; ///< step and why
  std::vector<int64_t> checkpoints, resumed;            ///< steps, in order
  std::vector<RunEvent> events;                         ///< but saved checkpoints
  int64_t firstStep = 0, steps = 0, updates = 0, countedTokens = 0;
  double seconds = 0; ///< of all steps, without evaluation and saving
  /// What run.json says, flat: "plan", "threads", ..., then paths of the spec.
  std::map<std::string, std::string> settings;
  std::vector<std::string> notes; ///< what was passed over
};

/// `path`: a folder with log.jsonl, or a log itself. Code Input: absent, no step, a damaged line
/// (file, line, column, the text with a caret).
StatusOr<Run> readRun(const std::string &path);

/// All of them; errors of all runs in one status. Gives names: the last part of the path, more of
/// it where two would be the same or it is only "log".
StatusOr<std::vector<Run>> readRuns(const std::vector<std::string> &paths);

/// A setting of at least one of several runs.
struct SettingRow {
  std::string key;
  std::vector<std::string> values; ///< of each run; empty: absent
  bool differs;
};
/// In the order of keys. What a run writes of itself (log.*, checkpoint.dir) is no difference
/// between runs.
std::vector<SettingRow> compareSettings(const std::vector<Run> &runs);

/// At most some `most` points, so that a page stays light: of each stretch the first with the
/// least and the first with the greatest value, in order, and both ends. Short series stay whole.
Series thin(const Series &series, size_t most = 3000);

/// The middle value; 0 for none.
double median(const Series &series);

} // namespace dsc::report

#endif // DSC_REPORT_RUNFILES_H
