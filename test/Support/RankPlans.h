//===- RankPlans.h - small plans of many ranks, made by hand ----------------===//
// For the verifier: they are never run, their kernels are rows of a table.
#ifndef DSC_TEST_SUPPORT_RANKPLANS_H
#define DSC_TEST_SUPPORT_RANKPLANS_H

#include "dsc/Plan/Plan.h"

namespace dsc::test {

constexpr uint64_t wide = 2048 * 4; ///< bytes of [2048] f32: two blocks of a share

/// Kernels of the plans below.
enum : uint32_t { Count, Loss, Grow, Square, Fill, Update, Double };

/// Two data-parallel ranks with ZeRO-1: gradients are summed into shares, each rank updates its
/// own and all gather the weights.
plan::Plan twoRanks();

/// A pipeline of so many stages and micro-batches, one forward program a stage: stage s has
/// activations in `places` places, sends them on and, last, all decide by a loss summed up.
plan::Plan pipeline(uint32_t stages, uint64_t batches, uint32_t places);

} // namespace dsc::test

#endif // DSC_TEST_SUPPORT_RANKPLANS_H
