//===- VerifyFlow.cpp - what each instruction reads, and who agrees on it ---===//
// Programs are walked with what is known of each buffer instead of its bytes: which of them were
// written, whether ranks may differ in them, and, where stages must agree, how they came about.
// [unwritten]: nothing is read that this step did not write or the run did not set. [agree]: what
// decides how a step goes on has the same bits on all ranks, so all go the same way. [stash]: a
// micro-batch finds its own values. [send]: nothing else is put where bytes are under way.
#include "Verify.h"
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

using namespace dsc;
using namespace dsc::plan;

namespace {

using Axes = uint8_t; ///< a bit for each axis along which ranks may differ
constexpr Axes bit(Axis axis) { return axis == Axis::None ? 0 : Axes(1u << unsigned(axis)); }
constexpr Axes everyAxis = 0xff;

uint64_t mix(uint64_t a, uint64_t b) {
  a = (a ^ b) * 0x9e3779b97f4a7c15u;
  return a ^ (a >> 29);
}
uint64_t mix(uint64_t a, const std::string &text) {
  for (char c : text)
    a = mix(a, static_cast<unsigned char>(c));
  return a;
}

/// What is known of a buffer's bytes.
struct Content {
  std::vector<std::pair<uint64_t, uint64_t>> written; ///< sorted, disjoint ranges of bytes
  Axis share = Axis::None; ///< where not `written`: its share along it is, of so many blocks
  uint64_t blocks = 0;
  Axes differs = 0;   ///< axes along which ranks may have other values
  uint64_t value = 0; ///< equal where values came about in the same way
  std::string_view input = {};

  bool has(uint64_t begin, uint64_t end) const {
    auto next = std::upper_bound(written.begin(), written.end(), std::pair(begin, UINT64_MAX));
    return next != written.begin() && std::prev(next)->second >= end;
  }
  void add(uint64_t begin, uint64_t end) {
    auto first = std::find_if(written.begin(), written.end(),
                              [&](const auto &range) { return range.second >= begin; });
    auto last = first;
    for (; last != written.end() && last->first <= end; ++last) {
      begin = std::min(begin, last->first);
      end = std::max(end, last->second);
    }
    first = written.erase(first, last);
    written.insert(first, {begin, end});
  }
  /// Whether another run that starts with this can find less than one that started with `other`.
  bool sameAs(const Content &other) const {
    return written == other.written && share == other.share && blocks == other.blocks &&
           differs == other.differs && input == other.input;
  }
};

/// What is sent over a channel, by the stages and the number of it.
using Channels = std::map<std::tuple<uint64_t, uint64_t, uint32_t>, Axes>;

class Flow {
public:
  Flow(const Plan &whole, const Role &role, int64_t stage, Channels &channels)
      : whole(whole), role(role), stage(stage), channels(channels) {}

  std::optional<Violation> run() {
    findSlots();
    if (sends())
      return std::move(violation);
    start();
    std::set<uint32_t> scheduled;
    std::vector<Phase> schedule = role.schedule;
    if (int64_t train = findProgram(role, "train"); schedule.empty() && train >= 0)
      schedule.push_back({static_cast<uint32_t>(train), 1});
    inStep = true;
    for (size_t row = 0; row < schedule.size(); ++row) {
      scheduled.insert(schedule[row].program);
      if (runRow(schedule[row]))
        return std::move(violation);
    }
    if (stateAgrees())
      return std::move(violation);
    inStep = false;
    for (uint32_t p = 0; p < role.programs.size(); ++p) {
      start();
      if (!scheduled.count(p) && runProgram(p, 0))
        return std::move(violation);
    }
    return std::nullopt;
  }

  /// How what decides at each guard came about, in the order of a step.
  std::vector<std::pair<uint64_t, std::string>> decisions;

private:
  bool broken(size_t p, size_t i, const std::string &rule) {
    violation = Violation{Place::Instruction, p, i, rule};
    if (stage >= 0) {
      violation->stage = stage;
      violation->rule += ", stage " + std::to_string(stage);
    }
    return true;
  }

