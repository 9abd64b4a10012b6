//===- VerifyRanks.cpp - the programs of all ranks, walked together --------===//
// Ranks of one stage run the same programs, so their collectives along the other axes meet by
// construction; what is walked is one rank a stage. A send starts and goes on; its bytes must be
// taken before the same place of the same send is used again. A receive waits. A collective over
// the stages waits for all of them. If at some point nobody can go on, the plan hangs.
#include "Verify.h"
#include <map>
#include <tuple>

using namespace dsc;
using namespace dsc::plan;

namespace {

/// An exchange of one rank, in the order of a step.
struct Event {
  const Instruction *instruction;
  const Program *program;
  size_t programIndex, instructionIndex;
  int64_t part; ///< micro-batch

  uint64_t bytes() const {
    uint64_t sum = 0;
    for (const Operand &operand : instruction->operands)
      sum += program->buffers[operand.buffer].bytes;
    return sum;
  }
  /// Kind, block and the elements and type of each buffer: what all ranks must bring alike.
  std::vector<uint64_t> signature() const {
    std::vector<uint64_t> result{static_cast<uint64_t>(instruction->opcode), instruction->block};
    for (const Operand &operand : instruction->operands) {
      const Buffer &buffer = program->buffers[operand.buffer];
      result.push_back(buffer.bytes);
      result.push_back(static_cast<uint64_t>(buffer.dtype));
    }
    return result;
  }
  std::string text() const {
    return std::string(nameOf(instruction->opcode)) + " of " + std::to_string(bytes()) +
           " bytes, instruction " + std::to_string(instructionIndex) + " of program '" +
           program->name + "' (" + instruction->label + "), micro-batch " + std::to_string(part);
  }
};

class Walk {
public:
  explicit Walk(const Plan &plan) : plan(plan) {}

  std::optional<Violation> run() {
    for (size_t stage = 0; stage < plan.stages.size(); ++stage) {
      if (auto violation = unroll(stage))
        return violation;
      at.push_back(0);
    }
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t stage = 0; stage < at.size(); ++stage)
        while (at[stage] < events[stage].size()) {
          auto [went, violation] = advance(stage);
          if (violation)
            return violation;
          if (!went)
            break;
          moved = true;
        }
      if (auto violation = meet(moved))
        return violation;
    }
    return ending();
  }

private:
  static constexpr size_t mostEvents = size_t{1} << 24;
  using Channel = std::tuple<size_t, size_t, uint32_t>; ///< sender, receiver, channel

  std::optional<Violation> broken(size_t stage, const Event &event, const std::string &rule) const {
    Violation violation{Place::Instruction, event.programIndex, event.instructionIndex,
                        rule + ", stage " + std::to_string(stage)};
    violation.stage = static_cast<int64_t>(stage);
    return violation;
  }

  std::optional<Violation> unroll(size_t stage) {
    const Role &role = plan.stages[stage];
    std::vector<Event> &out = events.emplace_back();
    std::map<uint32_t, int64_t> parts;
    std::vector<std::vector<size_t>> exchanges(role.programs.size());
    for (size_t p = 0; p < role.programs.size(); ++p)
      for (size_t i = 0; i < role.programs[p].instructions.size(); ++i)
        if (Opcode opcode = role.programs[p].instructions[i].opcode; !isLocal(opcode)) {
          bool stays = opcode != Opcode::Send && opcode != Opcode::Receive &&
                       role.programs[p].instructions[i].axis != Axis::Pipeline;
          if (!stays)
            exchanges[p].push_back(i);
        }
    for (const Phase &phase : role.schedule) {
      const Program &program = role.programs[phase.program];
      int64_t &part = parts[phase.program];
      if (exchanges[phase.program].empty()) {
        part += static_cast<int64_t>(phase.times);
        continue;
      }
      for (uint64_t time = 0; time < phase.times; ++time, ++part)
        for (size_t i : exchanges[phase.program]) {
          if (out.size() == mostEvents)
            return Violation{Place::Plan, 0, 0,
                             "[exchange] a step has more than 2^24 exchanges between stages",
                             static_cast<int64_t>(stage)};
          out.push_back({&program.instructions[i], &program, phase.program, i, part});
        }
    }
    return std::nullopt;
  }

  /// Lets a stage do its next exchange, if it can.
  std::pair<bool, std::optional<Violation>> advance(size_t stage) {
    const Event &event = events[stage][at[stage]];
    const Instruction &instruction = *event.instruction;
    if (instruction.opcode == Opcode::Send) {
      if (instruction.stage == stage)
        return {false, broken(stage, event, "[message] " + event.text() + " goes to itself")};
      Channel channel{stage, instruction.stage, instruction.channel};
      // Its place was used before: those bytes must be gone.
      uint32_t places = event.program->buffers[instruction.operands[0].buffer].places;
      auto &[sent, taken] = counts[channel];
      if (sent.size() >= taken + places)
        return {false, std::nullopt};
      sent.push_back(&event);
    } else if (instruction.opcode == Opcode::Receive) {
      auto &[sent, taken] = counts[{instruction.stage, stage, instruction.channel}];
      if (sent.size() == taken)
        return {false, std::nullopt};
      const Event &other = *sent[taken++];
      if (other.bytes() != event.bytes() || other.signature().back() != event.signature().back())
        return {false,
                broken(stage, event, "[message] " + event.text() + " meets " + other.text())};
    } else {
      return {false, std::nullopt}; // over the stages: see meet()
    }
    ++at[stage];
    return {true, std::nullopt};
  }

  /// A collective over the stages, once all have come to it.
  std::optional<Violation> meet(bool &moved) {
    const Event *first = nullptr;
    for (size_t stage = 0; stage < at.size(); ++stage) {
      if (at[stage] == events[stage].size())
        return std::nullopt;
      const Event &event = events[stage][at[stage]];
      if (event.instruction->opcode == Opcode::Send || event.instruction->opcode == Opcode::Receive)
        return std::nullopt;
      if (!first)
        first = &event;
      else if (event.signature() != first->signature())
        return broken(stage, event,
                      "[order] " + event.text() + " meets " + first->text() + " of stage 0");
    }
    for (size_t &next : at)
      ++next;
    moved = true;
    return std::nullopt;
  }

  std::optional<Violation> ending() {
    for (size_t stage = 0; stage < at.size(); ++stage)
      if (at[stage] < events[stage].size()) {
        const Event &event = events[stage][at[stage]];
        return broken(stage, event, "[hang] " + event.text() + " waits for ever");
      }
    for (auto &[channel, count] : counts)
      if (auto &[sent, taken] = count; sent.size() != taken)
        return broken(std::get<0>(channel), *sent[taken],
                      "[message] " + sent[taken]->text() + " is never received");
    return std::nullopt;
  }

  const Plan &plan;
  std::vector<std::vector<Event>> events;
  std::vector<size_t> at;
  std::map<Channel, std::pair<std::vector<const Event *>, size_t>> counts; ///< sent, taken
};

} // namespace

std::optional<Violation> plan::findRankViolation(const Plan &plan) {
  return plan.stages.empty() ? std::nullopt : Walk(plan).run();
}
