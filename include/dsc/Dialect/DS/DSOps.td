//===- DSOps.td - every op family of the ds dialect ------------------------===//
#ifndef DSC_DIALECT_DS_OPS
#define DSC_DIALECT_DS_OPS

include "dsc/Dialect/DS/Ops/Structure.td"
include "dsc/Dialect/DS/Ops/Elementwise.td"
include "dsc/Dialect/DS/Ops/Linear.td"
include "dsc/Dialect/DS/Ops/Norm.td"
include "dsc/Dialect/DS/Ops/Attention.td"
include "dsc/Dialect/DS/Ops/Dropout.td"
include "dsc/Dialect/DS/Ops/Embedding.td"
include "dsc/Dialect/DS/Ops/Loss.td"
include "dsc/Dialect/DS/Ops/Scalar.td"
include "dsc/Dialect/DS/Ops/Optimizer.td"
include "dsc/Dialect/DS/Ops/Communication.td"
include "dsc/Dialect/DS/Ops/Parts.td"

#endif // DSC_DIALECT_DS_OPS