  std::string who(size_t p, size_t i) const {
    const Program &program = role.programs[p];
    return "instruction " + std::to_string(i) + " of program '" + program.name + "' (" +
           program.instructions[i].label + ")";
  }

  /// Gives each buffer that lives always its index, the same in all programs.
  void findSlots() {
    std::map<std::string_view, size_t> known;
    slots.resize(role.programs.size());
    mostPlaces.assign(role.programs.size(), 1);
    for (size_t p = 0; p < role.programs.size(); ++p)
      for (const Buffer &buffer : role.programs[p].buffers) {
        mostPlaces[p] = std::max<uint64_t>(mostPlaces[p], buffer.places);
        if (!isPersistent(buffer.kind)) {
          slots[p].push_back(-1);
          continue;
        }
        auto [entry, isNew] = known.try_emplace(buffer.name, known.size());
        slots[p].push_back(static_cast<int64_t>(entry->second));
        if (isNew)
          lasting.push_back(&buffer);
      }
    for (const Variable &variable : role.variables)
      variableOf[variable.name] = &variable;
  }

  Content initialOf(const Buffer &buffer) const {
    Content content;
    // A step of one micro-batch on one device has no window: what would count in it stays as the
    // run has set it.
    bool counts = stage >= 0 || !role.schedule.empty();
    if ((buffer.kind == Kind::Window && counts) || buffer.kind == Kind::Stash)
      return content;
    content.add(0, buffer.bytes);
    content.value = mix(1, buffer.name);
    if (buffer.kind == Kind::Hyperparameter) {
      if (buffer.name.starts_with("rank."))
        content.differs = buffer.name == "rank.tensor" ? bit(Axis::Tensor)
                          : buffer.name == "rank.data" || buffer.name == "rank.sample"
                              ? bit(Axis::Data)
                              : everyAxis;
      return content;
    }
    content.differs = bit(buffer.share);
    if (auto found = variableOf.find(buffer.name); found != variableOf.end())
      content.differs |= bit(found->second->cut.axis);
    if (buffer.kind != Kind::Counter && buffer.kind != Kind::StepState)
      content.differs |= bit(Axis::Pipeline);
    return content;
  }

  void start() {
    state.clear();
    tags.clear();
    parts.assign(role.programs.size(), 0);
    seen.assign(role.programs.size(), {});
    summaries.assign(role.programs.size(), {});
    for (const Buffer *buffer : lasting) {
      state.push_back(initialOf(*buffer));
      tags.emplace_back(buffer->kind == Kind::Stash ? buffer->places : 0, -1);
    }
  }

  /// Runs of a program that find what an earlier one found do what it did.
  bool runRow(const Phase &phase) {
    uint32_t p = phase.program;
    for (uint64_t time = 0; time < phase.times; ++time) {
      int64_t part = parts[p];
      if (seen[p].empty() || !same(seen[p], state)) {
        seen[p] = state;
        summaries[p].clear();
        if (runProgram(p, part))
          return true;
      } else if (summaries[p].empty()) {
        parts[p] += static_cast<int64_t>(phase.times - time); // no more to be seen
        return false;
      } else if (++stashRuns > mostRuns) {
        return broken(p, 0, "[stash] a step keeps values of more than 2^22 micro-batches");
      } else {
        for (auto [i, b, writes] : summaries[p])
          if (useStash(p, i, b, writes, part))
            return true;
      }
      ++parts[p];
    }
    return false;
  }

  static bool same(const std::vector<Content> &a, const std::vector<Content> &b) {
    for (size_t i = 0; i < a.size(); ++i)
      if (!a[i].sameAs(b[i]))
        return false;
    return true;
  }

  Content &at(size_t p, uint32_t buffer) {
    int64_t slot = slots[p][buffer];
    return slot < 0 ? local[buffer] : state[static_cast<size_t>(slot)];
  }

