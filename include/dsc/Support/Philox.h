//===- Philox.h - counter-based random numbers -----------------------------===//
// Philox 4x32-10 of Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC
// 2011). A value depends on nothing but key and counter, so random numbers do not depend on order,
// threads or layout.
#ifndef DSC_SUPPORT_PHILOX_H
#define DSC_SUPPORT_PHILOX_H

#include <array>
#include <cstdint>

namespace dsc {

/// Four random words for a 128-bit counter (word 0 lowest) under a 64-bit key.
inline std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter,
                                          std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t low = uint64_t{0xD2511F53u} * counter[0], high = uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<uint32_t>(high >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(high),
               static_cast<uint32_t>(low >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(low)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

/// The same with the counter as two 64-bit halves (`low` first) and the key as a seed, low word
/// first.
inline std::array<uint32_t, 4> philox(uint64_t seed, uint64_t low, uint64_t high) {
  return philox4x32({static_cast<uint32_t>(low), static_cast<uint32_t>(low >> 32),
                     static_cast<uint32_t>(high), static_cast<uint32_t>(high >> 32)},
                    {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
}

/// Words 0 (low) and 1 (high) of philox() as one 64-bit number.
inline uint64_t philox64(uint64_t seed, uint64_t low, uint64_t high) {
  auto words = philox(seed, low, high);
  return words[0] | uint64_t{words[1]} << 32;
}

/// The upper 52 bits b as (b + 0.5) / 2^52: strictly between 0 and 1, exact, symmetric about 1/2.
inline double openUniform(uint64_t random) {
  return (static_cast<double>(random >> 12) + 0.5) * 0x1p-52;
}

} // namespace dsc

#endif // DSC_SUPPORT_PHILOX_H
