//===- RankPlans.cpp - small plans of many ranks, made by hand --------------===//
#include "RankPlans.h"
#include "TestPlan.h"

using namespace dsc;
using namespace dsc::plan;
using namespace dsc::test;

namespace {

/// Adds buffers one behind the other, and instructions by the names of their buffers.
class Maker {
public:
  Maker(Role &role, const std::string &name, uint64_t &end)
      : program(role.programs.emplace_back()), end(end) {
    program.name = name;
  }
  ~Maker() { // lives from the first to the last use
    for (Buffer &buffer : program.buffers)
      if (buffer.kind == Kind::Output)
        buffer.last = static_cast<uint32_t>(program.instructions.size());
  }

  Maker &buffer(const std::string &name, Kind kind, DType dtype, std::vector<int64_t> shape,
                uint64_t at = 0, Axis share = Axis::None, uint32_t places = 1) {
    Buffer buffer{name, kind, dtype, shape, at, static_cast<uint64_t>(byteSize(dtype))};
    for (int64_t dimension : shape)
      buffer.bytes *= static_cast<uint64_t>(dimension);
    buffer.share = share;
    buffer.places = places;
    if (share != Axis::None)
      buffer.bytes /= 2;
    if (!at) {
      buffer.offset = end;
      end += (extentOf(buffer) + 63) / 64 * 64;
    }
    program.buffers.push_back(buffer);
    return *this;
  }
  Instruction &add(Opcode opcode, const std::vector<std::string> &operands, uint32_t kernel = 0) {
    Instruction instruction{opcode, kernel, {}, nameOf(opcode)};
    for (const std::string &name : operands) {
      bool output = name[0] == '!';
      instruction.operands.push_back(
          {static_cast<uint32_t>(findBuffer(program, name.substr(output), output)), 0});
    }
    program.instructions.push_back(instruction);
    for (Buffer &buffer : program.buffers)
      buffer.last = static_cast<uint32_t>(program.instructions.size());
    return program.instructions.back();
  }
  Instruction &launch(uint32_t kernel, const std::vector<std::string> &operands,
                      Axis axis = Axis::None) {
    Instruction &instruction = add(Opcode::Launch, operands, kernel);
    instruction.axis = axis;
    return instruction;
  }
  Instruction &collective(Opcode opcode, const std::vector<std::string> &operands, Axis axis,
                          uint64_t block = 0) {
    Instruction &instruction = add(opcode, operands);
    instruction.axis = axis;
    instruction.block = block;
    return instruction;
  }
  Instruction &message(Opcode opcode, const std::string &operand, uint32_t stage,
                       uint32_t channel) {
    Instruction &instruction = add(opcode, {operand});
    instruction.stage = stage;
    instruction.channel = channel;
    return instruction;
  }

  Program &program;
  uint64_t &end;
};

void addKernels(Plan &plan) {
  OperandUse in{DType::F64, true, false}, out{DType::F64, false, true};
  OperandUse wideIn{DType::F32, true, false}, wideOut{DType::F32, false, true};
  plan.kernels = {
      {"count", {64, 8}, 1, 0, {{DType::I32, true, false, "labels"}, out}},
      {"loss", {wide, 64, 8}, 1, 0, {wideIn, {DType::I32, true, false, "tokens"}, out}},
      {"grow", {8}, 1, 0, {{DType::F64, true, true}}},
      {"square", {wide, 16}, 2, 0, {wideIn, out}},
      {"fill", {wide, 64, wide}, 2, 0, {wideIn, {DType::I32, true, false, "tokens"}, wideOut}},
      {"update", {wide, wide}, 2, 0, {wideIn, {DType::F32, true, true}}},
      {"double", {wide, wide}, 2, 0, {wideIn, wideOut}}};
  (void)in;
}

} // namespace

