//===- ObjectCache.cpp - machine code of kernels compiled before -----------===//
// A file is the object with its hash behind it.
#include "ObjectCache.h"
#include "dsc/Support/File.h"
#include "dsc/Support/Hash.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace dsc;

static constexpr size_t hashLength = 16;

/// What tells one build of this program from another; empty if it cannot be read.
static const std::string &thisProgram() {
  static const std::string hash = [] {
    auto file = MappedFile::open("/proc/self/exe");
    return file.ok() ? sha256Hex(file->bytes()) : std::string();
  }();
  return hash;
}

ObjectCache::ObjectCache(std::string path) : folder(std::move(path)) {
  if (folder.empty())
    return;
  program = thisProgram();
  if (program.empty() || !makeFolders(folder).ok())
    folder.clear();
}

std::string ObjectCache::keyOf(func::FuncOp kernel, const Target &target) const {
  if (folder.empty())
    return "";
  std::string text = program + "\n" + target.name + "\n" LLVM_VERSION_STRING "\n";
  llvm::raw_string_ostream(text) << kernel;
  return sha256Hex(text);
}

bool ObjectCache::find(const std::string &key, std::string &object) const {
  if (folder.empty())
    return false;
  auto file = readFile(joinPath(folder, key + ".o"));
  if (!file.ok() || file->size() < hashLength)
    return false;
  std::string hash = file->substr(file->size() - hashLength);
  file->resize(file->size() - hashLength);
  if (hex64(hash64(*file)) != hash)
    return false;
  object = std::move(*file);
  return true;
}

void ObjectCache::add(const std::string &key, const std::string &object) const {
  if (folder.empty())
    return;
  // A full disk costs the next compilation its time and nothing else.
  Status written =
      writeFileAtomically(joinPath(folder, key + ".o"), object + hex64(hash64(object)));
  (void)written;
}
