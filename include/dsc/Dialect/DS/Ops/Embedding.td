//===- Embedding.td - token and position tables ----------------------------===//
#ifndef DSC_DIALECT_DS_EMBEDDING
#define DSC_DIALECT_DS_EMBEDDING

include "dsc/Dialect/DS/DSBase.td"

def DS_EmbeddingOp : DS_ComputeOp<"embedding", [AttrSizedOperandSegments, Differentiable, HasFlops, HasTraffic, CutsLoops]> {
  let summary = "Rows of a table, plus a row for each position";
  let description = [{
        result[b, t, :] = table[ids[b, t], :] + positions[t, :]

    `positions` is optional. With `position_ids`, row `position_ids[b, t]` of `positions` stands in place of row t, and
    nothing is added to a token at -1, which is padding. Ids are checked when the data is read: 0 <= id < rows of `table`;
    where the table is cut, a negative one is a row that is elsewhere (`ds.local_ids`), which counts as zeros. One rounding an
    element. Samples, positions in the sequence and d shard freely; a cut of the table's rows leaves partial sums
    (rows that are elsewhere count as zero). Saved for backward: `ids`.

    Created by `ds-import`; lowered by `ds-to-plan`.

    Example:

        %x = ds.embedding %ids, %wte positions %wpe : tensor<2x8xi32>, tensor<256x16xf32> positions tensor<32x16xf32> -> tensor<2x8x16xf32>

    Constraints:
    - M1: `ids` is [b, t]; `result` is [b, t, d].
    - M2: tables are [rows, d]; `positions` has at least t rows.
    - M3: element types as `ds.cast` says.
    - M7: `position_ids` is [b, t] and there only with `positions`.
  }];
  let arguments = (ins DS_Ids:$ids, DS_Tensor:$table, Optional<DS_Tensor>:$positions,
                       Optional<DS_Ids>:$position_ids);
  let results = (outs DS_Tensor:$result);
  let assemblyFormat = [{
    $ids `,` $table (`positions` $positions^)? (`at` $position_ids^)? attr-dict
    `:` type($ids) `,` type($table) (`positions` type($positions)^)? (`at` type($position_ids)^)? `->` type($result)
  }];
}

def DS_EmbeddingGradOp : DS_ComputeOp<"embedding_grad", [NotDifferentiable, HasFlops, Accumulates, CutsLoops]> {
  let summary = "Gradient of an embedding table: rows added up by token";
  let description = [{
        result[v, :] = init[v, :] + sum_{(b, t): ids[b, t] = v} gradient[b, t, :]        in order of (b, t)

    A negative id has no row: its gradient goes nowhere. `init`, if present, is what the rows are added to, in place: for a tied table the weight gradient of the head.
    d shards freely, and so do the table's rows; a cut of samples or positions leaves partial sums.

    Created by `ds-differentiate`; lowered by `ds-to-plan`.

    Example:

        %dwte = ds.embedding_grad %dx, %ids init %head : tensor<2x8x16xf32>, tensor<2x8xi32> init tensor<256x16xf32> -> tensor<256x16xf32>

    Constraints:
    - M4: `ids` is [b, t], `gradient` is [b, t, d], `result` is [rows, d].
    - M5: `init` has the shape of `result`; element types as `ds.cast` says, `result` and `init` are kept.
  }];
  let arguments = (ins DS_Tensor:$gradient, DS_Ids:$ids, Optional<DS_Tensor>:$init);
  let results = (outs DS_Tensor:$result);
  let assemblyFormat = [{
    $gradient `,` $ids (`init` $init^)? attr-dict
    `:` type($gradient) `,` type($ids) (`init` type($init)^)? `->` type($result)
  }];
}

def DS_PositionGradOp : DS_ComputeOp<"position_grad", [NotDifferentiable, HasFlops]> {
  let summary = "Gradient of a position table: the sum over samples, zero past the sequence";
  let description = [{
        result[t, :] = sum_b gradient[b, t, :]        b in order; 0 for t past the sequence

    d shards freely; a cut of the samples leaves partial sums.

    Created by `ds-differentiate`; lowered by `ds-to-plan`.

    Example:

        %dwpe = ds.position_grad %dx : (tensor<2x8x16xf32>) -> tensor<32x16xf32>

    Constraints:
    - M6: `gradient` is [b, t, d], `result` is [rows, d] with rows at least t; element types as `ds.cast` says,
      `result` is kept.
  }];
  let arguments = (ins DS_Tensor:$gradient);
  let results = (outs DS_Tensor:$result);
}

#endif // DSC_DIALECT_DS_EMBEDDING
