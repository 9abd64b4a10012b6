//===- Reproducer.cpp - a failure of the compiler as one file --------------===//
#include "dsc/Passes/Reproducer.h"

void dsc::reproduceFailures(mlir::PassManager &manager, const std::string &file) {
  manager.enableCrashReproducerGeneration(file, /*genLocalReproducer=*/true);
}
