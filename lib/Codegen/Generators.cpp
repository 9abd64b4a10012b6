//===- Generators.cpp - which generator writes the kernels of which op -----===//
#include "Generators.h"
#include "llvm/ADT/StringMap.h"

using namespace dsc;

const KernelGenerator *dsc::findGenerator(llvm::StringRef opName) {
  static const llvm::StringMap<std::unique_ptr<KernelGenerator>> generators = [] {
    llvm::StringMap<std::unique_ptr<KernelGenerator>> map;
    return map;
  }();
  auto found = generators.find(opName);
  return found == generators.end() ? nullptr : found->second.get();
}
