//===- dsc.cpp - compiles a spec to a plan ---------------------------------===//
// Command line only: the spec is read by lib/Frontend, compiled by Compiler.cpp.
#include "Compiler.h"
#include "dsc/Frontend/Frontend.h"
#include "dsc/Frontend/SpecTable.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace dsc;
namespace cl = llvm::cl;

namespace {
enum class Output { Plan, Mlir };

/// All flags. Made in main, after the options that libLLVM registers by itself have been dropped:
/// some have the names of ours.
struct Flags {
  cl::OptionCategory category{"Options"};
  cl::opt<std::string> spec{cl::Positional, cl::desc("SPEC"), cl::cat(category)};
  cl::opt<std::string> output{"o", cl::desc("Write the plan to this file"), cl::value_desc("plan"),
                              cl::cat(category)};
  cl::list<std::string> overrides{"set", cl::desc("Override a value of the spec"),
                                  cl::value_desc("path=value"), cl::cat(category)};
  cl::opt<bool> printConfig{"print-config",
                            cl::desc("Print each resolved value and where it came from"),
                            cl::cat(category)};
  cl::opt<bool> dryRun{"dry-run",
                       cl::desc("Print parameters, FLOPs and planned memory; needs no data"),
                       cl::cat(category)};
  cl::opt<bool> explainSharding{
      "explain-sharding", cl::desc("Print what one rank has of each variable, and who asked for it"),
      cl::cat(category)};
  cl::opt<std::string> dumpDir{"dump-dir",
                               cl::desc("Write the IR after every pass, and a page to read it"),
                               cl::value_desc("folder"), cl::cat(category)};
  cl::list<std::string> targets{"target", cl::CommaSeparated,
                                cl::desc("Instruction sets to generate code for (default: native)"),
                                cl::value_desc("list"), cl::cat(category)};
  cl::opt<std::string> kernelCache{
      "kernel-cache", cl::desc("Keep machine code of kernels here for the next compilation"),
      cl::value_desc("folder"), cl::cat(category)};
  cl::opt<Phase> stopAfter{
      "stop-after", cl::desc("Write the IR after this phase instead of a plan"),
      cl::init(Phase::Emit),
      cl::values(clEnumValN(Phase::Import, "import", "forward programs"),
                 clEnumValN(Phase::Training, "training", "whole step"),
                 clEnumValN(Phase::Precision, "precision", "whole step in mixed precision"),
                 clEnumValN(Phase::Parallel, "parallel", "programs of each pipeline stage"),
                 clEnumValN(Phase::Lowering, "lowering", "straight-line programs of fused ops"),
                 clEnumValN(Phase::Plan, "plan", "instructions on bytes")),
      cl::cat(category)};
  cl::opt<Output> emit{"emit", cl::desc("What to write"), cl::init(Output::Plan),
                       cl::values(clEnumValN(Output::Plan, "plan", "a plan for dsrun"),
                                  clEnumValN(Output::Mlir, "mlir", "IR as text")),
                       cl::cat(category)};
  cl::opt<bool> printPipeline{"print-pipeline", cl::desc("Print the passes of each phase"),
                              cl::cat(category)};
  cl::opt<std::string> explain{
      "explain", cl::desc("Explain a key of the spec (train.fp16.loss_scale) or a pass (ds-fuse)"),
      cl::value_desc("name"), cl::cat(category)};
  cl::opt<std::string> crashRepro{
      "crash-repro", cl::desc("If a pass fails, write it and what it was given to this file"),
      cl::value_desc("file"), cl::cat(category)};
  cl::opt<bool> emitSchema{"emit-schema", cl::desc("Print the JSON Schema of specs"), cl::Hidden,
                           cl::cat(category)};
  cl::opt<bool> emitReference{"emit-spec-reference", cl::desc("Print the reference page of specs"),
                              cl::Hidden, cl::cat(category)};
  cl::extrahelp examples{"\nExamples:\n"
                         "  dsc model.json -o plan.bin --dump-dir=ir\n"
                         "  dsc model.json --print-config --set train.optimizer.params.lr=3e-4\n"};
};
} // namespace

static int usageError(const std::string &message) {
  llvm::errs() << "dsc: error: " << message << "\nfix: see dsc --help\n";
  return 2;
}

