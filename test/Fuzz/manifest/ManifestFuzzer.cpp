//===- ManifestFuzzer.cpp - libFuzzer entry ---------------------------------------===//
#include "ManifestFuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  dsc::fuzz::manifest({reinterpret_cast<const char *>(data), size});
  return 0;
}
