//===- VerifyRanks.cpp - the programs of all ranks, walked together --------===//
// Ranks of one stage run the same programs, so their collectives along the other axes meet by
// construction; what is walked is one rank a stage. A send starts and goes on; before its program
// touches the same place again, it waits until the bytes there were taken. A receive waits. A
// collective over the stages waits for all of them, and so does a guard here, since all ranks end a
// step at the same one. If at some point nobody can go on, the plan hangs. Who writes over bytes
// that were sent must know that they were taken: by its wait, or because a message or a collective
// that it had since came after that.
#include "Verify.h"
#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <tuple>

using namespace dsc;
using namespace dsc::plan;

namespace {

/// An exchange, a wait for bytes that were sent before, or a write where bytes were sent from.
enum class Act { Exchange, Wait, Write };

/// What one rank does, in the order of a step.
struct Event {
  const Instruction *instruction;
  const Program *program;
  size_t programIndex, instructionIndex;
  int64_t part; ///< micro-batch
  Act act = Act::Exchange;
  uint32_t buffer = 0; ///< of the program: what is sent or written
  uint32_t place = 0;  ///< of the buffer

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
    std::string what = instruction->opcode == Opcode::Guard
                           ? std::string("guard")
                           : std::string(nameOf(instruction->opcode)) + " of " +
                                 std::to_string(bytes()) + " bytes";
    if (act == Act::Write)
      what = nameOf(instruction->opcode);
    return (act == Act::Wait ? "the end of " : "") + what + ", instruction " +
           std::to_string(instructionIndex) + " of program '" + program->name + "' (" +
           instruction->label + "), micro-batch " + std::to_string(part);
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
    clocks.assign(at.size(), std::vector<size_t>(at.size(), 0));
    sent.resize(at.size());
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
  static constexpr size_t mostEvents = size_t{1} << 22; ///< of all stages together
  struct Message {
    const Event *event;
    std::vector<size_t> clock; ///< of the sender, as it sent
    size_t taken = 0, by = 0;  ///< how far the receiver was then, and who
  };
  using Channel = std::tuple<size_t, size_t, uint32_t>; ///< sender, receiver, channel

  std::optional<Violation> broken(size_t stage, const Event &event, const std::string &rule) const {
    Violation violation{Place::Instruction, event.programIndex, event.instructionIndex,
                        rule + ", stage " + std::to_string(stage)};
    violation.stage = static_cast<int64_t>(stage);
    return violation;
  }

  struct Exchange {
    size_t at, instruction;
    Act act;
    uint32_t buffer;
    bool operator<(const Exchange &other) const {
      auto key = [](const Exchange &e) { // first the wait, last the write
        return std::tuple(e.at, e.act != Act::Wait, e.act == Act::Write, e.instruction, e.buffer);
      };
      return key(*this) < key(other);
    }
  };

  static bool writes(const Plan &plan, const Instruction &instruction, size_t k) {
    switch (instruction.opcode) {
    case Opcode::Launch:
      return plan.kernels[instruction.kernel].uses[k].writes;
    case Opcode::Copy:
      return k == 1;
    case Opcode::Guard:
    case Opcode::Send:
      return false;
    default:
      return true;
    }
  }

  /// What a program does with other stages, in its order. It waits for a send of an earlier run
  /// where it first uses the buffer.
  std::vector<Exchange> exchangesOf(const Program &program,
                                    const std::set<std::string_view> &sent) const {
    std::vector<Exchange> result;
    std::map<uint32_t, size_t> firstUse;
    for (size_t i = 0; i < program.instructions.size(); ++i) {
      const Instruction &instruction = program.instructions[i];
      for (size_t k = 0; k < instruction.operands.size(); ++k) {
        uint32_t b = instruction.operands[k].buffer;
        firstUse.emplace(b, i);
        if (isPersistent(program.buffers[b].kind) && sent.count(program.buffers[b].name) &&
            writes(plan, instruction, k))
          result.push_back({i, i, Act::Write, b});
      }
      bool sends = instruction.opcode == Opcode::Send;
      uint32_t b = instruction.operands[0].buffer;
      if (sends)
        result.push_back({firstUse[b], i, Act::Wait, b});
      if (sends || instruction.opcode == Opcode::Receive || instruction.opcode == Opcode::Guard ||
          (!isLocal(instruction.opcode) && instruction.axis == Axis::Pipeline))
        result.push_back({i, i, Act::Exchange, b});
    }
    std::sort(result.begin(), result.end());
    return result;
  }

