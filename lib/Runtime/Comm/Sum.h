//===- Sum.h - the fixed tree of additions over ranks ---------------------------===//
#ifndef DSC_LIB_RUNTIME_COMM_SUM_H
#define DSC_LIB_RUNTIME_COMM_SUM_H

#include "dsc/Plan/Plan.h"
#include <cstddef>
#include <span>

namespace dsc {

/// Writes T(0..n) over the n `sources`, times `scale` (floating types), to each of `targets`; a
/// target may be one of the sources. The tree and its roundings: Collectives.h.
void sumTree(plan::DType type, std::span<std::byte *const> sources, double scale,
             std::span<std::byte *const> targets, uint64_t elements);

/// into[i] += from[i], for types whose sums round at each addition (not f16, bf16).
void addTo(plan::DType type, std::byte *into, const std::byte *from, uint64_t elements);
/// into[i] *= scale; integers stay.
void scaleBy(plan::DType type, std::byte *into, double scale, uint64_t elements);

inline bool isHalf(plan::DType type) {
  return type == plan::DType::F16 || type == plan::DType::BF16;
}

} // namespace dsc

#endif // DSC_LIB_RUNTIME_COMM_SUM_H
