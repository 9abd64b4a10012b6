//===- Verify.cpp - the rules of a plan's contents -------------------------===//
// Each rule is named in brackets in its message. A plan that passes can be run without further
// checks of bounds: every operand of every launch lies inside the arena and is as large as its
// kernel needs, and nothing that is still needed is overwritten by memory planning. (What a kernel
// does inside its operands is code; a plan is a program.)
#include "Verify.h"
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

using namespace dsc;
using namespace dsc::plan;

static constexpr uint64_t largestArena = uint64_t{1} << 46;
static constexpr uint64_t alignment = 64;

static std::string quote(const std::string &name) { return "'" + name + "'"; }
static std::string number(uint64_t value) { return std::to_string(value); }
static std::string range(uint64_t offset, uint64_t bytes) {
  return "[" + number(offset) + ", " + number(offset + bytes) + ")";
}

/// shape x type in bytes, or nothing when a dimension is not positive or the product does not fit.
static std::optional<uint64_t> bytesOf(DType type, const std::vector<int64_t> &shape) {
  uint64_t bytes = static_cast<uint64_t>(byteSize(type));
  for (int64_t dimension : shape) {
    if (dimension <= 0 || bytes > largestArena / static_cast<uint64_t>(dimension))
      return std::nullopt;
    bytes *= static_cast<uint64_t>(dimension);
  }
  return bytes;
}

/// Why an image cannot be mapped, or null. The loader of the system trusts these fields.
static const char *elfProblem(const std::string &elf) {
  auto read = [&](uint64_t at, int bytes) {
    uint64_t value = 0;
    for (int b = bytes - 1; b >= 0; --b)
      value = value << 8 | static_cast<uint8_t>(elf[at + static_cast<uint64_t>(b)]);
    return value;
  };
  constexpr uint64_t header = 64, entry = 56, sharedObject = 3, x86 = 62, load = 1;
  if (elf.size() < header || elf.compare(0, 6, std::string_view("\177ELF\2\1", 6)) != 0 ||
      read(16, 2) != sharedObject || read(18, 2) != x86)
    return "not an x86-64 ELF shared object";
  uint64_t table = read(32, 8), count = read(56, 2);
  if (read(54, 2) != entry || table > elf.size() || count * entry > elf.size() - table)
    return "the table of segments lies outside the image";
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t at = table + i * entry, offset = read(at + 8, 8), bytes = read(at + 32, 8);
    if (offset > elf.size() || bytes > elf.size() - offset)
      return "a segment lies outside the image";
    if (read(at, 4) == load && read(at + 40, 8) < bytes)
      return "a segment is larger in the file than in memory";
  }
  return nullptr;
}

namespace {

/// Disjoint live byte ranges, by offset.
class LiveRanges {
public:
  /// The name of a live range that overlaps, or null after adding.
  const std::string *add(uint64_t offset, uint64_t bytes, const std::string &name) {
    auto next = ranges.lower_bound(offset);
    if (next != ranges.end() && next->first < offset + bytes)
      return next->second.name;
    if (next != ranges.begin()) {
      auto before = std::prev(next);
      if (before->first + before->second.bytes > offset)
        return before->second.name;
    }
    ranges.emplace_hint(next, offset, Range{bytes, &name});
    return nullptr;
  }
  void remove(uint64_t offset) { ranges.erase(offset); }

private:
  struct Range {
    uint64_t bytes;
    const std::string *name;
  };
  std::map<uint64_t, Range> ranges;
};

class Verifier {
public:
  /// The tables of one role: the plan's own, or of a stage.
  Verifier(const Plan &whole, const Role &plan) : whole(whole), plan(plan) {}

  std::optional<Violation> run() {
    if (plan.arenaBytes > largestArena)
      return fail({Place::Plan}, "[arena] an arena of " + number(plan.arenaBytes) +
                                     " bytes; at most " + number(largestArena));
    if (variables() || scalars() || programs() || everyVariableLives() || schedule())
      return std::move(violation);
    return std::nullopt;
  }

