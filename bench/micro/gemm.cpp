//===- gemm.cpp - dsc-bench-kernels: times the generated kernel of one op --===//
// Takes shorthands for matrix products or any ds op as MLIR text; prints GFLOP/s and GB/s, best and
// median over rounds.
#include "dsc/Codegen/KernelRunner.h"
#include "dsc/Dialect/DS/DS.h"
#include "dsc/Support/HalfFloat.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include <algorithm>
#include <chrono>
#include <random>

using namespace mlir;
using namespace dsc;

static llvm::cl::list<std::string> workloads(
    llvm::cl::Positional, llvm::cl::OneOrMore,
    llvm::cl::desc(
        "<workload>...: nn:MxNxK, nt:MxNxK, ig:MxNxK, igt:MxNxK, wg:MxNxK, wgt:MxNxK, each also "
        "as nn:MxNxK:f16 or :bf16, or a .mlir file with one ds op in a function"));
static llvm::cl::opt<std::string> targetName("target", llvm::cl::init("native"),
                                             llvm::cl::desc("instruction set, x86-64-v2 to v4"));
static llvm::cl::opt<unsigned> threads("workers", llvm::cl::init(1), llvm::cl::desc("threads"));
static llvm::cl::opt<unsigned> rounds("rounds", llvm::cl::init(5), llvm::cl::desc("timed rounds"));
static llvm::cl::opt<double> seconds("seconds", llvm::cl::init(0.3),
                                     llvm::cl::desc("shortest time of a round"));
static llvm::cl::opt<bool>
    wall("wall", llvm::cl::desc("elapsed time; default: processor time of the slowest "
                                "thread, which other programs disturb less"));
static llvm::cl::opt<bool> compileOnly("compile-only", llvm::cl::desc("do not run the kernel"));
static llvm::cl::opt<std::string> imageFile("image",
                                            llvm::cl::desc("also write the last ELF image here"));

/// MLIR text of a shorthand, or the text of a file. M, N, K are rows, columns and depth of the
/// product itself.
static std::string textOf(StringRef workload) {
  auto [kind, rest] = workload.split(':');
  auto [sizes, given] = rest.split(':');
  std::string type = given.empty() ? "f32" : given.str();
  SmallVector<StringRef> parts;
  sizes.split(parts, 'x');
  int64_t m, n, k;
  if (parts.size() != 3 || parts[0].getAsInteger(10, m) || parts[1].getAsInteger(10, n) ||
      parts[2].getAsInteger(10, k)) {
    auto file = llvm::MemoryBuffer::getFile(workload, /*IsText=*/true);
    return file ? (*file)->getBuffer().str() : std::string();
  }
  auto tensor = [](int64_t rows, int64_t columns, StringRef element) {
    return llvm::formatv("tensor<{0}x{1}x{2}>", rows, columns, element).str();
  };
  // Gradients of weights are f32 whatever they are made from.
  std::string a = tensor(m, k, type), b = tensor(k, n, type), bT = tensor(n, k, type),
              aT = tensor(k, m, type), c = tensor(m, n, kind.starts_with("wg") ? "f32" : type);
  std::string op, x, y;
  if (kind == "nn" || kind == "nt")
    op = "ds.linear", x = a, y = kind == "nt" ? bT : b;
  else if (kind == "ig" || kind == "igt")
    op = "ds.linear_input_grad", x = a, y = kind == "igt" ? b : bT;
  else if (kind == "wg" || kind == "wgt")
    op = "ds.linear_weight_grad", x = kind == "wgt" ? b : aT, y = kind == "wgt" ? aT : b;
  else
    return {};
  const char *mark = kind == "nt" || kind == "igt" || kind == "wgt" ? " {transpose_weight}" : "";
  return llvm::formatv(
      "func.func @f(%x: {0}, %y: {1}) -> {2} {{\n  %r = {3} %x, %y{4} : {0}, {1} -> {2}\n"
      "  return %r : {2}\n}\n",
      x, y, c, op, mark);
}

using Clock = std::chrono::steady_clock;

static double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The flags, read once: linking a kernel resets LLVM's command-line options.
struct Settings {
  unsigned threads, rounds;
  double seconds;
  bool wall, compileOnly;
  std::string imageFile;
};

/// One compiled op with its memory and its times.
class Workload {
public:
  bool prepare(StringRef workload, const Target &target, const Settings &settings,
               MLIRContext &context);
  bool runnable() const { return times > 0; }
  void round() { measured.push_back(repeat(times)); }
  void report(const Target &target);

private:
  double repeat(int64_t count) {
    Clock::time_point start = Clock::now();
    double busy = 0;
    for (int64_t i = 0; i < count; ++i)
      busy += runner->run(arguments, settings.threads);
    return (settings.wall ? since(start) : busy) / count;
  }

