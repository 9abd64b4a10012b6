//===- Sum.cpp - the fixed tree of additions over ranks -------------------------===//
// Blocks of elements that stay in the first-level cache go up the tree one by one. Wider vectors
// where the CPU has them: an addition has the same bits in any width.
#include "Sum.h"
#include "dsc/Support/HalfFloat.h"
#include <algorithm>
#include <bit>
#include <cstring>
#include <immintrin.h>

using namespace dsc;
using plan::DType;

// Resolvers of clones run before sanitizers are set up.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WIDE
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define WIDE
#endif
#endif
#ifndef WIDE
#define WIDE __attribute__((target_clones("avx2", "default")))
#endif

static constexpr uint64_t blockElements = 512;
static constexpr int maxDepth = 16; // blocks that a tree over 2^15 ranks holds at once

WIDE static void add(float *into, const float *a, const float *b, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i)
    into[i] = a[i] + b[i];
}
WIDE static void add(double *into, const double *a, const double *b, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i)
    into[i] = a[i] + b[i];
}
WIDE static void add(uint32_t *into, const uint32_t *a, const uint32_t *b, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i)
    into[i] = a[i] + b[i];
}
WIDE static void add(uint8_t *into, const uint8_t *a, const uint8_t *b, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i)
    into[i] = static_cast<uint8_t>(a[i] + b[i]);
}
template <typename T> static void scale(T *into, const T *from, double by, uint64_t n) {
  T factor = static_cast<T>(by);
  for (uint64_t i = 0; i < n; ++i)
    into[i] = from[i] * factor;
}
// Wrapping integers have no fractions.
static void scale(uint32_t *, const uint32_t *, double, uint64_t) {}
static void scale(uint8_t *, const uint8_t *, double, uint64_t) {}

__attribute__((target("avx,f16c"))) static void widenF16C(float *into, const uint16_t *from,
                                                          uint64_t n) {
  for (uint64_t i = 0; i < n; i += 8)
    _mm256_storeu_ps(into + i,
                     _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i *>(from + i))));
}
__attribute__((target("avx,f16c"))) static void narrowF16C(uint16_t *into, const float *from,
                                                           uint64_t n) {
  for (uint64_t i = 0; i < n; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i *>(into + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
}

static void widen(DType type, float *into, const uint16_t *from, uint64_t n) {
  uint64_t i = 0;
  if (type == DType::F16) {
    static const bool fast = __builtin_cpu_supports("f16c");
    if (fast)
      widenF16C(into, from, i = n / 8 * 8);
    for (; i < n; ++i)
      into[i] = halfToFloat(from[i]);
    return;
  }
  for (; i < n; ++i)
    into[i] = std::bit_cast<float>(uint32_t(from[i]) << 16);
}

WIDE static void narrowBfloat(uint16_t *into, const float *from, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) {
    uint32_t bits;
    std::memcpy(&bits, from + i, 4);
    uint32_t rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
    uint32_t quiet = (bits >> 16) | 0x40;
    into[i] = static_cast<uint16_t>((bits & 0x7FFFFFFF) > 0x7F800000 ? quiet : rounded);
  }
}

static void narrow(DType type, uint16_t *into, const float *from, uint64_t n) {
  if (type == DType::BF16)
    return narrowBfloat(into, from, n);
  static const bool fast = __builtin_cpu_supports("f16c");
  uint64_t i = 0;
  if (fast)
    narrowF16C(into, from, i = n / 8 * 8);
  for (; i < n; ++i)
    into[i] = floatToHalf(from[i]);
}

namespace {
/// The sum over sources [begin, end) of the `n` elements from `offset`: where it lies, in `space`
/// or in a source itself.
template <typename T> struct Tree {
  DType type;
  std::span<std::byte *const> sources;
  const T *sum(size_t begin, size_t end, uint64_t offset, uint64_t n, T *space) const {
    if (end - begin == 1)
      return leaf(begin, offset, n, space);
    size_t middle = begin + std::bit_floor(end - begin - 1);
    const T *left = sum(begin, middle, offset, n, space);
    const T *right = sum(middle, end, offset, n, space + blockElements);
    add(space, left, right, n);
    return space;
  }
  /// Within a message of several types an element may lie at any address.
  const T *leaf(size_t index, uint64_t offset, uint64_t n, T *space) const {
    if constexpr (std::is_same_v<T, float>)
      if (isHalf(type)) {
        const std::byte *at = sources[index] + offset * sizeof(uint16_t);
        alignas(64) uint16_t aligned[blockElements];
        if (reinterpret_cast<uintptr_t>(at) % alignof(uint16_t)) {
          std::memcpy(aligned, at, n * sizeof(uint16_t));
          at = reinterpret_cast<const std::byte *>(aligned);
        }
        widen(type, space, reinterpret_cast<const uint16_t *>(at), n);
        return space;
      }
    const std::byte *at = sources[index] + offset * sizeof(T);
    if (reinterpret_cast<uintptr_t>(at) % alignof(T)) {
      std::memcpy(space, at, n * sizeof(T));
      return space;
    }
    return reinterpret_cast<const T *>(at);
  }
};
} // namespace

template <typename T>
static void sumAs(DType type, std::span<std::byte *const> sources, double by,
                  std::span<std::byte *const> targets, uint64_t elements) {
  alignas(64) T space[maxDepth * blockElements];
  Tree<T> tree{type, sources};
  for (uint64_t offset = 0; offset < elements; offset += blockElements) {
    uint64_t n = std::min(blockElements, elements - offset);
    const T *sum = tree.sum(0, sources.size(), offset, n, space);
    if (by != 1 && std::is_floating_point_v<T>) {
      scale(space, sum, by, n);
      sum = space;
    }
    if (isHalf(type)) {
      alignas(64) uint16_t rounded[blockElements];
      if constexpr (std::is_same_v<T, float>)
        narrow(type, rounded, sum, n);
      for (std::byte *target : targets)
        std::memcpy(target + offset * sizeof(uint16_t), rounded, n * sizeof(uint16_t));
      continue;
    }
    for (std::byte *target : targets)
      if (target + offset * sizeof(T) != reinterpret_cast<const std::byte *>(sum))
        std::memcpy(target + offset * sizeof(T), sum, n * sizeof(T));
  }
}

void dsc::sumTree(DType type, std::span<std::byte *const> sources, double by,
                  std::span<std::byte *const> targets, uint64_t elements) {
  switch (type) {
  case DType::F64:
    return sumAs<double>(type, sources, by, targets, elements);
  case DType::F32:
  case DType::F16:
  case DType::BF16:
    return sumAs<float>(type, sources, by, targets, elements);
  case DType::I32:
    return sumAs<uint32_t>(type, sources, by, targets, elements);
  case DType::I8:
    return sumAs<uint8_t>(type, sources, by, targets, elements);
  }
}

void dsc::addTo(DType type, std::byte *into, const std::byte *from, uint64_t elements) {
  std::byte *sources[] = {into, const_cast<std::byte *>(from)}; // read only
  std::byte *targets[] = {into};
  sumTree(type, sources, 1, targets, elements);
}

void dsc::scaleBy(DType type, std::byte *into, double by, uint64_t elements) {
  if (by == 1)
    return;
  std::byte *sources[] = {into};
  std::byte *targets[] = {into};
  sumTree(type, sources, by, targets, elements);
}
