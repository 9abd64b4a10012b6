//===- Container.h - the file around a plan's sections ---------------------===//
// Little endian. Header of 32 bytes: magic[8], u32 format version, u32 number of sections, u64
// bytes of the file, u64 XXH3 over all other bytes. Then one entry of 64 bytes a section: name[40]
// padded with zeros, u64 offset, u64 bytes, u64 XXH3 of the contents. Sections follow in the
// table's order, each at the next multiple of 64 bytes, the gap filled with zeros; the last byte of
// the last section ends the file.
#ifndef DSC_PLAN_CONTAINER_H
#define DSC_PLAN_CONTAINER_H

#include "dsc/Support/Status.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dsc::plan {

inline constexpr std::string_view containerMagic{"\x89"
                                                 "DSCPLN\n",
                                                 8};
inline constexpr uint32_t formatVersion = 1;
inline constexpr uint64_t headerBytes = 32, entryBytes = 64, sectionAlignment = 64,
                          sectionNameBytes = 40;

struct Section {
  std::string name;
  uint64_t offset; ///< of the file
  std::string_view contents;
};

/// `sections`: names of 1 to 39 characters and contents, in the order of the file.
std::string writeContainer(const std::vector<std::pair<std::string, std::string_view>> &sections);

/// Checks header, table, checksums and padding: any change of a byte is found. Contents point into
/// `bytes`.
StatusOr<std::vector<Section>> readContainer(std::string_view bytes);

/// Null when absent.
const Section *findSection(const std::vector<Section> &sections, std::string_view name);

} // namespace dsc::plan

#endif // DSC_PLAN_CONTAINER_H
