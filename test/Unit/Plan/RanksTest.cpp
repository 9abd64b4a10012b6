//===- RanksTest.cpp - the rules for plans of many ranks -------------------===//
// Every rule of VerifyRanks, VerifyFlow and VerifyPieces, and what Verify says of shares.
#include "RankPlans.h"
#include "dsc/Plan/Print.h"
#include <gtest/gtest.h>

using namespace dsc;
using namespace dsc::plan;
using namespace dsc::test;

namespace {

Program &train(Plan &plan, size_t stage = 0) { return plan.stages[stage].programs[1]; }

template <typename Change> void expectRule(const std::string &reason, Plan plan, Change change) {
  change(plan);
  Status status = verify(plan);
  EXPECT_NE(status.message().find(reason), std::string::npos)
      << "expected: " << reason << "\nfound: " << status.message();
  auto read = deserialize(serialize(plan));
  EXPECT_FALSE(read.ok());
  EXPECT_NE(read.status().message().find("section 'programs', offset "), std::string::npos);
}

} // namespace

TEST(RankRules, GoodPlansPassAndReadBack) {
  for (const Plan &plan : {twoRanks(), pipeline(3, 4, 1), pipeline(2, 8, 4)}) {
    Status status = verify(plan);
    EXPECT_TRUE(status.ok()) << status.message();
    std::string bytes = serialize(plan);
    auto read = deserialize(bytes);
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(serialize(*read), bytes);
    for (const std::string &section : printableSections()) // their manifests are empty
      EXPECT_FALSE(printSection(*read, section).empty() && section != "debug") << section;
  }
}

TEST(RankRules, EveryFieldReadsBack) {
  Plan plan = twoRanks();
  plan.rowsInTurn = 3;
  auto read = deserialize(serialize(plan));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->layout, plan.layout);
  EXPECT_EQ(read->rowsInTurn, 3u);
  const Role &stage = read->stages[0];
  EXPECT_EQ(stage.variables[1].share, Axis::Data);
  EXPECT_EQ(stage.programs[1].buffers[2].share, Axis::Data);
  EXPECT_EQ(stage.programs[1].buffers[2].bytes, wide / 2);
  EXPECT_EQ(stage.programs[1].instructions[3].opcode, Opcode::ReduceScatter);
  EXPECT_EQ(stage.programs[1].instructions[3].axis, Axis::Data);
  EXPECT_EQ(stage.programs[1].instructions[3].block, shareBlock);
  EXPECT_EQ(stage.schedule[0].times, 2u);
  EXPECT_EQ(read->kernels[Loss].uses[1].input, "tokens");
  EXPECT_EQ(read->kernels[Loss].uses[1].type, DType::I32);
  EXPECT_TRUE(read->kernels[Update].uses[1].reads && read->kernels[Update].uses[1].writes);
  EXPECT_FALSE(read->kernels[Loss].uses[2].reads);

  Plan pipe = pipeline(3, 4, 2);
  pipe.layout.tensor = 2; // a cut: [4096] over two ranks
  Variable &cut = pipe.stages[1].variables[0];
  cut.cut = {Axis::Tensor, {4, 1024}, 4, 1024, 1};
  read = deserialize(serialize(pipe));
  ASSERT_TRUE(read.ok()) << read.status().message();
  const Variable &kept = read->stages[1].variables[0];
  EXPECT_EQ(kept.cut.axis, Axis::Tensor);
  EXPECT_EQ(kept.cut.logical, (std::vector<int64_t>{4, 1024}));
  EXPECT_EQ(kept.cut.outer, 4u);
  EXPECT_EQ(kept.cut.count, 1024u);
  EXPECT_EQ(kept.places, 2u);
  const Instruction &send = read->stages[1].programs[0].instructions[2];
  EXPECT_EQ(send.opcode, Opcode::Send);
  EXPECT_EQ(send.stage, 2u);
  EXPECT_EQ(send.channel, 7u);
}

TEST(RankRules, Layout) {
  expectRule("[layout]", twoRanks(), [](Plan &p) { p.layout.data = 0; });
  expectRule("[layout]", twoRanks(), [](Plan &p) { p.layout.data = 1 << 21; });
  expectRule("[layout] more than 2^20 ranks", twoRanks(),
             [](Plan &p) { p.layout.tensor = p.layout.data = 1 << 15; });
  expectRule("[layout] 1 stages, expected 2", twoRanks(), [](Plan &p) { p.layout.pipeline = 2; });
  expectRule("[layout] 4 ranks along tensor, among which nothing", twoRanks(),
             [](Plan &p) { p.layout.tensor = 4; });
  expectRule("[layout] ranks take", twoRanks(), [](Plan &p) { p.rowsInTurn = ~0ull; });
  expectRule("[schedule] a stage has no", twoRanks(), [](Plan &p) { p.stages[0].schedule = {}; });
}

