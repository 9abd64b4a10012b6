//===- Digest.h - hash and norm of every tensor, step by step --------------===//
#ifndef DSC_RUNTIME_CORE_DIGEST_H
#define DSC_RUNTIME_CORE_DIGEST_H

#include "dsc/Runtime/Core/Executor.h"
#include <cstdio>
#include <optional>

namespace dsc {

/// Writes one JSON object a tensor and step, names sorted inside a step:
///   {"hash":"0123456789abcdef","name":"wte.weight","norm":12.5,"step":1}
/// hash: XXH3 of the logical tensor's bytes. norm: square root of the sum of squares, in double;
/// null if not finite. Gradients are named grad:<variable>, unclipped, taken before the update;
/// variables after it.
class Digest {
public:
  /// Digests `program` from now on; without one, where ranks have the gradients, variables alone.
  /// The executor must outlive the digest.
  static StatusOr<std::unique_ptr<Digest>> create(const std::string &path, Executor &executor,
                                                  std::optional<size_t> program);
  ~Digest();
  /// Writes what the run before gave.
  Status write(int64_t step);

private:
  struct Entry {
    std::string name, hash;
    double norm;
  };
  Digest(std::string path, std::FILE *file, Executor &executor)
      : path(std::move(path)), file(file), executor(executor) {}
  static Entry digest(const std::string &name, plan::DType dtype, const std::byte *data,
                      uint64_t bytes);

  std::string path;
  std::FILE *file;
  Executor &executor;
  std::vector<Entry> entries;
};

} // namespace dsc

#endif // DSC_RUNTIME_CORE_DIGEST_H
