//===- Hash.h - SHA-256 for identity, XXH3 for speed, FNV-1a for names -----===//
#ifndef DSC_SUPPORT_HASH_H
#define DSC_SUPPORT_HASH_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace dsc {

/// FIPS 180-4. Feed with update(), then take digest() or hex() once.
class Sha256 {
public:
  Sha256();
  void update(const void *data, size_t bytes);
  std::array<uint8_t, 32> digest();

private:
  void block(const uint8_t *data);
  std::array<uint32_t, 8> state;
  std::array<uint8_t, 64> buffer;
  uint64_t total = 0;
};

/// 64 lower-case hexadecimal digits.
std::string sha256Hex(std::string_view bytes);

/// XXH3, 64 bits, seed 0: the same on every machine; for checksums and digests, not against intent.
uint64_t hash64(const void *data, size_t bytes);
inline uint64_t hash64(std::string_view bytes) { return hash64(bytes.data(), bytes.size()); }

/// The same over data that comes in pieces.
class Hash64 {
public:
  Hash64();
  void update(const void *data, size_t bytes);
  uint64_t digest() const; ///< of what came so far

private:
  alignas(64) std::byte state[640]; ///< of the library; in place, so that nothing is allocated
};

/// FNV-1a, 64 bits: keys random streams by name (initial weights, dropout); three lines in any
/// language.
inline uint64_t nameHash(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (unsigned char byte : name)
    hash = (hash ^ byte) * 0x100000001b3u;
  return hash;
}

/// 16 lower-case hexadecimal digits.
std::string hex64(uint64_t value);

} // namespace dsc

#endif // DSC_SUPPORT_HASH_H
