//===- IdxFuzzer.cpp - libFuzzer entry ------------------------------------===//
#include "IdxFuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  dsc::fuzz::idx({reinterpret_cast<const char *>(data), size});
  return 0;
}