TEST(RankRules, SharesAndPlaces) {
  expectRule("[variable]", twoRanks(),
             [](Plan &p) { p.stages[0].variables[1].share = Axis::None; });
  expectRule("[share] buffer 'squares'", twoRanks(), [](Plan &p) {
    train(p).buffers[7].share = Axis::Data;
    train(p).buffers[7].bytes = 8 * 1024;
    p.stages[0].arenaBytes += 8 * 1024;
  });
  expectRule("[share] instruction 7", twoRanks(),
             [](Plan &p) { train(p).instructions[7].axis = Axis::None; });
  expectRule("[places] variable 'w'", twoRanks(),
             [](Plan &p) { p.stages[0].variables[0].places = 2; });
  expectRule("[places] variable 'out'", pipeline(2, 2, 1),
             [](Plan &p) { p.stages[0].variables[0].places = 0; });
  expectRule("[share] variable 'out' cannot", pipeline(2, 2, 1),
             [](Plan &p) { p.stages[0].variables[0].share = Axis::Data; });
  expectRule("[share] instruction", twoRanks(), [](Plan &p) {
    train(p).instructions[7] = {Opcode::Copy, 0, {{1, 0}, {2, 0}}, "copy"};
  });
}

TEST(RankRules, CutsAndPieces) {
  expectRule("[cut] variable 'w' is not one of 2 parts", twoRanks(), [](Plan &p) {
    p.stages[0].variables[0].cut = {Axis::Data, {2048}, 1, 2048, 1};
  });
  expectRule("[cut]", twoRanks(), [](Plan &p) {
    p.stages[0].variables[0].cut = {Axis::Data, {4096}, uint64_t{1} << 63, 2, 1};
  });
  expectRule("[dealt] variable 'w' of shape [2048] is no part of the plan's", twoRanks(),
             [](Plan &p) {
               p.stages[0].variables[0].cut = {Axis::Data, {4096}, 1, 4096, 1};
             });
  expectRule("[dealt] variable 'other', a parameter, is not among", twoRanks(), [](Plan &p) {
    p.stages[0].variables[0].name = "other";
    for (Program &program : p.stages[0].programs)
      program.buffers[0].name = "other";
  });
  expectRule("[dealt] no stage has variable 'new'", twoRanks(), [](Plan &p) {
    p.variables.push_back({"new", Kind::Counter, DType::F64, {}});
    p.programs[0].buffers.push_back({"new", Kind::Counter, DType::F64, {}, p.arenaBytes, 8});
    p.arenaBytes += 64;
  });
}

TEST(RankRules, Collectives) {
  expectRule("[collective]", twoRanks(),
             [](Plan &p) { train(p).instructions[2].axis = Axis::None; });
  expectRule("where there is one rank", twoRanks(),
             [](Plan &p) { train(p).instructions[2].axis = Axis::Context; });
  expectRule("[collective]", twoRanks(), [](Plan &p) { train(p).instructions[2].block = 1; });
  expectRule("[collective]", twoRanks(), [](Plan &p) { train(p).instructions[3].block = 0; });
  expectRule("[collective]", twoRanks(), [](Plan &p) { train(p).instructions[3].block = ~0ull; });
  expectRule("each once", twoRanks(), [](Plan &p) {
    train(p).instructions[2].operands[1] = train(p).instructions[2].operands[0];
  });
  expectRule("found 'tokens'", twoRanks(),
             [](Plan &p) { train(p).instructions[2].operands[0].buffer = 3; });
}

TEST(RankRules, NothingIsReadUnwritten) {
  expectRule("[unwritten] instruction 3", twoRanks(), [](Plan &p) {
    p.stages[0].schedule = {{1, 1}};
  });
  expectRule("[unwritten] instruction 3", twoRanks(),
             [](Plan &p) { std::swap(p.stages[0].schedule[0], p.stages[0].schedule[1]); });
  // Parts of other ranks are needed before they are gathered.
  expectRule("[unwritten] instruction 5 of program 'train' (guard) reads activation 'squares', of "
             "which ranks have but shares along data",
             twoRanks(),
             [](Plan &p) { std::swap(train(p).instructions[5], train(p).instructions[6]); });
  expectRule("[unwritten] instruction 5", twoRanks(),
             [](Plan &p) { train(p).instructions[5].block = 2; });
  expectRule("[unwritten] output 'loss' of program 'train'", twoRanks(), [](Plan &p) {
    train(p).instructions[1] = train(p).instructions[0];
    train(p).instructions[2].operands.pop_back();
    train(p).instructions[6].operands[1] = train(p).instructions[6].operands[0];
  });
  expectRule("[type]", twoRanks(),
             [](Plan &p) { train(p).instructions[1].operands[1].buffer = 0; });
  expectRule("[input] instruction 1", twoRanks(),
             [](Plan &p) { train(p).instructions[1].operands[1].buffer = 4; });
  expectRule("[write] instruction 0", twoRanks(), [](Plan &p) {
    p.kernels[Count].uses[1] = {DType::I32, false, true};
    train(p).instructions[0].operands[1].buffer = 3;
  });
  expectRule("[kernel] kernel 'loss'", twoRanks(),
             [](Plan &p) { p.kernels[Loss].uses.pop_back(); });
}

