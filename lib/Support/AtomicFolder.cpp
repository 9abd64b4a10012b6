//===- AtomicFolder.cpp - fill beside, sync, rename -------------------------===//
// Order: every file synced, then the folder that names them, then the rename, then the folder
// above. A crash between any two leaves the old folder in place, or the new one whole.
#include "dsc/Support/AtomicFolder.h"
#include "SystemError.h"
#include "dsc/Support/File.h"
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

using namespace dsc;

static std::string folderAbove(const std::string &path) {
  std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

/// A name in the folder of `path` that this process has not used; whether it exists is asked by
/// creating it.
static std::string temporaryName(const std::string &path) {
  static std::atomic<unsigned> serial{0};
  return joinPath(folderAbove(path),
                  std::string(temporaryPrefix) + std::filesystem::path(path).filename().string() +
                      "-" + std::to_string(::getpid()) + "-" + std::to_string(serial.fetch_add(1)));
}

static void removeQuietly(const std::string &path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

Status dsc::syncFolder(const std::string &path) {
  int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0)
    return systemError("cannot open the folder", path, errno);
  // Some file systems cannot sync a folder (EINVAL): they have no more to give.
  int code = ::fsync(folder) == 0 || errno == EINVAL ? 0 : errno;
  ::close(folder);
  return code ? systemError("cannot sync the folder", path, code) : Status();
}

AtomicFolder &AtomicFolder::operator=(AtomicFolder &&other) noexcept {
  std::swap(path, other.path);
  std::swap(temporary, other.temporary);
  std::swap(file, other.file);
  std::swap(descriptor, other.descriptor);
  std::swap(written, other.written);
  std::swap(hash, other.hash);
  return *this;
}

AtomicFolder::~AtomicFolder() { discard(); }

void AtomicFolder::discard() {
  if (descriptor >= 0)
    ::close(std::exchange(descriptor, -1));
  if (!temporary.empty())
    removeQuietly(std::exchange(temporary, {}));
}

Status AtomicFolder::failed(const std::string &what) const {
  return systemError(what, file.empty() ? path : joinPath(path, file), errno);
}

StatusOr<AtomicFolder> AtomicFolder::create(const std::string &path) {
  AtomicFolder folder;
  folder.path = path;
  for (int attempt = 0; attempt < 1000; ++attempt) {
    std::string name = temporaryName(path);
    if (::mkdir(name.c_str(), 0777) == 0) {
      folder.temporary = std::move(name);
      return folder;
    }
    if (errno != EEXIST)
      break;
  }
  return folder.failed("cannot create the folder");
}

Status AtomicFolder::begin(const std::string &name) {
  file = name;
  written = 0;
  hash.emplace();
  descriptor =
      ::open(joinPath(temporary, name).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  return descriptor < 0 ? failed("cannot create") : Status();
}

Status AtomicFolder::write(const void *data, size_t bytes) {
  // Hashed right after it was written, while it is in the cache.
  constexpr size_t piece = size_t{1} << 20;
  auto *next = static_cast<const char *>(data);
  while (bytes > 0) {
    ssize_t n = ::write(descriptor, next, std::min(bytes, piece));
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return failed("cannot write");
    auto count = static_cast<size_t>(n);
    hash->update(next, count);
    written += count;
    next += count;
    bytes -= count;
  }
  return {};
}

StatusOr<AtomicFolder::File> AtomicFolder::end() {
  if (::fsync(descriptor) != 0)
    return failed("cannot write");
  if (::close(std::exchange(descriptor, -1)) != 0)
    return failed("cannot write");
  return File{written, hash->digest()};
}

/// Renames onto `path`. Where a folder is there already the two change places, and the old one is
/// removed under its temporary name.
Status AtomicFolder::publish() {
  for (int attempt = 0; attempt < 1000; ++attempt) {
    if (::rename(temporary.c_str(), path.c_str()) == 0) {
      temporary.clear();
      return {};
    }
    if (errno != ENOTEMPTY && errno != EEXIST)
      return failed("cannot rename the new folder to");
    if (::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) == 0)
      return {}; // the old one is removed by discard()
    if (errno == EINVAL || errno == ENOSYS) {
      // This file system cannot exchange: for a moment there is no folder, but never a half one.
      std::string old = temporaryName(path);
      if (::rename(path.c_str(), old.c_str()) == 0)
        removeQuietly(old);
      else if (errno != ENOENT)
        return failed("cannot replace");
    } else if (errno != ENOENT) { // ENOENT: another writer took it away just now
      return failed("cannot replace");
    }
  }
  return inputError("cannot replace '" + path + "': other processes keep writing it");
}

Status AtomicFolder::commit() {
  file.clear();
  if (Status status = syncFolder(temporary); !status)
    return status;
  if (Status status = publish(); !status)
    return status;
  Status status = syncFolder(folderAbove(path));
  discard();
  return status;
}
