//===- KernelHarness.h - generate a kernel, load it, run it in a test ------===//
#ifndef DSC_TEST_UNIT_CODEGEN_KERNELHARNESS_H
#define DSC_TEST_UNIT_CODEGEN_KERNELHARNESS_H

#include "KernelBuilder.h"
#include "mlir/IR/OwningOpRef.h"
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace dsc::test {

/// Targets this CPU can run, weakest first.
std::vector<const Target *> runnableTargets();

/// 64-byte aligned bytes of one tensor, with guard bytes on both sides that a kernel must not
/// touch.
class TensorBytes {
public:
  explicit TensorBytes(size_t bytes);
  void *data() { return data_; }
  size_t size() const { return size_; }
  template <typename T> T *as() { return reinterpret_cast<T *>(data_); }
  bool guardsIntact() const;

private:
  std::vector<unsigned char> storage_;
  unsigned char *data_;
  size_t size_;
};

/// A kernel generated for one op and loaded into this process.
class LoadedKernel {
public:
  /// `text` is the body of a function that holds one ds op: "%r = ds.add %a, %b : ...". Operands
  /// are %a, %b, ... declared in `arguments`: "%a: tensor<3xf32>, %b: tensor<3xf32>". Results for
  /// which `inPlace` has an entry >= 0 are written over that operand. Empty handle if nothing runs
  /// (compile only).
  static std::unique_ptr<LoadedKernel> ofOp(const std::string &arguments, const std::string &text,
                                            const Target &target,
                                            std::vector<int64_t> inPlace = {});
  /// A kernel with `body`, on memref arguments of `types`.
  static std::unique_ptr<LoadedKernel> ofBody(const std::vector<std::string> &types,
                                              const Target &target,
                                              const std::function<void(KernelBuilder &)> &body);
  ~LoadedKernel();

  int64_t items() const { return items_; }
  int64_t workspaceBytes() const { return workspaceBytes_; }
  /// Sizes in bytes of the kernel's tensor arguments.
  const std::vector<int64_t> &argumentBytes() const { return argumentBytes_; }
  /// Runs items [begin, end) with a workspace full of NaNs.
  void run(const std::vector<void *> &operands, int64_t begin, int64_t end);
  void run(const std::vector<void *> &operands) { run(operands, 0, items_); }

private:
  using Entry = void (*)(void *const *, int64_t, int64_t, void *);
  void load(mlir::ModuleOp module, const Target &target);

  int64_t items_ = 1, workspaceBytes_ = 0;
  std::vector<int64_t> argumentBytes_;
  void *handle_ = nullptr;
  Entry entry_ = nullptr;
  std::vector<unsigned char> workspace_;
};

/// Runs an op on every target this CPU has, all items at once and split in three, checks that both
/// give the same bits and that nothing outside the tensors was written, and hands the arguments of
/// the kernel to `check`. `fill` sets the initial contents; both get one buffer an argument.
/// Targets that do not run here are compiled.
struct OpTest {
  std::string arguments, text;
  std::vector<int64_t> inPlace;
  std::function<void(std::vector<TensorBytes> &)> fill;
  std::function<void(std::vector<TensorBytes> &, const Target &)> check;
  void run() const;
};

/// Normally distributed values, the same on every run.
void fillNormal(TensorBytes &tensor, unsigned seed, double scale = 1);
std::vector<double> toDouble(TensorBytes &tensor);
/// max |a - b| <= relative * max |b|, reported by index.
void expectNear(const std::vector<double> &actual, const std::vector<double> &expected,
                double relative, const std::string &what);

} // namespace dsc::test

#endif // DSC_TEST_UNIT_CODEGEN_KERNELHARNESS_H
