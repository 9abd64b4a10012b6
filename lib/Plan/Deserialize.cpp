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
    plan.arenaBytes = root.arena_bytes();
    plan.workspaceBytes = root.workspace_bytes();
    table(plan.variables, root.variables(), [&](const fb::Variable &in, Variable &out) {
      out.name = text(in.name());
      out.role = checked<Kind>(in.role(), static_cast<int>(Kind::Cache), "role", &in);
      out.dtype = checked<DType>(in.dtype(), 5, "type", &in);
      out.shape = numbers(in.shape());
      out.initializer = checked<Init>(in.initializer(), 3, "initializer", &in);
      out.stddev = in.stddev();
      out.decay = in.decay();
      out.value = in.value();
    });
    table(plan.scalars, root.scalars(), [&](const fb::Scalar &in, Scalar &out) {
      out = {text(in.path()), in.value(), in.offset()};
    });
    table(plan.kernels, root.kernels(), [&](const fb::Kernel &in, Kernel &out) {
      out = {text(in.name()), numbers(in.operands()), in.items(), in.workspace()};
    });
    table(plan.programs, root.programs(), [&](const fb::Program &in, Program &out) {
      out.name = text(in.name());
      table(out.buffers, in.buffers(), [&](const fb::Buffer &from, Buffer &to) {
        to.name = text(from.name());
        to.kind = checked<Kind>(from.kind(), static_cast<int>(Kind::Cache), "kind", &from);
        to.dtype = checked<DType>(from.dtype(), 5, "type", &from);
        to.shape = numbers(from.shape());
        to.offset = from.offset();
        to.bytes = from.bytes();
        to.first = from.first();
        to.last = from.last();
      });
      table(out.instructions, in.instructions(), [&](const fb::Instruction &from, Instruction &to) {
        to.opcode = checked<Opcode>(from.opcode(), 2, "opcode", &from);
        to.kernel = from.kernel();
        to.label = text(from.label());
        to.place = text(from.place());
        if (const auto *operands = from.operands(); isReadable(operands, 16))
          for (const fb::Operand *operand : *operands)
            to.operands.push_back({operand->buffer(), operand->offset()});
      });
    });
    if (const auto *schedule = root.schedule(); isReadable(schedule, 16))
      for (const fb::Phase *phase : *schedule)
        plan.schedule.push_back({phase->program(), phase->times()});
    table(plan.images, root.images(), [&](const fb::Image &in, KernelImage &out) {
      out.isa = text(in.isa());
      if (const auto *features = in.features(); features && spend(features->size(), 4))
        for (const flatbuffers::String *feature : *features)
          out.features.push_back(text(feature));
    });
    return std::move(status);
  }

  Status error(uint64_t offset, const std::string &rule) const {
    return damagedError("section '" + section.name + "', offset " + std::to_string(offset) + ": " +
                        rule);
  }

  /// Offset in the section of the table that a violation is about.
  uint64_t offsetOf(const Violation &violation) const {
    switch (violation.place) {
    case Place::Plan:
      return at(&root);
    case Place::Variable:
      return at(root.variables()->Get(size(violation.index)));
    case Place::Scalar:
      return at(root.scalars()->Get(size(violation.index)));
    case Place::Kernel:
      return at(root.kernels()->Get(size(violation.index)));
    case Place::Image:
      return at(root.images()->Get(size(violation.index)));
    case Place::Program:
      return at(root.programs()->Get(size(violation.index)));
    case Place::Buffer:
      return at(
          root.programs()->Get(size(violation.index))->buffers()->Get(size(violation.element)));
    case Place::Instruction:
      return at(root.programs()
                    ->Get(size(violation.index))
                    ->instructions()
                    ->Get(size(violation.element)));
    }
    return 0;
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
