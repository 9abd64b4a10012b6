//===- TensorBoard.h - event files that TensorBoard reads -------------------===//
// A file is a row of records; a record is one Event, a protobuf message:
//   u64 length, u32 masked CRC-32C of those 8 bytes, data, u32 masked CRC-32C of the data
// all little endian. Fields written (numbers as in TensorBoard's event.proto and summary.proto):
//   Event: wall_time 1 (double, seconds), step 2 (varint), file_version 3, summary 5, session_log 7
//   Summary: value 1 (repeated); Summary.Value: tag 1, simple_value 2 (float)
//   SessionLog: status 1 (1: START)
#ifndef DSC_RUNTIME_MONITOR_TENSORBOARD_H
#define DSC_RUNTIME_MONITOR_TENSORBOARD_H

#include "dsc/Runtime/Monitor/Cadence.h"
#include <functional>
#include <span>
#include <utility>

namespace dsc {

namespace tensorboard {
/// A record around `data`.
std::string record(std::string_view data);
/// Events, without their records. `wallTime` in seconds.
std::string fileVersion(double wallTime);
/// Readers drop what they had of `step` and later: a run starts again there.
std::string sessionStart(double wallTime, int64_t step);
std::string scalars(double wallTime, int64_t step,
                    std::span<const std::pair<std::string, double>> values);
} // namespace tensorboard

/// Writes the steps that are shown: train/loss, train/learning_rate, train/grad_norm,
/// train/loss_scale, train/tokens_per_second, eval/loss, eval/perplexity, eval/bits_per_byte,
/// memory/resident_bytes, memory/peak_bytes. One event a step, in one write, so that a reader
/// beside it finds whole records at any time.
class TensorBoardLog : public StepSink {
public:
  /// Opens a new file in `folder`, events.out.tfevents.<seconds>.dsc: its number is above those of
  /// the files that are there, since readers go by their order. `firstStep`: the first that this
  /// start will write; what earlier files say of it and later is void. Code Input.
  static StatusOr<std::unique_ptr<TensorBoardLog>> open(const std::string &folder,
                                                        int64_t firstStep, Cadence cadence,
                                                        std::function<double()> clock = {});

  Status step(const StepRecord &record) override;
  Status evaluated(const StepRecord &record) override;
  const std::string &path() const { return file->path(); }

private:
  TensorBoardLog(std::unique_ptr<AppendFile> file, Cadence cadence, std::function<double()> clock)
      : file(std::move(file)), cadence(cadence), clock(std::move(clock)) {}

  std::unique_ptr<AppendFile> file;
  Cadence cadence;
  std::function<double()> clock;
};

} // namespace dsc

#endif // DSC_RUNTIME_MONITOR_TENSORBOARD_H
