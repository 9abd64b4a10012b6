//===- IdxFuzz.h - any bytes as a Megatron index -------------------------------===//
// The first two bytes are the size of the .bin, the rest the index. Used by the libFuzzer program
// and by a short run with a fixed seed in the unit tests.
#ifndef DSC_TEST_FUZZ_IDX_IDXFUZZ_H
#define DSC_TEST_FUZZ_IDX_IDXFUZZ_H

#include "dsc/Runtime/Data/TokenFile.h"
#include <cstdlib>

namespace dsc::fuzz {

inline void idx(std::string_view bytes) {
  if (bytes.size() < 2)
    return;
  uint64_t binBytes = static_cast<unsigned char>(bytes[0]) | static_cast<unsigned char>(bytes[1])
                                                                 << 8;
  StatusOr<MegatronIndex> index = parseMegatronIndex(bytes.substr(2), binBytes, "fuzz");
  if (!index)
    return;
  int64_t tokens = 0;
  for (int32_t length : index->lengths)
    tokens += length;
  if (tokens != index->tokens || static_cast<uint64_t>(tokens * index->tokenBytes) != binBytes)
    std::abort();
}

} // namespace dsc::fuzz

#endif // DSC_TEST_FUZZ_IDX_IDXFUZZ_H
