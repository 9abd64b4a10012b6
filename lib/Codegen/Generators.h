//===- Generators.h - one function for each op that has kernels ------------===//
// Declared here, defined beside the generator, listed in Generators.cpp.
#ifndef DSC_LIB_CODEGEN_GENERATORS_H
#define DSC_LIB_CODEGEN_GENERATORS_H

#include "dsc/Codegen/KernelOpInterface.h"
#include <memory>

namespace dsc {

using GeneratorPointer = std::unique_ptr<KernelGenerator>;

// Matrix products.
GeneratorPointer createLinearGenerator();
GeneratorPointer createLinearInputGradGenerator();
GeneratorPointer createLinearWeightGradGenerator();
GeneratorPointer createBiasGradGenerator();

} // namespace dsc

#endif // DSC_LIB_CODEGEN_GENERATORS_H
