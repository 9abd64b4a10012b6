//===- Arena.h - the one block of memory of a run --------------------------===//
#ifndef DSC_RUNTIME_CPU_ARENA_H
#define DSC_RUNTIME_CPU_ARENA_H

#include "dsc/Support/Status.h"
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace dsc {

/// Memory that a process may still take, and who limits it.
struct MemoryLimit {
  uint64_t bytes;
  std::string source; ///< such as "MemAvailable" or "memory.max of /a/b"
};

/// The least of MemAvailable, what RLIMIT_AS leaves, and what each control group above this process
/// leaves (version 1 and 2; its page cache counts as free).
MemoryLimit availableMemory();

/// Zeroed, aligned to 2 MiB, in huge pages where the system has them; pages are taken when first
/// touched.
class Arena {
public:
  Arena() = default;
  Arena(Arena &&other) noexcept { *this = std::move(other); }
  Arena &operator=(Arena &&other) noexcept {
    std::swap(mapping, other.mapping);
    std::swap(mapped, other.mapped);
    std::swap(base, other.base);
    return *this;
  }
  ~Arena();

  /// Error (Memory) with both numbers when `bytes` are not available; `what` names the parts.
  static StatusOr<Arena> create(uint64_t bytes, const std::string &what);

  std::byte *data() const { return base; }

private:
  void *mapping = nullptr;
  size_t mapped = 0;
  std::byte *base = nullptr;
};

} // namespace dsc

#endif // DSC_RUNTIME_CPU_ARENA_H
