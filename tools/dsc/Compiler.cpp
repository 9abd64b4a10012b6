//===- Compiler.cpp - from a resolved spec to a plan file ------------------===//
#include "Compiler.h"
#include "dsc/Dialect/DS/DS.h"
#include "dsc/Dialect/Plan/PlanDialect.h"
#include "dsc/Passes/Dump.h"
#include "dsc/Passes/Emit.h"
#include "dsc/Passes/ExplainSharding.h"
#include "dsc/Passes/Import.h"
#include "dsc/Passes/PipelineTimeline.h"
#include "dsc/Passes/Pipelines.h"
#include "dsc/Passes/PlanSummary.h"
#include "dsc/Passes/Recompute.h"
#include "dsc/Passes/Reproducer.h"
#include "dsc/Support/File.h"
#include "dsc/Support/Numbers.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <functional>

using namespace mlir;
using namespace dsc;

static constexpr const char *importSummary = "Build the forward programs that the spec describes";

namespace {
struct PhaseEntry {
  Phase phase;
  const char *name;
  std::function<void(OpPassManager &, const Spec &, const RecomputeChoice &)> build;
};

double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}
} // namespace

static std::vector<PhaseEntry> phases() {
  return {{Phase::Import, "import",
           [](OpPassManager &passes, const Spec &, const RecomputeChoice &) {
             buildImportPipeline(passes);
           }},
          {Phase::Training, "training",
           [](OpPassManager &passes, const Spec &spec, const RecomputeChoice &) {
             TrainingOptions options;
             setTrainingOptions(spec, options);
             buildTrainingPipeline(passes, options);
           }},
          {Phase::Precision, "precision",
           [](OpPassManager &passes, const Spec &spec, const RecomputeChoice &) {
             PrecisionOptions options;
             setPrecisionOptions(spec, options);
             buildPrecisionPipeline(passes, options);
           }},
          {Phase::Parallel, "parallel",
           [](OpPassManager &passes, const Spec &spec, const RecomputeChoice &) {
             ParallelOptions options;
             setParallelOptions(spec, options);
             buildParallelPipeline(passes, options);
           }},
          {Phase::Lowering, "lowering",
           [](OpPassManager &passes, const Spec &, const RecomputeChoice &recompute) {
             LoweringOptions options;
             options.setRecompute(recompute);
             buildLoweringPipeline(passes, options);
           }},
          {Phase::Plan, "plan", [](OpPassManager &passes, const Spec &, const RecomputeChoice &) {
             buildPlanPipeline(passes);
           }}};
}

/// A spec that asks for every phase.
static Spec wantingAll() {
  Spec spec;
  spec.train.precision = Precision::BF16;
  spec.parallel.layout.data = 2;
  return spec;
}

std::string dsc::explainPass(const std::string &name) {
  Spec spec = wantingAll();
  for (const PhaseEntry &phase : phases()) {
    OpPassManager passes(ModuleOp::getOperationName());
    phase.build(passes, spec, {});
    for (Pass &pass : passes.getPasses())
      if (pass.getArgument() == name)
        return name + ", a pass of the phase '" + phase.name + "'\n  " +
               pass.getDescription().str() + "\n";
  }
  return "";
}

std::string dsc::printPipeline() {
  std::string text;
  auto line = [&](std::string name, StringRef summary) {
    name.resize(std::max<size_t>(name.size() + 2, 28), ' ');
    text += "  " + name + summary.str() + "\n";
  };
  Spec spec = wantingAll();
  for (const PhaseEntry &phase : phases()) {
    text += std::string(phase.name) + "\n";
    if (phase.phase == Phase::Import)
      line("ds-import", importSummary);
    OpPassManager passes(ModuleOp::getOperationName());
    phase.build(passes, spec, {});
    for (Pass &pass : passes.getPasses())
      line(pass.getArgument().str(), pass.getDescription());
  }
  text += "emit\n";
  line("kernels", "Generate and link the code of each kernel, once a target");
  line("plan", "Write instructions, buffers, kernels and manifest to one file");
  return text;
}

namespace {
/// One compilation. Diagnostics are collected and become the message of the status.
class Compilation {
public:
  Compilation(const SpecResult &spec, const CompileOptions &options)
      : result(spec), spec(*spec.spec), options(options), dump(options.dumpDir, spec.spec->path),
        handler(&context, [this](mlir::Diagnostic &diagnostic) { note(diagnostic); }) {
    context.disableMultithreading(); // passes work on one module; code generation has no use for it
    context.loadDialect<ds::DSDialect, dsc::plan::PlanDialect, func::FuncDialect>();
  }

