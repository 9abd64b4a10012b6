//===- GradientCheck.h - an op's own backward against central differences --===//
// For f(x) = sum_i c[i] * result0[i](x) with random c, the backward that the op builds is
// interpreted and compared with the five-point central difference
//
//     f'(x) = (8 (f(x + h) - f(x - h)) - (f(x + 2 h) - f(x - 2 h))) / (12 h)        error O(h^4)
//
// which at h = 1e-3 leaves about 1e-10 of smooth functions with values near 1.
#ifndef DSC_REFERENCE_GRADIENTCHECK_H
#define DSC_REFERENCE_GRADIENTCHECK_H

#include "dsc/Reference/Tensor.h"
#include "mlir/IR/Operation.h"
#include "mlir/Support/LLVM.h"

namespace dsc::reference {

/// The element of an operand where the two gradients differ most.
struct GradientError {
  unsigned operand = 0;
  int64_t element = 0;
  double built = 0, numeric = 0;
  /// |built - numeric| over the larger of both, or over 1e-3 of the operand's greatest gradient
  /// where both are smaller than that.
  double relative = 0;
  /// Elements compared.
  int64_t compared = 0;
};

struct GradientCheckOptions {
  uint64_t seed = 1;
  /// Elements compared an operand, spread evenly; the first and last are among them.
  int64_t elements = 64;
  double step = 1e-3;
};

/// Checks the backward of `op` (a DifferentiableOpInterface) at `operands`, one tensor an operand;
/// kinks must be more than two steps away. Fails with a diagnostic if the op builds no backward,
/// reads a forward value that it did not name in savedValues(), leaves a floating operand without a
/// gradient, or gives one of another shape. `op` is cloned, never changed.
mlir::FailureOr<GradientError> checkGradient(mlir::Operation *op, std::vector<Tensor> operands,
                                             const GradientCheckOptions &options = {});

} // namespace dsc::reference

#endif // DSC_REFERENCE_GRADIENTCHECK_H