  bool runProgram(uint32_t p, int64_t part) {
    const Program &program = role.programs[p];
    local.assign(program.buffers.size(), {});
    for (size_t b = 0; b < program.buffers.size(); ++b)
      if (const Buffer &buffer = program.buffers[b]; buffer.kind == Kind::Input) {
        bool given =
            buffer.dtype == DType::I32 &&
            (buffer.name == "tokens" || buffer.name == "labels" || buffer.name == "position_ids");
        if (inStep && !given)
          continue;
        local[b].add(0, buffer.bytes);
        local[b].differs = bit(Axis::Data) | bit(Axis::Context);
        local[b].value = mix(mix(2, buffer.name), static_cast<uint64_t>(buffer.bytes));
        local[b].input = buffer.name;
      }
    for (size_t i = 0; i < program.instructions.size(); ++i)
      if (step(p, i, part))
        return true;
    for (size_t b = 0; b < program.buffers.size(); ++b)
      if (const Buffer &buffer = program.buffers[b];
          buffer.kind == Kind::Output && !local[b].has(0, buffer.bytes)) {
        broken(p, 0,
               "[unwritten] output '" + buffer.name + "' of program '" + program.name +
                   "' is not written whole");
        violation->place = Place::Buffer;
        violation->element = b;
        return true;
      }
    return false;
  }

  /// The place of a stash for a micro-batch, as Executor finds it.
  bool useStash(size_t p, size_t i, uint32_t b, bool writes, int64_t part) {
    const Buffer &buffer = role.programs[p].buffers[b];
    size_t place = static_cast<uint64_t>(part) % mostPlaces[p] % buffer.places;
    int64_t &tag = tags[static_cast<size_t>(slots[p][b])][place];
    if (writes) {
      tag = part;
      return false;
    }
    if (tag == part)
      return false;
    return broken(p, i,
                  "[stash] " + who(p, i) + " of micro-batch " + std::to_string(part) + " reads '" +
                      buffer.name + "', place " + std::to_string(place) + " of which " +
                      (tag < 0 ? std::string("nothing wrote")
                               : "has those of micro-batch " + std::to_string(tag)));
  }

  bool stash(size_t p, size_t i, uint32_t b, bool writes, int64_t part) {
    if (role.programs[p].buffers[b].kind != Kind::Stash)
      return false;
    summaries[p].emplace_back(i, b, writes);
    return useStash(p, i, b, writes, part);
  }

  /// Reads [begin, end) of a buffer, with an axis the share along it of so many blocks.
  bool read(size_t p, size_t i, uint32_t b, uint64_t begin, uint64_t end, Axis axis,
            uint64_t blocks, int64_t part) {
    const Buffer &buffer = role.programs[p].buffers[b];
    const Content &content = at(p, b);
    if (!content.has(begin, end) &&
        !(axis != Axis::None && content.share == axis && content.blocks == blocks))
      return broken(p, i,
                    "[unwritten] " + who(p, i) + " reads " + nameOf(buffer.kind) + " '" +
                        buffer.name + "', of which " +
                        (content.share != Axis::None
                             ? std::string("ranks have but shares along ") + nameOf(content.share)
                             : "bytes [" + std::to_string(begin) + ", " + std::to_string(end) +
                                   ") were not all written"));
    return stash(p, i, b, false, part);
  }

  /// Writes; with an axis the share along it of so many blocks.
  bool write(size_t p, size_t i, uint32_t b, uint64_t begin, uint64_t end, Axis axis,
             uint64_t blocks, Axes differs, uint64_t value, int64_t part) {
    const Buffer &buffer = role.programs[p].buffers[b];
    Content &content = at(p, b);
    bool all = begin == 0 && end == buffer.bytes;
    bool one = axis == Axis::None || buffer.share == axis;
    bool fresh = all && one;
    content.differs = differs | (fresh ? 0 : content.differs);
    content.value = fresh ? value : mix(content.value, value);
    content.input = {};
    if (one) {
      content.add(begin, end);
      if (all)
        content.share = Axis::None;
    } else if (all && !content.has(begin, end)) {
      content.written.clear();
      content.share = axis;
      content.blocks = blocks;
    }
    return stash(p, i, b, true, part);
  }

