//===- ManifestFuzz.h - any text as manifest.json of a checkpoint -------------===//
// Used by the libFuzzer program and by a short run with a fixed seed in the unit tests.
#ifndef DSC_TEST_FUZZ_MANIFEST_MANIFESTFUZZ_H
#define DSC_TEST_FUZZ_MANIFEST_MANIFESTFUZZ_H

#include "dsc/Runtime/Checkpoint/Checkpoint.h"
#include "dsc/Support/Hash.h"
#include <cstdlib>

namespace dsc::fuzz {

/// `bytes` as they are, then with the hash that they should have, so that what lies behind the hash
/// is reached.
inline void manifest(std::string_view bytes) {
  (void)parseManifest(bytes, "fuzz");
  constexpr size_t place = 22; // after {, line feed and "manifest_hash": "
  std::string text(bytes);
  if (text.size() < place + 16)
    return;
  text.replace(place, 16, std::string(16, '0'));
  text.replace(place, 16, hex64(hash64(text)));
  auto info = parseManifest(text, "fuzz");
  if (!info)
    return;
  // What was accepted can be written and read again.
  std::string written = manifestText(*info);
  auto again = parseManifest(written, "fuzz");
  if (!again || manifestText(*again) != written)
    std::abort();
  for (const StateTensor &tensor : info->tensors)
    if (tensor.bytes() >> 63)
      std::abort();
}

} // namespace dsc::fuzz

#endif // DSC_TEST_FUZZ_MANIFEST_MANIFESTFUZZ_H