TEST(RankRules, AllDecideAlike) {
  expectRule("[agree] instruction 6 of program 'train' (guard): the count that decides, 'tokens', "
             "can differ between ranks along data",
             twoRanks(), [](Plan &p) {
               std::vector<Operand> &sums = train(p).instructions[2].operands;
               sums.erase(sums.begin());
             });
  expectRule("the loss that decides", twoRanks(),
             [](Plan &p) { train(p).instructions[2].operands.pop_back(); });
  expectRule("[agree]", pipeline(2, 2, 1), [](Plan &p) {
    for (size_t stage = 0; stage < 2; ++stage)
      train(p, stage).instructions[1] = train(p, stage).instructions[0];
    train(p, 1).instructions[0].operands[0].offset = 0;
    train(p, 1).instructions[1].kernel = static_cast<uint32_t>(p.kernels.size());
    p.kernels.push_back(p.kernels[Count]);
    p.kernels.back().name = "other count";
  });
  // A counter that ranks move by different amounts.
  expectRule(
      "[agree] counter 'c' can differ between ranks along data after a step", twoRanks(),
      [](Plan &p) {
        uint64_t end = p.stages[0].arenaBytes;
        Variable counter{"c", Kind::Counter, DType::F64, {}};
        p.variables.push_back(counter);
        p.programs[0].buffers.push_back({"c", Kind::Counter, DType::F64, {}, p.arenaBytes, 8});
        p.arenaBytes += 64;
        p.stages[0].variables.push_back(counter);
        train(p).buffers.push_back({"c", Kind::Counter, DType::F64, {}, end, 8});
        p.stages[0].arenaBytes += 64;
        train(p).instructions.push_back(train(p).instructions[0]);
        train(p).instructions.back().operands[1].buffer = 8;
        for (Buffer &buffer : train(p).buffers)
          buffer.last = 11;
      });
}

TEST(RankRules, Messages) {
  auto at = [](Plan &p, size_t stage, size_t i) -> Instruction & {
    return p.stages[stage].programs[0].instructions[i];
  };
  expectRule("[message] instruction 1 of program 'forward', send, names stage 9 of 2",
             pipeline(2, 2, 1), [&](Plan &p) { at(p, 0, 1).stage = 9; });
  expectRule("goes to itself", pipeline(2, 2, 1), [&](Plan &p) { at(p, 0, 1).stage = 0; });
  expectRule("needs one whole buffer", pipeline(2, 2, 1),
             [&](Plan &p) { at(p, 0, 1).operands[0].offset = 64; });
  // Both sides are named.
  expectRule("[hang] all_reduce of 8 bytes, instruction 1 of program 'train' (all_reduce), "
             "micro-batch 0 waits for ever for stage 2, which is at receive of 8192 bytes, "
             "instruction 0 of program 'forward' (receive), micro-batch 0",
             pipeline(3, 2, 4), [&](Plan &p) { at(p, 1, 2).channel = 8; });
  expectRule("micro-batch 2 is not taken by stage 1 before the guard", pipeline(2, 3, 4),
             [](Plan &p) { p.stages[1].schedule[0].times = 2; });
  expectRule("micro-batch 1 is never received", pipeline(2, 2, 4), [](Plan &p) {
    for (size_t stage : {0, 1}) {
      train(p, stage).instructions.pop_back(); // neither guard nor sum
      train(p, stage).instructions.pop_back();
      for (Buffer &buffer : train(p, stage).buffers)
        buffer.last = 1;
    }
    p.stages[1].schedule[0].times = 1;
  });
  expectRule("[message] receive of 4096 bytes, instruction 0 of program 'forward' (receive), "
             "micro-batch 0 meets send of 8192 bytes",
             pipeline(2, 1, 1), [](Plan &p) {
               p.kernels.push_back(p.kernels[Fill]);
               p.kernels.back().name = "half";
               p.kernels.back().operands[0] = 4096;
               Role &stage = p.stages[1];
               stage.variables[1].shape = stage.programs[0].buffers[1].shape = {1024};
               stage.programs[0].buffers[1].bytes = 4096;
               stage.programs[0].instructions[1].kernel =
                   static_cast<uint32_t>(p.kernels.size() - 1);
             });
  expectRule("[hang] all_reduce of 8 bytes, instruction 1 of program 'train' (all_reduce), "
             "micro-batch 0 waits for ever for stage 1, which is at receive of 8192 bytes",
             pipeline(2, 3, 4), [](Plan &p) { p.stages[0].schedule[0].times = 2; });
  // Bytes under way.
  expectRule("[send] instruction 1 of program 'forward' (send) sends input", pipeline(2, 1, 1),
             [&](Plan &p) { at(p, 0, 1).operands[0].buffer = 2; });
  expectRule("[send] launch, instruction 0 of program 'train' (launch), micro-batch 0 writes 'out' "
             "while it may be under way: send of 8192 bytes",
             pipeline(2, 1, 1), [](Plan &p) {
               Program &last = train(p);
               last.instructions.insert(last.instructions.begin(),
                                        {Opcode::Launch, Fill, {{2, 0}, {0, 0}, {2, 0}}, "launch"});
               for (Buffer &buffer : last.buffers)
                 buffer.last = 4;
             });
  expectRule("[send] instruction 1 of program 'forward' (send) sends 'out' from 1 places",
             pipeline(2, 1, 2), [](Plan &p) {
               p.stages[0].variables[0].places = 1;
               for (size_t k : {0, 1})
                 p.stages[0].programs[k].buffers[k * 2].places = 1;
             });
}

