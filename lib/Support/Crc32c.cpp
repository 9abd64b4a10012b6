//===- Crc32c.cpp - byte by byte, from a table ------------------------------===//
#include "dsc/Support/Crc32c.h"
#include <array>

using namespace dsc;

static constexpr std::array<uint32_t, 256> table = [] {
  std::array<uint32_t, 256> result{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit)
      value = value >> 1 ^ (value & 1 ? 0x82F63B78u : 0);
    result[byte] = value;
  }
  return result;
}();

uint32_t dsc::crc32c(std::string_view bytes) {
  uint32_t crc = ~0u;
  for (char c : bytes)
    crc = crc >> 8 ^ table[(crc ^ static_cast<uint8_t>(c)) & 0xFF];
  return ~crc;
}
