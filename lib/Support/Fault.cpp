//===- Fault.cpp - the fault that the environment chose --------------------===//
#include "dsc/Support/Fault.h"
#include <cstdlib>

#if DSC_FAULTS
bool dsc::isFault(int number) {
  static const int chosen = [] {
    const char *text = std::getenv("DSC_FAULT");
    return text ? std::atoi(text) : 0;
  }();
  return number == chosen;
}
#endif