TEST(RankRules, Orders) {
  expectRule("[order] all_reduce of 16 bytes, instruction 2 of program 'train' (all_reduce), "
             "micro-batch 0 meets all_reduce of 8 bytes, instruction 1 of program 'train' "
             "(all_reduce), micro-batch 0 of stage 0",
             pipeline(2, 1, 1), [](Plan &p) {
               Program &last = train(p, 1);
               last.buffers.push_back(
                   {"more", Kind::Activation, DType::F64, {}, p.stages[1].arenaBytes, 8});
               p.stages[1].arenaBytes += 64;
               last.instructions.insert(last.instructions.begin(), last.instructions[0]);
               last.instructions[0].operands[1].buffer = 3;
               last.instructions[2].operands.push_back({3, 0});
               for (Buffer &buffer : last.buffers)
                 buffer.last = 4;
             });
  // The last stage has the guard before it takes what was sent.
  expectRule("before the guard at which a step may end", pipeline(2, 1, 1),
             [](Plan &p) { std::swap(p.stages[1].schedule[0], p.stages[1].schedule[1]); });
}

TEST(RankRules, Stashes) {
  // A second program reads what the first kept of the same micro-batch.
  auto keep = [](uint32_t places, std::vector<Phase> schedule) {
    Plan p = pipeline(2, 1, places);
    Role &stage = p.stages[1];
    Program backward{"backward", {stage.programs[0].buffers[0]}, {}};
    backward.buffers[0].last = 1;
    backward.buffers.push_back(
        {"copy", Kind::Activation, DType::F32, {2048}, stage.arenaBytes, wide});
    stage.arenaBytes += wide;
    backward.instructions = {{Opcode::Copy, 0, {{0, 0}, {1, 0}}, "copy"}};
    stage.programs.push_back(backward);
    stage.schedule = std::move(schedule);
    p.stages[0].schedule[0].times = 4;
    return p;
  };
  Status status = verify(keep(2, {{0, 2}, {2, 1}, {0, 1}, {2, 1}, {0, 1}, {2, 2}, {1, 1}}));
  EXPECT_TRUE(status.ok()) << status.message();
  expectRule(
      "[stash] instruction 0 of program 'backward' (copy) of micro-batch 0 reads 'out', place "
      "0 of which has those of micro-batch 2",
      keep(2, {{0, 3}, {2, 1}, {0, 1}, {2, 3}, {1, 1}}), [](Plan &) {});
  expectRule("[unwritten]", keep(2, {{2, 1}, {0, 4}, {2, 3}, {1, 1}}), [](Plan &) {});
  expectRule(
      "[stash] instruction 0 of program 'backward' (copy) of micro-batch 1 reads 'out', place "
      "1 of which nothing wrote",
      keep(2, {{0, 1}, {2, 2}, {0, 3}, {2, 2}, {1, 1}}), [](Plan &) {});
}

TEST(RankRules, LongSchedulesAreWalkedOnce) {
  // 16 stages, 64 micro-batches; and far more than are ever run.
  EXPECT_TRUE(verify(pipeline(16, 64, 4)).ok());
  EXPECT_TRUE(verify(pipeline(16, 20000, 4)).ok());
  expectRule("more than 2^22", pipeline(2, uint64_t{1} << 31, 4), [](Plan &) {});
}
