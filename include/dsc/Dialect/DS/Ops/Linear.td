//===- Linear.td - matrix products and their gradients ---------------------===//
#ifndef DSC_DIALECT_DS_LINEAR
#define DSC_DIALECT_DS_LINEAR

include "dsc/Dialect/DS/DSBase.td"

def DS_LinearOp : DS_ComputeOp<"linear", [AttrSizedOperandSegments, Differentiable, HasFlops, CutsLoops]> {
  let summary = "Affine map of the last dimension";
  let description = [{
        pre[.., n]    = sum_k input[.., k] * weight[k, n] + bias[n]
        result[.., n] = activation(pre[.., n]) + residual[.., n]

    `weight` is [k, n] (the Conv1D layout of GPT-2) or, with `transpose_weight`, [n, k] (an embedding table
    used as output head). `activation`, `residual` and the second result (`pre`, kept for the backward) are
    filled in by `ds-fuse`; import creates none of them.

    The sum over k runs in a fixed order that depends on k (and on whether the result is stored in two bytes) alone;
    products and sums are fused multiply-adds in f32 where the target has them. Leading dimensions and n shard freely; a cut of k leaves partial sums (and
    `bias`, `residual` and `activation` then follow the all-reduce). Saved for backward: `input`, `weight`.

    Created by `ds-import` and by head tiling; lowered by `ds-to-plan`.

    Example:

        %y = ds.linear %x, %w bias %b : tensor<2x8x16xf32>, tensor<16x48xf32> bias tensor<48xf32> -> tensor<2x8x48xf32>

    Constraints:
    - L1: the last dimension of `input` is the inner dimension of the rank-2 `weight`.
    - L2: `bias` is [n].
    - L3: `result` has the leading dimensions of `input` and n last; `residual` has its shape.
    - L4: `pre` is present only with an activation, and has the shape of the result.
    - L5: element types as `ds.cast` says; `bias` is kept.
    - L6: `ds-fuse` runs after differentiation: with `activation` or `residual` the op has no derivative.
  }];
  let arguments = (ins DS_Tensor:$input, DS_Tensor:$weight, Optional<DS_Tensor>:$bias,
                       Optional<DS_Tensor>:$residual, UnitAttr:$transpose_weight,
                       DefaultValuedAttr<DS_Activation, "Activation::None">:$activation);
  let results = (outs DS_Tensor:$result, Optional<DS_Tensor>:$pre);
  let assemblyFormat = [{
    $input `,` $weight (`bias` $bias^)? (`activation` $activation^)? (`residual` $residual^)? attr-dict
    `:` type($input) `,` type($weight) (`bias` type($bias)^)? (`residual` type($residual)^)?
    `->` type($result) (`pre` type($pre)^)?
  }];
}

def DS_LinearInputGradOp : DS_ComputeOp<"linear_input_grad", [AttrSizedOperandSegments, NotDifferentiable, HasFlops]> {
  let summary = "Gradient of a linear op with respect to its input";
  let description = [{
        result[.., k] = (sum_n gradient[.., n] * weight[k, n]) * activation'(pre[.., k]) + residual[.., k]

    `weight` is laid out as in the linear op: [k, n], or [n, k] with `transpose_weight`. `pre` with `activation`
    (the activation whose output was the linear op's input) and `residual` are filled in by `ds-fuse`.
    Summation as in `ds.linear`. Leading dimensions and k shard freely; a cut of n leaves partial sums.

    Created by `ds-differentiate` and by head tiling; lowered by `ds-to-plan`.

    Example:

        %dx = ds.linear_input_grad %dy, %w : tensor<2x8x48xf32>, tensor<16x48xf32> -> tensor<2x8x16xf32>

    Constraints:
    - LI1: the last dimension of `gradient` is the outer dimension of the rank-2 `weight`.
    - LI2: `result` has the leading dimensions of `gradient` and k last; `pre` and `residual` have its shape.
    - LI3: `pre` and `activation` come together.
    - LI4: element types as `ds.cast` says.
  }];
  let arguments = (ins DS_Tensor:$gradient, DS_Tensor:$weight, Optional<DS_Tensor>:$pre,
                       Optional<DS_Tensor>:$residual, UnitAttr:$transpose_weight,
                       DefaultValuedAttr<DS_Activation, "Activation::None">:$activation);
  let results = (outs DS_Tensor:$result);
  let assemblyFormat = [{
    $gradient `,` $weight (`activation` $activation `at` $pre^)? (`residual` $residual^)? attr-dict
    `:` type($gradient) `,` type($weight) (`pre` type($pre)^)? (`residual` type($residual)^)?
    `->` type($result)
  }];
}

def DS_LinearWeightGradOp : DS_ComputeOp<"linear_weight_grad", [NotDifferentiable, HasFlops, Accumulates]> {
  let summary = "Gradient of a linear op with respect to its weight";
  let description = [{
        result[k, n] = init[k, n] + sum_rows input[row, k] * gradient[row, n]

    (or [n, k] with `transpose_weight`). Leading dimensions are rows, summed in order. `init`, if present, is what
    the sum is added to, in place. k and n shard freely; a cut of the rows (data parallelism) leaves partial sums.

    Created by `ds-differentiate` and by head tiling, which chains tiles through `init`; lowered by `ds-to-plan`.

    Example:

        %dw = ds.linear_weight_grad %x, %dy : tensor<2x8x16xf32>, tensor<2x8x48xf32> -> tensor<16x48xf32>

    Constraints:
    - LW1: `input` and `gradient` have the same leading dimensions.
    - LW2: `result` is [k, n], or [n, k] with `transpose_weight`.
    - LW3: `init` has the shape of `result`; element types as `ds.cast` says, `result` and `init` are kept.
  }];
  let arguments = (ins DS_Tensor:$input, DS_Tensor:$gradient, Optional<DS_Tensor>:$init,
                       UnitAttr:$transpose_weight);
  let results = (outs DS_Tensor:$result);
  let assemblyFormat = [{
    $input `,` $gradient (`init` $init^)? attr-dict
    `:` type($input) `,` type($gradient) (`init` type($init)^)? `->` type($result)
  }];
}

def DS_BiasGradOp : DS_ComputeOp<"bias_grad", [NotDifferentiable, HasFlops, Accumulates]> {
  let summary = "Sum over all rows: the gradient of a bias";
  let description = [{
        result[n] = init[n] + sum_rows gradient[row, n]        rows in order

    Leading dimensions are rows. n shards freely; a cut of the rows leaves partial sums.

    Created by `ds-differentiate`; lowered by `ds-to-plan`.

    Example:

        %db = ds.bias_grad %dy : tensor<2x8x48xf32> -> tensor<48xf32>

    Constraints:
    - LB1: `result` is [n], n the last dimension of `gradient`.
    - LB2: `init` has the shape of `result`; element types as `ds.cast` says, `result` and `init` are kept.
  }];
  let arguments = (ins DS_Tensor:$gradient, Optional<DS_Tensor>:$init);
  let results = (outs DS_Tensor:$result);
  let assemblyFormat = [{
    $gradient (`init` $init^)? attr-dict `:` type($gradient) (`init` type($init)^)? `->` type($result)
  }];
}

#endif // DSC_DIALECT_DS_LINEAR