  static uint64_t elementsOf(const Buffer &buffer) {
    uint64_t elements = 1;
    for (int64_t dimension : buffer.shape)
      elements *= static_cast<uint64_t>(dimension);
    return elements;
  }
  static uint64_t blocksOf(const Buffer &buffer, uint64_t block) {
    return (elementsOf(buffer) + block - 1) / block;
  }

  bool step(size_t p, size_t i, int64_t part) {
    const Instruction &instruction = role.programs[p].instructions[i];
    switch (instruction.opcode) {
    case Opcode::Launch:
      return launch(p, i, instruction, part);
    case Opcode::Copy:
      return copy(p, i, instruction, part);
    case Opcode::Guard:
      return guard(p, i, instruction, part);
    case Opcode::Send:
    case Opcode::Receive:
      return message(p, i, instruction, part);
    default:
      return collective(p, i, instruction, part);
    }
  }

  bool launch(size_t p, size_t i, const Instruction &instruction, int64_t part) {
    const Kernel &kernel = whole.kernels[instruction.kernel];
    const Program &program = role.programs[p];
    Axes differs = bit(instruction.axis);
    uint64_t value = mix(mix(3, instruction.kernel), static_cast<uint64_t>(instruction.axis));
    for (size_t k = 0; k < kernel.uses.size(); ++k) {
      const Operand &operand = instruction.operands[k];
      const OperandUse &use = kernel.uses[k];
      if (!use.reads)
        continue;
      const Buffer &buffer = program.buffers[operand.buffer];
      bool shared = buffer.share != Axis::None;
      uint64_t end = shared ? buffer.bytes : operand.offset + kernel.operands[k];
      if (read(p, i, operand.buffer, operand.offset, end, instruction.axis, kernel.items, part))
        return true;
      const Content &content = at(p, operand.buffer);
      if (!use.input.empty() && content.input != use.input)
        return broken(p, i,
                      "[input] " + who(p, i) + ": kernel '" + kernel.name + "' takes " + use.input +
                          ", which '" + buffer.name + "' does not have");
      differs |= content.differs;
      value = mix(mix(value, content.value), operand.offset);
    }
    for (size_t k = 0; k < kernel.uses.size(); ++k) {
      const Operand &operand = instruction.operands[k];
      if (!kernel.uses[k].writes)
        continue;
      const Buffer &buffer = program.buffers[operand.buffer];
      uint64_t end =
          buffer.share != Axis::None ? buffer.bytes : operand.offset + kernel.operands[k];
      if (write(p, i, operand.buffer, operand.offset, end, instruction.axis, kernel.items, differs,
                mix(value, k), part))
        return true;
    }
    return false;
  }

  bool copy(size_t p, size_t i, const Instruction &instruction, int64_t part) {
    const Program &program = role.programs[p];
    const Operand &from = instruction.operands[0], &to = instruction.operands[1];
    const Buffer &source = program.buffers[from.buffer], &target = program.buffers[to.buffer];
    if (target.kind == Kind::Input || target.kind == Kind::Hyperparameter)
      return broken(p, i,
                    "[write] " + who(p, i) + " writes " + nameOf(target.kind) + " '" + target.name +
                        "'");
    uint64_t blocks = blocksOf(source, shareBlock);
    if (read(p, i, from.buffer, from.offset, source.bytes, instruction.axis, blocks, part))
      return true;
    Content read = at(p, from.buffer);
    if (write(p, i, to.buffer, to.offset, target.bytes, instruction.axis, blocks,
              read.differs | bit(instruction.axis), mix(read.value, from.offset), part))
      return true;
    if (to.offset == 0 && from.offset == 0)
      at(p, to.buffer).input = read.input;
    return false;
  }

