//===- File.cpp - mapped reading, atomic writing ----------------------------===//
#include "dsc/Support/File.h"
#include "SystemError.h"
#include "dsc/Support/Numbers.h"
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

using namespace dsc;

namespace {
struct Descriptor {
  int value = -1;
  ~Descriptor() {
    if (value >= 0)
      ::close(value);
  }
};
} // namespace

/// Opens a regular file; its size is what fstat says.
static Status openRegular(const std::string &path, Descriptor &file, size_t &size) {
  // Without O_NONBLOCK a pipe without a writer would hang here.
  file.value = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file.value < 0)
    return systemError("cannot open", path, errno);
  struct stat info;
  if (::fstat(file.value, &info) != 0)
    return systemError("cannot read", path, errno);
  if (S_ISDIR(info.st_mode))
    return inputError("cannot read '" + path + "': it is a folder, expected a file");
  if (!S_ISREG(info.st_mode))
    return inputError("cannot read '" + path + "': not a regular file");
  size = static_cast<size_t>(info.st_size);
  return {};
}

MappedFile &MappedFile::operator=(MappedFile &&other) noexcept {
  std::swap(name, other.name);
  std::swap(address, other.address);
  std::swap(length, other.length);
  return *this;
}

MappedFile::~MappedFile() {
  if (address)
    ::munmap(address, length);
}

StatusOr<MappedFile> MappedFile::open(const std::string &path) {
  Descriptor file;
  MappedFile mapped;
  mapped.name = path;
  if (Status status = openRegular(path, file, mapped.length); !status)
    return status;
  if (mapped.length == 0)
    return mapped;
  void *address = ::mmap(nullptr, mapped.length, PROT_READ, MAP_PRIVATE, file.value, 0);
  if (address == MAP_FAILED)
    return systemError("cannot map", path, errno);
  mapped.address = address;
  return mapped;
}

void MappedFile::adviseSequential() const {
  if (address)
    ::madvise(address, length, MADV_SEQUENTIAL);
}

void MappedFile::adviseRandom() const {
  if (address)
    ::madvise(address, length, MADV_RANDOM);
}

StatusOr<std::string> dsc::readFile(const std::string &path, size_t limit) {
  Descriptor file;
  size_t size = 0;
  if (Status status = openRegular(path, file, size); !status)
    return status;
  if (size > limit)
    return inputError("'" + path + "' has " + printGrouped(static_cast<int64_t>(size)) +
                      " bytes, more than the " + printGrouped(static_cast<int64_t>(limit)) +
                      " allowed");
  std::string text(size, '\0');
  size_t got = 0;
  while (got < size) {
    ssize_t n = ::read(file.value, text.data() + got, size - got);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return systemError("cannot read", path, errno);
    if (n == 0)
      break;
    got += static_cast<size_t>(n);
  }
  text.resize(got);
  return text;
}

AtomicFile &AtomicFile::operator=(AtomicFile &&other) noexcept {
  std::swap(path, other.path);
  std::swap(temporary, other.temporary);
  std::swap(descriptor, other.descriptor);
  return *this;
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::discard() {
  if (descriptor < 0)
    return;
  ::close(descriptor);
  if (!temporary.empty())
    ::unlink(temporary.c_str());
  descriptor = -1;
}

StatusOr<AtomicFile> AtomicFile::create(const std::string &path) {
  static std::atomic<unsigned> serial{0};
  AtomicFile file;
  file.path = path;
  // A rename would take a device or a pipe away from everybody else: these are written as they are.
  struct stat there;
  if (::stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode)) {
    if (S_ISDIR(there.st_mode))
      return inputError("cannot write '" + path + "': it is a folder, expected a file");
    file.descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    return file.descriptor >= 0 ? StatusOr<AtomicFile>(std::move(file))
                                : systemError("cannot write", path, errno);
  }
  // A name no other writer has, so that two savers never share one file; leftovers of a killed
  // process are skipped.
  for (int attempt = 0; attempt < 1000; ++attempt) {
    file.temporary =
        path + ".tmp-" + std::to_string(::getpid()) + "-" + std::to_string(serial.fetch_add(1));
    file.descriptor = ::open(file.temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file.descriptor >= 0)
      return file;
    if (errno != EEXIST)
      break;
  }
  return systemError("cannot create", path, errno);
}

Status AtomicFile::write(const void *data, size_t bytes) {
  auto *next = static_cast<const char *>(data);
  while (bytes > 0) {
    ssize_t n = ::write(descriptor, next, std::min(bytes, size_t{1} << 30));
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return systemError("cannot write", path, errno);
    next += n;
    bytes -= static_cast<size_t>(n);
  }
  return {};
}

Status AtomicFile::commit() {
  if (temporary.empty()) { // a device or a pipe: neither syncs
    ::close(std::exchange(descriptor, -1));
    return {};
  }
  if (::fsync(descriptor) != 0)
    return systemError("cannot write", path, errno);
  if (::rename(temporary.c_str(), path.c_str()) != 0)
    return systemError("cannot rename the new file to", path, errno);
  ::close(std::exchange(descriptor, -1));
  std::string folder = std::filesystem::path(path).parent_path().string();
  Descriptor parent{
      ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  // Some file systems cannot sync a folder (EINVAL); the rename itself is done.
  if (parent.value >= 0 && ::fsync(parent.value) != 0 && errno != EINVAL)
    return systemError("cannot sync the folder of", path, errno);
  return {};
}

Status dsc::writeFileAtomically(const std::string &path, std::string_view bytes) {
  StatusOr<AtomicFile> file = AtomicFile::create(path);
  if (!file)
    return file.status();
  if (Status status = file->write(bytes); !status)
    return status;
  return file->commit();
}

Status dsc::makeFolders(const std::string &path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error)
    return inputError("cannot make the folder '" + path + "': " + error.message());
  return {};
}

Status dsc::checkWritable(const std::string &folder) {
  if (Status status = makeFolders(folder); !status)
    return status;
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    return systemError("cannot write into the folder", folder, errno);
  return {};
}

std::string dsc::joinPath(const std::string &folder, const std::string &path) {
  if (folder.empty() || path.empty() || path.front() == '/')
    return path;
  return folder.back() == '/' ? folder + path : folder + "/" + path;
}