  static std::set<std::string_view> sentBy(const Role &role) {
    std::set<std::string_view> names;
    for (const Program &program : role.programs)
      for (const Instruction &instruction : program.instructions)
        if (instruction.opcode == Opcode::Send)
          names.insert(program.buffers[instruction.operands[0].buffer].name);
    return names;
  }

  std::optional<Violation> unroll(size_t stage) {
    const Role &role = plan.stages[stage];
    std::vector<Event> &out = events.emplace_back();
    std::map<uint32_t, int64_t> parts;
    std::vector<std::vector<Exchange>> exchanges;
    std::vector<uint32_t> places; // as Executor has them, by program
    std::set<std::string_view> sent = sentBy(role);
    for (const Program &program : role.programs) {
      exchanges.push_back(exchangesOf(program, sent));
      places.push_back(1);
      for (const Buffer &buffer : program.buffers)
        places.back() = std::max(places.back(), buffer.places);
    }
    for (const Phase &phase : role.schedule) {
      const Program &program = role.programs[phase.program];
      int64_t &part = parts[phase.program];
      if (exchanges[phase.program].empty()) {
        part += static_cast<int64_t>(phase.times);
        continue;
      }
      for (uint64_t time = 0; time < phase.times; ++time, ++part)
        for (const Exchange &exchange : exchanges[phase.program]) {
          if (++total > mostEvents)
            return Violation{Place::Plan, 0, 0,
                             "[exchange] a step has more than 2^22 exchanges between stages",
                             static_cast<int64_t>(stage)};
          size_t i = exchange.instruction;
          uint64_t place = static_cast<uint64_t>(part) % places[phase.program] %
                           program.buffers[exchange.buffer].places;
          out.push_back({&program.instructions[i], &program, phase.program, i, part, exchange.act,
                         exchange.buffer, static_cast<uint32_t>(place)});
        }
    }
    return std::nullopt;
  }

  /// Lets a stage do its next exchange, if it can.
  std::pair<bool, std::optional<Violation>> advance(size_t stage) {
    const Event &event = events[stage][at[stage]];
    const Instruction &instruction = *event.instruction;
    if (event.act == Act::Write) {
      if (auto violation = overwrite(stage, event))
        return {false, violation};
    } else if (instruction.opcode == Opcode::Send) {
      if (instruction.stage == stage)
        return {false, broken(stage, event, "[message] " + event.text() + " goes to itself")};
      auto &flying = channels[{stage, instruction.stage, instruction.channel}];
      if (event.act == Act::Wait) {
        const Buffer &buffer = event.program->buffers[event.buffer];
        if (flying.size() >= buffer.places)
          return {false, std::nullopt};
        forget(stage, event);
      } else {
        auto message = std::make_shared<Message>(Message{&event, clocks[stage]});
        flying.push_back(message);
        sent[stage][event.program->buffers[event.buffer].name].push_back(message);
      }
    } else if (instruction.opcode == Opcode::Receive) {
      auto &flying = channels[{instruction.stage, stage, instruction.channel}];
      if (flying.empty())
        return {false, std::nullopt};
      std::shared_ptr<Message> message = flying.front();
      flying.pop_front();
      const Event &other = *message->event;
      if (other.bytes() != event.bytes() || other.signature().back() != event.signature().back())
        return {false,
                broken(stage, event, "[message] " + event.text() + " meets " + other.text())};
      message->taken = at[stage] + 1;
      message->by = stage;
      join(stage, message->clock);
      message->clock = {};
    } else {
      return {false, std::nullopt}; // over the stages: see meet()
    }
    clocks[stage][stage] = ++at[stage];
    return {true, std::nullopt};
  }

  /// Stage knows what went before `clock`.
  void join(size_t stage, const std::vector<size_t> &clock) {
    for (size_t s = 0; s < clock.size(); ++s)
      clocks[stage][s] = std::max(clocks[stage][s], clock[s]);
  }