  bool guard(size_t p, size_t i, const Instruction &instruction, int64_t part) {
    uint64_t value = mix(4, instruction.operands.size());
    static constexpr const char *names[] = {"count", "loss", "norm", "floored", "patience"};
    for (size_t k = 0; k < instruction.operands.size(); ++k) {
      const Operand &operand = instruction.operands[k];
      if (read(p, i, operand.buffer, operand.offset, operand.offset + 8, Axis::None, 0, part))
        return true;
      const Content &content = at(p, operand.buffer);
      if (disagrees(p, i,
                    std::string("the ") + names[k] + " that decides, '" +
                        role.programs[p].buffers[operand.buffer].name + "',",
                    content.differs))
        return true;
      value = mix(mix(value, content.value), operand.offset);
    }
    decisions.emplace_back(value, who(p, i));
    return false;
  }

  bool disagrees(size_t p, size_t i, const std::string &what, Axes differs) {
    for (Axis axis : {Axis::Data, Axis::Tensor, Axis::Pipeline, Axis::Context})
      if (stage >= 0 && differs & bit(axis) && whole.layout.size(axis) > 1)
        return broken(p, i,
                      "[agree] " + who(p, i) + ": " + what + " can differ between ranks along " +
                          nameOf(axis));
    return false;
  }

  bool message(size_t p, size_t i, const Instruction &instruction, int64_t part) {
    uint32_t b = instruction.operands[0].buffer;
    uint64_t bytes = role.programs[p].buffers[b].bytes, mine = static_cast<uint64_t>(stage);
    if (instruction.opcode == Opcode::Send) {
      if (read(p, i, b, 0, bytes, Axis::None, 0, part))
        return true;
      channels[{mine, instruction.stage, instruction.channel}] |= at(p, b).differs;
      return false;
    }
    Axes differs = channels[{instruction.stage, mine, instruction.channel}] | bit(Axis::Pipeline);
    return write(p, i, b, 0, bytes, Axis::None, 0, differs,
                 mix(mix(5, instruction.channel), instruction.stage), part);
  }

  bool collective(size_t p, size_t i, const Instruction &instruction, int64_t part) {
    Axes axis = bit(instruction.axis);
    uint64_t number = instruction.axis == Axis::Pipeline ? ++collectives : 0;
    for (size_t k = 0; k < instruction.operands.size(); ++k) {
      uint32_t b = instruction.operands[k].buffer;
      const Buffer &buffer = role.programs[p].buffers[b];
      bool gathers = instruction.opcode == Opcode::AllGather;
      uint64_t blocks = instruction.block ? blocksOf(buffer, instruction.block) : 0;
      if (read(p, i, b, 0, buffer.bytes, gathers ? instruction.axis : Axis::None, blocks, part))
        return true;
      Content &content = at(p, b);
      uint64_t value = mix(mix(6, static_cast<uint64_t>(instruction.opcode)), k);
      value = number ? mix(value, number) : mix(mix(value, axis), content.value);
      // A rank has its own part of a scattered sum; parts of others are what the sum left there.
      Axes differs = instruction.opcode == Opcode::ReduceScatter
                         ? static_cast<Axes>(content.differs | axis)
                         : static_cast<Axes>(content.differs & ~axis);
      if (write(p, i, b, 0, buffer.bytes, Axis::None, 0, differs, value, part))
        return true;
    }
    return false;
  }