  /// What all roles share.
  std::optional<Violation> runShared() {
    if (!whole.manifest->is_object())
      return fail({Place::Plan}, "[manifest] the manifest is not a JSON object");
    if (whole.workspaceBytes > largestArena)
      return fail({Place::Plan}, "[arena] a workspace of " + number(whole.workspaceBytes) +
                                     " bytes; at most " + number(largestArena));
    if (!isText(whole.debug, true))
      return fail({Place::Plan}, "[text] the debug text is not UTF-8");
    if (layout() || kernels() || images())
      return std::move(violation);
    return std::nullopt;
  }

private:
  struct At {
    Place place;
    size_t index = 0, element = 0;
  };

  std::optional<Violation> fail(At at, std::string rule) {
    return violation = Violation{at.place, at.index, at.element, std::move(rule)};
  }
  bool broken(At at, std::string rule) {
    fail(at, std::move(rule));
    return true;
  }

  /// A name is text and new in its table.
  bool badName(At at, const char *what, const std::string &name, std::set<std::string> &seen) {
    if (name.empty() || name.size() > 4096 || !isText(name))
      return broken(at, std::string("[name] a ") + what + "'s name is empty, too long or no text");
    if (!seen.insert(name).second)
      return broken(at, std::string("[unique] two ") + what + "s are named " + quote(name));
    return false;
  }

  /// Whether ranks along `axis` exchange or have parts of anything.
  bool isDealt(Axis axis) const {
    for (const Role &stage : whole.stages) {
      for (const Variable &variable : stage.variables)
        if (variable.cut.axis == axis || variable.share == axis)
          return true;
      for (const Program &program : stage.programs)
        for (const Instruction &instruction : program.instructions)
          if (instruction.axis == axis)
            return true;
    }
    return false;
  }

  bool layout() {
    const Layout &grid = whole.layout;
    constexpr int64_t most = 1 << 20;
    for (Axis axis : {Axis::Data, Axis::Tensor, Axis::Pipeline, Axis::Context})
      if (grid.size(axis) < 1 || grid.size(axis) > most)
        return broken({Place::Plan}, std::string("[layout] ") + std::to_string(grid.size(axis)) +
                                         " ranks along " + nameOf(axis) + ", expected 1 to 2^20");
    bool many = grid.data > 1 || grid.tensor > 1 || grid.pipeline > 1 || grid.context > 1;
    size_t stages = many ? static_cast<size_t>(grid.pipeline) : 0;
    if (whole.stages.size() != stages)
      return broken({Place::Plan}, "[layout] " + number(whole.stages.size()) +
                                       " stages, expected " + number(stages));
    int64_t ranks = 1;
    for (Axis axis : {Axis::Data, Axis::Tensor, Axis::Pipeline, Axis::Context})
      ranks = std::min(most + 1, ranks * grid.size(axis)); // most^2 fits
    if (ranks > most)
      return broken({Place::Plan}, "[layout] more than 2^20 ranks");
    for (Axis axis : {Axis::Tensor, Axis::Context})
      if (grid.size(axis) > 1 && !isDealt(axis))
        return broken({Place::Plan}, "[layout] " + number(static_cast<uint64_t>(grid.size(axis))) +
                                         " ranks along " + nameOf(axis) +
                                         ", among which nothing is dealt out");
    if (whole.rowsInTurn > uint64_t{1} << 32)
      return broken({Place::Plan}, "[layout] ranks take " + number(whole.rowsInTurn) +
                                       " rows in turn, expected at most 2^32");
    return false;
  }

