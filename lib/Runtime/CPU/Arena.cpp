//===- Arena.cpp - the one block of memory of a run ------------------------===//
#include "dsc/Runtime/CPU/Arena.h"
#include "dsc/Support/File.h"
#include "dsc/Support/Numbers.h"
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

using namespace dsc;

/// The first number after `key` in a small file of the system, such as "MemAvailable:  123 kB".
static std::optional<uint64_t> readNumber(const std::string &path, const std::string &key = "") {
  std::ifstream file(path);
  std::string word;
  if (key.empty()) {
    file >> word;
  } else {
    while (file >> word)
      if (word == key) {
        file >> word;
        break;
      }
  }
  if (!file)
    return std::nullopt;
  std::optional<int64_t> value = parseInt(word);
  return value && *value >= 0 ? std::optional<uint64_t>(*value) : std::nullopt;
}

namespace {

struct LeastLimit {
  MemoryLimit least{std::numeric_limits<uint64_t>::max(), "no limit"};
  void consider(uint64_t bytes, const std::string &source) {
    if (bytes < least.bytes)
      least = {bytes, source};
  }
};

} // namespace

/// A control group and all above it limit a process. `usage` includes page cache, which gives way.
static void considerGroups(LeastLimit &limit, const std::string &root, std::string group,
                           const char *max, const char *usage, const char *cache) {
  for (;;) {
    std::string folder = root + group;
    auto most = readNumber(folder + "/" + max), used = readNumber(folder + "/" + usage);
    if (most && used) {
      uint64_t files = readNumber(folder + "/memory.stat", cache).value_or(0);
      uint64_t firm = *used > files ? *used - files : 0;
      limit.consider(*most > firm ? *most - firm : 0,
                     std::string(max) + " of control group " + (group.empty() ? "/" : group));
    }
    if (group.empty() || group == "/")
      return;
    group.resize(group.rfind('/'));
  }
}

MemoryLimit dsc::availableMemory() {
  LeastLimit limit;
  if (auto kilobytes = readNumber("/proc/meminfo", "MemAvailable:"))
    limit.consider(*kilobytes * 1024, "MemAvailable");
  rlimit space{};
  if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY) {
    uint64_t used =
        readNumber("/proc/self/statm").value_or(0) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    limit.consider(space.rlim_cur > used ? space.rlim_cur - used : 0, "RLIMIT_AS (ulimit -v)");
  }
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    size_t second = line.find(':', line.find(':') + 1);
    if (second == line.npos)
      continue;
    std::string controllers = line.substr(line.find(':') + 1, second - line.find(':') - 1);
    std::string group = line.substr(second + 1);
    if (controllers.empty())
      considerGroups(limit, "/sys/fs/cgroup", group, "memory.max", "memory.current", "file");
    else if (controllers == "memory")
      considerGroups(limit, "/sys/fs/cgroup/memory", group, "memory.limit_in_bytes",
                     "memory.usage_in_bytes", "total_cache");
  }
  return limit.least;
}

StatusOr<Arena> Arena::create(uint64_t bytes, const std::string &what) {
  constexpr uint64_t huge = uint64_t{2} << 20;
  MemoryLimit limit = availableMemory();
  auto refuse = [&](const std::string &reason) {
    return Status(ErrorCode::Memory, "the plan needs " + printBytes(bytes) + " (" + what + "), " +
                                         reason +
                                         ": take a smaller train_batch_size, or fewer threads");
  };
  if (bytes > limit.bytes)
    return refuse(printBytes(limit.bytes) + " are available (" + limit.source + ")");
  Arena arena;
  arena.mapped = bytes + huge;
  arena.mapping = mmap(nullptr, arena.mapped, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (arena.mapping == MAP_FAILED) {
    arena.mapping = nullptr;
    return refuse(std::string("the system refuses it: ") + std::strerror(errno) + "; " +
                  printBytes(limit.bytes) + " are available (" + limit.source + ")");
  }
  auto address = reinterpret_cast<uintptr_t>(arena.mapping);
  arena.base = reinterpret_cast<std::byte *>((address + huge - 1) / huge * huge);
  // A small arena in huge pages would only cost memory and time.
  if (bytes >= 2 * huge)
    madvise(arena.base, bytes, MADV_HUGEPAGE);
  return arena;
}

Arena::~Arena() {
  if (mapping)
    munmap(mapping, mapped);
}
