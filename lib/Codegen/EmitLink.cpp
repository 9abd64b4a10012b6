//===- EmitLink.cpp - a relocatable object to a shared object --------------===//
#include "Emit.h"
#include "lld/Common/CommonLinkerContext.h"
#include "lld/Common/Driver.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include <mutex>

LLD_HAS_DRIVER(elf)

using namespace mlir;
using namespace dsc;

FailureOr<std::string> dsc::linkShared(StringRef object, Location loc) {
  // lld keeps its state in globals and writes to paths only.
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);

  SmallString<128> input, output;
  int descriptor;
  if (std::error_code error =
          llvm::sys::fs::createTemporaryFile("dsc-kernels", "o", descriptor, input))
    return emitError(loc) << "no temporary file for the kernels: " << error.message();
  llvm::FileRemover removeInput(input);
  {
    llvm::raw_fd_ostream stream(descriptor, /*shouldClose=*/true);
    stream << object;
    stream.close();
    if (stream.has_error()) {
      std::error_code error = stream.error();
      stream.clear_error();
      return emitError(loc) << "cannot write " << input << ": " << error.message();
    }
  }
  if (std::error_code error = llvm::sys::fs::createTemporaryFile("dsc-kernels", "so", output))
    return emitError(loc) << "no temporary file for the kernel image: " << error.message();
  llvm::FileRemover removeOutput(output);

  std::string messages;
  llvm::raw_string_ostream stream(messages);
  const char *arguments[] = {
      "ld.lld", "-shared",      "--no-undefined", "--gc-sections",    "--build-id=none",
      "-z",     "now",          "--threads=1",    "--hash-style=gnu", "--color-diagnostics=never",
      "-o",     output.c_str(), input.c_str()};
  lld::Result result =
      lld::lldMain(arguments, llvm::nulls(), stream, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode != 0)
    return emitError(loc) << "kernels do not link: " << StringRef(messages).trim();
  auto buffer =
      llvm::MemoryBuffer::getFile(output, /*IsText=*/false, /*RequiresNullTerminator=*/false,
                                  /*IsVolatile=*/true);
  if (!buffer)
    return emitError(loc) << "cannot read " << output << ": " << buffer.getError().message();
  return (*buffer)->getBuffer().str();
}