  bool variables() {
    std::set<std::string> seen;
    for (size_t i = 0; i < plan.variables.size(); ++i) {
      const Variable &variable = plan.variables[i];
      At at{Place::Variable, i};
      if (badName(at, "variable", variable.name, seen))
        return true;
      if (!isPersistent(variable.role) || variable.role == Kind::Hyperparameter)
        return broken(at,
                      "[role] variable " + quote(variable.name) + " is a " + nameOf(variable.role));
      if (!bytesOf(variable.dtype, variable.shape))
        return broken(at, "[shape] variable " + quote(variable.name) +
                              ": a dimension is not positive or the product is too large");
      bool floating = variable.dtype == DType::F32 || variable.dtype == DType::F64;
      if (!std::isfinite(variable.stddev) || variable.stddev < 0 ||
          !std::isfinite(variable.value) || (variable.initializer != Init::Zeros && !floating))
        return broken(at, "[init] variable " + quote(variable.name) + " cannot be initialised as " +
                              nameOf(variable.initializer));
      if (ownership(at, variable))
        return true;
      variableOf[variable.name] = &variable;
    }
    for (size_t i = 0; i < plan.variables.size(); ++i)
      if (plan.variables[i].role == Kind::WorkingCopy && workingCopy(i))
        return true;
    return false;
  }

  bool ownership(At at, const Variable &variable) {
    std::string who = "variable " + quote(variable.name);
    if (variable.places < 1 || variable.places > 1 << 20 ||
        (variable.places > 1 && variable.role != Kind::Stash))
      return broken(at, "[places] " + who + ", a " + nameOf(variable.role) + ", has " +
                            number(variable.places) + " places");
    if (variable.share != Axis::None && (variable.role == Kind::Stash || variable.shape.empty()))
      return broken(at, "[share] " + who + " cannot be shared out");
    const Cut &cut = variable.cut;
    if (cut.axis == Axis::None)
      return false;
    std::optional<uint64_t> logical = bytesOf(variable.dtype, cut.logical);
    uint64_t size = static_cast<uint64_t>(byteSize(variable.dtype));
    uint64_t parts = static_cast<uint64_t>(whole.layout.size(cut.axis));
    bool fits = logical && cut.outer && cut.count && cut.inner && cut.outer <= *logical &&
                cut.count <= *logical && cut.inner <= *logical &&
                cut.outer * cut.count <= *logical &&
                cut.outer * cut.count * cut.inner * size == *logical;
    if (!fits || cut.outer * ((cut.count + parts - 1) / parts) * cut.inner * size !=
                     *bytesOf(variable.dtype, variable.shape))
      return broken(at, "[cut] " + who + " is not one of " + number(parts) +
                            " parts of its logical tensor");
    return false;
  }

  bool workingCopy(size_t i) {
    const Variable &copy = plan.variables[i];
    std::string_view name = copy.name;
    const Variable *parameter = nullptr;
    if (name.starts_with(workingCopyPrefix))
      if (auto found = variableOf.find(std::string(name.substr(workingCopyPrefix.size())));
          found != variableOf.end())
        parameter = found->second;
    bool half = copy.dtype == DType::F16 || copy.dtype == DType::BF16;
    if (half && parameter && parameter->role == Kind::Parameter && parameter->dtype == DType::F32 &&
        parameter->shape == copy.shape)
      return false;
    return broken({Place::Variable, i}, "[copy] working copy " + quote(copy.name) +
                                            " is not a parameter of f32 in two bytes");
  }

  bool scalars() {
    std::set<std::string> seen;
    for (size_t i = 0; i < plan.scalars.size(); ++i) {
      const Scalar &scalar = plan.scalars[i];
      At at{Place::Scalar, i};
      if (badName(at, "scalar", scalar.path, seen))
        return true;
      if (!std::isfinite(scalar.value))
        return broken(at, "[finite] scalar " + quote(scalar.path) + " is not finite");
      if (scalar.offset % 8 || scalar.offset > plan.arenaBytes ||
          plan.arenaBytes - scalar.offset < 8)
        return broken(at, "[arena] scalar " + quote(scalar.path) + " at " + number(scalar.offset) +
                              " is not aligned to 8 or outside the arena of " +
                              number(plan.arenaBytes) + " bytes");
      if (const std::string *other = persistent.add(scalar.offset, 8, scalar.path))
        return broken(at, "[overlap] scalars " + quote(scalar.path) + " and " + quote(*other) +
                              " share bytes");
      places[scalar.path] = {scalar.offset, 8, Kind::Hyperparameter};
    }
    return false;
  }