  Status run() {
    start = std::chrono::steady_clock::now();
    Status status = runPhases();
    if (!options.dumpDir.empty()) {
      dump.addFact("compiled in", printFixed(secondsSince(start), 1) + " s");
      // After a failure too: the page shows how far it came.
      if (Status written = dump.write(); status.ok() && !written.ok())
        return written;
    }
    return status;
  }

private:
  void note(mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
      return;
    std::string where;
    if (auto location = diagnostic.getLocation()->findInstanceOf<FileLineColLoc>())
      where = location.getFilename().str() + ":" + std::to_string(location.getLine()) + ": ";
    errors += (errors.empty() ? "" : "\n") + where + diagnostic.str();
  }

  Status internalError(const std::string &what) {
    return Status(ErrorCode::Internal,
                  what + (errors.empty() ? "" : ": " + errors) + "\nfix: this is a fault of dsc; " +
                      (options.crashRepro.empty()
                           ? "--crash-repro=FILE writes the pass and what it was given, " +
                                 std::string("--dump-dir=DIR shows all passes before it")
                           : "ds-opt --run-reproducer " + options.crashRepro +
                                 " repeats a pass that failed"));
  }

  Status runPhases() {
    ImportOptions import;
    import.places = result.sections;
    for (const Provenance &value : result.values)
      import.places[value.path] = value.origin;
    OwningOpRef<ModuleOp> module = importSpec(context, spec, import);
    if (!module)
      return inputError("the spec cannot be turned into a program: " + errors);
    dump.add("import", "ds-import", importSummary, *module, secondsSince(start) * 1000);
    RecomputeChoice recompute;
    OwningOpRef<ModuleOp> beforeLowering; // to see what other choices would cost
    for (const PhaseEntry &phase : phases()) {
      if (phase.phase == Phase::Lowering) {
        if (Status status = decideRecompute(*module, recompute); !status.ok())
          return status;
        if (options.dryRun && !recomputableBlocks(*module).empty())
          beforeLowering = module->clone();
      }
      if (Status status = runPhase(phase, *module, "", recompute); !status.ok())
        return status;
      for (auto [index, stage] : llvm::enumerate(stages))
        if (Status status =
                runPhase(phase, *stage, " of stage " + std::to_string(index), recompute);
            !status.ok())
          return status;
      if (phase.phase == Phase::Parallel)
        for (ModuleOp stage : llvm::make_early_inc_range(module->getOps<ModuleOp>())) {
          stage->remove(); // from now on each is compiled by itself
          stages.emplace_back(stage);
        }
      if (options.stopAfter == phase.phase)
        return options.explainSharding ? writeText(shardings()) : writeModule(*module);
    }
    PlanSummary summary = summarizePlan(*module, options.targets);
    addFacts(summary);
    if (options.dryRun) {
      if (!stages.empty())
        llvm::outs() << "the whole model, on one device: evaluation, generation, saves\n";
      llvm::outs() << printSummary(summary) << rampText();
      if (spec.parallel.layout.pipeline > 1) {
        ParallelOptions parallel;
        setParallelOptions(spec, parallel);
        llvm::outs() << "\n"
                     << drawPipeline(parallel.schedule.getValue(), parallel.pipeline,
                                     parallel.interleave, spec.microBatches());
      }
      for (auto [index, stage] : llvm::enumerate(stages))
        llvm::outs() << "\neach of " << spec.parallel.layout.ranks() / int64_t(stages.size())
                     << " ranks of stage " << index << ": training\n"
                     << printSummary(summarizePlan(*stage, options.targets));
      return beforeLowering ? printRecompute(*beforeLowering, recompute) : Status();
    }
    return emit(*module, summary);
  }

  Status runPhase(const PhaseEntry &phase, ModuleOp module, const std::string &whose,
                  const RecomputeChoice &recompute) {
    PassManager manager(&context);
    if (!options.dumpDir.empty())
      dump.watch(manager, phase.name, whose);
    if (!options.crashRepro.empty())
      reproduceFailures(manager, options.crashRepro);
    phase.build(manager, spec, recompute);
    if (failed(manager.run(module)))
      return internalError(std::string("phase ") + phase.name + whose + " failed");
    return {};
  }

  Status decideRecompute(ModuleOp module, RecomputeChoice &choice) {
    choice = recomputeChoice(module, spec.train);
    if (spec.train.recompute != RecomputeMode::Auto)
      return {};
    RecomputeCost smallest;
    FailureOr<std::optional<RecomputeChoice>> found =
        chooseRecompute(module, spec.train.memoryBudget, smallest);
    if (failed(found))
      return internalError("choosing what to recompute failed");
    if (*found) {
      choice = **found;
      return {};
    }
    dsc::Diagnostic error = result.places.at("train.memory_budget");
    error.message = "the plan does not fit 'train.memory_budget', " +
                    printGrouped(spec.train.memoryBudget) + " bytes: with every block recomputed " +
                    "it takes " + printGrouped(smallest.arena);
    error.fix("a budget of at least " + printGrouped(smallest.arena) +
              " bytes, or a smaller 'train.train_micro_batch_size_per_gpu'");
    return Status(ErrorCode::Memory, error.str());
  }

