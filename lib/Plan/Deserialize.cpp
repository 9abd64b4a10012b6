//===- Deserialize.cpp - bytes to a verified plan --------------------------===//
// Container, FlatBuffers verifier, conversion within a budget, rules of the contents, in this
// order. Tables of a FlatBuffer may be shared, so that a small file could stand for a huge plan:
// what is read is counted against the section's bytes, which no honest writer exceeds.
#include "Plan_generated.h"
#include "Verify.h"
#include "dsc/Plan/Container.h"
#include "dsc/Support/Hash.h"
#include "dsc/Support/Json.h"
#include <cstring>
#include <set>

using namespace dsc;
using namespace dsc::plan;

namespace {

class Reader {
public:
  Reader(const Section &section, const fb::Plan &root)
      : section(section), root(root), budget(section.contents.size()) {}

  /// Fills everything but manifest, code and debug text.
  Status read(Plan &plan) {
    plan.workspaceBytes = root.workspace_bytes();
    role(root, plan);
    table(plan.kernels, root.kernels(), [&](const fb::Kernel &in, Kernel &out) {
      out = {text(in.name()), numbers(in.operands()), in.items(), in.workspace()};
      uses(in, out.uses);
    });
    table(plan.images, root.images(), [&](const fb::Image &in, KernelImage &out) {
      out.isa = text(in.isa());
      if (const auto *features = in.features(); features && spend(features->size(), 4))
        for (const flatbuffers::String *feature : *features)
          out.features.push_back(text(feature));
    });
    table(plan.stages, root.stages(), [&](const fb::Stage &in, Role &out) { role(in, out); });
    if (const fb::Layout *layout = root.layout())
      plan.layout = {layout->data(), layout->tensor(), layout->pipeline(), layout->context()};
    plan.rowsInTurn = root.rows_in_turn();
    return std::move(status);
  }

  Status error(uint64_t offset, const std::string &rule) const {
    return damagedError("section '" + section.name + "', offset " + std::to_string(offset) + ": " +
                        rule);
  }

  /// Offset in the section of the table that a violation is about.
  uint64_t offsetOf(const Violation &violation) const {
    if (violation.place == Place::Kernel)
      return at(root.kernels()->Get(size(violation.index)));
    if (violation.place == Place::Image)
      return at(root.images()->Get(size(violation.index)));
    if (violation.stage < 0)
      return offsetIn(root, violation);
    return offsetIn(*root.stages()->Get(size(static_cast<size_t>(violation.stage))), violation);
  }

private:
  static flatbuffers::uoffset_t size(size_t index) {
    return static_cast<flatbuffers::uoffset_t>(index);
  }
  /// `table` points into the copy that the root lies in.
  uint64_t at(const void *table) const {
    auto address = reinterpret_cast<uintptr_t>(table), start = reinterpret_cast<uintptr_t>(&root);
    return rootOffset + (address - start);
  }

  template <typename In> uint64_t offsetIn(const In &in, const Violation &violation) const {
    switch (violation.place) {
    case Place::Variable:
      return at(in.variables()->Get(size(violation.index)));
    case Place::Scalar:
      return at(in.scalars()->Get(size(violation.index)));
    case Place::Program:
      return at(in.programs()->Get(size(violation.index)));
    case Place::Buffer:
      return at(in.programs()->Get(size(violation.index))->buffers()->Get(size(violation.element)));
    case Place::Instruction:
      return at(
          in.programs()->Get(size(violation.index))->instructions()->Get(size(violation.element)));
    default:
      return at(&in);
    }
  }

  Axis axis(fb::Axis value, const void *where) {
    return checked<Axis>(value, static_cast<int>(Axis::Context), "axis", where);
  }

  void variable(const fb::Variable &in, Variable &out) {
    out.name = text(in.name());
    out.role = checked<Kind>(in.role(), static_cast<int>(Kind::Stash), "role", &in);
    out.dtype = checked<DType>(in.dtype(), 5, "type", &in);
    out.shape = numbers(in.shape());
    out.initializer = checked<Init>(in.initializer(), 3, "initializer", &in);
    out.stddev = in.stddev();
    out.decay = in.decay();
    out.value = in.value();
    out.share = axis(in.share(), &in);
    out.places = in.places();
    out.cut.axis = axis(in.cut_axis(), &in);
    out.cut.logical = numbers(in.logical());
    std::vector<uint64_t> cut = numbers(in.cut());
    if (out.cut.axis == Axis::None)
      return;
    if (cut.size() != 3)
      return refuse(&in, "[cut] a cut has " + std::to_string(cut.size()) + " numbers, expected 3");
    out.cut.outer = cut[0];
    out.cut.count = cut[1];
    out.cut.inner = cut[2];
  }