  bool kernels() {
    std::set<std::string> seen;
    for (size_t i = 0; i < whole.kernels.size(); ++i) {
      const Kernel &kernel = whole.kernels[i];
      At at{Place::Kernel, i};
      if (badName(at, "kernel", kernel.name, seen))
        return true;
      if (kernel.items < 1 || kernel.items > uint64_t{1} << 40)
        return broken(at, "[items] kernel " + quote(kernel.name) + " has " + number(kernel.items) +
                              " work items, expected 1 to 2^40");
      if (kernel.workspace > whole.workspaceBytes)
        return broken(at, "[workspace] kernel " + quote(kernel.name) + " needs " +
                              number(kernel.workspace) + " bytes a thread, the plan has " +
                              number(whole.workspaceBytes));
      if (kernel.uses.size() != kernel.operands.size())
        return broken(at, "[kernel] kernel " + quote(kernel.name) + " has " +
                              number(kernel.operands.size()) + " operands and says of " +
                              number(kernel.uses.size()) + " what it does with them");
      for (const OperandUse &use : kernel.uses)
        if (!isText(use.input) || use.input.size() > 4096)
          return broken(at, "[text] an input of kernel " + quote(kernel.name) + " is no text");
      for (uint64_t bytes : kernel.operands)
        if (bytes > largestArenaOf(whole))
          return broken(at, "[operand] kernel " + quote(kernel.name) + " has an operand of " +
                                number(bytes) + " bytes, the arena has " +
                                number(largestArenaOf(whole)));
    }
    return false;
  }

  static uint64_t largestArenaOf(const Plan &plan) {
    uint64_t most = plan.arenaBytes;
    for (const Role &stage : plan.stages)
      most = std::max(most, stage.arenaBytes);
    return most;
  }

  bool images() {
    std::set<std::string> seen;
    for (size_t i = 0; i < whole.images.size(); ++i) {
      const KernelImage &image = whole.images[i];
      At at{Place::Image, i};
      if (badName(at, "kernel image", image.isa, seen))
        return true;
      auto odd = [](char c) { return c <= ' ' || c > '~'; };
      if (image.isa.size() > 31 || std::any_of(image.isa.begin(), image.isa.end(), odd))
        return broken(at, "[name] instruction set " + quote(image.isa) +
                              " is longer than 31 characters or has some that do not print");
      for (const std::string &feature : image.features)
        if (feature.empty() || !isText(feature))
          return broken(at, "[name] a feature of " + quote(image.isa) + " is empty or no text");
      if (const char *problem = elfProblem(image.elf))
        return broken(at, "[elf] the kernels of " + quote(image.isa) + ": " + problem);
    }
    if (!whole.kernels.empty() && whole.images.empty())
      return broken({Place::Plan}, "[elf] there are kernels but no code for any instruction set");
    return false;
  }

  bool programs() {
    if (plan.programs.empty())
      return broken({Place::Plan}, "[program] there is no program");
    // Persistent buffers first: no program may touch those of another.
    std::set<std::string> seen;
    for (size_t p = 0; p < plan.programs.size(); ++p) {
      if (badName({Place::Program, p}, "program", plan.programs[p].name, seen))
        return true;
      std::set<std::string> names, outputs;
      uint32_t places = 1; // the program's: a micro-batch is at one of them
      for (size_t b = 0; b < plan.programs[p].buffers.size(); ++b) {
        const Buffer &found = plan.programs[p].buffers[b];
        if (buffer(p, b, found.kind == Kind::Output ? outputs : names))
          return true;
        if (found.places > 1 && places > 1 && found.places != places)
          return broken({Place::Buffer, p, b}, "[places] buffer " + quote(found.name) +
                                                   " of program " + quote(plan.programs[p].name) +
                                                   " has " + number(found.places) +
                                                   " places, others have " + number(places));
        places = std::max(places, found.places);
      }
    }
    for (size_t p = 0; p < plan.programs.size(); ++p)
      if (instructions(p) || liveRanges(p))
        return true;
    return false;
  }

