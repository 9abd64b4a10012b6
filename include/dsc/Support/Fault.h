//===- Fault.h - seeded faults, which the tests must notice ----------------===//
// A build configured with -DDSC_FAULTS=ON holds every fault that test/Faults/faults.txt names by
// number; DSC_FAULT=NUMBER in the environment chooses one of them. Any other build holds none of
// them and reads no variable. scripts/mutants.sh shows which test notices which fault.
#ifndef DSC_SUPPORT_FAULT_H
#define DSC_SUPPORT_FAULT_H

#include "dsc/Support/FaultConfig.h" // written by CMake

#if DSC_FAULTS
namespace dsc {
/// Whether this is the fault that the environment chose.
bool isFault(int number);
} // namespace dsc
#define DSC_FAULT(number, right, wrong) (::dsc::isFault(number) ? (wrong) : (right))
#else
#define DSC_FAULT(number, right, wrong) (right)
#endif

#endif // DSC_SUPPORT_FAULT_H
