//===- Parts.h - how a list of tensors is dealt to the ranks of a group ----------===//
// Either each tensor by its shares (reduce-scatter, all-gather), or the list as a whole, end to end
// (all-reduce, where the owner of an element is nobody's business). A part is a row of elements; a
// range of it is a few pieces of tensors, and a message holds them one behind the other.
#ifndef DSC_LIB_RUNTIME_COMM_PARTS_H
#define DSC_LIB_RUNTIME_COMM_PARTS_H

#include "dsc/Runtime/Comm/Collectives.h"
#include "dsc/Support/Layout.h"
#include <algorithm>
#include <cstring>

namespace dsc {

struct Parts {
  std::span<const Tensor> tensors;
  uint64_t ranks;
  uint64_t block; ///< 0: of the whole list

  static uint64_t total(std::span<const Tensor> tensors) {
    uint64_t elements = 0;
    for (const Tensor &tensor : tensors)
      elements += tensor.elements;
    return elements;
  }
  /// Parts of a list begin at whole cache lines of f32, so that ranks do not write into one line.
  Share ofList(uint64_t index) const { return shareOf(total(tensors), 16, index, ranks); }

  uint64_t elements(uint64_t index) const {
    if (!block)
      return ofList(index).size();
    uint64_t elements = 0;
    for (const Tensor &tensor : tensors)
      elements += shareOf(tensor.elements, block, index, ranks).size();
    return elements;
  }

  /// Calls visit(tensor number, first element, elements) for [begin, end) of part `index`, in
  /// order.
  template <typename Visit>
  void pieces(uint64_t index, uint64_t begin, uint64_t end, Visit visit) const {
    uint64_t at = 0, shift = block ? 0 : ofList(index).begin;
    for (size_t t = 0; t < tensors.size() && at < end + shift; ++t) {
      Share share =
          block ? shareOf(tensors[t].elements, block, index, ranks) : Share{0, tensors[t].elements};
      uint64_t from = std::max(at, begin + shift), to = std::min(at + share.size(), end + shift);
      if (from < to)
        visit(t, share.begin + (from - at), to - from);
      at += share.size();
    }
  }

  uint64_t bytes(uint64_t index, uint64_t begin, uint64_t end) const {
    uint64_t bytes = 0;
    pieces(index, begin, end, [&](size_t t, uint64_t, uint64_t count) {
      bytes += count * plan::byteSize(tensors[t].type);
    });
    return bytes;
  }
  uint64_t bytes(uint64_t index) const { return bytes(index, 0, elements(index)); }

  std::byte *address(size_t tensor, uint64_t element) const {
    return tensors[tensor].data + element * plan::byteSize(tensors[tensor].type);
  }

  /// Where the range lies if it is one piece, else null.
  std::byte *inPlace(uint64_t index, uint64_t begin, uint64_t end) const {
    std::byte *place = nullptr;
    int count = 0;
    pieces(index, begin, end, [&](size_t t, uint64_t element, uint64_t) {
      place = address(t, element);
      ++count;
    });
    return count == 1 ? place : nullptr;
  }
  void pack(uint64_t index, uint64_t begin, uint64_t end, std::byte *into) const {
    pieces(index, begin, end, [&](size_t t, uint64_t element, uint64_t count) {
      uint64_t bytes = count * plan::byteSize(tensors[t].type);
      std::memcpy(into, address(t, element), bytes);
      into += bytes;
    });
  }
  void unpack(uint64_t index, uint64_t begin, uint64_t end, const std::byte *from) const {
    pieces(index, begin, end, [&](size_t t, uint64_t element, uint64_t count) {
      uint64_t bytes = count * plan::byteSize(tensors[t].type);
      std::memcpy(address(t, element), from, bytes);
      from += bytes;
    });
  }
};

} // namespace dsc

#endif // DSC_LIB_RUNTIME_COMM_PARTS_H
