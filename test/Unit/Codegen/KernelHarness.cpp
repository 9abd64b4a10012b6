//===- KernelHarness.cpp - generate a kernel, load it, run it in a test ----===//
#include "KernelHarness.h"
#include "dsc/Dialect/DS/DS.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <sys/mman.h>
#include <unistd.h>

using namespace mlir;
using namespace dsc;
using namespace dsc::test;

static MLIRContext &context() {
  static MLIRContext *context = [] {
    DialectRegistry registry;
    registry
        .insert<ds::DSDialect, func::FuncDialect, arith::ArithDialect, math::MathDialect,
                memref::MemRefDialect, scf::SCFDialect, vector::VectorDialect, LLVM::LLVMDialect>();
    auto *result = new MLIRContext(registry, MLIRContext::Threading::DISABLED);
    result->loadAllAvailableDialects();
    return result;
  }();
  return *context;
}

std::vector<const Target *> dsc::test::runnableTargets() {
  std::vector<const Target *> result;
  for (const Target &target : allTargets())
    if (hostSupports(target))
      result.push_back(&target);
  return result;
}

static constexpr size_t guardBytes = 256;

TensorBytes::TensorBytes(size_t bytes) : storage_(bytes + 2 * guardBytes + 64, 0xA5), size_(bytes) {
  auto address = reinterpret_cast<uintptr_t>(storage_.data()) + guardBytes;
  data_ = reinterpret_cast<unsigned char *>((address + 63) / 64 * 64);
  std::memset(data_, 0xFF, bytes);
}

bool TensorBytes::guardsIntact() const {
  for (const unsigned char *at = storage_.data(); at != storage_.data() + storage_.size(); ++at)
    if ((at < data_ || at >= data_ + size_) && *at != 0xA5)
      return false;
  return true;
}

static int64_t byteSizeOf(ShapedType type) {
  return type.getNumElements() * type.getElementTypeBitWidth() / 8;
}

std::unique_ptr<LoadedKernel> LoadedKernel::ofOp(const std::string &arguments,
                                                 const std::string &text, const Target &target,
                                                 std::vector<int64_t> inPlace) {
  std::string source = "func.func @f(" + arguments + ") {\n" + text + "\nreturn\n}\n";
  OwningOpRef<ModuleOp> parsed = parseSourceString<ModuleOp>(source, &context());
  if (!parsed) {
    ADD_FAILURE() << "does not parse: " << source;
    return nullptr;
  }
  Operation *op = nullptr;
  parsed->walk([&](Operation *inner) {
    if (isa_and_nonnull<ds::DSDialect>(inner->getDialect()))
      op = inner;
  });
  const KernelGenerator *generator = findGenerator(op->getName().getStringRef());
  if (!generator) {
    ADD_FAILURE() << "no generator for " << op->getName().getStringRef().str();
    return nullptr;
  }

  OpBuilder builder(&context());
  OwningOpRef<ModuleOp> module(ModuleOp::create(builder, op->getLoc()));
  SmallVector<Type> types;
  SmallVector<int64_t> resultArgument;
  auto kernel = std::make_unique<LoadedKernel>();
  auto addArgument = [&](Type type) {
    types.push_back(kernelMemory(type));
    kernel->argumentBytes_.push_back(byteSizeOf(cast<ShapedType>(type)));
  };
  for (Type type : op->getOperandTypes())
    addArgument(type);
  for (unsigned i = 0; i < op->getNumResults(); ++i) {
    if (i < inPlace.size() && inPlace[i] >= 0) {
      resultArgument.push_back(inPlace[i]);
      continue;
    }
    resultArgument.push_back(types.size());
    addArgument(op->getResult(i).getType());
  }
  types.append({builder.getIndexType(), builder.getIndexType(),
                MemRefType::get({ShapedType::kDynamic}, builder.getI8Type())});
  builder.setInsertionPointToStart(module->getBody());
  auto function = func::FuncOp::create(builder, op->getLoc(), "kernel",
                                       builder.getFunctionType(types, TypeRange{}));
  generator->generate(op, resultArgument, function, target);
  kernel->items_ = generator->items(op);
  kernel->workspaceBytes_ = generator->workspaceBytes(op, target);
  kernel->load(*module, target);
  return kernel;
}

std::unique_ptr<LoadedKernel>
LoadedKernel::ofBody(const std::vector<std::string> &typeNames, const Target &target,
                     const std::function<void(KernelBuilder &)> &body) {
  OpBuilder builder(&context());
  Location loc = builder.getUnknownLoc();
  OwningOpRef<ModuleOp> module(ModuleOp::create(builder, loc));
  SmallVector<Type> types;
  auto kernel = std::make_unique<LoadedKernel>();
  for (const std::string &name : typeNames) {
    types.push_back(parseType(name, &context()));
    kernel->argumentBytes_.push_back(byteSizeOf(cast<ShapedType>(types.back())));
  }
  types.append({builder.getIndexType(), builder.getIndexType(),
                MemRefType::get({ShapedType::kDynamic}, builder.getI8Type())});
  builder.setInsertionPointToStart(module->getBody());
  auto function =
      func::FuncOp::create(builder, loc, "kernel", builder.getFunctionType(types, TypeRange{}));
  KernelBuilder writer(function, target);
  body(writer);
  writer.finish();
  kernel->load(*module, target);
  return kernel;
}

