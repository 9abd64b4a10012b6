//===- NpyFuzzer.cpp - libFuzzer entry ------------------------------------===//
#include "NpyFuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  dsc::fuzz::npy({reinterpret_cast<const char *>(data), size});
  return 0;
}
