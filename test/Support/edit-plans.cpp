//===- edit-plans.cpp - plans that are one edit away from a good one -------===//
// edit-plans FOLDER SEED COUNT PLAN...: draws COUNT edits by seed over the fields of instructions,
// buffers, variables, scalars, schedules and the layout. Prints a line of JSON for each: what was
// changed and the rule that refuses it; what passes is written to FOLDER/NUMBER.bin. The table of
// kernels and their code stay: they say what the code does, and a plan's code is trusted.
#include "dsc/Plan/Plan.h"
#include "dsc/Support/File.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>

using namespace dsc;
using namespace dsc::plan;

namespace {

class Editor {
public:
  Editor(Plan plan, uint64_t seed) : plan(std::move(plan)), random(seed) {}

  /// Changes one thing; says what.
  std::string edit() {
    size_t which = below(plan.stages.size() * 4 + 1); // the plan's own programs are not run here
    stage = plan.stages.empty() || which == plan.stages.size() * 4
                ? -1
                : static_cast<int64_t>(which / 4);
    role = stage < 0 ? static_cast<Role *>(&plan) : &plan.stages[static_cast<size_t>(stage)];
    std::string what = choose();
    return (stage < 0 ? std::string() : "stage " + std::to_string(stage) + ": ") + what;
  }

  Plan plan;

private:
  size_t below(size_t n) { return n ? random() % n : 0; }
  bool often() { return below(3) != 0; }
  template <typename T> T &one(std::vector<T> &list) { return list[below(list.size())]; }

  std::string choose() {
    switch (size_t kind = below(20)) {
    case 0:
    case 1:
    case 2:
      return editBuffer();
    case 3:
    case 4:
      return editSchedule();
    case 5:
    case 6:
      return editVariable();
    case 7:
      return editPlan();
    case 8:
      return editScalar();
    default:
      return kind < 12 ? moveInstruction() : editInstruction();
    }
  }

  /// A program that a step runs, or any.
  Program &program() {
    if (!role->schedule.empty() && often())
      return role->programs[one(role->schedule).program];
    return one(role->programs);
  }

  uint64_t number(uint64_t old) {
    static constexpr uint64_t some[] = {0, 1, 2, 3, 8, 64, 1024, 4096, uint64_t{1} << 32, ~0ull};
    switch (below(5)) {
    case 0:
      return some[below(std::size(some))];
    case 1:
      return old + 1;
    case 2:
      return old - 1;
    case 3:
      return old * 2;
    default:
      return old ^ (uint64_t{1} << below(16));
    }
  }
  Axis axis() { return static_cast<Axis>(below(5)); }
  static const char *text(Axis axis) { return nameOf(axis); }

  std::string editInstruction() {
    Program *in = &program();
    for (int i = 0; i < 20 && in->instructions.empty(); ++i)
      in = &program();
    if (in->instructions.empty())
      return "nothing";
    size_t index = below(in->instructions.size());
    // Exchanges are few among launches; take them as often.
    std::vector<size_t> exchanges;
    for (size_t i = 0; i < in->instructions.size(); ++i)
      if (in->instructions[i].opcode != Opcode::Launch)
        exchanges.push_back(i);
    if (!exchanges.empty() && below(2))
      index = one(exchanges);
    return "program " + in->name + " instruction " + std::to_string(index) + " " +
           editField(*in, in->instructions[index]);
  }

