//===- Crc32c.h - the checksum of TensorBoard's records --------------------===//
#ifndef DSC_SUPPORT_CRC32C_H
#define DSC_SUPPORT_CRC32C_H

#include <cstdint>
#include <string_view>

namespace dsc {

/// CRC-32C (Castagnoli: polynomial 0x1EDC6F41, reflected), as RFC 3720 B.4 has it: "123456789"
/// gives 0xE3069283.
uint32_t crc32c(std::string_view bytes);

/// Rotated right by 15 and moved by 0xA282EAD8: what a record carries, so that a checksum over data
/// that holds checksums stays good.
inline uint32_t maskedCrc32c(std::string_view bytes) {
  uint32_t crc = crc32c(bytes);
  return (crc >> 15 | crc << 17) + 0xA282EAD8u;
}

} // namespace dsc

#endif // DSC_SUPPORT_CRC32C_H
