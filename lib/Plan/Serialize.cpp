//===- Serialize.cpp - a plan to bytes -------------------------------------===//
// Equal plans give equal bytes: FlatBuffers are built in the order of the vectors, JSON objects are
// sorted.
#include "Plan_generated.h"
#include "dsc/Plan/Container.h"
#include "dsc/Plan/Plan.h"

using namespace dsc;
using namespace dsc::plan;

template <typename To, typename From> static To as(From value) { return static_cast<To>(value); }

using Builder = flatbuffers::FlatBufferBuilder;
template <typename T> using Offsets = std::vector<flatbuffers::Offset<T>>;

/// Of Kernel.uses: see Plan.fbs.
static constexpr uint64_t readBit = 256, writeBit = 512;

static flatbuffers::Offset<fb::Program> build(Builder &builder, const Program &program) {
  Offsets<fb::Buffer> buffers;
  for (const Buffer &b : program.buffers)
    buffers.push_back(fb::CreateBufferDirect(builder, b.name.c_str(), as<fb::BufferKind>(b.kind),
                                             as<fb::DType>(b.dtype), &b.shape, b.offset, b.bytes,
                                             b.first, b.last, as<fb::Axis>(b.share), b.places));
  Offsets<fb::Instruction> instructions;
  for (const Instruction &i : program.instructions) {
    std::vector<fb::Operand> operands;
    for (const Operand &operand : i.operands)
      operands.emplace_back(operand.buffer, operand.offset);
    instructions.push_back(fb::CreateInstructionDirect(
        builder, as<fb::Opcode>(i.opcode), i.kernel, &operands, i.label.c_str(), i.place.c_str(),
        as<fb::Axis>(i.axis), i.block, i.stage, i.channel));
  }
  return fb::CreateProgramDirect(builder, program.name.c_str(), &buffers, &instructions);
}

namespace {
/// The tables of a role.
struct Tables {
  Offsets<fb::Variable> variables;
  Offsets<fb::Scalar> scalars;
  Offsets<fb::Program> programs;
  std::vector<fb::Phase> schedule;

  Tables(Builder &builder, const Role &role) {
    for (const Variable &v : role.variables) {
      bool cut = v.cut.axis != Axis::None;
      std::vector<uint64_t> parts{v.cut.outer, v.cut.count, v.cut.inner};
      variables.push_back(fb::CreateVariableDirect(
          builder, v.name.c_str(), as<fb::BufferKind>(v.role), as<fb::DType>(v.dtype), &v.shape,
          as<int8_t>(v.initializer), v.stddev, v.decay, v.value, as<fb::Axis>(v.share), v.places,
          as<fb::Axis>(v.cut.axis), cut ? &v.cut.logical : nullptr, cut ? &parts : nullptr));
    }
    for (const Scalar &s : role.scalars)
      scalars.push_back(fb::CreateScalarDirect(builder, s.path.c_str(), s.value, s.offset));
    for (const Program &program : role.programs)
      programs.push_back(build(builder, program));
    for (const Phase &phase : role.schedule)
      schedule.emplace_back(phase.program, phase.times);
  }
};
} // namespace

static std::string buildPrograms(const Plan &plan) {
  Builder builder(1 << 16);
  Tables whole(builder, plan);
  Offsets<fb::Kernel> kernels;
  for (const Kernel &k : plan.kernels) {
    std::vector<uint64_t> uses;
    Offsets<flatbuffers::String> inputs;
    for (const OperandUse &use : k.uses) {
      uses.push_back(as<uint64_t>(use.type) | (use.reads ? readBit : 0) |
                     (use.writes ? writeBit : 0));
      inputs.push_back(builder.CreateSharedString(use.input));
    }
    kernels.push_back(fb::CreateKernelDirect(builder, k.name.c_str(), &k.operands, k.items,
                                             k.workspace, &uses, &inputs));
  }
  Offsets<fb::Image> images;
  for (const KernelImage &image : plan.images) {
    Offsets<flatbuffers::String> features;
    for (const std::string &feature : image.features)
      features.push_back(builder.CreateString(feature));
    images.push_back(fb::CreateImageDirect(builder, image.isa.c_str(), &features));
  }
  Offsets<fb::Stage> stages;
  for (const Role &role : plan.stages) {
    Tables tables(builder, role);
    stages.push_back(fb::CreateStageDirect(builder, &tables.variables, &tables.scalars,
                                           &tables.programs, role.arenaBytes, &tables.schedule));
  }
  fb::Layout layout(as<uint32_t>(plan.layout.data), as<uint32_t>(plan.layout.tensor),
                    as<uint32_t>(plan.layout.pipeline), as<uint32_t>(plan.layout.context));
  builder.Finish(
      fb::CreatePlanDirect(builder, &whole.variables, &whole.scalars, &kernels, &whole.programs,
                           plan.arenaBytes, plan.workspaceBytes, &images, &whole.schedule, &stages,
                           plan.layout.ranks() > 1 ? &layout : nullptr, plan.rowsInTurn));
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
