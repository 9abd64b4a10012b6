//===- Layout.h - the device grid and who owns what ------------------------===//
// Ranks are numbered with the tensor coordinate fastest, then context, data and stage: those that
// talk most stand next to each other.
#ifndef DSC_SUPPORT_LAYOUT_H
#define DSC_SUPPORT_LAYOUT_H

#include <cstdint>
#include <vector>

namespace dsc {

/// An axis of the grid; ranks that differ in it alone are a group.
enum class Axis : uint8_t { None, Data, Tensor, Pipeline, Context };
const char *nameOf(Axis axis); ///< none, data, ...

struct Coordinates {
  int64_t data = 0, tensor = 0, pipeline = 0, context = 0;
  int64_t on(Axis axis) const; ///< 0 for None
  bool operator==(const Coordinates &) const = default;
};

struct Layout {
  int64_t data = 1, tensor = 1, pipeline = 1, context = 1;

  int64_t ranks() const { return data * tensor * pipeline * context; }
  int64_t size(Axis axis) const; ///< 1 for None
  Coordinates coordinates(int64_t rank) const;
  int64_t rank(const Coordinates &at) const;
  /// The ranks of the group of `rank` along `axis`, by their coordinate.
  std::vector<int> group(Axis axis, int64_t rank) const;
  /// The rank with the other coordinates of `rank`, on `stage`.
  int64_t onStage(int64_t stage, int64_t rank) const;
  bool operator==(const Layout &) const = default;
};

/// Elements of a tensor that one rank of a group owns.
struct Share {
  uint64_t begin, end;
  uint64_t size() const { return end - begin; }
};

/// Shares are whole blocks of so many elements, those over which sums are taken.
inline constexpr uint64_t shareBlock = 1024;

/// Share of rank `index` of `ranks`: blocks [B index / ranks, B (index + 1) / ranks) of `block`
/// elements each, the last of which may be short.
Share shareOf(uint64_t elements, uint64_t block, uint64_t index, uint64_t ranks);
/// Elements of the largest share, a whole number of blocks: what each rank reserves.
uint64_t largestShare(uint64_t elements, uint64_t block, uint64_t ranks);

} // namespace dsc

#endif // DSC_SUPPORT_LAYOUT_H
