//===- Scalar.td - norms, clipping, schedules, counters --------------------===//
#ifndef DSC_DIALECT_DS_SCALAR
#define DSC_DIALECT_DS_SCALAR

include "dsc/Dialect/DS/DSBase.td"

def DS_SquareSumOp : DS_ComputeOp<"square_sum", [HasFlops]> {
  let summary = "Sum of squares of a variable's gradient";
  let description = [{
    Over fixed blocks of 1,024 elements of the logical variable, each summed in f64, then a fixed binary
    tree over the blocks: shards that are cut at block boundaries repeat it to the bit.
  }];
  let arguments = (ins DS_Tensor:$input);
  let results = (outs DS_Scalar:$result);
}

def DS_GlobalNormOp : DS_ComputeOp<"global_norm", [HasFlops]> {
  let summary = "Square root of a sum of square sums, added in operand order";
  let description = [{ Operands come sorted by the name of their variable. }];
  let arguments = (ins Variadic<DS_Scalar>:$squareSums);
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
