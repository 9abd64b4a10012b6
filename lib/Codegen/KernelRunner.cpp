//===- KernelRunner.cpp - runs one kernel in this process ------------------===//
#include "dsc/Codegen/KernelRunner.h"
#include "dsc/Interfaces/Interfaces.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include <atomic>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <sys/mman.h>
#include <thread>

using namespace mlir;
using namespace dsc;

KernelMemory::KernelMemory(int64_t bytes) {
  // Large blocks lie on huge pages where the system has them, as the arena of dsrun does.
  constexpr size_t hugePage = 2 << 20;
  const size_t alignment = bytes >= static_cast<int64_t>(hugePage) ? hugePage : 64;
  size_t size = (static_cast<size_t>(bytes) + 64 + alignment - 1) / alignment * alignment;
  data_.reset(std::aligned_alloc(alignment, size));
  if (alignment == hugePage)
    madvise(data_.get(), size, MADV_HUGEPAGE);
  std::memset(data_.get(), 0xff, size);
}

static double threadSeconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec + 1e-9 * time.tv_nsec;
}

/// Threads that wait for work by spinning shortly, then asleep.
struct KernelRunner::Pool {
  Pool(unsigned threads, int64_t workspaceBytes) {
    busy.resize(threads);
    for (unsigned i = 0; i < threads; ++i)
      workspaces.emplace_back(workspaceBytes);
    for (unsigned i = 1; i < threads; ++i)
      workers.emplace_back([this, i] { work(i); });
  }
  ~Pool() {
    function = nullptr;
    generation.fetch_add(1);
    generation.notify_all();
    for (std::thread &worker : workers)
      worker.join();
  }
  void run(Function kernel, void *const *kernelArguments, int64_t itemCount) {
    function = kernel;
    arguments = kernelArguments;
    items = itemCount;
    running = workers.size();
    generation.fetch_add(1);
    generation.notify_all();
    share(0);
    for (unsigned spins = 0; running.load() != 0; ++spins)
      if (spins > 10000)
        std::this_thread::yield();
  }
  void share(unsigned i) {
    int64_t n = workspaces.size();
    int64_t low = items * i / n, high = items * (i + 1) / n;
    double start = threadSeconds();
    if (low < high)
      function(arguments, low, high, workspaces[i].data());
    busy[i] = threadSeconds() - start;
  }
  void work(unsigned i) {
    for (uint64_t seen = 0;;) {
      for (unsigned spins = 0; generation.load() == seen; ++spins)
        if (spins > 10000)
          generation.wait(seen);
      ++seen;
      if (!function)
        return;
      share(i);
      running.fetch_sub(1);
    }
  }

  std::vector<KernelMemory> workspaces;
  std::vector<double> busy; ///< processor seconds of each thread's share of the last run
  std::vector<std::thread> workers;
  std::atomic<uint64_t> generation = 0;
  std::atomic<uint64_t> running = 0;
  Function function = nullptr;
  void *const *arguments = nullptr;
  int64_t items = 0;
};

static int64_t bytesOf(Type type) {
  auto memory = cast<ShapedType>(type);
  return memory.getNumElements() * (memory.getElementTypeBitWidth() / 8);
}

std::vector<int64_t> KernelRunner::resultArguments(Operation *op, bool inPlace) {
  auto aliasing = dyn_cast<InPlaceOpInterface>(op);
  std::vector<int64_t> arguments;
  int64_t next = op->getNumOperands();
  for (OpResult result : op->getResults()) {
    unsigned r = result.getResultNumber();
    int64_t operand = aliasing ? aliasing.inPlaceOperand(r) : -1;
    if (operand >= 0 && ((!inPlace && !aliasing.mustAlias(r)) ||
                         op->getOperand(operand).getType() != result.getType()))
      operand = -1;
    arguments.push_back(operand < 0 ? next++ : operand);
  }
  return arguments;
}

FailureOr<std::unique_ptr<KernelRunner>> KernelRunner::create(Operation *op, const Target &target,
                                                              bool inPlace) {
  std::unique_ptr<KernelRunner> runner(new KernelRunner());
  runner->resultArgument_ = resultArguments(op, inPlace);
  for (Type type : op->getOperandTypes())
    runner->argumentBytes_.push_back(bytesOf(type));
  for (OpResult result : op->getResults())
    if (runner->resultArgument_[result.getResultNumber()] >= op->getNumOperands())
      runner->argumentBytes_.push_back(bytesOf(result.getType()));

  OwningOpRef<ModuleOp> module = ModuleOp::create(op->getLoc());
  if (failed(generateKernel(*module, "kernel", op, runner->resultArgument_, target)))
    return failure();
  const KernelGenerator *generator = findGenerator(op->getName().getStringRef());
  runner->items_ = generator->items(op);
  runner->workspaceBytes_ = generator->workspaceBytes(op, target);
  FailureOr<std::string> image = emitKernelImage(*module, target);
  if (failed(image))
    return failure();
  runner->image_ = std::move(*image);
  if (!hostSupports(target))
    return runner;

  SmallString<128> path;
  int descriptor;
  if (llvm::sys::fs::createTemporaryFile("dsc-kernel", "so", descriptor, path))
    return op->emitError("no temporary file for the kernel");
  llvm::FileRemover remove(path);
  llvm::raw_fd_ostream(descriptor, /*shouldClose=*/true) << runner->image_;
  runner->library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!runner->library_)
    return op->emitError("kernel does not load: ") << dlerror();
  runner->function_ = reinterpret_cast<Function>(dlsym(runner->library_, "kernel"));
  if (!runner->function_)
    return op->emitError("kernel image has no symbol 'kernel'");
  return runner;
}

KernelRunner::~KernelRunner() {
  pool_.reset();
  if (library_)
    dlclose(library_);
}

double KernelRunner::run(ArrayRef<void *> arguments, unsigned threads) {
  if (!pool_ || pool_->workspaces.size() != threads)
    pool_ = std::make_unique<Pool>(threads, workspaceBytes_);
  pool_->run(function_, arguments.data(), items_);
  return *llvm::max_element(pool_->busy);
}
