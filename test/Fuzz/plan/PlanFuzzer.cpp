//===- PlanFuzzer.cpp - libFuzzer entry ------------------------------------===//
// Seeds: make-test-plan FOLDER 1 small|shares|stages
#include "PlanFuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  dsc::fuzz::plan({reinterpret_cast<const char *>(data), size});
  return 0;
}