  std::string editField(Program &in, Instruction &instruction) {
    auto noted = [](const char *field, uint64_t was, uint64_t is) {
      return std::string(field) + " " + std::to_string(was) + " to " + std::to_string(is);
    };
    auto set = [&](const char *field, auto &value) {
      auto old = value;
      value = static_cast<std::decay_t<decltype(value)>>(number(old));
      return noted(field, old, value);
    };
    switch (below(12)) {
    case 0: {
      Opcode old = instruction.opcode;
      instruction.opcode = static_cast<Opcode>(below(8));
      return std::string("opcode ") + nameOf(old) + " to " + nameOf(instruction.opcode);
    }
    case 1: {
      uint32_t old = instruction.kernel, best = old;
      for (int i = 0; i < 50 && best == old; ++i) { // one that takes as much, if there is
        uint32_t other = static_cast<uint32_t>(below(plan.kernels.size() + 1));
        if (i == 49 || (other < plan.kernels.size() &&
                        plan.kernels[other].operands.size() == instruction.operands.size()))
          best = other;
      }
      if (old < plan.kernels.size() && often())
        for (uint32_t k = 0; k < plan.kernels.size(); ++k)
          if (k != old && plan.kernels[k].operands == plan.kernels[old].operands && below(2))
            best = k;
      instruction.kernel = best;
      return noted("kernel", old, best);
    }
    case 2:
    case 3:
    case 4: {
      if (instruction.operands.empty())
        return "nothing";
      size_t k = below(instruction.operands.size());
      uint32_t old = instruction.operands[k].buffer;
      std::vector<uint32_t> alike;
      for (uint32_t b = 0; b < in.buffers.size(); ++b)
        if (b != old && in.buffers[b].bytes == in.buffers[old].bytes)
          alike.push_back(b);
      instruction.operands[k].buffer =
          !alike.empty() && often() ? one(alike) : static_cast<uint32_t>(below(in.buffers.size()));
      return "operand " + std::to_string(k) + " '" + in.buffers[old].name + "' to '" +
             in.buffers[instruction.operands[k].buffer].name + "'";
    }
    case 5:
      return instruction.operands.empty() ? "nothing"
                                          : set("offset", one(instruction.operands).offset);
    case 6: {
      if (instruction.operands.empty())
        return "nothing";
      size_t a = below(instruction.operands.size()), b = below(instruction.operands.size());
      if (a != b && often()) {
        std::swap(instruction.operands[a], instruction.operands[b]);
        return noted("swapped operands", a, b);
      }
      if (below(2)) {
        instruction.operands.erase(instruction.operands.begin() + static_cast<long>(a));
        return "dropped operand " + std::to_string(a);
      }
      instruction.operands.push_back({static_cast<uint32_t>(below(in.buffers.size())), 0});
      return "one more operand";
    }
    case 7:
    case 8: {
      Axis old = instruction.axis;
      instruction.axis = axis();
      return std::string("axis ") + text(old) + " to " + text(instruction.axis);
    }
    case 9:
      return set("block", instruction.block);
    case 10:
      return below(2) ? set("stage", instruction.stage) : set("channel", instruction.channel);
    default:
      instruction.label = below(2) ? "another" : "\x01";
      return "label";
    }
  }

  /// Instructions dropped, doubled or swapped; mostly lives are moved along.
  std::string moveInstruction() {
    Program &in = program();
    std::vector<Instruction> &list = in.instructions;
    if (list.empty())
      return "nothing";
    std::string what = "program " + in.name + " ";
    size_t a = below(list.size());
    bool along = often();
    switch (below(3)) {
    case 0:
      list.erase(list.begin() + static_cast<long>(a));
      for (Buffer &buffer : in.buffers) {
        buffer.first -= along && buffer.first > a;
        buffer.last -= along && buffer.last > a;
        buffer.last = std::max(buffer.last, buffer.first);
      }
      return what + "dropped instruction " + std::to_string(a);
    case 1:
      list.insert(list.begin() + static_cast<long>(a), list[a]);
      for (Buffer &buffer : in.buffers) {
        buffer.first += along && buffer.first > a;
        buffer.last += along && buffer.last >= a;
      }
      return what + "doubled instruction " + std::to_string(a);
    default: {
      size_t b = often() ? std::min(a + 1, list.size() - 1) : below(list.size());
      std::swap(list[a], list[b]);
      return what + "swapped instructions " + std::to_string(a) + " and " + std::to_string(b);
    }
    }
  }

  std::string editBuffer() {
    Program &in = program();
    if (in.buffers.empty())
      return "nothing";
    Buffer &buffer = one(in.buffers);
    std::string what = "program " + in.name + " buffer '" + buffer.name + "' ";
    switch (below(9)) {
    case 0:
      buffer.share = axis();
      return what + "share " + text(buffer.share);
    case 1:
      buffer.places = static_cast<uint32_t>(number(buffer.places));
      return what + "places " + std::to_string(buffer.places);
    case 2:
      buffer.bytes = number(buffer.bytes);
      return what + "bytes " + std::to_string(buffer.bytes);
    case 3:
    case 4:
      buffer.offset = often() ? below(role->arenaBytes / 64) * 64 : number(buffer.offset);
      return what + "offset " + std::to_string(buffer.offset);
    case 5:
      buffer.kind = static_cast<Kind>(below(13));
      return what + "kind " + nameOf(buffer.kind);
    case 6:
      buffer.first = below(2) ? static_cast<uint32_t>(number(buffer.first))
                              : static_cast<uint32_t>(below(in.instructions.size() + 1));
      return what + "first " + std::to_string(buffer.first);
    case 7:
      buffer.last = below(2) ? static_cast<uint32_t>(number(buffer.last))
                             : static_cast<uint32_t>(below(in.instructions.size() + 1));
      return what + "last " + std::to_string(buffer.last);
    default: {
      Buffer &other = one(in.buffers);
      std::swap(buffer.name, other.name);
      return what + "name swapped with '" + buffer.name + "'";
    }
    }
  }

