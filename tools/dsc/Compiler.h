//===- Compiler.h - from a resolved spec to a plan file --------------------===//
// The phases in order, each a pipeline of dsc/Passes/Pipelines.h, then emission.
#ifndef DSC_TOOLS_DSC_COMPILER_H
#define DSC_TOOLS_DSC_COMPILER_H

#include "dsc/Codegen/KernelOpInterface.h"
#include "dsc/Frontend/Frontend.h"
#include "dsc/Support/Status.h"
#include <string>
#include <vector>

namespace dsc {

enum class Phase { Import, Training, Precision, Parallel, Lowering, Plan, Emit };

struct CompileOptions {
  std::vector<const Target *> targets;
  std::string output;      ///< plan, or IR when stopping earlier; "-" is stdout
  std::string dumpDir;     ///< empty: no dump
  std::string crashRepro;  ///< where a pass that fails is written down; empty: nowhere
  std::string kernelCache; ///< folder of machine code compiled before; empty: none
  Phase stopAfter = Phase::Emit;
  bool dryRun = false; ///< print what the plan costs and write nothing
  bool explainSharding = false; ///< print what each rank has, behind the parallel phase
};

/// A message that ends in a newline is a diagnostic with its place, to be printed as it is.
Status compile(const SpecResult &spec, const CompileOptions &options);

/// The passes of each phase with their summaries.
std::string printPipeline();
/// The pass `name`, its phase and its summary; empty if no phase has it.
std::string explainPass(const std::string &name);

} // namespace dsc

#endif // DSC_TOOLS_DSC_COMPILER_H
