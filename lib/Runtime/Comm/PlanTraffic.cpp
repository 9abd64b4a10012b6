//===- PlanTraffic.cpp - what a plan makes its ranks exchange --------------===//
#include "dsc/Runtime/Comm/PlanTraffic.h"
#include "dsc/Runtime/Comm/Collectives.h"

using namespace dsc;
using namespace dsc::plan;

static std::vector<Tensor> tensorsOf(const Program &program, const Instruction &instruction) {
  std::vector<Tensor> tensors;
  for (const Operand &operand : instruction.operands) {
    const Buffer &buffer = program.buffers[operand.buffer];
    tensors.push_back(
        {nullptr, buffer.bytes / static_cast<uint64_t>(byteSize(buffer.dtype)), buffer.dtype});
  }
  return tensors;
}

static uint64_t bytesOf(const Program &program, const Instruction &instruction) {
  uint64_t bytes = 0;
  for (const Operand &operand : instruction.operands)
    bytes += program.buffers[operand.buffer].bytes;
  return bytes;
}

Traffic dsc::trafficOf(const Plan &plan, const Program &program, const Instruction &instruction,
                       int64_t rank) {
  Collective kind = Collective::AllReduce;
  switch (instruction.opcode) {
  case Opcode::Launch:
  case Opcode::Copy:
  case Opcode::Guard:
    return {};
  case Opcode::Send:
    return {bytesOf(program, instruction), 0};
  case Opcode::Receive:
    return {0, bytesOf(program, instruction)};
  case Opcode::AllReduce:
    break;
  case Opcode::ReduceScatter:
    kind = Collective::ReduceScatter;
    break;
  case Opcode::AllGather:
    kind = Collective::AllGather;
    break;
  }
  return trafficOf(kind, Algorithm::Tree,
                   static_cast<uint64_t>(plan.layout.coordinates(rank).on(instruction.axis)),
                   static_cast<uint64_t>(plan.layout.size(instruction.axis)),
                   tensorsOf(program, instruction), std::max<uint64_t>(instruction.block, 1));
}

static const Role &roleOf(const Plan &plan, int64_t rank) {
  return plan.stages[static_cast<size_t>(plan.layout.coordinates(rank).pipeline)];
}

Traffic dsc::trafficOf(const Plan &plan, const Program &program, int64_t rank) {
  Traffic sum;
  for (const Instruction &instruction : program.instructions) {
    Traffic one = trafficOf(plan, program, instruction, rank);
    sum.sentBytes += one.sentBytes;
    sum.receivedBytes += one.receivedBytes;
  }
  return sum;
}

Traffic dsc::trafficOfStep(const Plan &plan, int64_t rank) {
  Traffic sum;
  const Role &role = roleOf(plan, rank);
  for (const Phase &phase : role.schedule) {
    Traffic one = trafficOf(plan, role.programs[phase.program], rank);
    sum.sentBytes += one.sentBytes * phase.times;
    sum.receivedBytes += one.receivedBytes * phase.times;
  }
  return sum;
}

std::string dsc::printTraffic(const Plan &plan) {
  std::string out;
  for (size_t stage = 0; stage < plan.stages.size(); ++stage) {
    const Role &role = plan.stages[stage];
    int64_t rank = plan.layout.onStage(static_cast<int64_t>(stage), 0);
    out += "communication of stage " + std::to_string(stage) + ", a step\n";
    std::vector<uint64_t> times(role.programs.size());
    for (const Phase &phase : role.schedule)
      times[phase.program] += phase.times;
    for (size_t p = 0; p < role.programs.size(); ++p)
      for (const Instruction &instruction : role.programs[p].instructions) {
        if (isLocal(instruction.opcode))
          continue;
        Traffic one = trafficOf(plan, role.programs[p], instruction, rank);
        out += "  " + std::to_string(times[p]) + " x " + nameOf(instruction.opcode) + " ";
        out += instruction.axis == Axis::None
                   ? "stage " + std::to_string(instruction.stage)
                   : std::string(nameOf(instruction.axis)) + " " +
                         std::to_string(plan.layout.size(instruction.axis));
        out += ", " + std::to_string(bytesOf(role.programs[p], instruction)) + " bytes in " +
               std::to_string(instruction.operands.size()) + " buffers, rank " +
               std::to_string(rank) + " sends " + std::to_string(one.sentBytes) + " and receives " +
               std::to_string(one.receivedBytes) + " \"" + instruction.label + "\" of " +
               role.programs[p].name + "\n";
      }
    Traffic sum = trafficOfStep(plan, rank);
    out += "  rank " + std::to_string(rank) + " sends " + std::to_string(sum.sentBytes) +
           " and receives " + std::to_string(sum.receivedBytes) + " bytes a step\n";
  }
  return out;
}
