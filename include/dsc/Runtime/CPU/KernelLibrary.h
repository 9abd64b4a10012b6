//===- KernelLibrary.h - native code of a plan, in this process ------------===//
#ifndef DSC_RUNTIME_CPU_KERNELLIBRARY_H
#define DSC_RUNTIME_CPU_KERNELLIBRARY_H

#include "dsc/Plan/Plan.h"
#include "dsc/Support/Status.h"

namespace dsc {

/// The ABI of dsc/Plan/Plan.h.
using KernelFunction = void (*)(void *const *operands, int64_t begin, int64_t end, void *workspace);

/// A loaded image. It stays loaded while the object lives.
class KernelLibrary {
public:
  KernelLibrary() = default;
  KernelLibrary(KernelLibrary &&other) noexcept { *this = std::move(other); }
  KernelLibrary &operator=(KernelLibrary &&other) noexcept;
  ~KernelLibrary();

  /// Loads `image` and finds every kernel by its name. Code Damaged.
  static StatusOr<KernelLibrary> load(const plan::KernelImage &image,
                                      const std::vector<plan::Kernel> &kernels);

  /// By index in the plan's table.
  KernelFunction kernel(size_t index) const { return functions[index]; }

private:
  int descriptor = -1;
  void *handle = nullptr;
  std::vector<KernelFunction> functions;
};

} // namespace dsc

#endif // DSC_RUNTIME_CPU_KERNELLIBRARY_H
