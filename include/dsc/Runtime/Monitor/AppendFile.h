//===- AppendFile.h - a file that grows while others read it ---------------===//
#ifndef DSC_RUNTIME_MONITOR_APPENDFILE_H
#define DSC_RUNTIME_MONITOR_APPENDFILE_H

#include "dsc/Support/Status.h"
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace dsc {

/// Each piece is handed to the system in one write before append() returns. While the disk is full
/// pieces wait in memory and are tried again with the next: a save that fills the disk, and gives
/// the space back when it fails, costs none. Calls from several threads are fine.
class AppendFile {
public:
  enum class Mode {
    Anew,    ///< what was there is gone
    New,     ///< there must be none: code Input otherwise
    Continue ///< at its end
  };
  /// Makes the folder if need be. `what` names the file in messages: "the log". Code Input.
  static StatusOr<std::unique_ptr<AppendFile>> open(const std::string &path, Mode mode,
                                                    const std::string &what);
  ~AppendFile();
  AppendFile(const AppendFile &) = delete;

  Status append(std::string_view piece);
  /// Shortens the file to `length` bytes; nothing may be waiting.
  Status cut(uint64_t length);
  /// Returns when everything is on the disk.
  Status sync();
  /// Bytes, those that wait included.
  uint64_t size() const {
    std::lock_guard lock(mutex);
    return length + waiting.size();
  }
  const std::string &path() const { return name; }

private:
  AppendFile(std::string path, std::string what, int descriptor, uint64_t length)
      : name(std::move(path)), what(std::move(what)), descriptor(descriptor), length(length) {}
  /// Writes what waits; 0 or the system's error.
  int flush();
  Status error(int code) const;

  std::string name, what;
  int descriptor;
  uint64_t length;
  std::string waiting;
  mutable std::mutex mutex;
};

} // namespace dsc

#endif // DSC_RUNTIME_MONITOR_APPENDFILE_H
