//===- Print.cpp - a plan as text ------------------------------------------===//
#include "dsc/Plan/Print.h"
#include "dsc/Support/Numbers.h"
#include <map>
#include <set>

using namespace dsc;
using namespace dsc::plan;

static std::string type(DType dtype, const std::vector<int64_t> &shape) {
  std::string text = nameOf(dtype);
  text += " [";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

/// Leaves of an object as `path = value`, strings in quotes.
static void flatten(const nlohmann::json &value, const std::string &path, std::string &out) {
  if (value.is_structured() && !value.empty()) {
    size_t index = 0;
    for (const auto &[key, element] : value.items())
      flatten(element, path + "." + (value.is_array() ? std::to_string(index++) : key), out);
    return;
  }
  if (path.empty()) // the whole manifest has no entry
    return;
  out += "  " + path.substr(1) + " = " +
         value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

/// Bytes by kind: persistent buffers once, others by program, each byte once.
static std::string printMemory(const Plan &whole, const Role &plan) {
  std::string out = "memory\n  arena " + std::to_string(plan.arenaBytes) + " bytes\n  workspace " +
                    std::to_string(whole.workspaceBytes) + " bytes a thread\n";
  std::map<Kind, std::pair<uint64_t, uint64_t>> always;
  std::set<std::string> seen;
  for (const Program &program : plan.programs)
    for (const Buffer &buffer : program.buffers)
      if (isPersistent(buffer.kind) && seen.insert(buffer.name).second) {
        ++always[buffer.kind].first;
        always[buffer.kind].second += extentOf(buffer);
      }
  auto line = [&](const std::string &name, std::pair<uint64_t, uint64_t> sum) {
    out += "  " + name + " " + std::to_string(sum.second) + " bytes in " +
           std::to_string(sum.first) + " buffers\n";
  };
  for (const auto &[kind, sum] : always)
    line(nameOf(kind), sum);
  for (const Program &program : plan.programs) {
    std::map<Kind, std::pair<uint64_t, uint64_t>> sums;
    for (const Buffer &buffer : program.buffers)
      if (!isPersistent(buffer.kind)) {
        ++sums[buffer.kind].first;
        sums[buffer.kind].second += buffer.bytes;
      }
    for (const auto &[kind, sum] : sums)
      line(program.name + " " + nameOf(kind), sum);
  }
  return out;
}

/// " share data", " part of [131, 16] along tensor": what a rank has of it.
static std::string ownership(const Variable &v) {
  std::string out;
  if (v.share != Axis::None)
    out += std::string(" share ") + nameOf(v.share);
  if (v.cut.axis != Axis::None)
    out += " part of " + type(v.dtype, v.cut.logical) + " along " + nameOf(v.cut.axis);
  if (v.places > 1)
    out += " places " + std::to_string(v.places);
  return out;
}

static std::string printVariables(const Role &plan) {
  std::string out = "variables\n";
  for (const Variable &v : plan.variables) {
    out += "  " + v.name + ": " + type(v.dtype, v.shape) + " " + nameOf(v.role) + " " +
           nameOf(v.initializer);
    if (v.initializer == Init::Normal)
      out += "(" + printShortest(v.stddev) + ")";
    if (v.initializer == Init::Constant)
      out += "(" + printShortest(v.value) + ")";
    out += v.decay ? " decay" : "";
    out += ownership(v) + "\n";
  }
  return out;
}

static std::string printScalars(const Role &plan) {
  std::string out = "scalars\n";
  for (const Scalar &s : plan.scalars)
    out +=
        "  " + s.path + " = " + printShortest(s.value) + " at " + std::to_string(s.offset) + "\n";
  return out;
}

static std::string printKernels(const Plan &plan) {
  std::string out = "kernels\n";
  for (size_t k = 0; k < plan.kernels.size(); ++k) {
    const Kernel &kernel = plan.kernels[k];
    out += "  " + std::to_string(k) + " " + kernel.name + "(";
    for (size_t i = 0; i < kernel.operands.size(); ++i)
      out += (i ? ", " : "") + std::to_string(kernel.operands[i]);
    out += ") items " + std::to_string(kernel.items) + " workspace " +
           std::to_string(kernel.workspace) + "\n";
  }
  return out;
}

static std::string printImages(const Plan &plan) {
  std::string out = "images\n";
  for (const KernelImage &image : plan.images) {
    out += "  " + image.isa + ": " + std::to_string(image.elf.size()) + " bytes, needs";
    for (const std::string &feature : image.features)
      out += " " + feature;
    out += image.features.empty() ? " nothing\n" : "\n";
  }
  return out;
}

static std::string printSchedule(const Role &plan) {
  std::string out;
  for (const Phase &phase : plan.schedule)
    out += (out.empty() ? "step " : ", ") + plan.programs[phase.program].name + " x " +
           std::to_string(phase.times);
  return out.empty() ? out : out + "\n";
}

std::string plan::printProgram(const Plan &plan, const Program &program) {
  std::string out = "program " + program.name + "\n";
  for (const Buffer &b : program.buffers) {
    out += "  buffer " + b.name + ": " + type(b.dtype, b.shape) + " " + nameOf(b.kind) + " at " +
           std::to_string(b.offset) + " bytes " + std::to_string(b.bytes);
    out += b.share == Axis::None ? "" : std::string(" share ") + nameOf(b.share);
    out += b.places > 1 ? " places " + std::to_string(b.places) : "";
    out += isPersistent(b.kind)
               ? " always\n"
               : " live " + std::to_string(b.first) + "-" + std::to_string(b.last) + "\n";
  }
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    const Instruction &instruction = program.instructions[i];
    out += "  " + std::to_string(i) + " " + nameOf(instruction.opcode) + " ";
    if (instruction.opcode == Opcode::Launch)
      out += plan.kernels[instruction.kernel].name;
    if (instruction.axis != Axis::None)
      out += std::string(isLocal(instruction.opcode) ? " share " : "") + nameOf(instruction.axis);
    if (instruction.block)
      out += " block " + std::to_string(instruction.block);
    if (instruction.opcode == Opcode::Send || instruction.opcode == Opcode::Receive)
      out += "stage " + std::to_string(instruction.stage) + " channel " +
             std::to_string(instruction.channel);
    out += "(";
    for (size_t k = 0; k < instruction.operands.size(); ++k) {
      const Operand &operand = instruction.operands[k];
      out += (k ? ", " : "") + program.buffers[operand.buffer].name;
      if (operand.offset)
        out += "+" + std::to_string(operand.offset);
    }
    out += ") \"" + instruction.label + "\"";
    out += (instruction.place.empty() ? "" : " from " + instruction.place) + "\n";
  }
  return out;
}

/// A section that each role has.
static std::string printRole(const Plan &plan, const Role &role, std::string_view section) {
  if (section == "memory")
    return printMemory(plan, role);
  if (section == "variables")
    return printVariables(role);
  if (section == "scalars")
    return printScalars(role);
  if (section != "programs")
    return "";
  std::string out = printSchedule(role);
  for (const Program &program : role.programs)
    out += printProgram(plan, program);
  return out;
}

const std::vector<std::string> &plan::printableSections() {
  static const std::vector<std::string> names{"manifest", "memory", "variables", "scalars",
                                              "kernels",  "images", "programs",  "debug"};
  return names;
}

std::string plan::printSection(const Plan &plan, std::string_view section) {
  if (section == "manifest") {
    std::string out = "manifest\n";
    flatten(*plan.manifest, "", out);
    return out;
  }
  if (section == "kernels")
    return printKernels(plan);
  if (section == "images")
    return printImages(plan);
  if (section == "debug")
    return plan.debug;
  std::string out = printRole(plan, plan, section);
  for (size_t stage = 0; stage < plan.stages.size(); ++stage)
    out += "stage " + std::to_string(stage) + "\n" + printRole(plan, plan.stages[stage], section);
  return out;
}
