//===- ObjectCache.h - machine code of kernels compiled before -------------===//
#ifndef DSC_LIB_CODEGEN_OBJECTCACHE_H
#define DSC_LIB_CODEGEN_OBJECTCACHE_H

#include "dsc/Codegen/KernelOpInterface.h"
#include <string>

namespace dsc {

/// A folder of objects, each named by what it was made of: the kernel's function, the target, and
/// the program that compiled it. Several programs may use one folder at a time; a file that cannot
/// be read, or is not as it was written, counts as absent.
class ObjectCache {
public:
  /// Without a folder nothing is found and nothing kept.
  explicit ObjectCache(std::string folder);

  /// Empty without a folder.
  std::string keyOf(mlir::func::FuncOp kernel, const Target &target) const;
  bool find(const std::string &key, std::string &object) const;
  void add(const std::string &key, const std::string &object) const;

private:
  std::string folder, program;
};

} // namespace dsc

#endif // DSC_LIB_CODEGEN_OBJECTCACHE_H