  void uses(const fb::Kernel &in, std::vector<OperandUse> &out) {
    constexpr uint64_t readBit = 256, writeBit = 512;
    for (uint64_t bits : numbers(in.uses())) {
      if (bits >= 2 * writeBit)
        return refuse(&in, "[enum] use " + std::to_string(bits) + " is unknown");
      out.push_back({checked<DType>(bits % readBit, 5, "type", &in), (bits & readBit) != 0,
                     (bits & writeBit) != 0});
    }
    const auto *inputs = in.inputs();
    if (!inputs || !spend(inputs->size(), 4))
      return;
    if (inputs->size() != out.size())
      return refuse(&in, "[kernel] a kernel has " + std::to_string(inputs->size()) +
                             " names of inputs and " + std::to_string(out.size()) + " operands");
    for (size_t k = 0; k < out.size(); ++k)
      out[k].input = text(inputs->Get(size(k)));
  }

  void instruction(const fb::Instruction &from, Instruction &to) {
    to.opcode = checked<Opcode>(from.opcode(), static_cast<int>(Opcode::Receive), "opcode", &from);
    to.kernel = from.kernel();
    to.label = text(from.label());
    to.place = text(from.place());
    if (const auto *operands = from.operands(); isReadable(operands, 16))
      for (const fb::Operand *operand : *operands)
        to.operands.push_back({operand->buffer(), operand->offset()});
    to.axis = axis(from.axis(), &from);
    to.block = from.block();
    to.stage = from.stage();
    to.channel = from.channel();
  }

  /// The tables of the plan itself, or of a stage.
  template <typename In> void role(const In &in, Role &out) {
    out.arenaBytes = in.arena_bytes();
    table(out.variables, in.variables(),
          [&](const fb::Variable &from, Variable &to) { variable(from, to); });
    table(out.scalars, in.scalars(), [&](const fb::Scalar &from, Scalar &to) {
      to = {text(from.path()), from.value(), from.offset()};
    });
    table(out.programs, in.programs(), [&](const fb::Program &from, Program &to) {
      to.name = text(from.name());
      table(to.buffers, from.buffers(), [&](const fb::Buffer &one, Buffer &buffer) {
        buffer.name = text(one.name());
        buffer.kind = checked<Kind>(one.kind(), static_cast<int>(Kind::Stash), "kind", &one);
        buffer.dtype = checked<DType>(one.dtype(), 5, "type", &one);
        buffer.shape = numbers(one.shape());
        buffer.offset = one.offset();
        buffer.bytes = one.bytes();
        buffer.first = one.first();
        buffer.last = one.last();
        buffer.share = axis(one.share(), &one);
        buffer.places = one.places();
      });
      table(to.instructions, from.instructions(),
            [&](const fb::Instruction &one, Instruction &result) { instruction(one, result); });
    });
    if (const auto *schedule = in.schedule(); isReadable(schedule, 16))
      for (const fb::Phase *phase : *schedule)
        out.schedule.push_back({phase->program(), phase->times()});
  }

  void refuse(const void *where, const std::string &rule) {
    if (status.ok())
      status = error(at(where), rule);
  }

  bool spend(uint64_t count, uint64_t each) {
    if (!status.ok())
      return false;
    if (count > budget / each) {
      status = error(0, "[size] the tables stand for more than the " +
                            std::to_string(section.contents.size()) +
                            " bytes of the section: parts are shared");
      return false;
    }
    budget -= count * each;
    return true;
  }

  /// A list of numbers or structs of `each` bytes. FlatBuffers' verifier looks at where the length
  /// of a list lies, not at where its elements do.
  template <typename List> bool isReadable(const List *list, uint64_t each) {
    if (!list || !spend(list->size(), each))
      return false;
    if (list->size() == 0 || reinterpret_cast<uintptr_t>(list->Data()) % 8 == 0)
      return true;
    refuse(list->Data(), "[flatbuffer] the elements of a list do not lie on multiples of 8 bytes");
    return false;
  }

  std::string text(const flatbuffers::String *string) {
    if (!string || !spend(string->size(), 1))
      return {};
    return string->str();
  }

  template <typename T> std::vector<T> numbers(const flatbuffers::Vector<T> *vector) {
    if (!isReadable(vector, sizeof(T)))
      return {};
    return {vector->begin(), vector->end()};
  }

