//===- dsc-reference.cpp - trains in float64, as the judge of dsrun --------===//
#include "Run.h"
#include "dsc/Frontend/Frontend.h"
#include "dsc/Passes/Import.h"
#include "dsc/Passes/Pipelines.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/CommandLine.h"
#include <iostream>

using namespace dsc;
namespace cl = llvm::cl;

static cl::OptionCategory category("dsc-reference options");
static cl::opt<std::string> specPath(cl::Positional, cl::desc("SPEC"), cl::cat(category));
static cl::opt<long long> stepsFlag("steps",
                                    cl::desc("End after step N; the schedule stays as it is"),
                                    cl::value_desc("N"), cl::init(-1), cl::cat(category));
static cl::opt<std::string> logFlag("log", cl::desc("JSONL file, one line a step"),
                                    cl::value_desc("FILE"), cl::cat(category));
static cl::opt<std::string> saveFlag("save", cl::desc("Folder for the final weights, in F64"),
                                     cl::value_desc("DIR"), cl::cat(category));
static cl::opt<std::string>
    weightsFlag("weights",
                cl::desc("Hugging Face folder to start from (default: init of the spec; "
                         "with --evaluate: checkpoint.dir/final)"),
                cl::value_desc("DIR"), cl::cat(category));
static cl::list<std::string> setFlag("set",
                                     cl::desc("Change a key of the spec, such as train.seed=7"),
                                     cl::value_desc("PATH=VALUE"), cl::cat(category));
static cl::list<std::string>
    setStateFlag("set-state", cl::desc("Give state such as loss_scale a value before a step"),
                 cl::value_desc("NAME=VALUE@STEP"), cl::cat(category));
static cl::opt<bool> evaluateFlag("evaluate",
                                  cl::desc("Loss over the validation data, no training"),
                                  cl::cat(category));
static cl::opt<bool> checkFlag(
    "check-gradients",
    cl::desc("Check the gradient of every op of the model against central differences, then stop"),
    cl::cat(category));
static cl::opt<bool> dumpFlag("print-ir", cl::desc("Print the IR that is interpreted, then stop"),
                              cl::cat(category));
static cl::extrahelp examples(
    "\nExamples:\n"
    "  dsc-reference model.json --steps=20 --log=f64.jsonl --save=f64    train 20 steps in "
    "float64\n"
    "  dsc-reference model.json --check-gradients                         check each op's "
    "gradient\n\n"
    "Reads the same spec as dsc, computes in float64 with plain loops, writes the same log keys "
    "(17\n"
    "digits) and F64 weights under the same names. With fp16 or bf16 enabled each result that "
    "dsrun\n"
    "stores in two bytes is rounded to it, from float64 at once. Paths on the command line are "
    "relative to the\n"
    "current folder. Exit codes: 0 ok, 1 spec, data or weights wrong, 2 usage, 4 loss or gradient "
    "not\n"
    "finite or --check-gradients failed, 6 final save failed, 128+n ended by signal n after "
    "saving\n");

static int usageError(const std::string &message) {
  std::cerr << "dsc-reference: error: " << message << "\n";
  return static_cast<int>(ErrorCode::Usage);
}

static int fail(const Status &status) {
  std::cerr << "dsc-reference: error: " << status.message() << "\n";
  return status.exitCode();
}

/// Imports the spec and runs the training passes; null after a diagnostic.
static mlir::OwningOpRef<mlir::ModuleOp> buildModule(mlir::MLIRContext &context, const Spec &spec) {
  ImportOptions imports;
  imports.train = !evaluateFlag;
  imports.evaluate =
      evaluateFlag || !spec.data.validation.empty() || spec.data.validationFraction > 0;
  imports.logits = false;
  mlir::OwningOpRef<mlir::ModuleOp> module = importSpec(context, spec, imports);
  if (!module || checkFlag)
    return module;
  mlir::PassManager passes(&context);
  buildImportPipeline(passes);
  if (imports.train) {
    TrainingOptions training;
    setTrainingOptions(spec, training);
    buildTrainingPipeline(passes, training);
  }
  // In mixed precision what is rounded is part of the meaning, and fused ops round less: the
  // interpreter runs what the kernels are made from.
  if (spec.train.precision != Precision::F32) {
    PrecisionOptions precision;
    setPrecisionOptions(spec, precision);
    buildPrecisionPipeline(passes, precision);
    buildLoweringPipeline(passes, LoweringOptions());
  }
  if (failed(passes.run(*module)))
    return {};
  return module;
}

int main(int argc, char **argv) {
  cl::HideUnrelatedOptions(category);
  cl::SetVersionPrinter([](llvm::raw_ostream &out) { out << "dsc-reference " DSC_VERSION "\n"; });
  std::string errors;
  llvm::raw_string_ostream errorStream(errors);
  if (!cl::ParseCommandLineOptions(argc, argv, "Trains a spec in float64 with plain loops.\n",
                                   &errorStream)) {
    std::cerr << errors;
    return static_cast<int>(ErrorCode::Usage);
  }
  if (specPath.empty())
    return usageError("expected a spec, as in: dsc-reference model.json --steps=20");
  if (stepsFlag.getNumOccurrences() && stepsFlag < 0)
    return usageError("--steps must be 0 or more, found " + std::to_string(stepsFlag));

  ReadOptions reading;
  reading.overrides.assign(setFlag.begin(), setFlag.end());
  reading.purpose = evaluateFlag ? Purpose::Evaluate : Purpose::Train;
  SpecResult result = readSpec(specPath, reading);
  if (!result.ok()) {
    std::cerr << result.errorText();
    return static_cast<int>(ErrorCode::Input);
  }
  std::cerr << result.warningText();
  const Spec &spec = *result.spec;

  mlir::MLIRContext context;
  context.disableMultithreading();
  mlir::OwningOpRef<mlir::ModuleOp> module = buildModule(context, spec);
  if (!module)
    return fail({ErrorCode::Internal, "the spec could not be imported, see the message above"});
  if (dumpFlag) {
    module->print(llvm::outs());
    return 0;
  }
  if (checkFlag)
    return checkGradients(*module, "train") ? 0 : static_cast<int>(ErrorCode::Numeric);

  noteSignals();
  ReferenceOptions options{stepsFlag.getNumOccurrences() ? stepsFlag : -1,
                           logFlag,
                           saveFlag,
                           weightsFlag,
                           {setStateFlag.begin(), setStateFlag.end()}};
  ReferenceRun run(spec, *module, options);
  Status status = evaluateFlag ? run.evaluate() : run.train();
  std::fflush(stdout);
  if (!status.ok())
    return fail(status);
  return signalCaught() ? 128 + signalCaught() : 0;
}
