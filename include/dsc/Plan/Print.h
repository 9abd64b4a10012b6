//===- Print.h - a plan as text --------------------------------------------===//
// For people and FileCheck: one fact a line, no addresses or dates, the same on every machine.
#ifndef DSC_PLAN_PRINT_H
#define DSC_PLAN_PRINT_H

#include "dsc/Plan/Plan.h"

namespace dsc::plan {

/// The names that printSection() knows, in the order in which dsc-dump prints them: manifest,
/// memory, variables, scalars, kernels, images, programs, debug.
const std::vector<std::string> &printableSections();

/// One section as text, empty for an unknown name. `manifest` is short; the JSON itself is
/// plan.manifest.
std::string printSection(const Plan &plan, std::string_view section);

/// Buffers and instructions of a program.
std::string printProgram(const Plan &plan, const Program &program);

} // namespace dsc::plan

#endif // DSC_PLAN_PRINT_H
