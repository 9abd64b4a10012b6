//===- Passes.h - factories, options and registration of every pass --------===//
#ifndef DSC_PASSES_PASSES_H
#define DSC_PASSES_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include <memory>

namespace dsc {

#define GEN_PASS_DECL
#include "dsc/Passes/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "dsc/Passes/Passes.h.inc"

} // namespace dsc

#endif // DSC_PASSES_PASSES_H