  bool buffer(size_t p, size_t b, std::set<std::string> &names) {
    const Program &program = plan.programs[p];
    const Buffer &buffer = program.buffers[b];
    At at{Place::Buffer, p, b};
    if (badName(at, "buffer", buffer.name, names))
      return true;
    std::string who = "buffer " + quote(buffer.name) + " of program " + quote(program.name);
    std::optional<uint64_t> bytes = bytesOf(buffer.dtype, buffer.shape);
    if (!bytes)
      return broken(at,
                    "[shape] " + who + ": a dimension is not positive or the product is too large");
    if (buffer.places < 1 || buffer.places > 1 << 20 || strideOf(buffer) < buffer.bytes ||
        strideOf(buffer) > largestArena / buffer.places)
      return broken(at, "[places] " + who + " has " + number(buffer.places) + " places");
    if (buffer.share != Axis::None) {
      uint64_t size = static_cast<uint64_t>(byteSize(buffer.dtype));
      bytes = size * largestShare(*bytes / size, shareBlock,
                                  static_cast<uint64_t>(whole.layout.size(buffer.share)));
    }
    if (*bytes != buffer.bytes)
      return broken(at, "[shape] " + who + " has " + number(buffer.bytes) +
                            " bytes, its shape and type need " + number(*bytes));
    if (buffer.offset % alignment)
      return broken(at, "[align] " + who + " at " + number(buffer.offset) + " is not aligned to " +
                            number(alignment));
    if (buffer.offset > plan.arenaBytes || extentOf(buffer) > plan.arenaBytes - buffer.offset)
      return broken(at, "[arena] " + who + " with " + number(buffer.bytes) + " bytes at " +
                            number(buffer.offset) + " is outside the arena of " +
                            number(plan.arenaBytes) + " bytes");
    if (buffer.first > buffer.last || buffer.last > program.instructions.size())
      return broken(at, "[live] " + who + " lives from instruction " + number(buffer.first) +
                            " to " + number(buffer.last) + " of " +
                            number(program.instructions.size()));
    if (!isPersistent(buffer.kind)) {
      if (buffer.share != Axis::None || buffer.places != 1)
        return broken(at, "[share] " + who + " does not live always: no share, one place");
      return false;
    }
    if (buffer.kind != Kind::Hyperparameter) {
      auto variable = variableOf.find(buffer.name);
      if (variable == variableOf.end() || variable->second->role != buffer.kind ||
          variable->second->dtype != buffer.dtype || variable->second->shape != buffer.shape ||
          variable->second->share != buffer.share || variable->second->places != buffer.places)
        return broken(at, "[variable] " + who + " is a " + nameOf(buffer.kind) +
                              " but no variable has that name, role, type and shape");
    } else if (buffer.dtype != DType::F64 || buffer.bytes != 8) {
      return broken(at, "[scalar] " + who + " is a hyperparameter but not one f64");
    }
    auto [place, isNew] =
        places.try_emplace(buffer.name, Location{buffer.offset, buffer.bytes, buffer.kind});
    const Location &known = place->second;
    if (buffer.kind == Kind::Hyperparameter && isNew)
      return broken(at, "[scalar] " + who + " is a hyperparameter but no scalar has that path");
    if (known.offset != buffer.offset || known.bytes != buffer.bytes || known.kind != buffer.kind)
      return broken(at, "[persistent] " + who + " at " + range(buffer.offset, buffer.bytes) +
                            " is at " + range(known.offset, known.bytes) + " elsewhere");
    if (isNew && buffer.kind != Kind::Cache)
      if (const std::string *other = persistent.add(buffer.offset, extentOf(buffer), place->first))
        return broken(at, "[overlap] " + who + " at " + range(buffer.offset, buffer.bytes) +
                              " shares bytes with " + quote(*other) + ", which lives always");
    return false;
  }

  static uint32_t firstOf(const Buffer &buffer) {
    return buffer.kind == Kind::Input || buffer.kind == Kind::Cache ? 0 : buffer.first;
  }
  static uint32_t lastOf(const Program &program, const Buffer &buffer) {
    bool toTheEnd = buffer.kind == Kind::Output || buffer.kind == Kind::Cache;
    return toTheEnd ? uint32_t(program.instructions.size()) : buffer.last;
  }

