//===- Values.cpp - numbers to sum, and their sums one by one --------------------------===//
#include "Conformance.h"
#include "dsc/Support/HalfFloat.h"
#include "dsc/Support/Layout.h"
#include <bit>
#include <cstring>

using namespace dsc;
using namespace dsc::conformance;
using plan::DType;

void List::add(uint64_t elements, DType type) {
  memory.emplace_back(elements * plan::byteSize(type));
  tensors.push_back({memory.back().data(), elements, type});
}

static uint64_t mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

namespace {
/// What a rank brings to a tensor, before it is rounded to the type.
struct Source {
  Source(uint64_t index, uint64_t seed, size_t tensor)
      : base(mix(mix(seed) ^ mix(index) ^ tensor)) {}
  uint32_t integer(uint64_t e) const { return static_cast<uint32_t>(bits(e) >> 32); }
  /// Sign, one of 16 powers of two around 1, and a mantissa.
  double value(uint64_t e) const {
    uint64_t random = bits(e);
    uint64_t exponent = 1015 + (random >> 60);
    return std::bit_cast<double>((random & 0x800FFFFFFFFFFFFF) | exponent << 52);
  }

private:
  uint64_t bits(uint64_t e) const {
    uint64_t x = (base + e) * 0x9E3779B97F4A7C15;
    x ^= x >> 29;
    x *= 0xBF58476D1CE4E5B9;
    return x ^ x >> 32;
  }
  uint64_t base;
};
} // namespace

template <typename T> static void store(std::byte *data, uint64_t e, T value) {
  std::memcpy(data + e * sizeof(T), &value, sizeof(T));
}

static float asHalf(DType type, double value) {
  return type == DType::F16 ? halfToFloat(floatToHalf(static_cast<float>(value)))
                            : bfloatToFloat(floatToBfloat(static_cast<float>(value)));
}
static void storeHalf(DType type, std::byte *data, uint64_t e, float value) {
  store(data, e, type == DType::F16 ? floatToHalf(value) : floatToBfloat(value));
}

void conformance::fill(List &list, uint64_t index, uint64_t seed) {
  for (size_t t = 0; t < list.tensors.size(); ++t) {
    Source source(index, seed, t);
    for (uint64_t e = 0; e < list.tensors[t].elements; ++e) {
      std::byte *data = list.tensors[t].data;
      double value = source.value(e);
      uint32_t integer = source.integer(e);
      switch (list.tensors[t].type) {
      case DType::F32:
        store(data, e, static_cast<float>(value));
        break;
      case DType::F64:
        store(data, e, value);
        break;
      case DType::F16:
      case DType::BF16:
        storeHalf(list.tensors[t].type, data, e, static_cast<float>(value));
        break;
      case DType::I32:
        store(data, e, integer);
        break;
      case DType::I8:
        store(data, e, static_cast<uint8_t>(integer));
        break;
      }
    }
  }
}

template <typename T, typename Leaf> static T tree(uint64_t begin, uint64_t end, Leaf leaf) {
  if (end - begin == 1)
    return leaf(begin);
  uint64_t p = 1;
  while (2 * p < end - begin)
    p *= 2;
  return static_cast<T>(tree<T>(begin, begin + p, leaf) + tree<T>(begin + p, end, leaf));
}

/// From the rank behind the owner on, to the owner.
template <typename T, typename Leaf> static T ring(uint64_t n, uint64_t owner, Leaf leaf) {
  T sum = leaf((owner + 1) % n);
  for (uint64_t i = 2; i <= n; ++i)
    sum = static_cast<T>(sum + leaf((owner + i) % n));
  return sum;
}

static List expected(const List &like, uint64_t n, uint64_t seed, double scale, bool rings) {
  List list;
  uint64_t total = 0, before = 0;
  for (const Tensor &tensor : like.tensors) {
    list.add(tensor.elements, tensor.type);
    total += tensor.elements;
  }
  for (size_t t = 0; t < list.tensors.size(); ++t) {
    auto [data, elements, type] = list.tensors[t];
    std::vector<Source> sources;
    for (uint64_t i = 0; i < n; ++i)
      sources.emplace_back(i, seed, t);
    uint64_t owner = 0; // of an element in the whole list, in blocks of 16
    for (uint64_t e = 0; e < elements; ++e) {
      while (before + e >= shareOf(total, 16, owner, n).end)
        ++owner;
      auto sum = [&]<typename T>(T, auto leaf) {
        return rings ? ring<T>(n, owner, leaf) : tree<T>(0, n, leaf);
      };
      auto value = [&](uint64_t i) { return sources[i].value(e); };
      switch (type) {
      case DType::F32:
        store(data, e, sum(0.0f, [&](uint64_t i) {
                         return static_cast<float>(value(i));
                       }) * static_cast<float>(scale));
        break;
      case DType::F64:
        store(data, e, sum(0.0, value) * scale);
        break;
      case DType::F16:
      case DType::BF16: // the tree whatever is asked
        storeHalf(type, data, e, tree<float>(0, n, [&](uint64_t i) {
                                   return asHalf(type, value(i));
                                 }) * static_cast<float>(scale));
        break;
      case DType::I32:
        store(data, e, sum(0u, [&](uint64_t i) { return sources[i].integer(e); }));
        break;
      case DType::I8:
        store(data, e,
              static_cast<uint8_t>(sum(0u, [&](uint64_t i) { return sources[i].integer(e); })));
        break;
      }
    }
    before += elements;
  }
  return list;
}

List conformance::expectedSum(const List &like, uint64_t n, uint64_t seed, double scale) {
  return expected(like, n, seed, scale, false);
}
List conformance::expectedRing(const List &like, uint64_t n, uint64_t seed) {
  return expected(like, n, seed, 1, true);
}

std::string conformance::difference(const List &is, const List &expected, size_t t, uint64_t begin,
                                    uint64_t end) {
  uint64_t size = plan::byteSize(is.tensors[t].type);
  for (uint64_t e = begin; e < end; ++e)
    if (std::memcmp(is.tensors[t].data + e * size, expected.tensors[t].data + e * size, size))
      return std::string(plan::nameOf(is.tensors[t].type)) + " tensor " + std::to_string(t) +
             " of " + std::to_string(is.tensors[t].elements) + " differs at element " +
             std::to_string(e);
  return "";
}

std::string conformance::difference(const List &is, const List &expected) {
  std::string text;
  for (size_t t = 0; t < is.tensors.size() && text.empty(); ++t)
    text = difference(is, expected, t, 0, is.tensors[t].elements);
  return text;
}
