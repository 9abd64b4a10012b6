//===- CheckpointRead.cpp - the state out of a folder -----------------------===//
// Files are read with read(2), each byte once: into its place and through the hash. A disk that
// fails is then an error, where a mapping would end the process.
#include "dsc/Runtime/Checkpoint/Checkpoint.h"
#include "dsc/Support/Hash.h"
#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <map>
#include <set>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

using namespace dsc;

namespace {

/// A file of the size that the manifest says, hashed as it is read.
class HashedFile {
public:
  explicit HashedFile(std::string path) : path(std::move(path)) {}
  ~HashedFile() {
    if (descriptor >= 0)
      ::close(descriptor);
  }

  Status open(uint64_t bytes) {
    descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    struct stat info {};
    if (descriptor < 0 || ::fstat(descriptor, &info) != 0)
      return failed();
    if (!S_ISREG(info.st_mode))
      return bad("it is no regular file");
    if (static_cast<uint64_t>(info.st_size) != bytes)
      return bad("it has " + std::to_string(info.st_size) + " bytes, the manifest says " +
                 std::to_string(bytes));
    ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_SEQUENTIAL);
    return {};
  }
  Status read(void *data, uint64_t bytes) {
    // Hashed while it is in the cache.
    constexpr uint64_t piece = uint64_t{1} << 20;
    auto *next = static_cast<char *>(data);
    while (bytes > 0) {
      ssize_t n = ::read(descriptor, next, std::min(bytes, piece));
      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        return failed();
      if (n == 0)
        return bad("it ends before its size");
      hash.update(next, static_cast<size_t>(n));
      next += n;
      bytes -= static_cast<uint64_t>(n);
    }
    return {};
  }
  /// Reads past.
  Status skip(uint64_t bytes) {
    std::vector<char> buffer(std::min(bytes, uint64_t{1} << 20));
    while (bytes > 0) {
      uint64_t count = std::min<uint64_t>(bytes, buffer.size());
      if (Status status = read(buffer.data(), count); !status)
        return status;
      bytes -= count;
    }
    return {};
  }
  Status expect(uint64_t wanted) const {
    if (uint64_t found = hash.digest(); found != wanted)
      return bad("its hash is " + hex64(found) + ", the manifest says " + hex64(wanted));
    return {};
  }
  Status bad(const std::string &what) const {
    return damagedError("'" + path + "' is damaged: " + what);
  }
  const std::string path;

private:
  Status failed() const {
    return damagedError("cannot read '" + path + "': " + std::generic_category().message(errno));
  }
  int descriptor = -1;
  Hash64 hash;
};

} // namespace

static Status readHeader(HashedFile &file, uint64_t fileBytes, SafeHeader &header) {
  std::string start(8, '\0');
  if (fileBytes < start.size())
    return file.bad("it is too short for a header");
  if (Status status = file.read(start.data(), start.size()); !status)
    return status;
  uint64_t length = 0;
  for (int i = 0; i < 8; ++i)
    length |= uint64_t{static_cast<unsigned char>(start[static_cast<size_t>(i)])} << (8 * i);
  if (length > fileBytes - 8 || length > 100'000'000)
    return file.bad("it announces a header of " + std::to_string(length) + " bytes");
  start.resize(8 + length);
  if (Status status = file.read(start.data() + 8, length); !status)
    return status;
  auto parsed = parseSafetensorsHeader(start, fileBytes, file.path);
  if (!parsed)
    return damagedError(parsed.status().message());
  header = std::move(*parsed);
  std::sort(header.tensors.begin(), header.tensors.end(),
            [](const SafeTensor &a, const SafeTensor &b) {
              return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
            });
  return {};
}

StatusOr<CheckpointInfo> dsc::readManifest(const std::string &folder) {
  std::string path = folder + "/manifest.json";
  auto text = readFile(path, size_t{256} << 20);
  if (!text)
    return damagedError(text.status().message());
  return parseManifest(*text, path);
}

Status dsc::readState(const std::string &folder, const CheckpointInfo &info,
                      std::span<std::byte *const> data) {
  std::map<std::string_view, size_t> places;
  for (size_t i = 0; i < info.tensors.size(); ++i)
    places.emplace(info.tensors[i].name, i);
  for (const CheckpointFile &entry : info.files) {
    HashedFile file(folder + "/" + entry.name);
    if (Status status = file.open(entry.bytes); !status)
      return status;
    SafeHeader header;
    if (Status status = readHeader(file, entry.bytes, header); !status)
      return status;
    for (const SafeTensor &tensor : header.tensors) {
      auto place = places.find(tensor.name);
      if (place == places.end())
        return file.bad("tensor '" + tensor.name + "' is not in the manifest, or is there twice");
      const StateTensor &expected = info.tensors[place->second];
      if (tensor.type != expected.type || tensor.shape != expected.shape)
        return file.bad("tensor '" + tensor.name +
                        "' has another type or shape than in the "
                        "manifest");
      uint64_t bytes = tensor.end - tensor.begin;
      std::byte *target = data[place->second];
      if (Status status = target ? file.read(target, bytes) : file.skip(bytes); !status)
        return status;
      places.erase(place);
    }
    if (Status status = file.expect(entry.hash); !status)
      return status;
  }
  if (!places.empty())
    return damagedError("'" + folder + "' is damaged: tensor '" +
                        std::string(places.begin()->first) + "' is in none of its files");
  return {};
}

Status dsc::verifyCheckpoint(const std::string &folder) {
  auto info = readManifest(folder);
  if (!info)
    return info.status();
  for (const CheckpointFile &entry : info->files) {
    HashedFile file(folder + "/" + entry.name);
    if (Status status = file.open(entry.bytes); !status)
      return status;
    if (Status status = file.skip(entry.bytes); !status)
      return status;
    if (Status status = file.expect(entry.hash); !status)
      return status;
  }
  return {};
}