  bool instructions(size_t p) {
    const Program &program = plan.programs[p];
    size_t guards = 0;
    for (size_t i = 0; i < program.instructions.size(); ++i) {
      const Instruction &instruction = program.instructions[i];
      At at{Place::Instruction, p, i};
      std::string who = "instruction " + number(i) + " of program " + quote(program.name);
      for (auto [text, what] :
           {std::pair(&instruction.label, "label"), {&instruction.place, "place"}})
        if (!isText(*text) || text->size() > 4096)
          return broken(at, std::string("[text] the ") + what + " of " + who +
                                " is too long or no text");
      for (const Operand &operand : instruction.operands) {
        if (operand.buffer >= program.buffers.size())
          return broken(at, "[operand] " + who + " uses buffer " + number(operand.buffer) + " of " +
                                number(program.buffers.size()));
        const Buffer &buffer = program.buffers[operand.buffer];
        if (operand.offset >= buffer.bytes || operand.offset % uint64_t(byteSize(buffer.dtype)))
          return broken(at, "[operand] " + who + ": offset " + number(operand.offset) +
                                " is outside buffer " + quote(buffer.name) + " of " +
                                number(buffer.bytes) + " bytes or not a whole element");
        if (!isPersistent(buffer.kind) && (i < firstOf(buffer) || i > lastOf(program, buffer)))
          return broken(at, "[live] " + who + " uses buffer " + quote(buffer.name) +
                                ", which lives from " + number(buffer.first) + " to " +
                                number(buffer.last));
      }
      switch (instruction.opcode) {
      case Opcode::Launch:
        if (launch(at, who, program, instruction))
          return true;
        break;
      case Opcode::Copy:
        if (copy(at, who, program, instruction))
          return true;
        break;
      case Opcode::Guard:
        if (guard(at, who, program, instruction))
          return true;
        if (++guards > 1)
          return broken(at, "[guard] " + who + " is a second guard");
        break;
      case Opcode::AllReduce:
      case Opcode::ReduceScatter:
      case Opcode::AllGather:
        if (collective(at, who, program, instruction))
          return true;
        break;
      case Opcode::Send:
      case Opcode::Receive:
        if (message(at, who, program, instruction))
          return true;
        break;
      }
    }
    return false;
  }

  bool launch(At at, const std::string &who, const Program &program,
              const Instruction &instruction) {
    if (instruction.kernel >= whole.kernels.size())
      return broken(at, "[kernel] " + who + " runs kernel " + number(instruction.kernel) + " of " +
                            number(whole.kernels.size()));
    const Kernel &kernel = whole.kernels[instruction.kernel];
    if (instruction.operands.size() != kernel.operands.size())
      return broken(at, "[operand] " + who + " has " + number(instruction.operands.size()) +
                            " operands, kernel " + quote(kernel.name) + " takes " +
                            number(kernel.operands.size()));
    for (size_t k = 0; k < kernel.operands.size(); ++k) {
      const Operand &operand = instruction.operands[k];
      const Buffer &buffer = program.buffers[operand.buffer];
      const OperandUse &use = kernel.uses[k];
      if (buffer.dtype != use.type)
        return broken(at, "[type] " + who + ": operand " + number(k) + " is " +
                              nameOf(buffer.dtype) + ", kernel " + quote(kernel.name) + " takes " +
                              nameOf(use.type));
      if (use.writes && (buffer.kind == Kind::Input || buffer.kind == Kind::Hyperparameter))
        return broken(at, "[write] " + who + " writes " + nameOf(buffer.kind) + " " +
                              quote(buffer.name));
      if (buffer.share != Axis::None) {
        if (sharedOperand(at, who, instruction, k, buffer, kernel))
          return true;
        continue;
      }
      if (buffer.bytes - operand.offset < kernel.operands[k])
        return broken(at, "[operand] " + who + ": operand " + number(k) + " has " +
                              number(buffer.bytes - operand.offset) + " bytes, kernel " +
                              quote(kernel.name) + " needs " + number(kernel.operands[k]));
    }
    return false;
  }

