//===- Scalar.td - norms, clipping, schedules, counters --------------------===//
#ifndef DSC_DIALECT_DS_SCALAR
#define DSC_DIALECT_DS_SCALAR

include "dsc/Dialect/DS/DSBase.td"

def DS_SquareSumOp : DS_ComputeOp<"square_sum", [HasFlops]> {
  let summary = "Sums of squares of a variable's gradient, one for each block of 1,024 elements";
  let description = [{
        result[i] = sum_{1024 i <= e < min(1024 (i + 1), elements)} input[e]^2        in f64

    Blocks are cut from the logical variable, row-major, so shards that are cut at block boundaries and any
    number of threads repeat the sums to the bit. `ds.global_norm` adds the blocks up.

    Constraints:
    - Q1: `result` is tensor<Nxf64> with N = ceil(elements of `input` / 1024).
  }];
  let arguments = (ins DS_Tensor:$input);
  let results = (outs DS_Tensor:$result);
}

def DS_GlobalNormOp : DS_ComputeOp<"global_norm", [HasFlops]> {
  let summary = "Square root of the sum of all square sums";
  let description = [{
    Each operand is the result of a `ds.square_sum`. Its blocks are added by a fixed binary tree (level by
    level, entry 2 i with entry 2 i + 1, a last odd entry passing unchanged), then the operands in order.
    Operands come sorted by the name of their variable.

    Constraints:
    - Q2: operands are one-dimensional f64 tensors.
  }];
  let arguments = (ins Variadic<DS_Tensor>:$squareSums);
  let results = (outs DS_Scalar:$result);
}

def DS_ClipFactorOp : DS_ComputeOp<"clip_factor"> {
  let summary = "min(1, limit / norm); 1 if the limit or the norm is 0";
  let arguments = (ins DS_Scalar:$norm, DS_Scalar:$limit);
  let results = (outs DS_Scalar:$result);
}

def DS_LearningRateOp : DS_ComputeOp<"learning_rate"> {
  let summary = "Learning rate of an update";
  let description = [{
    With t applied updates so far, W = `warmup`, T = `total`:

        t < W:  peak * (t + 1) / W
        constant: peak;  t >= T: floor
        cosine: floor + (peak - floor) * (1 + cos(pi (t - W) / (T - W))) / 2
        linear: floor + (peak - floor) * (1 - (t - W) / (T - W))
  }];
  let arguments = (ins DS_Scalar:$updates, DS_Scalar:$peak, DS_Scalar:$floor, DS_Scalar:$warmup,
                       DS_Scalar:$total, DS_Schedule:$schedule);
  let results = (outs DS_Scalar:$result);
}

def DS_IncrementOp : DS_ComputeOp<"increment", [MayOverwrite]> {
  let summary = "A counter's next value";
  let arguments = (ins DS_Scalar:$input);
  let results = (outs DS_Scalar:$result);
}

#endif // DSC_DIALECT_DS_SCALAR
