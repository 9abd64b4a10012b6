//===- Interfaces.cpp ------------------------------------------------------===//
#include "dsc/Interfaces/Interfaces.h"
#include "mlir/IR/BuiltinTypes.h"

int64_t dsc::bytesOfValues(mlir::ValueRange values) {
  int64_t bytes = 0;
  for (mlir::Value value : values)
    if (auto type = mlir::dyn_cast<mlir::RankedTensorType>(value.getType()))
      bytes += type.getNumElements() * ((type.getElementTypeBitWidth() + 7) / 8);
  return bytes;
}

#include "dsc/Interfaces/CostOpInterface.cpp.inc"
#include "dsc/Interfaces/DifferentiableOpInterface.cpp.inc"
#include "dsc/Interfaces/InPlaceOpInterface.cpp.inc"
#include "dsc/Interfaces/ShardableOpInterface.cpp.inc"
