//===- Embedding.td - token and position tables ----------------------------===//
#ifndef DSC_DIALECT_DS_EMBEDDING
#define DSC_DIALECT_DS_EMBEDDING

include "dsc/Dialect/DS/DSBase.td"

def DS_EmbeddingOp : DS_ComputeOp<"embedding", [Differentiable]> {
  let summary = "Rows of a table, plus a row for each position";
  let description = [{
        result[b, t, :] = table[ids[b, t], :] + positions[t, :]

    `positions` is optional. Ids are checked when the data is read: 0 <= id < rows of `table`.

    Constraints:
    - M1: `ids` is [b, t]; `result` is [b, t, d]. M2: tables are [rows, d]; `positions` has at least t rows.
  }];
  let arguments = (ins DS_Ids:$ids, DS_Tensor:$table, Optional<DS_Tensor>:$positions);
  let results = (outs DS_Tensor:$result);
  let assemblyFormat = [{
    $ids `,` $table (`positions` $positions^)? attr-dict
    `:` type($ids) `,` type($table) (`positions` type($positions)^)? `->` type($result)
  }];
}

def DS_EmbeddingGradOp : DS_ComputeOp<"embedding_grad", [Accumulates]> {
  let summary = "Gradient of an embedding table: rows added up by token";
  let description = [{
        result[v, :] = init[v, :] + sum_{(b, t): ids[b, t] = v} gradient[b, t, :]        in order of (b, t)
  }];
  let arguments = (ins DS_Tensor:$gradient, DS_Ids:$ids, Optional<DS_Tensor>:$init);
  let results = (outs DS_Tensor:$result);
  let assemblyFormat = [{
    $gradient `,` $ids (`init` $init^)? attr-dict
    `:` type($gradient) `,` type($ids) (`init` type($init)^)? `->` type($result)
  }];
}

def DS_PositionGradOp : DS_ComputeOp<"position_grad", [HasFlops]> {
  let summary = "Gradient of a position table: the sum over samples, zero past the sequence";
  let arguments = (ins DS_Tensor:$gradient);
  let results = (outs DS_Tensor:$result);
}

#endif // DSC_DIALECT_DS_EMBEDDING
