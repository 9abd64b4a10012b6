//===- KernelRunner.h - runs one kernel in this process --------------------===//
// For tests and micro-benchmarks of generators: compiles the kernel of one op, loads it, and calls
// it on plain memory with its items dealt out as dsrun deals them.
#ifndef DSC_CODEGEN_KERNELRUNNER_H
#define DSC_CODEGEN_KERNELRUNNER_H

#include "dsc/Codegen/KernelOpInterface.h"
#include <cstdlib>
#include <memory>

namespace dsc {

/// Bytes on a 64-byte boundary, filled with NaN patterns so that reads of what nobody wrote show.
class KernelMemory {
public:
  explicit KernelMemory(int64_t bytes);
  void *data() const { return data_.get(); }
  template <typename T> T *as() const { return static_cast<T *>(data_.get()); }

private:
  struct Free {
    void operator()(void *pointer) const { std::free(pointer); }
  };
  std::unique_ptr<void, Free> data_;
};

class KernelRunner {
public:
  /// Compiles the kernel of `op`. Results live in the operand they must alias, else in an argument
  /// of their own; with `inPlace` also in an operand they merely may overwrite.
  static mlir::FailureOr<std::unique_ptr<KernelRunner>>
  create(mlir::Operation *op, const Target &target, bool inPlace = false);
  ~KernelRunner();

  /// Argument that holds each result in a runner made with the same `inPlace`.
  static std::vector<int64_t> resultArguments(mlir::Operation *op, bool inPlace);

  int64_t items() const { return items_; }
  int64_t workspaceBytes() const { return workspaceBytes_; }
  /// Argument that holds result r.
  llvm::ArrayRef<int64_t> resultArguments() const { return resultArgument_; }
  /// Bytes of each argument.
  llvm::ArrayRef<int64_t> argumentBytes() const { return argumentBytes_; }
  /// The ELF image.
  const std::string &image() const { return image_; }

  /// All items on `threads` threads (the caller is one of them). Returns the processor seconds of
  /// the thread that used most: what a run takes when nothing else is running.
  double run(llvm::ArrayRef<void *> arguments, unsigned threads = 1);

private:
  KernelRunner() = default;
  struct Pool;
  using Function = void (*)(void *const *, int64_t, int64_t, void *);

  int64_t items_ = 0, workspaceBytes_ = 0;
  std::vector<int64_t> resultArgument_, argumentBytes_;
  std::string image_;
  void *library_ = nullptr;
  Function function_ = nullptr;
  std::unique_ptr<Pool> pool_;
};

} // namespace dsc

#endif // DSC_CODEGEN_KERNELRUNNER_H
