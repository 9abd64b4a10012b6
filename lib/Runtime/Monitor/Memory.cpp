//===- Memory.cpp - what the process holds of the machine's memory ---------===//
#include "dsc/Runtime/Monitor/Memory.h"
#include "dsc/Support/Numbers.h"
#include <fcntl.h>
#include <unistd.h>

using namespace dsc;

/// "VmRSS:     1234 kB" in bytes.
static uint64_t field(std::string_view status, std::string_view name) {
  size_t at = status.find(name);
  if (at == status.npos)
    return 0;
  status.remove_prefix(at + name.size());
  size_t digit = status.find_first_of("0123456789");
  if (digit == status.npos || digit > 32)
    return 0;
  status.remove_prefix(digit);
  auto kilobytes = parseInt(status.substr(0, status.find_first_not_of("0123456789")));
  auto bytes = kilobytes ? checkedMultiply(*kilobytes, 1024) : std::nullopt;
  return bytes ? static_cast<uint64_t>(*bytes) : 0;
}

MemoryUse dsc::parseMemoryUse(std::string_view status) {
  return {field(status, "VmRSS:"), field(status, "VmHWM:")};
}

MemoryUse dsc::memoryUse() {
  char text[4096];
  int file = ::open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return {};
  ssize_t length = ::read(file, text, sizeof text);
  ::close(file);
  return length > 0 ? parseMemoryUse({text, static_cast<size_t>(length)}) : MemoryUse();
}

StatusOr<std::unique_ptr<MemoryLog>> MemoryLog::open(const std::string &path, bool anew,
                                                     Cadence cadence) {
  auto file =
      AppendFile::open(path, anew ? AppendFile::Mode::Anew : AppendFile::Mode::Continue, "the log");
  if (!file)
    return file.status();
  return std::unique_ptr<MemoryLog>(new MemoryLog(std::move(*file), cadence));
}

std::string MemoryLog::pathFor(const std::string &log) { return besideLog(log, "memory"); }

Status MemoryLog::step(const StepRecord &record) {
  if (!cadence.shows(record))
    return {};
  MemoryUse use = memoryUse();
  return file->append("{\"step\": " + std::to_string(record.step) +
                      ", \"resident_bytes\": " + std::to_string(use.resident) +
                      ", \"peak_bytes\": " + std::to_string(use.peak) + "}\n");
}
