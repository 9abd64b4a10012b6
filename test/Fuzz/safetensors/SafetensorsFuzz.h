//===- SafetensorsFuzz.h - any bytes as model.safetensors ---------------------===//
// Used by the libFuzzer program and by a short run with a fixed seed in the unit tests.
#ifndef DSC_TEST_FUZZ_SAFETENSORS_SAFETENSORSFUZZ_H
#define DSC_TEST_FUZZ_SAFETENSORS_SAFETENSORSFUZZ_H

#include "dsc/Runtime/Checkpoint/Safetensors.h"
#include <cstdlib>

namespace dsc::fuzz {

inline void safetensors(std::string_view bytes) {
  StatusOr<SafeHeader> header = parseSafetensors(bytes, "fuzz");
  if (!header)
    return;
  // Whatever was accepted can be read to its last byte.
  uint64_t total = header->dataOffset;
  std::vector<double> values;
  for (const SafeTensor &tensor : header->tensors) {
    total += tensor.end - tensor.begin;
    values.resize(static_cast<size_t>(tensor.elements()));
    convertElements(reinterpret_cast<const uint8_t *>(bytes.data()) + header->dataOffset +
                        tensor.begin,
                    tensor.type, 0, tensor.elements(), values.data());
  }
  if (total != bytes.size())
    std::abort();
}

} // namespace dsc::fuzz

#endif // DSC_TEST_FUZZ_SAFETENSORS_SAFETENSORSFUZZ_H
