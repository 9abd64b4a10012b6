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

    Masked pairs are never computed and the score matrix never stored whole. `lse` is [b, heads, t].
    Saved for backward: `qkv`, `result`, `lse`.

    Constraints:
    - A1: `qkv` is [b, t, 3 d] and `heads` divides d. A2: `result` is [b, t, d]. A3: `scale` is positive.
  }];
  let arguments = (ins DS_Tensor:$qkv, I64Attr:$heads, F64Attr:$scale);
  let results = (outs DS_Tensor:$result, DS_Tensor:$lse);
}

def DS_AttentionGradOp : DS_ComputeOp<"attention_grad", [HasFlops]> {
  let summary = "Gradient of attention with respect to queries, keys and values";
  let description = [{
        p[i, j] = exp(s[i, j] - lse[i]),  delta[i] = sum_c gradient[i, c] * output[i, c]
        dv[j, c] = sum_i p[i, j] gradient[i, c],  ds[i, j] = p[i, j] (sum_c gradient[i, c] v[j, c] - delta[i])
        dq[i, c] = scale sum_j ds[i, j] k[j, c],  dk[j, c] = scale sum_i ds[i, j] q[i, c]

    packed as `qkv` is. Constraints: A1 to A3.
  }];
  let arguments = (ins DS_Tensor:$gradient, DS_Tensor:$qkv, DS_Tensor:$output, DS_Tensor:$lse,
                       I64Attr:$heads, F64Attr:$scale);
  let results = (outs DS_Tensor:$result);
}

#endif // DSC_DIALECT_DS_ATTENTION