/// The targets asked for, best last, each once. Empty after an unknown name, which is reported.
static std::vector<const Target *> findTargets(std::vector<std::string> names) {
  if (names.empty())
    names.push_back("native");
  std::vector<const Target *> wanted, ordered;
  for (const std::string &name : names) {
    const Target *target = findTarget(name);
    if (!target) {
      std::string known = "native";
      for (const Target &each : allTargets())
        known += ", " + each.name;
      usageError("unknown instruction set '" + name + "', known are " + known);
      return {};
    }
    wanted.push_back(target);
  }
  for (const Target &target : allTargets())
    if (llvm::is_contained(wanted, &target))
      ordered.push_back(&target);
  return ordered;
}

static int explain(const std::string &name) {
  std::string text = explainSpecKey(name);
  if (text.empty())
    text = explainPass(name);
  if (!text.empty()) {
    llvm::outs() << text;
    return 0;
  }
  std::string nearest = nearestSpecKey(name);
  return usageError("no key of the spec and no pass is called '" + name + "'" +
                    (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
}

/// Before the compiler works for what it could not write. Does not touch the file.
static Status checkOutput(const std::string &path) {
  if (llvm::sys::fs::is_directory(path))
    return inputError("cannot write '" + path + "': it is a folder, expected a file");
  llvm::StringRef folder = llvm::sys::path::parent_path(path);
  if (std::error_code code =
          llvm::sys::fs::access(folder.empty() ? "." : folder, llvm::sys::fs::AccessMode::Write))
    return inputError("cannot create '" + path +
                      "': " + std::generic_category().message(code.value()));
  return {};
}

static int run(const Flags &flags) {
  if (flags.emitSchema || flags.emitReference) {
    llvm::outs() << (flags.emitSchema ? emitSpecSchema() : emitSpecReference());
    return 0;
  }
  if (!flags.explain.empty())
    return explain(flags.explain);
  if (flags.printPipeline) {
    llvm::outs() << printPipeline();
    return 0;
  }
  if (flags.spec.empty())
    return usageError("no spec given");

  CompileOptions compilation;
  bool wantsIr = flags.emit == Output::Mlir;
  compilation.stopAfter = flags.stopAfter == Phase::Emit && wantsIr ? Phase::Plan : flags.stopAfter;
  compilation.explainSharding = flags.explainSharding;
  if (flags.explainSharding)
    compilation.stopAfter = Phase::Parallel;
  bool stopsEarly = compilation.stopAfter != Phase::Emit;
  bool writesPlan = !stopsEarly && !flags.output.empty() && !flags.dryRun;
  bool compiles = writesPlan || stopsEarly || flags.dryRun;
  if (!compiles && !flags.dumpDir.empty())
    return usageError("--dump-dir needs -o PLAN, --dry-run or --stop-after");
  if (!compiles && !flags.printConfig)
    return usageError("nothing to do: give -o PLAN, --dry-run or --print-config");
  compilation.targets = findTargets({flags.targets.begin(), flags.targets.end()});
  if (compilation.targets.empty())
    return 2;

  ReadOptions options;
  options.overrides.assign(flags.overrides.begin(), flags.overrides.end());
  options.needsFiles = writesPlan;
  SpecResult result = readSpec(flags.spec, options);
  if (!result.ok()) {
    llvm::errs() << result.errorText();
    return 1;
  }
  llvm::errs() << result.warningText();
  if (flags.printConfig)
    llvm::outs() << printConfig(result);
  if (!compiles)
    return 0;
  if (Status status = writesPlan ? checkOutput(flags.output) : Status(); !status.ok()) {
    llvm::errs() << "dsc: error: " << status.message() << "\n";
    return status.exitCode();
  }
  compilation.output = flags.output;
  compilation.dumpDir = flags.dumpDir;
  compilation.kernelCache = flags.kernelCache;
  compilation.crashRepro = flags.crashRepro;
  compilation.dryRun = flags.dryRun;
  Status status = compile(result, compilation);
  bool hasPlace = !status.ok() && status.message().back() == '\n'; // a whole diagnostic
  if (!status.ok())
    llvm::errs() << (hasPlace ? status.message() : "dsc: error: " + status.message() + "\n");
  return status.exitCode();
}

int main(int argc, char **argv) {
  cl::ResetCommandLineParser();
  Flags flags;
  cl::HideUnrelatedOptions(flags.category);
  cl::SetVersionPrinter([](llvm::raw_ostream &out) { out << "dsc " DSC_VERSION "\n"; });
  if (!cl::ParseCommandLineOptions(
          argc, argv, "Compiles model.json to a plan that dsrun executes\n", &llvm::errs()))
    return 2;
  return run(flags);
}
