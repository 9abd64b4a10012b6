//===- Interfaces.h - what passes ask of ops instead of their names --------===//
#ifndef DSC_INTERFACES_INTERFACES_H
#define DSC_INTERFACES_INTERFACES_H

#include "dsc/Interfaces/ShardingRule.h"
#include "dsc/Interfaces/Traits.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/ValueRange.h"

namespace dsc {
/// Bytes of all tensors among `values` (static shapes).
int64_t bytesOfValues(mlir::ValueRange values);
} // namespace dsc

#include "dsc/Interfaces/CostOpInterface.h.inc"
#include "dsc/Interfaces/DifferentiableOpInterface.h.inc"
#include "dsc/Interfaces/InPlaceOpInterface.h.inc"
#include "dsc/Interfaces/ShardableOpInterface.h.inc"

#endif // DSC_INTERFACES_INTERFACES_H
