//===- PiecesTest.cpp - which bytes of a variable a rank has ---------------===//
#include "dsc/Runtime/Core/Pieces.h"
#include "gtest/gtest.h"

using namespace dsc;
using namespace dsc::plan;

static Variable parameter(std::vector<int64_t> shape) {
  Variable variable{"w", Kind::Parameter, DType::F32, std::move(shape)};
  return variable;
}

/// A plan with one variable: `whole` on one device, `parts[s]` on stage s.
static Plan planWith(Layout layout, const Variable &whole, std::vector<Variable> parts) {
  Plan plan;
  plan.layout = layout;
  plan.variables = {whole};
  for (Variable &part : parts) {
    plan.stages.emplace_back();
    plan.stages.back().variables = {std::move(part)};
  }
  return plan;
}

/// How often each element of the whole is some rank's, and how often one's that gives it back.
static void expectCovered(const Plan &plan, uint64_t elements, int copies) {
  std::vector<int> had(elements), given(elements);
  for (int64_t rank = 0; rank < plan.layout.ranks(); ++rank)
    for (const Piece &piece : piecesOf(plan, rank))
      for (uint64_t at = piece.wholeOffset / 4; at < (piece.wholeOffset + piece.bytes) / 4; ++at) {
        ++had.at(at);
        given.at(at) += piece.home;
      }
  EXPECT_EQ(had, std::vector<int>(elements, copies));
  EXPECT_EQ(given, std::vector<int>(elements, 1));
}

TEST(Pieces, EveryRankHasAReplicatedVariable) {
  Variable w = parameter({7, 3});
  expectCovered(planWith({.data = 2, .tensor = 2}, w, {w}), 21, 4);
}

TEST(Pieces, SharesAreDisjoint) {
  Variable w = parameter({50, 100}), shared = w;
  shared.share = Axis::Data;
  expectCovered(planWith({.data = 3}, w, {shared}), 5000, 1);
  expectCovered(planWith({.data = 3, .tensor = 2}, w, {shared}), 5000, 2);
}

TEST(Pieces, ATiedVariableComesBackFromItsFirstStage) {
  Variable w = parameter({5});
  expectCovered(planWith({.pipeline = 2}, w, {w, w}), 5, 2);
}

// 10 columns over 4 ranks: 3, 3, 3 and 1, the last part with two columns of padding.
TEST(Pieces, UnevenCutsLoseNothing) {
  Variable w = parameter({6, 10}), part = parameter({6, 3});
  part.cut = {Axis::Tensor, {6, 10}, 6, 10, 1};
  expectCovered(planWith({.tensor = 4}, w, {part}), 60, 1);
}

// Heads of each third: [2 rows x 3, 4 heads, 5].
TEST(Pieces, HeadsOfQueriesKeysAndValues) {
  Variable w = parameter({2, 60}), part = parameter({2, 30});
  part.cut = {Axis::Tensor, {2, 60}, 6, 4, 5};
  Plan plan = planWith({.tensor = 2}, w, {part});
  expectCovered(plan, 120, 1);
  std::vector<Piece> pieces = piecesOf(plan, 1);
  ASSERT_EQ(pieces.size(), 6u);
  EXPECT_EQ(pieces[1].wholeOffset, 30u * 4); // second half of the keys of row 0
  EXPECT_EQ(pieces[1].partOffset, 10u * 4);
  EXPECT_EQ(pieces[1].bytes, 10u * 4);
}

// Optimizer state of a cut variable, shared out over the data axis.
TEST(Pieces, SharesOfCuts) {
  Variable w = parameter({90, 70}), part = parameter({90, 24});
  part.cut = {Axis::Tensor, {90, 70}, 90, 70, 1};
  part.share = Axis::Data;
  expectCovered(planWith({.data = 2, .tensor = 3}, w, {part}), 6300, 1);
}