  std::string editSchedule() {
    std::vector<Phase> &rows = role->schedule;
    if (rows.empty()) {
      rows.push_back({static_cast<uint32_t>(below(role->programs.size())), 1 + below(3)});
      return "a schedule of program " + std::to_string(rows[0].program);
    }
    size_t row = below(rows.size()), other = below(rows.size());
    std::string what = "schedule row " + std::to_string(row) + " ";
    switch (below(6)) {
    case 0:
      std::swap(rows[row], rows[other]);
      return what + "swapped with " + std::to_string(other);
    case 1:
      rows.erase(rows.begin() + static_cast<long>(row));
      return what + "dropped";
    case 2:
      rows.insert(rows.begin() + static_cast<long>(row), rows[row]);
      return what + "doubled";
    case 3:
      rows[row].times = number(rows[row].times);
      return what + "times " + std::to_string(rows[row].times);
    case 4:
      rows.clear();
      return "no schedule";
    default:
      rows[row].program = static_cast<uint32_t>(below(role->programs.size() + 1));
      return what + "program " + std::to_string(rows[row].program);
    }
  }

  /// Of a variable alone, or with its buffers in all programs of the role.
  std::string editVariable() {
    if (role->variables.empty())
      return "nothing";
    Variable &variable = one(role->variables);
    std::string what = "variable '" + variable.name + "' ";
    bool with = often();
    std::string name = variable.name;
    auto buffers = [&](auto change) {
      for (Program &program : role->programs)
        for (Buffer &buffer : program.buffers)
          if (with && buffer.name == name && isPersistent(buffer.kind))
            change(buffer);
    };
    switch (below(8)) {
    case 0: {
      variable.share = axis();
      buffers([&](Buffer &buffer) {
        buffer.share = variable.share;
        uint64_t size = static_cast<uint64_t>(byteSize(buffer.dtype)), elements = 1;
        for (int64_t dimension : buffer.shape)
          elements *= static_cast<uint64_t>(dimension);
        buffer.bytes = size * (buffer.share == Axis::None
                                   ? elements
                                   : largestShare(elements, shareBlock,
                                                  static_cast<uint64_t>(std::max<int64_t>(
                                                      1, plan.layout.size(buffer.share)))));
      });
      return what + "share " + text(variable.share);
    }
    case 1:
      variable.places = static_cast<uint32_t>(1 + below(4));
      buffers([&](Buffer &buffer) { buffer.places = variable.places; });
      return what + "places " + std::to_string(variable.places);
    case 2:
    case 3: {
      Cut &cut = variable.cut;
      cut.axis = axis();
      uint64_t parts = static_cast<uint64_t>(std::max<int64_t>(1, plan.layout.size(cut.axis)));
      cut.outer = cut.inner = 1;
      cut.count = parts;
      for (int64_t dimension : variable.shape)
        cut.count *= static_cast<uint64_t>(dimension);
      cut.logical = {static_cast<int64_t>(cut.count)};
      if (!with)
        cut.count = number(cut.count);
      return what + "cut " + text(cut.axis) + " of " + std::to_string(cut.count);
    }
    case 4:
      variable.role = static_cast<Kind>(below(13));
      buffers([&](Buffer &buffer) { buffer.kind = variable.role; });
      return what + "role " + nameOf(variable.role);
    case 5: {
      uint64_t place = below(role->arenaBytes / 64) * 64;
      buffers([&](Buffer &buffer) { buffer.offset = place; });
      return what + "at " + std::to_string(place);
    }
    case 6:
      variable.name = "other";
      buffers([&](Buffer &buffer) { buffer.name = "other"; });
      return what + "renamed";
    default:
      variable.initializer = static_cast<Init>(below(4));
      variable.decay = below(2);
      return what + "initializer";
    }
  }

  std::string editPlan() {
    stage = -1;
    switch (below(7)) {
    case 0:
      plan.rowsInTurn = number(plan.rowsInTurn);
      return "rows in turn " + std::to_string(plan.rowsInTurn);
    case 1:
      role->arenaBytes = number(role->arenaBytes);
      return "arena " + std::to_string(role->arenaBytes);
    case 2:
      plan.workspaceBytes = number(plan.workspaceBytes);
      return "workspace " + std::to_string(plan.workspaceBytes);
    default: {
      int64_t *sizes[] = {&plan.layout.data, &plan.layout.tensor, &plan.layout.pipeline,
                          &plan.layout.context};
      size_t which = below(4);
      *sizes[which] = static_cast<uint32_t>(number(static_cast<uint64_t>(*sizes[which])));
      return "layout " + std::to_string(plan.layout.data) + " " +
             std::to_string(plan.layout.tensor) + " " + std::to_string(plan.layout.pipeline) + " " +
             std::to_string(plan.layout.context);
    }
    }
  }

