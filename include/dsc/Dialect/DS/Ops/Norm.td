//===- Norm.td - layer normalisation ---------------------------------------===//
#ifndef DSC_DIALECT_DS_NORM
#define DSC_DIALECT_DS_NORM

include "dsc/Dialect/DS/DSBase.td"

def DS_LayerNormOp : DS_ComputeOp<"layer_norm", [Differentiable, HasFlops]> {
  let summary = "Layer normalisation over the last dimension";
  let description = [{
        mean[i] = mean_j(input[i, j]),  rstd[i] = 1 / sqrt(mean_j((input[i, j] - mean[i])^2) + eps)
        result[i, j] = (input[i, j] - mean[i]) * rstd[i] * gain[j] + bias[j]

    The variance is the mean of squared differences, not a difference of means. Statistics are taken in f32
    whatever the element type. Rows are independent: leading dimensions shard freely, the last one costs
    two all-reduces of one f32 a row. Saved for backward: `input`, `gain`, `mean`, `rstd`.

    Created by `ds-import`; lowered by `ds-to-plan`.

    Example:

        %y, %mean, %rstd = ds.layer_norm %x, %gain, %bias {eps = 1.0e-5 : f64}
            : (tensor<2x8x16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<2x8x16xf32>, tensor<2x8xf32>, tensor<2x8xf32>)

    Constraints:
    - N1: `gain` and `bias` have one dimension, as long as the last of `input`.
    - N2: `eps` is positive.
    - N3: `mean` and `rstd` have the leading dimensions of `input`; `result` has its shape.
    - N4: element types as `ds.cast` says; `gain`, `bias`, `mean` and `rstd` are kept.
  }];
  let arguments = (ins DS_Tensor:$input, DS_Tensor:$gain, DS_Tensor:$bias, F64Attr:$eps);
  let results = (outs DS_Tensor:$result, DS_Tensor:$mean, DS_Tensor:$rstd);
}

def DS_LayerNormInputGradOp : DS_ComputeOp<"layer_norm_input_grad", [NotDifferentiable, HasFlops, MayOverwrite]> {
  let summary = "Gradient of a layer normalisation with respect to its input";
  let description = [{
        xhat = (input - mean) * rstd,  g = gradient * gain
        result = rstd * (g - mean_j(g) - xhat * mean_j(g * xhat)) + residual

    `residual`, the gradient that flows around the block, is filled in by `ds-fuse`. Rows are independent; the
    last dimension costs an all-reduce of two f32 a row.

    Created by `ds-differentiate`; lowered by `ds-to-plan`. A row of the result may be written over the same row of
    `gradient` once both means of the row are known.

    Example:

        %dx = ds.layer_norm_input_grad %dy, %x, %gain, %mean, %rstd
            : tensor<4x16xf32>, tensor<4x16xf32>, tensor<16xf32>, tensor<4xf32>, tensor<4xf32> -> tensor<4x16xf32>

    Constraints:
    - NI1: `gain` has one dimension, as long as the last of `input`.
    - NI2: `mean` and `rstd` have the leading dimensions of `input`.
    - NI3: `gradient`, `residual` and `result` have the shape of `input`.
    - NI4: element types as `ds.cast` says; `gain`, `mean` and `rstd` are kept.
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

def DS_LayerNormParameterGradOp : DS_ComputeOp<"layer_norm_parameter_grad", [NotDifferentiable, HasFlops]> {
  let summary = "Gradients of a layer normalisation with respect to gain and bias";
  let description = [{
        dgain[j] = sum_i gradient[i, j] * (input[i, j] - mean[i]) * rstd[i],  dbias[j] = sum_i gradient[i, j]

    Rows in order. The last dimension shards freely; a cut of the rows leaves partial sums.

    Created by `ds-differentiate`; lowered by `ds-to-plan`.

    Example:

        %dg, %db = ds.layer_norm_parameter_grad %dy, %x, %mean, %rstd
            : (tensor<4x16xf32>, tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<16xf32>, tensor<16xf32>)

    Constraints:
    - NP1: `gradient` has the shape of `input`.
    - NP2: `mean` and `rstd` have the leading dimensions of `input`.
    - NP3: `dgain` and `dbias` have one dimension, as long as the last of `input`.
    - NP4: element types as `ds.cast` says; `mean`, `rstd` and the results are kept.
  }];
  let arguments = (ins DS_Tensor:$gradient, DS_Tensor:$input, DS_Tensor:$mean, DS_Tensor:$rstd);
  let results = (outs DS_Tensor:$dgain, DS_Tensor:$dbias);
}

#endif // DSC_DIALECT_DS_NORM