  /// An enumerator, of which `greatest` is the last.
  template <typename To, typename From>
  To checked(From value, int greatest, const char *what, const void *where) {
    int number = static_cast<int>(value);
    if (number >= 0 && number <= greatest)
      return static_cast<To>(number);
    refuse(where, std::string("[enum] ") + what + " " + std::to_string(number) + " is unknown");
    return static_cast<To>(0);
  }

  template <typename T, typename In, typename Convert>
  void table(std::vector<T> &out, const flatbuffers::Vector<flatbuffers::Offset<In>> *in,
             Convert convert) {
    // An offset and a table take at least 8 bytes.
    if (!in || !spend(in->size(), 8))
      return;
    out.reserve(in->size());
    for (const In *element : *in) {
      if (!status.ok())
        return;
      convert(*element, out.emplace_back());
    }
  }

  const Section &section;
  const fb::Plan &root;
  uint64_t budget;
  Status status;

public:
  uint64_t rootOffset = 0;
};

} // namespace

/// For a message, before the rules were checked.
static std::string printable(const std::string &name) {
  return isText(name) ? name.substr(0, 40) : std::string("?");
}

static Status readManifest(const std::vector<Section> &sections, Plan &plan) {
  const Section *section = findSection(sections, "manifest");
  if (!section)
    return damagedError("section 'manifest', offset 0: [section] the section is missing");
  auto manifest = parseStrictJson(section->contents, "manifest", 64);
  if (!manifest.ok())
    return damagedError("section 'manifest', offset 0: [manifest] " + manifest.status().message());
  plan.manifest = nlohmann::json(*manifest);
  return {};
}

StatusOr<Plan> plan::deserialize(std::string_view bytes) {
  auto sections = readContainer(bytes);
  if (!sections.ok())
    return sections.status();
  Plan plan;
  if (Status status = readManifest(*sections, plan); !status.ok())
    return status;

  const Section *programs = findSection(*sections, "programs");
  if (!programs)
    return damagedError("section 'programs', offset 0: [section] the section is missing");
  const auto *data = reinterpret_cast<const uint8_t *>(programs->contents.data());
  // FlatBuffers want 8-byte alignment; sections have it in a file that is mapped, not in any
  // string.
  std::vector<uint64_t> aligned;
  if (reinterpret_cast<uintptr_t>(data) % 8) {
    aligned.resize(programs->contents.size() / 8 + 1);
    std::memcpy(aligned.data(), data, programs->contents.size());
    data = reinterpret_cast<const uint8_t *>(aligned.data());
  }
  size_t size = programs->contents.size();
  flatbuffers::Verifier verifier(data, size, /*max_depth=*/16, /*max_tables=*/size / 8);
  if (size < 8 || !verifier.VerifyBuffer<fb::Plan>(nullptr))
    return damagedError("section 'programs', offset 0: [flatbuffer] an offset or a length inside "
                        "the section leads outside of it");
  const fb::Plan &root = *fb::GetPlan(data);
  Reader reader(*programs, root);
  reader.rootOffset = static_cast<uint64_t>(reinterpret_cast<const uint8_t *>(&root) - data);
  if (Status status = reader.read(plan); !status.ok())
    return status;

  std::set<std::string> isas;
  for (KernelImage &image : plan.images) {
    if (!isas.insert(image.isa).second)
      break; // not copied twice: findViolation() tells
    const Section *code = findSection(*sections, "kernels." + image.isa);
    if (!code)
      return damagedError("section 'kernels', offset 0: [section] there is no code for '" +
                          printable(image.isa) + "'");
    image.elf = code->contents;
  }
  if (const Section *debug = findSection(*sections, "debug"))
    plan.debug = debug->contents;
  for (const Section &section : *sections) {
    bool known =
        section.name == "manifest" || section.name == "programs" || section.name == "debug";
    for (const KernelImage &image : plan.images)
      known |= section.name == "kernels." + image.isa;
    if (!known)
      return damagedError("section '" + section.name +
                          "', offset 0: [section] nothing refers to this section");
  }
  if (auto violation = findViolation(plan))
    return reader.error(reader.offsetOf(*violation), violation->rule);
  return plan;
}

std::string plan::planHash(std::string_view bytes) {
  uint64_t hash = 0;
  if (bytes.size() >= headerBytes)
    std::memcpy(&hash, bytes.data() + 24, sizeof hash);
  return hex64(hash);
}
