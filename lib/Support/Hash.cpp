//===- Hash.cpp - SHA-256 and XXH3 ------------------------------------------===//
#include "dsc/Support/Hash.h"
#include <algorithm>
#include <bit>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace dsc;

namespace {
constexpr uint32_t roundConstants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::string hexDigits(const uint8_t *bytes, size_t count) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    text += digits[bytes[i] >> 4];
    text += digits[bytes[i] & 15];
  }
  return text;
}
} // namespace

Sha256::Sha256()
    : state{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
            0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19} {}

void Sha256::block(const uint8_t *data) {
  uint32_t w[64];
  for (int i = 0; i < 16; ++i)
    w[i] = uint32_t{data[4 * i]} << 24 | uint32_t{data[4 * i + 1]} << 16 |
           uint32_t{data[4 * i + 2]} << 8 | data[4 * i + 3];
  for (int i = 16; i < 64; ++i) {
    uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (int i = 0; i < 64; ++i) {
    uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + roundConstants[i] + w[i];
    uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  uint32_t add[8] = {a, b, c, d, e, f, g, h};
  for (int i = 0; i < 8; ++i)
    state[i] += add[i];
}

void Sha256::update(const void *data, size_t bytes) {
  auto *next = static_cast<const uint8_t *>(data);
  size_t held = total % 64;
  total += bytes;
  if (held) {
    size_t taken = std::min(bytes, 64 - held);
    std::memcpy(buffer.data() + held, next, taken);
    next += taken, bytes -= taken;
    if (held + taken < 64)
      return;
    block(buffer.data());
  }
  for (; bytes >= 64; next += 64, bytes -= 64)
    block(next);
  if (bytes)
    std::memcpy(buffer.data(), next, bytes);
}

std::array<uint8_t, 32> Sha256::digest() {
  uint64_t bits = total * 8;
  uint8_t tail[72] = {0x80};
  size_t padding = (total % 64 < 56 ? 56 : 120) - total % 64;
  for (int i = 0; i < 8; ++i)
    tail[padding + i] = static_cast<uint8_t>(bits >> (56 - 8 * i));
  update(tail, padding + 8);
  std::array<uint8_t, 32> result;
  for (int i = 0; i < 32; ++i)
    result[i] = static_cast<uint8_t>(state[i / 4] >> (24 - 8 * (i % 4)));
  return result;
}

std::string dsc::sha256Hex(std::string_view bytes) {
  Sha256 hash;
  hash.update(bytes.data(), bytes.size());
  return hexDigits(hash.digest().data(), 32);
}

uint64_t dsc::hash64(const void *data, size_t bytes) { return XXH3_64bits(data, bytes); }

static XXH3_state_t *xxh3(std::byte *state) { return reinterpret_cast<XXH3_state_t *>(state); }

Hash64::Hash64() {
  static_assert(sizeof(XXH3_state_t) <= sizeof state && alignof(XXH3_state_t) <= 64);
  std::memset(state, 0, sizeof state);
  XXH3_64bits_reset(xxh3(state));
}

void Hash64::update(const void *data, size_t bytes) {
  XXH3_64bits_update(xxh3(state), data, bytes);
}

uint64_t Hash64::digest() const {
  return XXH3_64bits_digest(reinterpret_cast<const XXH3_state_t *>(state));
}

std::string dsc::hex64(uint64_t value) {
  uint8_t bytes[8];
  for (int i = 0; i < 8; ++i)
    bytes[i] = static_cast<uint8_t>(value >> (56 - 8 * i));
  return hexDigits(bytes, 8);
}