  /// Scalars that later steps go by are the same on all ranks again.
  bool stateAgrees() {
    for (size_t p = 0; p < role.programs.size(); ++p)
      for (size_t b = 0; b < role.programs[p].buffers.size(); ++b) {
        const Buffer &buffer = role.programs[p].buffers[b];
        if (buffer.kind != Kind::Counter && buffer.kind != Kind::StepState)
          continue;
        Axes differs = at(p, static_cast<uint32_t>(b)).differs;
        for (Axis axis : {Axis::Data, Axis::Tensor, Axis::Pipeline, Axis::Context})
          if (stage >= 0 && differs & bit(axis) && whole.layout.size(axis) > 1) {
            broken(p, 0,
                   std::string("[agree] ") + nameOf(buffer.kind) + " '" + buffer.name +
                       "' can differ between ranks along " + nameOf(axis) + " after a step");
            violation->place = Place::Buffer;
            violation->element = b;
            return true;
          }
      }
    return false;
  }

  /// A send goes on while its bytes are under way: they are where nothing else is ever put. Its
  /// program waits for the send that used the same place of its own before.
  bool sends() {
    for (size_t p = 0; p < role.programs.size(); ++p)
      for (size_t i = 0; i < role.programs[p].instructions.size(); ++i) {
        const Instruction &instruction = role.programs[p].instructions[i];
        if (instruction.opcode != Opcode::Send)
          continue;
        const Buffer &buffer = role.programs[p].buffers[instruction.operands[0].buffer];
        if (buffer.kind != Kind::Stash && buffer.kind != Kind::Window)
          return broken(p, i,
                        "[send] " + who(p, i) + " sends " + nameOf(buffer.kind) + " '" +
                            buffer.name + "', whose bytes others may use");
        if (buffer.places != mostPlaces[p])
          return broken(p, i,
                        "[send] " + who(p, i) + " sends '" + buffer.name + "' from " +
                            std::to_string(buffer.places) + " places, its program has " +
                            std::to_string(mostPlaces[p]));
      }
    return false;
  }

  static constexpr uint64_t mostRuns = uint64_t{1} << 22;
  const Plan &whole;
  const Role &role;
  int64_t stage;
  Channels &channels;
  std::optional<Violation> violation;
  std::vector<std::vector<int64_t>> slots; ///< by program and buffer; -1: of one run
  std::vector<uint64_t> mostPlaces;        ///< by program
  std::vector<const Buffer *> lasting;     ///< by slot
  std::map<std::string_view, const Variable *> variableOf;
  std::vector<Content> state, local;      ///< by slot, by buffer
  std::vector<std::vector<int64_t>> tags; ///< micro-batch in each place, by slot
  std::vector<int64_t> parts;             ///< micro-batches so far, by program
  std::vector<std::vector<Content>> seen; ///< what the last walk of a program started with
  std::vector<std::vector<std::tuple<size_t, uint32_t, bool>>> summaries; ///< uses of stashes
  bool inStep = false;
  uint64_t stashRuns = 0, collectives = 0;
};

} // namespace

static std::optional<Violation> findInStages(const Plan &plan) {
  Channels channels, before;
  std::vector<std::pair<uint64_t, std::string>> first;
  // What is sent depends on what was received: again until no channel brings more.
  do {
    before = channels;
    for (size_t stage = 0; stage < plan.stages.size(); ++stage) {
      Flow flow(plan, plan.stages[stage], static_cast<int64_t>(stage), channels);
      if (auto violation = flow.run())
        return violation;
      if (stage == 0) {
        first = flow.decisions;
        continue;
      }
      for (size_t k = 0; k < std::min(first.size(), flow.decisions.size()); ++k)
        if (first[k].first != flow.decisions[k].first)
          return Violation{Place::Plan, 0, 0,
                           "[agree] " + flow.decisions[k].second + " of stage " +
                               std::to_string(stage) + " decides by other values than " +
                               first[k].second + " of stage 0",
                           static_cast<int64_t>(stage)};
    }
  } while (channels != before);
  return std::nullopt;
}

std::optional<Violation> plan::findFlowViolation(const Plan &plan) {
  Channels none;
  if (auto violation = Flow(plan, plan, -1, none).run())
    return violation;
  return findInStages(plan);
}
