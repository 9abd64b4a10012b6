//===- Features.h - what this CPU can do -----------------------------------===//
// Feature bits of CPUID, and whether the system saves the registers they need (XGETBV). Never the
// CPU's name.
#ifndef DSC_RUNTIME_CPU_FEATURES_H
#define DSC_RUNTIME_CPU_FEATURES_H

#include "dsc/Plan/Plan.h"
#include "dsc/Support/Status.h"
#include <set>
#include <string>

namespace dsc {

/// Names as in /proc/cpuinfo: sse4_2, avx2, fma, avx512f, amx_tile, ...
std::set<std::string> cpuFeatures();

/// Index of the image to run: `forced` by name, or the one with the most features of those that
/// `have` covers, the later of equals. Errors name every feature that is missing (Damaged), or an
/// instruction set that the plan does not have (Usage).
StatusOr<size_t> chooseImage(const std::vector<plan::KernelImage> &images,
                             const std::set<std::string> &have, const std::string &forced = "");

} // namespace dsc

#endif // DSC_RUNTIME_CPU_FEATURES_H
