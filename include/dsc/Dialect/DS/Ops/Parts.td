//===- Parts.td - what a rank makes of its coordinate ----------------------===//
// Ranks of an axis run one program; the ops here are where its parts differ. `rank` is the coordinate, a scalar that
// the runtime sets. Created by the methods with which ops cut their loops (`ShardableOpInterface::cutLoop`).
#ifndef DSC_DIALECT_DS_PARTS
#define DSC_DIALECT_DS_PARTS

include "dsc/Dialect/DS/DSBase.td"

def DS_OnceOp : DS_ComputeOp<"once", [NotDifferentiable]> {
  let summary = "A tensor on the first rank, zeros on the others";
  let description = [{
        result[i] = rank = 0 ? input[i] : 0

    What stands beside a sum that is cut, such as the bias of a row-parallel product, enters it on one rank and so counts
    once. Every dimension shards freely.

    Created where a `ds.linear` or `ds.embedding` is cut along its sum; lowered by `ds-to-plan`.

    Example:

        %b0 = ds.once %bias, %rank : (tensor<48xf32>, tensor<f64>) -> tensor<48xf32>

    Constraints:
    - PA1: `result` has the type of `input`.
  }];
  let arguments = (ins DS_Tensor:$input, DS_Scalar:$rank);
  let results = (outs DS_Tensor:$result);
}

def DS_LocalIdsOp : DS_ComputeOp<"local_ids", [NotDifferentiable]> {
  let summary = "Numbers of rows of a table, as a rank with a run of them counts";
  let description = [{
    A rank has rows [rows * rank, rows * (rank + 1)):

        result[i] = ids[i] < 0 ? ids[i] : 0 <= ids[i] - rows * rank < rows ? ids[i] - rows * rank : -1

    so -1 is a row of another rank, and -100 stays what is not counted. Every dimension shards freely.

    Created where an embedding or a cross-entropy is cut along its vocabulary; lowered by `ds-to-plan`.

    Example:

        %mine = ds.local_ids %ids, %rank {rows = 66 : i64} : (tensor<2x8xi32>, tensor<f64>) -> tensor<2x8xi32>

    Constraints:
    - PA2: `result` has the type of `ids`.
    - PA3: `rows` is positive.
  }];
  let arguments = (ins DS_Ids:$ids, DS_Scalar:$rank, I64Attr:$rows);
  let results = (outs DS_Ids:$result);
}

def DS_PartKeyOp : DS_ComputeOp<"part_key", [NotDifferentiable]> {
  let summary = "The key of a mask whose first element is not number 0";
  let description = [{
        result = [key, rank * elements / 4]

    The sixth number is added to the first word of the counter (see `ds.random_key`), so element e of a part is element
    rank * elements + e of the sample: a part has the bits of the whole.

    Created where an op that draws is cut; lowered by `ds-to-plan`.

    Example:

        %mine = ds.part_key %key, %rank {elements = 128 : i64} : (tensor<5xf64>, tensor<f64>) -> tensor<6xf64>

    Constraints:
    - PA4: `key` is tensor<5xf64> and `result` tensor<6xf64>.
    - PA5: `elements` is a positive multiple of 4.
  }];
  let arguments = (ins DS_Tensor:$key, DS_Scalar:$rank, I64Attr:$elements);
  let results = (outs DS_Tensor:$result);
}

def DS_LossPartsOp : DS_ComputeOp<"loss_parts", [NotDifferentiable, HasFlops]> {
  let summary = "What a rank with a part of the vocabulary knows of each token's loss";
  let description = [{
    A rank has classes [v * rank, v * (rank + 1)) of `classes`; what lies behind them in `logits` is padding and counts
    nowhere. With `labels` as `ds.local_ids` makes them, over the classes that the rank has:

        lse[r, i] = r = rank ? log sum_v exp(logits[i, v]) : 0
        chosen[i] = labels[i] >= 0 ? logits[i, labels[i]] : 0
        total[i]  = sum_v logits[i, v]

    Sums of all three over the ranks are what `ds.join_loss` reads: N + 2 numbers a token cross, never the logits. A rank
    without a class has the lowest number as its lse. `total` is there with smoothing. Rows shard freely.

    Created where a `ds.cross_entropy` is cut along its vocabulary; lowered by `ds-to-plan`.

    Example:

        %lse, %chosen = ds.loss_parts %logits, %mine, %rank {classes = 131 : i64}
            : (tensor<2x8x66xf32>, tensor<2x8xi32>, tensor<f64>) -> (tensor<2x2x8xf32>, tensor<2x8xf32>)

    Constraints:
    - PA6: `labels` and `chosen` have the leading dimensions of `logits`, `total` too; `lse` has one of ranks before them.
    - PA7: `classes` is positive and at most ranks * v.
    - PA8: element types as `ds.cast` says; results are kept.
  }];
  let arguments = (ins DS_Tensor:$logits, DS_Ids:$labels, DS_Scalar:$rank, I64Attr:$classes);
  let results = (outs DS_Tensor:$lse, DS_Tensor:$chosen, Optional<DS_Tensor>:$total);
}

def DS_JoinLossOp : DS_ComputeOp<"join_loss", [AttrSizedOperandSegments, NotDifferentiable, HasFlops]> {
  let summary = "The losses of tokens whose classes are on several ranks";
  let description = [{
        lse[i] = log sum_r exp(parts[r, i]),  losses[i] = lse[i] - chosen[i]

    with `smoothing` and `weights` as in `ds.cross_entropy`, mean_v logits[i, v] being total[i] / `classes`. `parts`,
    `chosen` and `total` are those of `ds.loss_parts`, summed over the ranks; `labels` say what is counted. Rows shard freely.

    Created with `ds.loss_parts`; lowered by `ds-to-plan`.

    Example:

        %losses, %whole = ds.join_loss %lse, %chosen, %labels {classes = 131 : i64}
            : (tensor<2x2x8xf32>, tensor<2x8xf32>, tensor<2x8xi32>) -> (tensor<2x8xf32>, tensor<2x8xf32>)

    Constraints:
    - PA9: `chosen`, `total`, `labels`, `weights` and both results have the dimensions of `parts` without the first.
    - PA10: `smoothing` and `total` come together; `classes` is positive.
    - PA8: element types as `ds.cast` says; all are kept.
  }];
  let arguments = (ins DS_Tensor:$parts, DS_Tensor:$chosen, DS_Ids:$labels, Optional<DS_Scalar>:$smoothing,
                       Optional<DS_Tensor>:$total, Optional<DS_Tensor>:$weights, I64Attr:$classes);
  let results = (outs DS_Tensor:$losses, DS_Tensor:$lse);
  let assemblyFormat = [{
    $parts `,` $chosen `,` $labels (`smoothing` $smoothing^ `,` $total)? (`weights` $weights^)? attr-dict `:`
    functional-type(operands, results)
  }];
}

#endif // DSC_DIALECT_DS_PARTS
