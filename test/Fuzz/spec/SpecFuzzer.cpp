//===- SpecFuzzer.cpp - libFuzzer entry ------------------------------------===//
#include "SpecFuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  dsc::fuzz::spec({reinterpret_cast<const char *>(data), size});
  return 0;
}