Plan test::twoRanks() {
  Plan plan = test::testPlan();
  std::string elf = plan.images[0].elf;
  plan = Plan();
  *plan.manifest = nlohmann::json::object();
  plan.images = {{"x86-64", {"sse2"}, elf}};
  addKernels(plan);
  plan.layout.data = 2;
  Variable weight{"w", Kind::Parameter, DType::F32, {2048}};
  plan.variables = {weight};
  uint64_t end = 64;
  { Maker(plan, "evaluate", end).buffer("w", Kind::Parameter, DType::F32, {2048}); }
  plan.arenaBytes = end;

  Role &stage = plan.stages.emplace_back();
  Variable moment{"m", Kind::OptimizerState, DType::F32, {2048}};
  moment.share = Axis::Data;
  plan.variables.push_back({"m", Kind::OptimizerState, DType::F32, {2048}});
  plan.programs[0].buffers.push_back({"m", Kind::OptimizerState, DType::F32, {2048}, end, wide});
  plan.arenaBytes += wide;
  stage.variables = {weight, moment, {"sum", Kind::Window, DType::F32, {2048}}};
  end = 64;
  {
    Maker micro(stage, "train.micro", end);
    micro.buffer("w", Kind::Parameter, DType::F32, {2048});
    micro.buffer("sum", Kind::Window, DType::F32, {2048});
    micro.buffer("tokens", Kind::Input, DType::I32, {2, 8});
    micro.launch(Fill, {"w", "tokens", "sum"});
  }
  Maker train(stage, "train", end);
  train.buffer("w", Kind::Parameter, DType::F32, {2048}, 64);
  train.buffer("sum", Kind::Window, DType::F32, {2048}, 64 + wide);
  train.buffer("m", Kind::OptimizerState, DType::F32, {2048}, 0, Axis::Data);
  train.buffer("tokens", Kind::Input, DType::I32, {2, 8});
  train.buffer("labels", Kind::Input, DType::I32, {2, 8});
  train.buffer("tokens", Kind::Output, DType::F64, {});
  train.buffer("loss", Kind::Output, DType::F64, {});
  train.buffer("squares", Kind::Activation, DType::F64, {2});
  train.launch(Count, {"labels", "!tokens"});                               // 0
  train.launch(Loss, {"w", "tokens", "!loss"});                             // 1
  train.collective(Opcode::AllReduce, {"!tokens", "!loss"}, Axis::Data);    // 2
  train.collective(Opcode::ReduceScatter, {"sum"}, Axis::Data, shareBlock); // 3
  train.launch(Square, {"sum", "squares"}, Axis::Data);                     // 4
  train.collective(Opcode::AllGather, {"squares"}, Axis::Data, 1);          // 5
  train.add(Opcode::Guard, {"!tokens", "!loss", "squares"});                // 6
  train.launch(Update, {"sum", "m"}, Axis::Data);                           // 7
  train.launch(Update, {"m", "w"}, Axis::Data);                             // 8
  train.collective(Opcode::AllGather, {"w"}, Axis::Data, shareBlock);       // 9
  stage.schedule = {{0, 2}, {1, 1}};
  stage.arenaBytes = end;
  return plan;
}

Plan test::pipeline(uint32_t stages, uint64_t batches, uint32_t places) {
  Plan plan = twoRanks();
  plan.stages.clear();
  plan.layout = {};
  plan.layout.pipeline = stages;
  plan.variables = {};
  plan.programs[0].buffers.clear();
  for (uint32_t s = 0; s < stages; ++s) {
    Role &stage = plan.stages.emplace_back();
    uint64_t end = 64;
    Variable out{"out", Kind::Stash, DType::F32, {2048}}, in{"in", Kind::Stash, DType::F32, {2048}};
    out.places = in.places = places;
    stage.variables = {out, in};
    {
      Maker forward(stage, "forward", end);
      forward.buffer("out", Kind::Stash, DType::F32, {2048}, 0, Axis::None, places);
      forward.buffer("in", Kind::Stash, DType::F32, {2048}, 0, Axis::None, places);
      forward.buffer("tokens", Kind::Input, DType::I32, {2, 8});
      if (s > 0)
        forward.message(Opcode::Receive, "in", s - 1, 7);
      else
        forward.buffer("zero", Kind::Activation, DType::F32, {2048})
            .add(Opcode::Copy, {"in", "zero"});
      forward.launch(Fill, {"in", "tokens", "out"});
      if (s + 1 < stages)
        forward.message(Opcode::Send, "out", s + 1, 7);
      if (s == 0) { // what the first stage starts with
        forward.program.instructions.erase(forward.program.instructions.begin());
        for (Buffer &buffer : forward.program.buffers)
          buffer.last = 2;
        forward.program.instructions[0].operands[0] = {3, 0};
        forward.program.buffers[3].kind = Kind::Input;
        forward.program.buffers[3].name = "position_ids";
        forward.program.buffers[3].dtype = DType::I32;
      }
    }
    Maker train(stage, "train", end);
    train.buffer("tokens", Kind::Input, DType::I32, {2, 8});
    train.buffer("loss", Kind::Output, DType::F64, {});
    train.buffer("out", Kind::Stash, DType::F32, {2048}, 64, Axis::None, places);
    train.launch(Count, {"tokens", "!loss"});
    train.collective(Opcode::AllReduce, {"!loss"}, Axis::Pipeline);
    train.add(Opcode::Guard, {"!loss", "!loss", "!loss"});
    stage.schedule = {{0, batches}, {1, 1}};
    stage.arenaBytes = end;
  }
  // The table of kernels fits these: counts take tokens, and the first stage fills from numbers.
  plan.kernels[Count].uses[0].input.clear();
  plan.kernels.push_back({"start",
                          {wide, 64, wide},
                          2,
                          0,
                          {{DType::I32, true, false, "position_ids"},
                           {DType::I32, true, false, "tokens"},
                           {DType::F32, false, true}}});
  plan.stages[0].programs[0].instructions[0].kernel =
      static_cast<uint32_t>(plan.kernels.size() - 1);
  return plan;
}
