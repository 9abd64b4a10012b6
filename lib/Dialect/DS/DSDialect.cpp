//===- DSDialect.cpp - registration of the ds dialect ----------------------===//
#include "dsc/Dialect/DS/DS.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace dsc::ds;

#include "dsc/Dialect/DS/DSDialect.cpp.inc"
#include "dsc/Dialect/DS/DSEnums.cpp.inc"

void DSDialect::initialize() {
#define GET_OP_LIST
  addOperations<
#include "dsc/Dialect/DS/Ops/Attention.cpp.inc"
      ,
#define GET_OP_LIST
#include "dsc/Dialect/DS/Ops/Communication.cpp.inc"
      ,
#define GET_OP_LIST
#include "dsc/Dialect/DS/Ops/Dropout.cpp.inc"
      ,
#define GET_OP_LIST
#include "dsc/Dialect/DS/Ops/Elementwise.cpp.inc"
      ,
#define GET_OP_LIST
#include "dsc/Dialect/DS/Ops/Embedding.cpp.inc"
      ,
#define GET_OP_LIST
#include "dsc/Dialect/DS/Ops/Linear.cpp.inc"
      ,
#define GET_OP_LIST
#include "dsc/Dialect/DS/Ops/Loss.cpp.inc"
      ,
#define GET_OP_LIST
#include "dsc/Dialect/DS/Ops/Norm.cpp.inc"
      ,
#define GET_OP_LIST
#include "dsc/Dialect/DS/Ops/Parts.cpp.inc"
      ,
#define GET_OP_LIST
#include "dsc/Dialect/DS/Ops/Optimizer.cpp.inc"
      ,
#define GET_OP_LIST
#include "dsc/Dialect/DS/Ops/Scalar.cpp.inc"
      ,
#define GET_OP_LIST
#include "dsc/Dialect/DS/Ops/Structure.cpp.inc"
      >();
}
