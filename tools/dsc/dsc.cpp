//===- dsc.cpp - compiles a spec to a plan ---------------------------------===//
// Command line only: the spec is read by lib/Frontend.
#include "dsc/Frontend/Frontend.h"
#include "dsc/Frontend/SpecTable.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

using namespace dsc;
namespace cl = llvm::cl;

static cl::OptionCategory category("Options");
static cl::opt<std::string> specPath(cl::Positional, cl::desc("SPEC"), cl::cat(category));
static cl::opt<std::string> outputPath("o", cl::desc("Write the plan to this file"),
                                       cl::value_desc("plan"), cl::cat(category));
static cl::list<std::string> overrides("set", cl::desc("Override a value of the spec"),
                                       cl::value_desc("path=value"), cl::cat(category));
static cl::opt<bool> printConfigFlag("print-config",
                                     cl::desc("Print each resolved value and where it came from"),
                                     cl::cat(category));
static cl::opt<bool> emitSchema("emit-schema", cl::desc("Print the JSON Schema of specs"),
                                cl::Hidden, cl::cat(category));
static cl::opt<bool> emitReference("emit-spec-reference",
                                   cl::desc("Print the reference page of specs"), cl::Hidden,
                                   cl::cat(category));
static cl::extrahelp
    examples("\nExamples:\n"
             "  dsc model.json -o plan.bin\n"
             "  dsc model.json --print-config --set train.optimizer.params.lr=3e-4\n");

static int usageError(const std::string &message) {
  llvm::errs() << "dsc: error: " << message << "\nfix: see dsc --help\n";
  return 2;
}

int main(int argc, char **argv) {
  cl::HideUnrelatedOptions(category);
  cl::SetVersionPrinter([](llvm::raw_ostream &out) { out << "dsc " DSC_VERSION "\n"; });
  if (!cl::ParseCommandLineOptions(
          argc, argv, "Compiles model.json to a plan that dsrun executes\n", &llvm::errs()))
    return 2;
  if (emitSchema || emitReference) {
    llvm::outs() << (emitSchema ? emitSpecSchema() : emitSpecReference());
    return 0;
  }
  if (specPath.empty())
    return usageError("no spec given");

  ReadOptions options;
  options.overrides = overrides;
  options.needsFiles = !outputPath.empty();
  SpecResult result = readSpec(specPath, options);
  if (!result.ok()) {
    llvm::errs() << result.errorText();
    return 1;
  }
  if (printConfigFlag)
    llvm::outs() << printConfig(result);
  else if (outputPath.empty())
    return usageError("nothing to do: give -o PLAN or --print-config");
  if (!outputPath.empty()) {
    llvm::errs() << "dsc: error: no plan can be written yet\n";
    return 70;
  }
  return 0;
}