  /// The bytes that the program sent from this place before were taken.
  void forget(size_t stage, const Event &event) {
    auto &list = sent[stage][event.program->buffers[event.buffer].name];
    std::erase_if(list, [&](const std::shared_ptr<Message> &message) {
      return message->event->instruction == event.instruction &&
             message->event->place == event.place;
    });
  }

  std::optional<Violation> overwrite(size_t stage, const Event &event) {
    auto &list = sent[stage][event.program->buffers[event.buffer].name];
    for (const std::shared_ptr<Message> &message : list)
      if (message->event->place == event.place &&
          (!message->taken || clocks[stage][message->by] < message->taken))
        return broken(stage, event,
                      "[send] " + event.text() + " writes '" +
                          event.program->buffers[event.buffer].name +
                          "' while it may be under way: " + message->event->text());
    std::erase_if(list, [&](const std::shared_ptr<Message> &message) {
      return message->event->place == event.place;
    });
    return std::nullopt;
  }

  /// A collective over the stages, once all have come to it.
  std::optional<Violation> meet(bool &moved) {
    const Event *first = nullptr;
    for (size_t stage = 0; stage < at.size(); ++stage) {
      if (at[stage] == events[stage].size())
        return std::nullopt;
      const Event &event = events[stage][at[stage]];
      if (event.act != Act::Exchange || event.instruction->opcode == Opcode::Send ||
          event.instruction->opcode == Opcode::Receive)
        return std::nullopt;
      if (!first)
        first = &event;
      else if (event.signature() != first->signature())
        return broken(stage, event,
                      "[order] " + event.text() + " meets " + first->text() + " of stage 0");
    }
    if (first->instruction->opcode == Opcode::Guard)
      for (auto &[channel, flying] : channels)
        if (!flying.empty())
          return broken(std::get<0>(channel), *flying.front()->event,
                        "[order] " + flying.front()->event->text() + " is not taken by stage " +
                            std::to_string(std::get<1>(channel)) +
                            " before the guard at which a step may end");
    std::vector<size_t> all = at;
    for (size_t stage = 0; stage < at.size(); ++stage) {
      join(stage, all);
      clocks[stage][stage] = ++at[stage];
    }
    moved = true;
    return std::nullopt;
  }

  /// Where another stage is that the next exchange of `stage` waits for.
  std::string other(size_t stage) const {
    const Event &event = events[stage][at[stage]];
    Opcode opcode = event.instruction->opcode;
    bool message = opcode == Opcode::Send || opcode == Opcode::Receive;
    size_t peer = event.instruction->stage;
    for (size_t s = 0; s < at.size() && !message; ++s) { // who has not come
      peer = s;
      if (at[s] == events[s].size() || events[s][at[s]].instruction->opcode == Opcode::Send ||
          events[s][at[s]].instruction->opcode == Opcode::Receive)
        break;
    }
    std::string name = "stage " + std::to_string(peer) + ", which ";
    return name + (at[peer] == events[peer].size() ? std::string("is done")
                                                   : "is at " + events[peer][at[peer]].text());
  }

  std::optional<Violation> ending() {
    for (size_t stage = 0; stage < at.size(); ++stage)
      if (at[stage] < events[stage].size()) {
        const Event &event = events[stage][at[stage]];
        return broken(stage, event,
                      "[hang] " + event.text() + " waits for ever for " + other(stage));
      }
    for (auto &[channel, flying] : channels)
      if (!flying.empty())
        return broken(std::get<0>(channel), *flying.front()->event,
                      "[message] " + flying.front()->event->text() + " is never received");
    return std::nullopt;
  }

  const Plan &plan;
  std::vector<std::vector<Event>> events;
  std::vector<size_t> at;
  size_t total = 0;
  std::vector<std::vector<size_t>> clocks; ///< of each stage, how far it knows each to be
  std::map<Channel, std::deque<std::shared_ptr<Message>>> channels; ///< under way
  /// What may still be under way as the stage knows it, by the name of the buffer.
  std::vector<std::map<std::string_view, std::vector<std::shared_ptr<Message>>>> sent;
};

} // namespace

std::optional<Violation> plan::findRankViolation(const Plan &plan) {
  return plan.stages.empty() ? std::nullopt : Walk(plan).run();
}
