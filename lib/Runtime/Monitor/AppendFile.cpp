//===- AppendFile.cpp - a file that grows while others read it -------------===//
#include "dsc/Runtime/Monitor/AppendFile.h"
#include "dsc/Support/File.h"
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

using namespace dsc;

static Status cannotWrite(const std::string &what, const std::string &path, int code) {
  return inputError("cannot write " + what + " '" + path +
                    "': " + std::generic_category().message(code));
}

StatusOr<std::unique_ptr<AppendFile>> AppendFile::open(const std::string &path, Mode mode,
                                                       const std::string &what) {
  std::string folder = std::filesystem::path(path).parent_path().string();
  if (!folder.empty())
    if (Status status = makeFolders(folder); !status)
      return status;
  int flags = mode == Mode::New ? O_EXCL : 0;
  int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | flags, 0666);
  struct stat info;
  if (descriptor < 0)
    return cannotWrite(what, path, errno);
  std::unique_ptr<AppendFile> file(new AppendFile(path, what, descriptor, 0));
  if (::fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode))
    return file;
  // Two runs would mix their lines, and the second would empty the file of the first. Where the
  // file system has no locks all is as it would be without.
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return Status(ErrorCode::Usage, "another run writes " + what + " '" + path +
                                        "': wait for its end, or give this one a folder of its own "
                                        "with --set log.dir=DIR");
  if (mode == Mode::Anew && ::ftruncate(descriptor, 0) != 0)
    return cannotWrite(what, path, errno);
  file->length = mode == Mode::Anew ? 0 : static_cast<uint64_t>(info.st_size);
  return file;
}

AppendFile::~AppendFile() { ::close(descriptor); }

Status AppendFile::error(int code) const { return cannotWrite(what, name, code); }

int AppendFile::flush() {
  size_t done = 0;
  int code = 0;
  while (done < waiting.size()) {
    ssize_t n = ::write(descriptor, waiting.data() + done, waiting.size() - done);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0) {
      code = errno;
      break;
    }
    done += static_cast<size_t>(n);
  }
  length += done;
  waiting.erase(0, done);
  return code;
}

Status AppendFile::append(std::string_view piece) {
  constexpr size_t most = size_t{16} << 20;
  std::lock_guard lock(mutex);
  waiting += piece;
  int code = flush();
  bool full = code == ENOSPC || code == EDQUOT;
  if (!code || (full && waiting.size() <= most))
    return {};
  return error(code);
}

Status AppendFile::cut(uint64_t to) {
  std::lock_guard lock(mutex);
  if (::ftruncate(descriptor, static_cast<off_t>(to)) != 0)
    return error(errno);
  length = to;
  return {};
}

Status AppendFile::sync() {
  {
    std::lock_guard lock(mutex);
    if (int code = flush())
      return error(code);
  }
  // A pipe or a terminal has nothing to sync.
  if (::fdatasync(descriptor) != 0 && errno != EINVAL)
    return error(errno);
  return {};
}