  /// A kernel that runs its share of the items, each a block of elements, touches its share of the
  /// operand alone.
  bool sharedOperand(At at, const std::string &who, const Instruction &instruction, size_t k,
                     const Buffer &buffer, const Kernel &kernel) {
    uint64_t whole = *bytesOf(buffer.dtype, buffer.shape);
    uint64_t elements = whole / static_cast<uint64_t>(byteSize(buffer.dtype));
    if (instruction.axis == buffer.share && instruction.operands[k].offset == 0 &&
        kernel.operands[k] == whole && kernel.items == (elements + shareBlock - 1) / shareBlock)
      return false;
    return broken(at, "[share] " + who + " uses " + quote(buffer.name) + ", of which a rank has " +
                          "its share along " + nameOf(buffer.share) +
                          ", but does not run that share of " + quote(kernel.name));
  }

  bool collective(At at, const std::string &who, const Program &program,
                  const Instruction &instruction) {
    std::string kind = std::string("[collective] ") + who + ", " + nameOf(instruction.opcode);
    if (instruction.axis == Axis::None || whole.layout.size(instruction.axis) < 2)
      return broken(at,
                    kind + ", is along " + nameOf(instruction.axis) + ", where there is one rank");
    if (instruction.operands.empty() ||
        (instruction.opcode == Opcode::AllReduce) != (instruction.block == 0) ||
        instruction.block > largestArena)
      return broken(at, kind + ", has " + number(instruction.operands.size()) +
                            " buffers and blocks of " + number(instruction.block) + " elements");
    std::set<uint32_t> seen;
    for (const Operand &operand : instruction.operands) {
      const Buffer &buffer = program.buffers[operand.buffer];
      if (operand.offset || buffer.dtype == DType::I32 || buffer.dtype == DType::I8 ||
          buffer.share != Axis::None || !seen.insert(operand.buffer).second)
        return broken(at, kind + ", needs whole buffers of floating type, each once, found " +
                              quote(buffer.name));
    }
    return false;
  }

  bool message(At at, const std::string &who, const Program &program,
               const Instruction &instruction) {
    std::string kind = std::string("[message] ") + who + ", " + nameOf(instruction.opcode);
    if (instruction.stage >= whole.stages.size())
      return broken(at, kind + ", names stage " + number(instruction.stage) + " of " +
                            number(whole.stages.size()));
    if (instruction.operands.size() != 1 || instruction.operands[0].offset ||
        program.buffers[instruction.operands[0].buffer].share != Axis::None)
      return broken(at, kind + ", needs one whole buffer");
    return false;
  }

  bool copy(At at, const std::string &who, const Program &program, const Instruction &instruction) {
    if (instruction.operands.size() != 2)
      return broken(at, "[copy] " + who + " has " + number(instruction.operands.size()) +
                            " operands, a copy has 2");
    const Operand &from = instruction.operands[0], &to = instruction.operands[1];
    const Buffer &source = program.buffers[from.buffer], &target = program.buffers[to.buffer];
    bool shared = source.share != Axis::None || target.share != Axis::None;
    if (shared || instruction.axis != Axis::None) {
      // Elements of this rank's share, wherever each side keeps them.
      bool good = instruction.axis != Axis::None && source.dtype == target.dtype &&
                  source.shape == target.shape && !from.offset && !to.offset &&
                  from.buffer != to.buffer &&
                  (source.share == Axis::None || source.share == instruction.axis) &&
                  (target.share == Axis::None || target.share == instruction.axis);
      return !good && broken(at, "[share] " + who + " copies a share between buffers that differ");
    }
    uint64_t fromBytes = source.bytes - from.offset, toBytes = target.bytes - to.offset;
    if (from.buffer == to.buffer || fromBytes != toBytes)
      return broken(at, "[copy] " + who + " copies " + number(fromBytes) + " bytes to " +
                            number(toBytes) + ", or within one buffer");
    return false;
  }