  /// What the choices would cost, and which blocks were chosen.
  Status printRecompute(ModuleOp module, const RecomputeChoice &chosen) {
    FailureOr<std::string> table = printRecomputeChoices(module, chosen);
    if (failed(table))
      return internalError("measuring what to recompute failed");
    llvm::outs() << *table;
    return {};
  }

  /// How the batch grows; empty where it does not.
  std::string rampText() {
    const BatchRampSettings &settings = spec.train.ramp;
    BatchRamp ramp(spec.train.batch, settings);
    if (!ramp.ramps())
      return {};
    std::string full = printGrouped(spec.train.batch);
    return "batch sizes      " + printGrouped(settings.start) + " to " + full + " by " +
           printGrouped(settings.increment) + " over " + printGrouped(settings.samples) +
           " sequences; " + full + " from step " + printGrouped(ramp.fullFrom()) + " on, " +
           printGrouped(ramp.consumed(ramp.fullFrom())) + " sequences before it\n";
  }

  void addFacts(const PlanSummary &summary) {
    dump.addFact("parameters", printGrouped(summary.parameters));
    if (summary.stepLaunches)
      dump.addFact("FLOPs per step", printGrouped(summary.stepFlops));
    dump.addFact("arena", printBytes(summary.arena));
    dump.addFact("kernels", printGrouped(summary.kernels));
  }

  Status writeModule(ModuleOp module) {
    std::string text;
    llvm::raw_string_ostream out(text);
    out << module << "\n";
    for (auto &stage : stages)
      out << "\n" << *stage << "\n";
    return writeText(text);
  }

  std::string shardings() {
    std::string text;
    for (auto &stage : stages)
      text += explainShardings(*stage);
    return text.empty() ? "one rank: nothing is cut\n" : text;
  }

  Status writeText(const std::string &text) {
    if (options.output.empty() || options.output == "-") {
      llvm::outs() << text;
      return {};
    }
    return writeFileAtomically(options.output, text);
  }

  Status emit(ModuleOp module, const PlanSummary &summary) {
    auto manifest = buildManifest(spec, options.output, options.targets, DSC_VERSION);
    if (!manifest.ok())
      return manifest.status();
    EmitOptions emission;
    emission.targets = options.targets;
    emission.kernelCache = options.kernelCache;
    emission.manifest = std::move(*manifest);
    if (spec.parallel.layout.data > 1 && spec.parallel.zeroStage >= 2)
      emission.rowsInTurn = spec.train.microBatch;
    auto begin = std::chrono::steady_clock::now();
    if (!options.dumpDir.empty())
      emission.seeKernels = [&](const Target &target, ModuleOp kernels) {
        double milliseconds = secondsSince(begin) * 1000;
        // A copy for readers, with repeated constants folded as the way to LLVM does first.
        OwningOpRef<ModuleOp> copy = kernels.clone();
        PassManager tidy(&context);
        tidy.addPass(createCanonicalizerPass());
        tidy.addPass(createCSEPass());
        if (succeeded(tidy.run(*copy)))
          dump.add("kernels", "kernels-" + target.name,
                   "Vector code of each kernel for " + target.name, *copy, milliseconds);
        begin = std::chrono::steady_clock::now();
      };
    SmallVector<ModuleOp> roles;
    for (auto &stage : stages)
      roles.push_back(*stage);
    FailureOr<dsc::plan::Plan> plan = emitPlan(module, emission, roles);
    if (failed(plan))
      return internalError("emission failed");
    std::string bytes = dsc::plan::serialize(*plan);
    // Whatever dsrun would refuse must never be written.
    if (auto read = dsc::plan::deserialize(bytes); !read.ok())
      return internalError("the plan does not verify: " + read.status().message());
    return writeFileAtomically(options.output, bytes);
  }

  const SpecResult &result;
  const Spec &spec;
  const CompileOptions &options;
  MLIRContext context;
  std::vector<OwningOpRef<ModuleOp>> stages; ///< what ranks run; none for one rank
  Dump dump;
  std::string errors;
  ScopedDiagnosticHandler handler;
  std::chrono::steady_clock::time_point start;
};
} // namespace

Status dsc::compile(const SpecResult &spec, const CompileOptions &options) {
  return Compilation(spec, options).run();
}
