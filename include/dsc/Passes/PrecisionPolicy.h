//===- PrecisionPolicy.h - what is stored in two bytes, op by op -----------===//
// The table that ds-mixed-precision follows; one row an op, in lib/Passes/Precision/Policy.cpp.
// An op computes in f32 whatever it reads: the table says where its operands and results are kept.
#ifndef DSC_PASSES_PRECISIONPOLICY_H
#define DSC_PASSES_PRECISIONPOLICY_H

#include "mlir/IR/Operation.h"

namespace dsc {

/// How one tensor of an op is stored under mixed precision.
enum class Storage : char {
  Half = 'h',     ///< f16 or bf16
  Wide = 'w',     ///< f32: statistics, losses, gradients of parameters, state
  Wanted = 'r',   ///< a result: f32 if its readers all want that, else two bytes
  Together = 't', ///< all such tensors of the op alike: two bytes if an operand has two
  Other = '.'     ///< ids, f64 scalars: left alone
};

/// The row of an op: a letter an operand, a letter a result. The last letter stands for all further
/// ones.
struct PrecisionPolicy {
  llvm::StringRef op, operands, results;
};

/// The row of an op name ("ds.linear"), or null.
const PrecisionPolicy *findPrecisionPolicy(llvm::StringRef opName);

/// Letters of one operand or result of an op that has a row; optional operands that are absent are
/// passed over.
Storage storageOf(mlir::OpOperand &operand);
Storage storageOf(mlir::OpResult result);

} // namespace dsc

#endif // DSC_PASSES_PRECISIONPOLICY_H
