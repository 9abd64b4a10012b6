//===- DigestDiff.h - where two digests part -------------------------------===//
#ifndef DSC_TOOLS_DSC_DUMP_DIGESTDIFF_H
#define DSC_TOOLS_DSC_DUMP_DIGESTDIFF_H

#include "dsc/Support/Status.h"
#include <string>

namespace dsc {

/// Compares two files that `dsrun --digest=FILE` wrote, and describes the first step and tensor
/// that differ; empty when they are equal. Error (Input) for what is no digest.
StatusOr<std::string> firstDifference(const std::string &pathA, const std::string &pathB);

} // namespace dsc

#endif // DSC_TOOLS_DSC_DUMP_DIGESTDIFF_H
