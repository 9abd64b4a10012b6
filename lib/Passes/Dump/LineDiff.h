//===- LineDiff.h - which lines a pass changed -----------------------------===//
#ifndef DSC_LIB_PASSES_DUMP_LINEDIFF_H
#define DSC_LIB_PASSES_DUMP_LINEDIFF_H

#include <cstdint>
#include <string_view>
#include <vector>

namespace dsc {

/// `equal` lines that both texts have, then `removed` of the old, then `added` of the new.
struct DiffRun {
  uint32_t equal, removed, added;
};

/// A shortest edit script by Myers' algorithm (1986), bounded: where more than `limit` edits would
/// be needed the rest is one run. Lines that differ only in the numbers of unnamed values (%12)
/// count as equal.
std::vector<DiffRun> diffLines(std::string_view before, std::string_view after,
                               uint32_t limit = 2500);

} // namespace dsc

#endif // DSC_LIB_PASSES_DUMP_LINEDIFF_H
