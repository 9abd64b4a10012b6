//===- EmitLink.cpp - relocatable objects to a shared object ---------------===//
#include "Emit.h"
#include "lld/Common/CommonLinkerContext.h"
#include "lld/Common/Driver.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include <deque>
#include <mutex>

LLD_HAS_DRIVER(elf)

using namespace mlir;
using namespace dsc;

namespace {
/// A temporary file that is removed with this.
struct TemporaryFile {
  SmallString<128> path;
  llvm::FileRemover remove;
};
} // namespace

/// Writes `object` to a temporary file.
static LogicalResult writeObject(StringRef object, TemporaryFile &file, Location loc) {
  int descriptor;
  if (std::error_code error =
          llvm::sys::fs::createTemporaryFile("dsc-kernels", "o", descriptor, file.path))
    return emitError(loc) << "no temporary file for the kernels: " << error.message();
  file.remove.setFile(file.path);
  llvm::raw_fd_ostream stream(descriptor, /*shouldClose=*/true);
  stream << object;
  stream.close();
  if (!stream.has_error())
    return success();
  std::error_code error = stream.error();
  stream.clear_error();
  return emitError(loc) << "cannot write " << file.path << ": " << error.message();
}

FailureOr<std::string> dsc::linkShared(ArrayRef<std::string> objects, Location loc) {
  // lld keeps its state in globals and writes to paths only.
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);

  std::deque<TemporaryFile> inputs(objects.size());
  for (auto [object, input] : llvm::zip_equal(objects, inputs))
    if (failed(writeObject(object, input, loc)))
      return failure();
  SmallString<128> output;
  if (std::error_code error = llvm::sys::fs::createTemporaryFile("dsc-kernels", "so", output))
    return emitError(loc) << "no temporary file for the kernel image: " << error.message();
  llvm::FileRemover removeOutput(output);

  std::string messages;
  llvm::raw_string_ostream stream(messages);
  SmallVector<const char *> arguments = {
      "ld.lld", "-shared",     "--no-undefined", "--gc-sections",    "--build-id=none",
      "-z",     "now",         "--threads=1",    "--hash-style=gnu", "--color-diagnostics=never",
      "-o",     output.c_str()};
  for (TemporaryFile &input : inputs)
    arguments.push_back(input.path.c_str());
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
