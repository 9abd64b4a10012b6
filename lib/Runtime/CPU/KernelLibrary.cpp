//===- KernelLibrary.cpp - native code of a plan, in this process ----------===//
// The image goes to an anonymous file that only this process sees. The C library remembers
// libraries by path, so the descriptor stays open as long as the library: the number is not used
// again for another image.
#include "dsc/Runtime/CPU/KernelLibrary.h"
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

using namespace dsc;

KernelLibrary &KernelLibrary::operator=(KernelLibrary &&other) noexcept {
  std::swap(descriptor, other.descriptor);
  std::swap(handle, other.handle);
  std::swap(functions, other.functions);
  return *this;
}

KernelLibrary::~KernelLibrary() {
  if (handle)
    dlclose(handle);
  if (descriptor >= 0)
    close(descriptor);
}

StatusOr<KernelLibrary> KernelLibrary::load(const plan::KernelImage &image,
                                            const std::vector<plan::Kernel> &kernels) {
  KernelLibrary library;
  library.descriptor = memfd_create("dsc-kernels", MFD_CLOEXEC);
  if (library.descriptor < 0)
    return Status(ErrorCode::Internal,
                  std::string("cannot make an anonymous file for the kernels: ") +
                      std::strerror(errno));
  for (size_t done = 0; done < image.elf.size();) {
    ssize_t count = write(library.descriptor, image.elf.data() + done, image.elf.size() - done);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return Status(ErrorCode::Memory, std::string("cannot hold the kernels of ") + image.isa +
                                           " in memory: " + std::strerror(errno));
    done += static_cast<size_t>(count);
  }
  std::string path = "/proc/self/fd/" + std::to_string(library.descriptor);
  library.handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library.handle)
    return damagedError("section 'kernels." + image.isa + "': cannot load: " + dlerror());
  for (const plan::Kernel &kernel : kernels) {
    void *symbol = dlsym(library.handle, kernel.name.c_str());
    if (!symbol)
      return damagedError("section 'kernels." + image.isa + "': kernel '" + kernel.name +
                          "' is missing");
    library.functions.push_back(reinterpret_cast<KernelFunction>(symbol));
  }
  return library;
}
