//===- TestPlan.h - a small real plan, made without the compiler -----------===//
#ifndef DSC_TEST_SUPPORT_TESTPLAN_H
#define DSC_TEST_SUPPORT_TESTPLAN_H

#include "dsc/Plan/Plan.h"

namespace dsc::test {

inline constexpr int64_t vocabulary = 8, batch = 3, length = 4;

/// The bigram model of kernels.c with programs train, evaluate and logits, one image for any
/// x86-64. Batches come from replay file tokens.npy beside the plan, with labels from labels.npy if
/// `labels`.
plan::Plan testPlan(bool labels = false);

/// Writes tokens.npy (int32 [steps, 3, 5], all ids below 8, the same on every call) and plan.bin to
/// `folder`, and, where `labels` are given (steps * 12 of them), labels.npy.
void writeTestPlan(const std::string &folder, int64_t steps, plan::Plan plan,
                   const std::vector<int32_t> &labels = {});

/// A fresh folder; removed at the end of the process.
std::string temporaryFolder();

} // namespace dsc::test

#endif // DSC_TEST_SUPPORT_TESTPLAN_H