void LoadedKernel::load(ModuleOp module, const Target &target) {
  if (failed(verify(module))) {
    ADD_FAILURE() << "the generated kernel does not verify";
    module.dump();
    return;
  }
  if (const char *path = getenv("DSC_TEST_KERNEL_MLIR")) {
    std::error_code error;
    llvm::raw_fd_ostream stream(path, error);
    module.print(stream);
  }
  FailureOr<std::string> image = emitKernelImage(module, target);
  if (failed(image)) {
    ADD_FAILURE() << "no image for " << target.name;
    return;
  }
  if (const char *path = getenv("DSC_TEST_KERNEL_ELF")) {
    std::error_code error;
    llvm::raw_fd_ostream stream(path, error);
    stream << *image;
  }
  if (!hostSupports(target))
    return;
  // The C library keeps images apart by path, and descriptors are used again: never close.
  int descriptor = memfd_create("kernel", MFD_CLOEXEC);
  ASSERT_EQ(write(descriptor, image->data(), image->size()), ssize_t(image->size()));
  std::string path = "/proc/self/fd/" + std::to_string(descriptor);
  handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(handle_, nullptr) << dlerror();
  entry_ = reinterpret_cast<Entry>(dlsym(handle_, "kernel"));
  ASSERT_NE(entry_, nullptr);
  workspace_.resize(workspaceBytes_ + 128);
}

LoadedKernel::~LoadedKernel() = default;

void LoadedKernel::run(const std::vector<void *> &operands, int64_t begin, int64_t end) {
  ASSERT_NE(entry_, nullptr);
  ASSERT_EQ(operands.size(), argumentBytes_.size());
  std::memset(workspace_.data(), 0xFF, workspace_.size());
  auto address = (reinterpret_cast<uintptr_t>(workspace_.data()) + 63) / 64 * 64;
  entry_(operands.data(), begin, end, reinterpret_cast<void *>(address));
  // The bytes after the workspace are still as they were.
  auto *after = reinterpret_cast<unsigned char *>(address) + workspaceBytes_;
  ASSERT_EQ(*after, 0xFF) << "wrote past the workspace of " << workspaceBytes_ << " bytes";
}

/// Tests that differ in their data alone share a kernel.
static LoadedKernel *cachedKernel(const OpTest &test, const Target &target) {
  using Key = std::tuple<std::string, std::string, std::string, std::vector<int64_t>>;
  static std::map<Key, std::unique_ptr<LoadedKernel>> kernels;
  auto &kernel = kernels[Key(target.name, test.arguments, test.text, test.inPlace)];
  if (!kernel)
    kernel = LoadedKernel::ofOp(test.arguments, test.text, target, test.inPlace);
  return kernel.get();
}

/// Of a target that this CPU cannot run, only that its code comes out is seen: once an op.
static bool worthCompiling(const std::string &text, const Target &target) {
  static std::set<std::pair<std::string, std::string>> seen;
  std::string op = text.substr(text.find("ds."));
  op = op.substr(0, op.find(' '));
  return hostSupports(target) ||
         (target.tiles == Tiles::None && seen.emplace(op, target.name).second);
}

void OpTest::run() const {
  for (const Target &target : allTargets()) {
    if (!worthCompiling(text, target))
      continue;
    SCOPED_TRACE(target.name + ": " + text);
    LoadedKernel *kernel = cachedKernel(*this, target);
    ASSERT_NE(kernel, nullptr);
    if (!hostSupports(target))
      continue;
    std::vector<TensorBytes> whole, split;
    for (int64_t bytes : kernel->argumentBytes()) {
      whole.emplace_back(bytes);
      split.emplace_back(bytes);
    }
    auto pointers = [](std::vector<TensorBytes> &tensors) {
      std::vector<void *> result;
      for (TensorBytes &tensor : tensors)
        result.push_back(tensor.data());
      return result;
    };
    fill(whole);
    kernel->run(pointers(whole));
    // The pieces in reverse, as another thread may be first.
    fill(split);
    int64_t items = kernel->items(), pieces = std::min<int64_t>(3, items);
    for (int64_t i = pieces - 1; i >= 0; --i)
      kernel->run(pointers(split), items * i / pieces, items * (i + 1) / pieces);
    for (size_t i = 0; i < whole.size(); ++i) {
      ASSERT_EQ(std::memcmp(whole[i].data(), split[i].data(), whole[i].size()), 0)
          << "argument " << i << " depends on how items are split";
      ASSERT_TRUE(whole[i].guardsIntact() && split[i].guardsIntact())
          << "wrote outside argument " << i;
    }
    check(whole, target);
    if (::testing::Test::HasFailure())
      return;
  }
}

void dsc::test::fillNormal(TensorBytes &tensor, unsigned seed, double scale) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal;
  for (size_t i = 0; i < tensor.size() / 4; ++i)
    tensor.as<float>()[i] = static_cast<float>(scale * normal(generator));
}

std::vector<double> dsc::test::toDouble(TensorBytes &tensor) {
  return std::vector<double>(tensor.as<float>(), tensor.as<float>() + tensor.size() / 4);
}

void dsc::test::expectNear(const std::vector<double> &actual, const std::vector<double> &expected,
                           double relative, const std::string &what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  double largest = 0;
  for (double value : expected)
    largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < actual.size(); ++i)
    ASSERT_LE(std::abs(actual[i] - expected[i]), relative * largest)
        << what << "[" << i << "] is " << actual[i] << ", expected " << expected[i];
}
