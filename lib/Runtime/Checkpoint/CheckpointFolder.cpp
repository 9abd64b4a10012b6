//===- CheckpointFolder.cpp - lock, list, prune ------------------------------===//
#include "dsc/Runtime/Checkpoint/CheckpointFolder.h"
#include "dsc/Runtime/Checkpoint/Checkpoint.h"
#include "dsc/Support/AtomicFolder.h"
#include "dsc/Support/Numbers.h"
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <system_error>
#include <unistd.h>

using namespace dsc;

static Status systemError(const std::string &what, const std::string &path, int code) {
  return damagedError(what + " '" + path + "': " + std::generic_category().message(code));
}

/// Names in a folder, sorted; what cannot be read is not there.
static std::vector<std::string> namesIn(const std::string &folder) {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator at(folder, error), end;
  for (; !error && at != end; at.increment(error))
    names.push_back(at->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

StatusOr<std::unique_ptr<CheckpointFolder>> CheckpointFolder::open(const std::string &path) {
  if (Status status = makeFolders(path); !status)
    return damagedError("checkpoints cannot be kept: " + status.message());
  std::string name = joinPath(path, ".lock");
  int lock = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock < 0)
    return systemError("checkpoints cannot be kept: cannot write", name, errno);
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    int code = errno;
    char owner[32] = {};
    ssize_t length = ::pread(lock, owner, sizeof owner - 1, 0);
    ::close(lock);
    if (code != EWOULDBLOCK)
      return systemError("checkpoints cannot be kept: cannot lock", name, code);
    std::string process(owner, length > 0 ? static_cast<size_t>(length) : 0);
    return Status(ErrorCode::Usage,
                  "another run saves to '" + path + "' (process " +
                      process.substr(0, process.find('\n')) +
                      "): wait for its end, or give this one a folder of its own with "
                      "--set checkpoint.dir=DIR");
  }
  std::unique_ptr<CheckpointFolder> folder(new CheckpointFolder(path, lock));
  // The number is for the message above only: that it cannot be written changes nothing.
  std::string process = std::to_string(::getpid()) + "\n";
  if (::ftruncate(lock, 0) == 0 && ::pwrite(lock, process.data(), process.size(), 0) < 0)
    errno = 0;
  folder->removeLeftovers();
  return folder;
}

CheckpointFolder::~CheckpointFolder() { ::close(lock); }

std::string CheckpointFolder::stepPath(int64_t step) const {
  return joinPath(folder, "step-" + std::to_string(step));
}

void CheckpointFolder::removeLeftovers() {
  std::error_code ignored;
  for (const std::string &name : namesIn(folder))
    if (name.starts_with(temporaryPrefix))
      std::filesystem::remove_all(joinPath(folder, name), ignored);
  std::string final = joinPath(folder, "final"); // where AtomicFile left them
  for (const std::string &name : namesIn(final))
    if (name.find(".tmp-") != name.npos)
      std::filesystem::remove(joinPath(final, name), ignored);
}

std::vector<int64_t> CheckpointFolder::steps() const {
  std::vector<int64_t> steps;
  for (const std::string &name : namesIn(folder)) {
    if (!name.starts_with("step-"))
      continue;
    auto step = parseInt(std::string_view(name).substr(5));
    if (step && *step >= 0 && name == "step-" + std::to_string(*step))
      steps.push_back(*step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

/// Makes `earlier-1/`, or the first such name that is free.
StatusOr<std::string> CheckpointFolder::earlierFolder() {
  for (int number = 1;; ++number) {
    std::string target = joinPath(folder, "earlier-" + std::to_string(number));
    std::error_code error;
    if (std::filesystem::create_directory(target, error))
      return earlier = target;
    if (error)
      return systemError("cannot make the folder", target, error.value());
  }
}

StatusOr<std::string> CheckpointFolder::setAside() {
  std::vector<int64_t> found = steps();
  if (found.empty())
    return std::string();
  StatusOr<std::string> made = earlierFolder();
  if (!made.ok())
    return made.status();
  const std::string &target = *made;
  for (int64_t step : found)
    if (::rename(stepPath(step).c_str(), (target + "/step-" + std::to_string(step)).c_str()) != 0)
      return systemError("cannot move to '" + target + "'", stepPath(step), errno);
  if (Status status = syncFolder(target); !status)
    return damagedError(status.message());
  if (Status status = syncFolder(folder); !status)
    return damagedError(status.message());
  return target;
}

StatusOr<std::string> CheckpointFolder::setFinalAside() {
  std::string final = joinPath(folder, "final");
  std::error_code ignored;
  if (!std::filesystem::is_directory(final, ignored))
    return std::string();
  if (earlier.empty())
    if (auto made = earlierFolder(); !made.ok())
      return made.status();
  std::string target = joinPath(earlier, "final");
  if (::rename(final.c_str(), target.c_str()) != 0)
    return systemError("cannot move to '" + earlier + "'", final, errno);
  if (Status status = syncFolder(earlier); !status)
    return damagedError(status.message());
  if (Status status = syncFolder(folder); !status)
    return damagedError(status.message());
  return target;
}

Status CheckpointFolder::prune(int64_t newest, int64_t keep, int64_t best) {
  std::vector<int64_t> kept, removed;
  auto found = steps();
  for (auto step = found.rbegin(); step != found.rend(); ++step) {
    if (*step > newest) // of a future that a resumed run has not reached again
      continue;
    bool stays = static_cast<int64_t>(kept.size()) < keep || *step == best;
    (stays ? kept : removed).push_back(*step);
  }
  if (removed.empty())
    return {};
  if (std::none_of(kept.begin(), kept.end(),
                   [&](int64_t step) { return verifyCheckpoint(stepPath(step)).ok(); }))
    return damagedError("no checkpoint that would stay can be read back: older ones are kept");
  for (int64_t step : removed) {
    // Renamed first: what is called step-N is whole.
    std::string away =
        joinPath(folder, std::string(temporaryPrefix) + "remove-step-" + std::to_string(step) +
                             "-" + std::to_string(::getpid()));
    if (::rename(stepPath(step).c_str(), away.c_str()) != 0)
      return systemError("cannot remove", stepPath(step), errno);
    std::error_code error;
    std::filesystem::remove_all(away, error);
    if (error)
      return systemError("cannot remove", away, error.value());
  }
  return {};
}
