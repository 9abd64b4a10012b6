//===- NpyFuzz.h - any bytes as .npy --------------------------------------------===//
// Used by the libFuzzer program and by a short run with a fixed seed in the unit tests.
#ifndef DSC_TEST_FUZZ_NPY_NPYFUZZ_H
#define DSC_TEST_FUZZ_NPY_NPYFUZZ_H

#include "dsc/Runtime/Data/Npy.h"
#include <cstdlib>

namespace dsc::fuzz {

inline void npy(std::string_view bytes) {
  StatusOr<NpyHeader> header = parseNpyHeader(bytes, "fuzz");
  if (!header)
    return;
  int64_t elements = 1;
  for (int64_t dimension : header->shape)
    elements *= dimension;
  if (elements != header->elements ||
      header->dataOffset + static_cast<uint64_t>(elements * npyTypeSize(header->type)) !=
          bytes.size())
    std::abort();
}

} // namespace dsc::fuzz

#endif // DSC_TEST_FUZZ_NPY_NPYFUZZ_H