  bool guard(At at, const std::string &who, const Program &program,
             const Instruction &instruction) {
    bool good = instruction.operands.size() == 3 || instruction.operands.size() == 5;
    for (const Operand &operand : instruction.operands) {
      const Buffer &buffer = program.buffers[operand.buffer];
      good &= buffer.dtype == DType::F64 && buffer.bytes - operand.offset >= 8;
    }
    if (!good)
      return broken(at, "[guard] " + who +
                            " needs three f64 scalars: count, loss, norm; or two more: "
                            "floored, patience");
    return false;
  }

  /// No two buffers share bytes while both are live.
  bool liveRanges(size_t p) {
    const Program &program = plan.programs[p];
    using Event = std::pair<uint32_t, size_t>; // instruction, buffer
    std::vector<Event> starts, ends;
    for (size_t b = 0; b < program.buffers.size(); ++b) {
      const Buffer &buffer = program.buffers[b];
      if (isPersistent(buffer.kind) && buffer.kind != Kind::Cache)
        continue;
      starts.emplace_back(firstOf(buffer), b);
      ends.emplace_back(lastOf(program, buffer), b);
    }
    std::sort(starts.begin(), starts.end());
    std::sort(ends.begin(), ends.end());
    LiveRanges live = persistent;
    size_t ended = 0;
    for (auto [now, b] : starts) {
      const Buffer &buffer = program.buffers[b];
      while (ends[ended].first < now)
        live.remove(program.buffers[ends[ended++].second].offset);
      if (const std::string *other = live.add(buffer.offset, buffer.bytes, buffer.name))
        return broken({Place::Buffer, p, b}, "[overlap] buffers " + quote(buffer.name) + " and " +
                                                 quote(*other) + " of program " +
                                                 quote(program.name) + " share bytes of " +
                                                 range(buffer.offset, buffer.bytes) +
                                                 " while both live, at instruction " + number(now));
    }
    return false;
  }

  /// Every program of a step is one of the plan's, and a step of any length ends.
  bool schedule() {
    if (&plan != &whole && plan.schedule.empty())
      return broken({Place::Plan}, "[schedule] a stage has no schedule");
    for (size_t i = 0; i < plan.schedule.size(); ++i) {
      const Phase &phase = plan.schedule[i];
      if (phase.program >= plan.programs.size())
        return broken({Place::Plan}, "[schedule] row " + number(i) + " runs program " +
                                         number(phase.program) + " of " +
                                         number(plan.programs.size()));
      if (phase.times < 1 || phase.times > uint64_t{1} << 32)
        return broken({Place::Plan}, "[schedule] row " + number(i) + " runs a program " +
                                         number(phase.times) + " times, expected 1 to 2^32");
    }
    return false;
  }

  bool everyVariableLives() {
    for (size_t i = 0; i < plan.variables.size(); ++i)
      if (!places.count(plan.variables[i].name))
        return broken({Place::Variable, i}, "[variable] variable " + quote(plan.variables[i].name) +
                                                " has no buffer in any program");
    return false;
  }

  struct Location {
    uint64_t offset, bytes;
    Kind kind;
  };
  const Plan &whole;
  const Role &plan;
  std::optional<Violation> violation;
  std::map<std::string, const Variable *> variableOf;
  std::map<std::string, Location> places; ///< of persistent buffers
  LiveRanges persistent;
};

} // namespace

std::optional<Violation> plan::findViolation(const Plan &plan) {
  if (auto violation = Verifier(plan, plan).runShared())
    return violation;
  if (auto violation = Verifier(plan, plan).run())
    return violation;
  for (size_t stage = 0; stage < plan.stages.size(); ++stage)
    if (auto violation = Verifier(plan, plan.stages[stage]).run()) {
      violation->stage = static_cast<int64_t>(stage);
      violation->rule += ", stage " + number(stage);
      return violation;
    }
  if (auto violation = findPieceViolation(plan))
    return violation;
  if (auto violation = findFlowViolation(plan))
    return violation;
  return findRankViolation(plan);
}

Status plan::verify(const Plan &plan) {
  std::optional<Violation> violation = findViolation(plan);
  return violation ? damagedError(violation->rule) : Status();
}
