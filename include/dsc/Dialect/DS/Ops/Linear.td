//===- Linear.td - matrix products and their gradients ---------------------===//
#ifndef DSC_DIALECT_DS_LINEAR
#define DSC_DIALECT_DS_LINEAR

include "dsc/Dialect/DS/DSBase.td"

def DS_LinearOp : DS_ComputeOp<"linear", [AttrSizedOperandSegments, Differentiable, HasFlops]> {
  let summary = "Affine map of the last dimension";
  let description = [{
        pre[.., n]    = sum_k input[.., k] * weight[k, n] + bias[n]
        result[.., n] = activation(pre[.., n]) + residual[.., n]

    `weight` is [k, n] (the Conv1D layout of GPT-2) or, with `transpose_weight`, [n, k] (an embedding table
    used as output head). `activation`, `residual` and the second result (`pre`, kept for the backward) are
    filled in by `ds-fuse`; import creates none of them.

    Constraints:
    - L1: inner dimensions agree. L2: `bias` is [n]. L3: `residual` has the type of the result.
    - L4: `pre` is present only with an activation, and has the type of the result.
  }];
  let arguments = (ins DS_Tensor:$input, DS_Tensor:$weight, Optional<DS_Tensor>:$bias,
                       Optional<DS_Tensor>:$residual, UnitAttr:$transpose_weight,
                       DefaultValuedAttr<DS_Activation, "Activation::None">:$activation);
  let results = (outs DS_Tensor:$result, Optional<DS_Tensor>:$pre);
  let assemblyFormat = [{
    $input `,` $weight (`bias` $bias^)? (`residual` $residual^)? attr-dict
    `:` type($input) `,` type($weight) (`bias` type($bias)^)? (`residual` type($residual)^)?
    `->` type($result) (`pre` type($pre)^)?
  }];
}

def DS_LinearInputGradOp : DS_ComputeOp<"linear_input_grad", [AttrSizedOperandSegments, HasFlops]> {
  let summary = "Gradient of a linear op with respect to its input";
  let description = [{
        dinput[.., k] = (sum_n gradient[.., n] * weight[k, n]) * activation'(pre[.., k]) + residual[.., k]

    `pre` with `activation` (the activation whose output was the linear op's input) and `residual` are
    filled in by `ds-fuse`.
  }];
  let arguments = (ins DS_Tensor:$gradient, DS_Tensor:$weight, Optional<DS_Tensor>:$pre,
                       Optional<DS_Tensor>:$residual, UnitAttr:$transpose_weight,
                       DefaultValuedAttr<DS_Activation, "Activation::None">:$activation);
  let results = (outs DS_Tensor:$result);
  let assemblyFormat = [{
    $gradient `,` $weight (`pre` $pre^)? (`residual` $residual^)? attr-dict
    `:` type($gradient) `,` type($weight) (`pre` type($pre)^)? (`residual` type($residual)^)?
    `->` type($result)
  }];
}

def DS_LinearWeightGradOp : DS_ComputeOp<"linear_weight_grad", [HasFlops, Accumulates]> {
  let summary = "Gradient of a linear op with respect to its weight";
  let description = [{
        result[k, n] = init[k, n] + sum_rows input[row, k] * gradient[row, n]

    (or [n, k] with `transpose_weight`). `init`, if present, is what the sum is added to, in place.
  }];
  let arguments = (ins DS_Tensor:$input, DS_Tensor:$gradient, Optional<DS_Tensor>:$init,
                       UnitAttr:$transpose_weight);
  let results = (outs DS_Tensor:$result);
  let assemblyFormat = [{
    $input `,` $gradient (`init` $init^)? attr-dict
    `:` type($input) `,` type($gradient) (`init` type($init)^)? `->` type($result)
  }];
}

def DS_BiasGradOp : DS_ComputeOp<"bias_grad", [HasFlops, Accumulates]> {
  let summary = "Sum over all rows: the gradient of a bias";
  let description = [{
        result[n] = init[n] + sum_rows gradient[row, n]        rows in order
  }];
  let arguments = (ins DS_Tensor:$gradient, Optional<DS_Tensor>:$init);
  let results = (outs DS_Tensor:$result);
  let assemblyFormat = [{
    $gradient (`init` $init^)? attr-dict `:` type($gradient) (`init` type($init)^)? `->` type($result)
  }];
}

#endif // DSC_DIALECT_DS_LINEAR
