//===- SafetensorsFuzzer.cpp - libFuzzer entry ------------------------------------===//
#include "SafetensorsFuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  dsc::fuzz::safetensors({reinterpret_cast<const char *>(data), size});
  return 0;
}
