//===- Attention.td - scaled dot-product attention -------------------------===//
#ifndef DSC_DIALECT_DS_ATTENTION
#define DSC_DIALECT_DS_ATTENTION

include "dsc/Dialect/DS/DSBase.td"

def DS_AttentionOp : DS_ComputeOp<"attention", [Differentiable, HasFlops]> {
  let summary = "Causal multi-head attention from packed queries, keys and values";
  let description = [{
    `qkv` is [b, t, 3 d]: queries, keys, values side by side, each [heads, d / heads]. For each sample and head

        s[i, j] = scale * sum_c q[i, c] * k[j, c]           j <= i
        lse[i] = log sum_{j <= i} exp(s[i, j]),  result[i, c] = sum_{j <= i} exp(s[i, j] - lse[i]) * v[j, c]

    Masked pairs are never computed and the score matrix never stored whole; no mask constant exists. Maxima,
    sums and `lse` ([b, heads, t]) are f32. Samples and heads shard freely; t needs a method of its own.
    Saved for backward: `qkv`, `key`, `result`, `lse`.

    With a `dropout` p above 0 each probability is multiplied by a mask, m[h, i, j] = word(e) >= p 2^32 ? 1 / (1 - p) : 0,
    drawn by `key` (`ds.random_key`) with e = (h t + i) t4 + j, t4 being t rounded up to a multiple of 4, so that
    a row starts with a new counter. `lse` is that of all probabilities. The mask is never stored: forward and backward
    draw the same.

    Created by `ds-import`; lowered by `ds-to-plan`.

    Example:

        %y, %lse = ds.attention %qkv {heads = 4 : i64, scale = 0.5 : f64}
            : (tensor<2x8x48xf32>) -> (tensor<2x8x16xf32>, tensor<2x4x8xf32>)

    Constraints:
    - A1: `qkv` is [b, t, 3 d] and `heads` is positive and divides d.
    - A2: `result` is [b, t, d] and `lse` is [b, heads, t].
    - A3: `scale` is positive.
    - A4: element types as `ds.cast` says; `lse` is kept.
    - A6: 0 <= `dropout` <= 1; `key` is there exactly if it is above 0, and is tensor<5xf64>.
  }];
  let arguments = (ins DS_Tensor:$qkv, Optional<DS_Tensor>:$key, I64Attr:$heads, F64Attr:$scale,
                       DefaultValuedAttr<F64Attr, "0.0">:$dropout);
  let results = (outs DS_Tensor:$result, DS_Tensor:$lse);
}

def DS_AttentionGradOp : DS_ComputeOp<"attention_grad", [NotDifferentiable, HasFlops]> {
  let summary = "Gradient of attention with respect to queries, keys and values";
  let description = [{
        p[i, j] = exp(s[i, j] - lse[i]),  delta[i] = sum_c gradient[i, c] * output[i, c]
        dv[j, c] = sum_i m[i, j] p[i, j] gradient[i, c]
        ds[i, j] = p[i, j] (m[i, j] sum_c gradient[i, c] v[j, c] - delta[i])
        dq[i, c] = scale sum_j ds[i, j] k[j, c],  dk[j, c] = scale sum_i ds[i, j] q[i, c]

    packed as `qkv` is, with j <= i throughout; m is the mask of dropout, 1 without. `output` and `lse` are results of the forward op: probabilities are
    computed again block by block. Samples and heads shard freely.

    Created by `ds-differentiate`; lowered by `ds-to-plan`.

    Example:

        %dqkv = ds.attention_grad %dy, %qkv, %y, %lse {heads = 4 : i64, scale = 0.5 : f64}
            : (tensor<2x8x16xf32>, tensor<2x8x48xf32>, tensor<2x8x16xf32>, tensor<2x4x8xf32>) -> tensor<2x8x48xf32>

    Constraints:
    - A1: `qkv` is [b, t, 3 d] and `heads` is positive and divides d.
    - A2: `gradient` and `output` are [b, t, d] and `lse` is [b, heads, t].
    - A3: `scale` is positive.
    - A4: element types as `ds.cast` says; `lse` is kept.
    - A5: `result` has the type of `qkv`.
    - A6: 0 <= `dropout` <= 1; `key` is there exactly if it is above 0, and is tensor<5xf64>.
  }];
  let arguments = (ins DS_Tensor:$gradient, DS_Tensor:$qkv, DS_Tensor:$output, DS_Tensor:$lse,
                       Optional<DS_Tensor>:$key, I64Attr:$heads, F64Attr:$scale,
                       DefaultValuedAttr<F64Attr, "0.0">:$dropout);
  let results = (outs DS_Tensor:$result);
}

#endif // DSC_DIALECT_DS_ATTENTION
