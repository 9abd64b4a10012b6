//===- Attention.td - scaled dot-product attention -------------------------===//
#ifndef DSC_DIALECT_DS_ATTENTION
#define DSC_DIALECT_DS_ATTENTION

include "dsc/Dialect/DS/DSBase.td"

def DS_AttentionOp
    : DS_ComputeOp<"attention", [AttrSizedOperandSegments, Differentiable, HasFlops, AttentionCore, CutsLoops]> {
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

    With `position_ids` a sample is a row of documents: token i is number `position_ids[i]` of its document and sees
    the tokens of that document up to itself only: i - position_ids[i] <= j <= i in place of j <= i throughout. A token
    at -1 is padding, behind the last document: it sees nothing and nothing sees it; its `result` is 0 and its `lse` 0.
    Blocks of keys before the document of the first query of a block are skipped.

    Created by `ds-import`; lowered by `ds-to-plan`.

    Example:

        %y, %lse = ds.attention %qkv {heads = 4 : i64, scale = 0.5 : f64}
            : (tensor<2x8x48xf32>) -> (tensor<2x8x16xf32>, tensor<2x4x8xf32>)

    Constraints:
    - A1: `qkv` is [b, t, 3 d] and `heads` is positive and divides d.
    - A2: `result` is [b, t, d] and `lse` is [b, heads, t].
    - A3: `scale` is positive.
    - A4: element types as `ds.cast` says; `lse` is kept.
    - A6: 0 <= `dropout` <= 1; `key` is there exactly if it is above 0, and is tensor<5xf64>, or tensor<6xf64> of a part.
    - A7: `position_ids` is [b, t].
  }];
  let arguments = (ins DS_Tensor:$qkv, Optional<DS_Tensor>:$key, Optional<DS_Ids>:$position_ids, I64Attr:$heads,
                       F64Attr:$scale, DefaultValuedAttr<F64Attr, "0.0">:$dropout);
  let results = (outs DS_Tensor:$result, DS_Tensor:$lse);
  let assemblyFormat = [{
    $qkv (`,` $key^)? (`within` $position_ids^)? attr-dict `:` `(` type($qkv) (`,` type($key)^)? `)`
    (`within` type($position_ids)^)? `->` `(` type($result) `,` type($lse) `)`
  }];
}

def DS_AttentionGradOp : DS_ComputeOp<"attention_grad", [AttrSizedOperandSegments, NotDifferentiable, HasFlops, CutsLoops]> {
  let summary = "Gradient of attention with respect to queries, keys and values";
  let description = [{
        p[i, j] = exp(s[i, j] - lse[i]),  delta[i] = sum_c gradient[i, c] * output[i, c]
        dv[j, c] = sum_i m[i, j] p[i, j] gradient[i, c]
        ds[i, j] = p[i, j] (m[i, j] sum_c gradient[i, c] v[j, c] - delta[i])
        dq[i, c] = scale sum_j ds[i, j] k[j, c],  dk[j, c] = scale sum_i ds[i, j] q[i, c]

    packed as `qkv` is, with j <= i throughout, and within a document where there are `position_ids`; m is the mask of
    dropout, 1 without. `output` and `lse` are results of the forward op: probabilities are computed again block by
    block. Rows of padding get 0. Samples and heads shard freely.

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
    - A6: 0 <= `dropout` <= 1; `key` is there exactly if it is above 0, and is tensor<5xf64>, or tensor<6xf64> of a part.
    - A7: `position_ids` is [b, t].
  }];
  let arguments = (ins DS_Tensor:$gradient, DS_Tensor:$qkv, DS_Tensor:$output, DS_Tensor:$lse,
                       Optional<DS_Tensor>:$key, Optional<DS_Ids>:$position_ids, I64Attr:$heads, F64Attr:$scale,
                       DefaultValuedAttr<F64Attr, "0.0">:$dropout);
  let results = (outs DS_Tensor:$result);
  let assemblyFormat = [{
    $gradient `,` $qkv `,` $output `,` $lse (`,` $key^)? (`within` $position_ids^)? attr-dict `:`
    `(` type($gradient) `,` type($qkv) `,` type($output) `,` type($lse) (`,` type($key)^)? `)`
    (`within` type($position_ids)^)? `->` type($result)
  }];
}

def DS_CachedAttentionOp : DS_ComputeOp<"cached_attention", [NotDifferentiable, HasFlops, KeepsOperand]> {
  let summary = "Causal attention of new tokens to all earlier ones, whose keys and values are kept";
  let description = [{
    `qkv` is [b, n, 3 d], packed as in `ds.attention`: n new tokens of each sample. Sample s has row r = rows[s] of the
    caches `keys` and `values`, [rows, length, d]; no two samples share one. Its token i stands at position
    p = position_ids[s, i]. First its key and value go to the caches, then its query looks at all positions up to p:

        new_keys[r, p, :] = k[s, i, :],  new_values[r, p, :] = v[s, i, :]        else as in `keys`, `values`
        result[s, i, :] = sum_{j <= p} exp(a[j]) new_values[r, j, :] / sum_{j <= p} exp(a[j])
        a[j] = scale * sum_c q[s, i, c] * new_keys[r, j, c]                      a head at a time

    A token at -1 is padding: nothing is kept of it and its result is 0. What the caches hold past p is never read.
    Positions and rows are checked where they are made. `new_keys` and `new_values` lie over `keys` and `values`.
    Heads shard freely.

    Created by `ds-import` (in `@prefill` and `@decode`); lowered by `ds-to-plan`.

    Example:

        %y, %k, %v = ds.cached_attention %qkv, %keys, %values, %ids, %rows {heads = 4 : i64, scale = 0.5 : f64}
            : (tensor<2x1x48xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<2x1xi32>, tensor<2xi32>)
           -> (tensor<2x1x16xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>)

    Constraints:
    - A1: `qkv` is [b, n, 3 d] and `heads` is positive and divides d.
    - A3: `scale` is positive.
    - A8: `keys` and `values` are [rows, length, d] with at least b rows, `new_keys` and `new_values` likewise.
    - A9: `result` is [b, n, d], `position_ids` is [b, n] and `rows` is [b].
    - A4: element types as `ds.cast` says; caches are kept.
  }];
  let arguments = (ins DS_Tensor:$qkv, DS_Tensor:$keys, DS_Tensor:$values, DS_Ids:$position_ids, DS_Ids:$rows,
                       I64Attr:$heads, F64Attr:$scale);
  let results = (outs DS_Tensor:$result, DS_Tensor:$new_keys, DS_Tensor:$new_values);
}

#endif // DSC_DIALECT_DS_ATTENTION
