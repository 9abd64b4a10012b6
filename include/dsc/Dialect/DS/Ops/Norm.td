//===- Norm.td - layer normalisation ---------------------------------------===//
#ifndef DSC_DIALECT_DS_NORM
#define DSC_DIALECT_DS_NORM

include "dsc/Dialect/DS/DSBase.td"

def DS_LayerNormOp : DS_ComputeOp<"layer_norm", [Differentiable, HasFlops]> {
  let summary = "Layer normalisation over the last dimension";
  let description = [{
        mean[i] = mean_j(input[i, j]),  rstd[i] = 1 / sqrt(mean_j((input[i, j] - mean[i])^2) + eps)
        result[i, j] = (input[i, j] - mean[i]) * rstd[i] * gain[j] + bias[j]

    The variance is the mean of squared differences, not a difference of means. Rows are independent.
    Saved for backward: `input`, `mean`, `rstd`.

    Constraints:
    - N1: `gain` and `bias` have one dimension, as long as the last of `input`.
    - N2: `eps` is positive. N3: `mean` and `rstd` have the leading dimensions of `input`.
  }];
  let arguments = (ins DS_Tensor:$input, DS_Tensor:$gain, DS_Tensor:$bias, F64Attr:$eps);
  let results = (outs DS_Tensor:$result, DS_Tensor:$mean, DS_Tensor:$rstd);
}

def DS_LayerNormInputGradOp : DS_ComputeOp<"layer_norm_input_grad", [HasFlops, MayOverwrite]> {
  let summary = "Gradient of a layer normalisation with respect to its input";
  let description = [{
        xhat = (input - mean) * rstd,  g = gradient * gain
        result = rstd * (g - mean_j(g) - xhat * mean_j(g * xhat)) + residual

    `residual`, the gradient that flows around the block, is filled in by `ds-fuse`.
  }];
  let arguments = (ins DS_Tensor:$gradient, DS_Tensor:$input, DS_Tensor:$gain, DS_Tensor:$mean,
                       DS_Tensor:$rstd, Optional<DS_Tensor>:$residual);
  let results = (outs DS_Tensor:$result);
  let assemblyFormat = [{
    $gradient `,` $input `,` $gain `,` $mean `,` $rstd (`residual` $residual^)? attr-dict
    `:` type($gradient) `,` type($input) `,` type($gain) `,` type($mean) `,` type($rstd)
    (`residual` type($residual)^)? `->` type($result)
  }];
}

def DS_LayerNormParameterGradOp : DS_ComputeOp<"layer_norm_parameter_grad", [HasFlops]> {
  let summary = "Gradients of a layer normalisation with respect to gain and bias";
  let description = [{
        dgain[j] = sum_i gradient[i, j] * (input[i, j] - mean[i]) * rstd[i],  dbias[j] = sum_i gradient[i, j]

    rows in order.
  }];
  let arguments = (ins DS_Tensor:$gradient, DS_Tensor:$input, DS_Tensor:$mean, DS_Tensor:$rstd);
  let results = (outs DS_Tensor:$dgain, DS_Tensor:$dbias);
}

#endif // DSC_DIALECT_DS_NORM
