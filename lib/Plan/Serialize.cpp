//===- Serialize.cpp - a plan to bytes -------------------------------------===//
// Equal plans give equal bytes: FlatBuffers are built in the order of the vectors, JSON objects are
// sorted.
#include "Plan_generated.h"
#include "dsc/Plan/Container.h"
#include "dsc/Plan/Plan.h"

using namespace dsc;
using namespace dsc::plan;

template <typename To, typename From> static To as(From value) { return static_cast<To>(value); }

static flatbuffers::Offset<fb::Program> build(flatbuffers::FlatBufferBuilder &builder,
                                              const Program &program) {
  std::vector<flatbuffers::Offset<fb::Buffer>> buffers;
  for (const Buffer &b : program.buffers)
    buffers.push_back(fb::CreateBufferDirect(builder, b.name.c_str(), as<fb::BufferKind>(b.kind),
                                             as<fb::DType>(b.dtype), &b.shape, b.offset, b.bytes,
                                             b.first, b.last));
  std::vector<flatbuffers::Offset<fb::Instruction>> instructions;
  for (const Instruction &i : program.instructions) {
    std::vector<fb::Operand> operands;
    for (const Operand &operand : i.operands)
      operands.emplace_back(operand.buffer, operand.offset);
    instructions.push_back(fb::CreateInstructionDirect(
        builder, as<fb::Opcode>(i.opcode), i.kernel, &operands, i.label.c_str(), i.place.c_str()));
  }
  return fb::CreateProgramDirect(builder, program.name.c_str(), &buffers, &instructions);
}

static std::string buildPrograms(const Plan &plan) {
  flatbuffers::FlatBufferBuilder builder(1 << 16);
  std::vector<flatbuffers::Offset<fb::Variable>> variables;
  for (const Variable &v : plan.variables)
    variables.push_back(fb::CreateVariableDirect(
        builder, v.name.c_str(), as<fb::BufferKind>(v.role), as<fb::DType>(v.dtype), &v.shape,
        as<int8_t>(v.initializer), v.stddev, v.decay, v.value));
  std::vector<flatbuffers::Offset<fb::Scalar>> scalars;
  for (const Scalar &s : plan.scalars)
    scalars.push_back(fb::CreateScalarDirect(builder, s.path.c_str(), s.value, s.offset));
  std::vector<flatbuffers::Offset<fb::Kernel>> kernels;
  for (const Kernel &k : plan.kernels)
    kernels.push_back(
        fb::CreateKernelDirect(builder, k.name.c_str(), &k.operands, k.items, k.workspace));
  std::vector<flatbuffers::Offset<fb::Program>> programs;
  for (const Program &program : plan.programs)
    programs.push_back(build(builder, program));
  std::vector<flatbuffers::Offset<fb::Image>> images;
  for (const KernelImage &image : plan.images) {
    std::vector<flatbuffers::Offset<flatbuffers::String>> features;
    for (const std::string &feature : image.features)
      features.push_back(builder.CreateString(feature));
    images.push_back(fb::CreateImageDirect(builder, image.isa.c_str(), &features));
  }
  std::vector<fb::Phase> schedule;
  for (const Phase &phase : plan.schedule)
    schedule.emplace_back(phase.program, phase.times);
  builder.Finish(fb::CreatePlanDirect(builder, &variables, &scalars, &kernels, &programs,
                                      plan.arenaBytes, plan.workspaceBytes, &images, &schedule));
  return {reinterpret_cast<const char *>(builder.GetBufferPointer()), builder.GetSize()};
}

std::string plan::serialize(const Plan &plan) {
  std::string manifest = plan.manifest->dump(1) + "\n", programs = buildPrograms(plan);
  std::vector<std::pair<std::string, std::string_view>> sections{{"manifest", manifest},
                                                                 {"programs", programs}};
  for (const KernelImage &image : plan.images)
    sections.emplace_back("kernels." + image.isa, image.elf);
  if (!plan.debug.empty())
    sections.emplace_back("debug", plan.debug);
  return writeContainer(sections);
}
