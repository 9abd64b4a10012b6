//===- Emit.cpp - kernel functions to the bytes of a kernel image ----------===//
// Each kernel becomes an object of its own: this thread lowers them one after another, since an
// MLIR context is for one thread, and threads with LLVM contexts of their own make machine code of
// them meanwhile. Objects are linked in the order of the kernels, so the image does not depend on
// the threads. The module handed in is left as it was: lowering works on copies.
#include "Emit.h"
#include "ObjectCache.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include <condition_variable>
#include <deque>
#include <map>
#include <thread>

using namespace mlir;
using namespace dsc;

namespace {
/// A kernel in LLVM IR, with the context it lives in.
struct Lowered {
  size_t index;
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
};

/// Threads that compile what they are given. `finish` must be called.
class Compilers {
public:
  Compilers(const Target &target, std::vector<std::string> &objects)
      : target(target), objects(objects), most(std::max(1u, std::thread::hardware_concurrency())) {}

  void add(Lowered kernel) {
    {
      std::lock_guard<std::mutex> lock(mutex);
      waiting.push_back(std::move(kernel));
    }
    if (threads.size() < most)
      threads.emplace_back([this] { work(); });
    changed.notify_one();
  }
  /// Waits for all kernels; returns what went wrong with the first that failed, or nothing.
  std::string finish() {
    {
      std::lock_guard<std::mutex> lock(mutex);
      complete = true;
    }
    changed.notify_all();
    for (std::thread &thread : threads)
      thread.join();
    return errors.empty() ? std::string() : errors.begin()->second;
  }

private:
  void work() {
    while (true) {
      std::unique_lock<std::mutex> lock(mutex);
      changed.wait(lock, [&] { return complete || !waiting.empty(); });
      if (waiting.empty())
        return;
      Lowered kernel = std::move(waiting.front());
      waiting.pop_front();
      lock.unlock();
      std::string object, error;
      bool good = compileToObject(*kernel.module, target, object, error);
      kernel.module.reset();
      lock.lock();
      if (good)
        objects[kernel.index] = std::move(object);
      else
        errors[kernel.index] = std::move(error);
    }
  }

  const Target &target;
  std::vector<std::string> &objects;
  unsigned most;
  std::mutex mutex; ///< guards all below but `threads`
  std::condition_variable changed;
  std::deque<Lowered> waiting;
  std::map<size_t, std::string> errors;
  bool complete = false;
  std::vector<std::thread> threads;
};
} // namespace

/// A module that holds a copy of `kernel` alone.
static OwningOpRef<ModuleOp> moduleOf(func::FuncOp kernel) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(kernel.getLoc());
  module->getBody()->push_back(kernel->clone());
  return module;
}

static FailureOr<Lowered> lower(func::FuncOp kernel, size_t index) {
  OwningOpRef<ModuleOp> copy = moduleOf(kernel);
  if (failed(lowerKernelsToLLVM(*copy)))
    return failure();
  Lowered result{index, std::make_unique<llvm::LLVMContext>(), nullptr};
  result.module = translateModuleToLLVMIR(*copy, *result.context, "kernels");
  if (!result.module)
    return kernel.emitError("does not translate to LLVM IR"), failure();
  wrapKernels(*result.module, {kernel.getName().str()});
  return std::move(result);
}

FailureOr<std::string> dsc::emitKernelImage(ModuleOp module, const Target &target,
                                            StringRef cacheFolder) {
  registerBuiltinDialectTranslation(*module.getContext());
  registerLLVMDialectTranslation(*module.getContext());
  auto kernels = llvm::to_vector(module.getOps<func::FuncOp>());
  std::vector<std::string> objects(kernels.size()), keys(kernels.size());
  ObjectCache cache(cacheFolder.str());
  Compilers compilers(target, objects);
  std::vector<size_t> compiled;
  bool lowered = true;
  for (auto [index, kernel] : llvm::enumerate(kernels)) {
    keys[index] = cache.keyOf(kernel, target);
    if (cache.find(keys[index], objects[index]))
      continue;
    FailureOr<Lowered> next = lower(kernel, index);
    lowered = succeeded(next);
    if (!lowered)
      break;
    compilers.add(std::move(*next));
    compiled.push_back(index);
  }
  std::string error = compilers.finish();
  if (!lowered)
    return failure();
  if (!error.empty())
    return module.emitError(error), failure();
  for (size_t index : compiled)
    cache.add(keys[index], objects[index]);
  return linkShared(objects, module.getLoc());
}