  std::string editScalar() {
    if (role->scalars.empty())
      return "nothing";
    Scalar &scalar = one(role->scalars);
    std::string what = "scalar " + scalar.path + " ";
    if (below(2)) {
      scalar.offset = often() ? below(role->arenaBytes / 8) * 8 : number(scalar.offset);
      return what + "at " + std::to_string(scalar.offset);
    }
    if (below(2)) {
      scalar.path = "other";
      return what + "renamed";
    }
    scalar.value = static_cast<double>(below(100)) - 50;
    return what + "= " + std::to_string(scalar.value);
  }

  std::mt19937_64 random;
  int64_t stage = -1;
  Role *role = nullptr;
};

/// By plain comparison of all pairs: buffers that share bytes between their first and last uses, or
/// empty. Judges the verifier, so it shares nothing with it.
std::string overlaps(const Role &role) {
  struct Use {
    std::string name;
    uint64_t begin, end;
  };
  std::map<std::string, Use> always;
  for (const Program &program : role.programs)
    for (const Buffer &buffer : program.buffers)
      if (isPersistent(buffer.kind) && buffer.kind != Kind::Cache)
        always.insert(
            {buffer.name, {buffer.name, buffer.offset, buffer.offset + extentOf(buffer)}});
  for (const Program &program : role.programs) {
    std::vector<std::pair<Use, std::pair<size_t, size_t>>> list;
    for (const auto &[name, use] : always)
      list.push_back({use, {0, program.instructions.size()}});
    for (size_t b = 0; b < program.buffers.size(); ++b) {
      const Buffer &buffer = program.buffers[b];
      if (isPersistent(buffer.kind))
        continue;
      size_t first = SIZE_MAX, last = 0;
      for (size_t i = 0; i < program.instructions.size(); ++i)
        for (const Operand &operand : program.instructions[i].operands)
          if (operand.buffer == b) {
            first = std::min(first, i);
            last = i;
          }
      if (first == SIZE_MAX)
        continue;
      if (buffer.kind == Kind::Input)
        first = 0;
      if (buffer.kind == Kind::Output)
        last = program.instructions.size();
      list.push_back({{buffer.name, buffer.offset, buffer.offset + buffer.bytes}, {first, last}});
    }
    for (size_t i = 0; i < list.size(); ++i)
      for (size_t j = i + 1; j < list.size(); ++j) {
        const auto &[a, lifeA] = list[i];
        const auto &[b, lifeB] = list[j];
        if (a.begin < b.end && b.begin < a.end && lifeA.first <= lifeB.second &&
            lifeB.first <= lifeA.second)
          return a.name + " and " + b.name + " of " + program.name;
      }
  }
  return {};
}

std::string overlaps(const Plan &plan) {
  std::string found = overlaps(static_cast<const Role &>(plan));
  for (const Role &stage : plan.stages)
    if (found.empty())
      found = overlaps(stage);
  return found;
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: edit-plans FOLDER SEED COUNT PLAN...\n");
    return 2;
  }
  std::string folder = argv[1];
  uint64_t seed = std::strtoull(argv[2], nullptr, 10), count = std::strtoull(argv[3], nullptr, 10);
  std::vector<std::pair<std::string, Plan>> good;
  for (int i = 4; i < argc; ++i) {
    auto bytes = readFile(argv[i]);
    auto plan = bytes.ok() ? deserialize(*bytes) : StatusOr<Plan>(bytes.status());
    if (!plan.ok()) {
      std::fprintf(stderr, "%s: %s\n", argv[i], plan.status().message().c_str());
      return 1;
    }
    good.emplace_back(argv[i], std::move(*plan));
  }
  for (uint64_t n = 0; n < count; ++n) {
    const auto &[name, plan] = good[n % good.size()];
    std::string before = serialize(plan), what, bytes;
    for (uint64_t again = 0; bytes.empty() || bytes == before; ++again) {
      Editor editor(plan, seed * 1000003 + n * 101 + again);
      what = editor.edit();
      bytes = serialize(editor.plan);
    }
    auto edited = deserialize(bytes);
    nlohmann::json line = {{"number", n}, {"plan", name}, {"edit", what}};
    line["refused"] = edited.ok() ? "" : edited.status().message();
    if (edited.ok()) {
      line["overlap"] = overlaps(*edited);
      if (Status status = writeFileAtomically(folder + "/" + std::to_string(n) + ".bin", bytes);
          !status.ok()) {
        std::fprintf(stderr, "%s\n", status.message().c_str());
        return 1;
      }
    }
    std::printf("%s\n",
                line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  }
}