  std::string name;
  Settings settings;
  OwningOpRef<ModuleOp> module;
  Operation *op = nullptr;
  std::unique_ptr<KernelRunner> runner;
  std::vector<KernelMemory> memory;
  SmallVector<void *> arguments;
  double compileSeconds = 0;
  int64_t times = 0; ///< runs a round
  std::vector<double> measured;
};

bool Workload::prepare(StringRef workload, const Target &target, const Settings &chosen,
                       MLIRContext &context) {
  name = workload.str();
  settings = chosen;
  std::string text = textOf(workload);
  if (text.empty()) {
    llvm::errs() << "dsc-bench-kernels: '" << workload
                 << "' is neither a shorthand nor a readable file\n";
    return false;
  }
  module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return false;
  module->walk([&](Operation *candidate) {
    if (!op && findGenerator(candidate->getName().getStringRef()))
      op = candidate;
  });
  if (!op) {
    llvm::errs() << "dsc-bench-kernels: '" << workload << "' has no op with a kernel generator\n";
    return false;
  }

  Clock::time_point start = Clock::now();
  FailureOr<std::unique_ptr<KernelRunner>> made = KernelRunner::create(op, target);
  if (failed(made))
    return false;
  runner = std::move(*made);
  compileSeconds = since(start);
  if (!settings.imageFile.empty()) {
    std::error_code error;
    llvm::raw_fd_ostream(settings.imageFile, error) << runner->image();
  }
  if (settings.compileOnly || !hostSupports(target)) {
    llvm::outs() << workload << " " << target.name << ": compiled in "
                 << llvm::format("%.2f s", compileSeconds)
                 << (settings.compileOnly ? "\n" : "; this CPU cannot run it\n");
    return true;
  }

  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (int64_t bytes : runner->argumentBytes()) {
    float *values = memory.emplace_back(bytes).as<float>();
    for (int64_t i = 0; i < bytes / 4; ++i)
      values[i] = uniform(random);
    arguments.push_back(values);
  }
  // Token ids and labels: small and not negative.
  for (auto [i, type] : llvm::enumerate(op->getOperandTypes())) {
    auto shaped = cast<ShapedType>(type);
    auto *halves = static_cast<uint16_t *>(arguments[i]);
    for (int64_t e = 0; shaped.getElementTypeBitWidth() == 16 && e < shaped.getNumElements(); ++e)
      halves[e] = shaped.getElementType().isF16() ? floatToHalf(uniform(random))
                                                  : floatToBfloat(uniform(random));
    if (cast<ShapedType>(type).getElementType().isInteger(32))
      std::fill_n(static_cast<int32_t *>(arguments[i]), cast<ShapedType>(type).getNumElements(), 1);
  }

  repeat(1);
  times = std::max<int64_t>(1, static_cast<int64_t>(settings.seconds / repeat(1)));
  return true;
}

void Workload::report(const Target &target) {
  llvm::sort(measured);
  auto cost = cast<CostOpInterface>(op);
  double flops = cost.flops(), bytes = cost.bytesRead() + cost.bytesWritten();
  double best = measured.front(), median = measured[measured.size() / 2];
  llvm::outs() << llvm::formatv(
      "{0,-28} {1} {2}T  best {3:f3} ms {4:f1} GFLOP/s {5:f1} GB/s  median {6:f3} ms "
      "{7:f1} GFLOP/s  (items {8}, compile {9:f2} s)\n",
      name, target.name, settings.threads, best * 1e3, flops / best / 1e9, bytes / best / 1e9,
      median * 1e3, flops / median / 1e9, runner->items(), compileSeconds);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::cl::ParseCommandLineOptions(argc, argv,
                                    "Times generated kernels\n\n"
                                    "  dsc-bench-kernels nn:1024x3072x768 --workers=2\n"
                                    "  dsc-bench-kernels norm.mlir --target=x86-64-v2\n");
  const Target *target = findTarget(targetName);
  if (!target) {
    llvm::errs() << "dsc-bench-kernels: no target '" << targetName << "'\n";
    return 2;
  }
  MLIRContext context;
  context.loadDialect<ds::DSDialect, func::FuncDialect>();
  const Settings settings{threads, rounds, seconds, wall, compileOnly, imageFile};
  const std::vector<std::string> all(workloads.begin(), workloads.end());
  // Rounds go over all workloads in turn, so that what disturbs one disturbs all.
  std::vector<Workload> prepared(all.size());
  for (auto [workload, name] : llvm::zip_equal(prepared, all))
    if (!workload.prepare(name, *target, settings, context))
      return 1;
  for (unsigned i = 0; i < settings.rounds; ++i)
    for (Workload &workload : prepared)
      if (workload.runnable())
        workload.round();
  for (Workload &workload : prepared)
    if (workload.runnable())
      workload.report(*target);
  return 0;
}
