//===- DataFiles.h - small data files for the tests --------------------------===//
#ifndef DSC_TEST_UNIT_DATA_DATAFILES_H
#define DSC_TEST_UNIT_DATA_DATAFILES_H

#include "../Support/TempFolder.h"
#include "dsc/Runtime/Data/BatchStream.h"
#include <cstdint>
#include <string>
#include <vector>

namespace dsc::test {

template <typename Number> std::string bytesOf(const std::vector<Number> &values) {
  std::string bytes;
  for (Number value : values)
    append(bytes, value);
  return bytes;
}

/// A Megatron index whose sequences lie one after another and are documents.
inline std::string megatronIndex(uint8_t dtype, int64_t tokenBytes,
                                 const std::vector<int32_t> &lengths) {
  std::string bytes("MMIDIDX\0\0", 9);
  append(bytes, uint64_t{1});
  append(bytes, dtype);
  append(bytes, static_cast<uint64_t>(lengths.size()));
  append(bytes, static_cast<uint64_t>(lengths.size() + 1));
  int64_t at = 0;
  for (int32_t length : lengths)
    append(bytes, length);
  for (int32_t length : lengths) {
    append(bytes, at);
    at += length * tokenBytes;
  }
  for (size_t i = 0; i <= lengths.size(); ++i)
    append(bytes, static_cast<int64_t>(i));
  return bytes;
}

struct Batch {
  std::vector<int32_t> tokens, labels;
  int64_t counted = -1;
};

inline Batch emptyBatch(const DataConfig &config) {
  auto size = static_cast<size_t>(config.batch * config.seq);
  return {std::vector<int32_t>(size, -7), std::vector<int32_t>(size, -7), -1};
}

/// Message of an open() that must fail.
template <typename Stream> std::string openError(const DataConfig &config) {
  auto stream = Stream::open(config);
  return stream.ok() ? "none" : stream.status().message();
}

} // namespace dsc::test

#endif // DSC_TEST_UNIT_DATA_DATAFILES_H
