//===- PlanSummary.cpp - what a plan costs, read off its IR ----------------===//
#include "dsc/Passes/PlanSummary.h"
#include "Lifetimes.h"
#include "dsc/Dialect/DS/DS.h"
#include "dsc/Support/Numbers.h"
#include <map>

using namespace mlir;
using namespace dsc;
using namespace dsc::plan;

static int64_t bytesOf(BufferOp buffer) { return extentOf(buffer); }

static int64_t liveBound(const Lifetimes &lifetimes) {
  std::vector<int64_t> change(lifetimes.instructions.size() + 2, 0);
  for (auto [buffer, life] : lifetimes.buffers) {
    if (livesAcrossPrograms(BufferOp(buffer).getKind()) || life.last < life.first)
      continue;
    change[life.first] += bytesOf(buffer);
    change[life.last + 1] -= bytesOf(buffer);
  }
  int64_t live = 0, bound = 0;
  for (int64_t delta : change)
    bound = std::max(bound, live += delta);
  return bound;
}

/// How often a training step runs each program.
static std::map<StringRef, int64_t> stepPrograms(ModuleOp module) {
  std::map<StringRef, int64_t> times;
  for (auto schedule : module.getOps<ScheduleOp>())
    for (auto [name, count] : llvm::zip_equal(
             schedule.getPrograms().getAsRange<FlatSymbolRefAttr>(), schedule.getRepetitions()))
      times[name.getValue()] += count;
  if (times.empty())
    times["train"] = 1;
  return times;
}

PlanSummary dsc::summarizePlan(ModuleOp module, ArrayRef<const Target *> targets) {
  PlanSummary summary;
  for (auto variable : module.getOps<ds::VariableOp>())
    if (variable.getRole() == ds::Role::Parameter)
      summary.parameters += cast<ShapedType>(variable.getType()).getNumElements();
  std::map<StringRef, int64_t> flops;
  for (auto kernel : module.getOps<KernelOp>()) {
    ++summary.kernels;
    Operation *op = kernel.getComputation();
    if (auto cost = dyn_cast<CostOpInterface>(op))
      flops[kernel.getSymName()] = cost.flops();
    if (const KernelGenerator *generator = findGenerator(op->getName().getStringRef()))
      for (const Target *target : targets)
        summary.workspace = std::max(summary.workspace, generator->workspaceBytes(op, *target));
  }
  std::map<std::pair<BufferKind, StringRef>, int64_t> persistent;
  std::map<StringRef, int64_t> times = stepPrograms(module);
  for (auto op : module.getOps<ProgramOp>()) {
    ProgramSummary program;
    program.name = op.getSymName().str();
    program.times = times[op.getSymName()];
    Lifetimes lifetimes = computeLifetimes(op);
    int64_t low = -1, high = 0;
    for (auto [bufferOp, life] : lifetimes.buffers) {
      BufferOp buffer(bufferOp);
      int64_t start = buffer.getOffset().value_or(0), end = start + bytesOf(buffer);
      summary.arena = std::max(summary.arena, end);
      if (livesAcrossPrograms(buffer.getKind())) {
        persistent[{buffer.getKind(), buffer.getLabel()}] = bytesOf(buffer);
        continue;
      }
      low = low < 0 ? start : std::min(low, start);
      high = std::max(high, end);
    }
    program.activations = low < 0 ? 0 : high - low;
    program.bound = liveBound(lifetimes);
    for (Operation *instruction : lifetimes.instructions) {
      program.copies += isa<CopyOp>(instruction);
      if (auto launch = dyn_cast<LaunchOp>(instruction)) {
        ++program.launches;
        program.flops += flops[launch.getKernel()];
      }
    }
    summary.activations = std::max(summary.activations, program.activations);
    summary.stepFlops += program.times * program.flops;
    summary.stepLaunches += program.times * program.launches;
    summary.programs.push_back(std::move(program));
  }
  for (auto [buffer, bytes] : persistent)
    switch (buffer.first) {
    case BufferKind::Parameter:
      summary.weights += bytes;
      break;
    case BufferKind::WorkingCopy:
      summary.workingCopies += bytes;
      break;
    case BufferKind::Gradient:
      summary.gradients += bytes;
      break;
    case BufferKind::Window: // sums of gradients, and scalars
      (buffer.second.contains("grad:") ? summary.gradients : summary.scalars) += bytes;
      break;
    case BufferKind::Stash:
      summary.stashes += bytes;
      break;
    case BufferKind::OptimizerState:
      summary.optimizer += bytes;
      break;
    case BufferKind::Cache:
      summary.caches += bytes;
      break;
    default:
      summary.scalars += bytes;
    }
  return summary;
}

static std::string line(std::string name, const std::string &value, const std::string &note = "") {
  name.resize(std::max<size_t>(name.size(), 16), ' ');
  return name + std::string(value.size() < 18 ? 18 - value.size() : 0, ' ') + value +
         (note.empty() ? "" : "   " + note) + "\n";
}

std::string dsc::printSummary(const PlanSummary &summary) {
  std::string text = line("parameters", printGrouped(summary.parameters));
  if (summary.stepLaunches)
    text += line("FLOPs per step", printGrouped(summary.stepFlops),
                 std::to_string(summary.stepLaunches) + " launches");
  bool several = llvm::count_if(summary.programs, [](auto &program) { return program.times; }) > 1;
  for (const ProgramSummary &program : summary.programs)
    if (several || !program.times)
      text += line(
          "FLOPs " + program.name, printGrouped(program.flops),
          std::to_string(program.launches) + " launches" +
              (program.times > 1 ? ", " + std::to_string(program.times) + " times a step" : ""));
  text += line("kernels", printGrouped(summary.kernels));
  text += "memory in bytes\n";
  auto memory = [&](const char *name, int64_t bytes, const std::string &note = "") {
    text += line("  " + std::string(name), printGrouped(bytes),
                 printBytes(bytes) + (note.empty() ? "" : ", " + note));
  };
  memory("weights", summary.weights);
  if (summary.workingCopies)
    memory("half weights", summary.workingCopies);
  memory("gradients", summary.gradients);
  memory("optimizer", summary.optimizer);
  if (summary.caches)
    memory("key-value cache", summary.caches, "of generation; training has these bytes too");
  if (summary.stashes)
    memory("in flight", summary.stashes, "kept from forward to backward");
  int64_t bound = 0;
  for (const ProgramSummary &program : summary.programs)
    bound = std::max(bound, program.bound);
  memory("activations", summary.activations, "at least " + printGrouped(bound) + " for any layout");
  memory("workspace", summary.workspace, "a thread");
  memory("arena", summary.arena, "all but workspaces, with padding");
  return text;
}
