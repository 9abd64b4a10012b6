//===- Loss.td - cross-entropy over counted labels -------------------------===//
#ifndef DSC_DIALECT_DS_LOSS
#define DSC_DIALECT_DS_LOSS

include "dsc/Dialect/DS/DSBase.td"

def DS_CrossEntropyOp : DS_ComputeOp<"cross_entropy", [AttrSizedOperandSegments, Differentiable, HasFlops, CutsGenericLoops]> {
  let summary = "Negative log-likelihood of each label under the softmax of its logits";
  let description = [{
        lse[i] = log sum_v exp(logits[i, v]),  losses[i] = lse[i] - logits[i, labels[i]]

    With `smoothing` s in [0, 1), the label has the target mass 1 - s + s / v and every other class s / v:

        losses[i] = (1 - s) (lse[i] - logits[i, labels[i]]) + s (lse[i] - mean_v logits[i, v])

    With `weights`, each loss is multiplied by its own: those of `ds.label_weights` make their sum over a sample the
    sample's mean. A label of -100 is not counted: its loss is 0. Other labels lie in [0, v), which is checked when the data is
    read. Maxima, sums and `lse` are f32; no logarithm of a probability is ever taken, so the loss is finite for
    finite logits. Rows shard freely; v needs a method of its own.

    The gradient of `losses` is taken to be one f64 scalar, the same for every row: the seed that the backward of
    `ds.token_mean` hands out. `lse` takes no gradient. Saved for backward: `logits`, `labels`, `smoothing`,
    `weights`, `lse`.

    Created by `ds-import` in the block `head`, with `smoothing` and `weights` in `@train` only; tiled with the product before it, so that a large vocabulary
    never has all its logits stored; lowered by `ds-to-plan`.

    Example:

        %losses, %lse = ds.cross_entropy %logits, %labels
            : (tensor<2x8x256xf32>, tensor<2x8xi32>) -> (tensor<2x8xf32>, tensor<2x8xf32>)

    Constraints:
    - C1: `labels`, `losses`, `lse` and `weights` have the leading dimensions of `logits`.
    - C2: element types as `ds.cast` says; `losses`, `lse` and `weights` are kept.
    - C3: the gradient of `losses` is a scalar tensor<f64>, that of `lse` absent.
  }];
  let arguments = (ins DS_Tensor:$logits, DS_Ids:$labels, Optional<DS_Scalar>:$smoothing,
                       Optional<DS_Tensor>:$weights);
  let results = (outs DS_Tensor:$losses, DS_Tensor:$lse);
  let assemblyFormat = [{
    $logits `,` $labels (`,` $smoothing^)? (`weights` $weights^)? attr-dict `:` functional-type(operands, results)
  }];
}

def DS_CrossEntropyGradOp
    : DS_ComputeOp<"cross_entropy_grad", [AttrSizedOperandSegments, NotDifferentiable, HasFlops, MayOverwrite, CutsLoops]> {
  let summary = "Gradient of the cross-entropy with respect to the logits";
  let description = [{
        result[i, v] = seed * w[i] * (exp(logits[i, v] - lse[i]) - target[i, v])        0 where uncounted
        target[i, v] = (1 - s) (v == labels[i]) + s / v        with s = `smoothing`, 0 if absent
        w[i]         = weights[i], 1 if absent

    Rows shard freely, and so does v once `lse` is known: a `rank` has classes [v * rank, v * (rank + 1)) of `classes`,
    in place of as many as `logits` have; `labels` are as `ds.local_ids` makes them, s / v is that of all classes, and
    padding behind the last class gets 0. May write over `logits`.

    Created by `ds-differentiate`; lowered by `ds-to-plan`.

    Example:

        %dlogits = ds.cross_entropy_grad %logits, %labels, %lse, %seed
            : (tensor<2x8x256xf32>, tensor<2x8xi32>, tensor<2x8xf32>, tensor<f64>) -> tensor<2x8x256xf32>

    Constraints:
    - C1: `labels`, `lse` and `weights` have the leading dimensions of `logits`.
    - C4: `result` has the shape of `logits`; element types as `ds.cast` says, `lse` and `weights` are kept.
    - C9: `classes` comes with a `rank` and is positive.
  }];
  let arguments = (ins DS_Tensor:$logits, DS_Ids:$labels, DS_Tensor:$lse, DS_Scalar:$seed,
                       Optional<DS_Scalar>:$smoothing, Optional<DS_Tensor>:$weights, Optional<DS_Scalar>:$rank,
                       OptionalAttr<I64Attr>:$classes);
  let results = (outs DS_Tensor:$result);
  let assemblyFormat = [{
    $logits `,` $labels `,` $lse `,` $seed (`,` $smoothing^)? (`weights` $weights^)? (`part` $rank^)? attr-dict
    `:` functional-type(operands, results)
  }];
}

def DS_LabelWeightsOp : DS_ComputeOp<"label_weights", [NotDifferentiable]> {
  let summary = "What makes the sum of a sample's losses their mean: 1 / its counted labels";
  let description = [{
        n[i]         = |{j : labels[i, j] != -100}|
        result[i, j] = labels[i, j] != -100 ? 1 / n[i] : 0

    A sample is a run along the last dimension: a row of the batch, which with packed documents holds several of them.
    The quotient is rounded to f32 once. Leading dimensions shard freely; a cut of the last needs n over all its parts.

    Created by `ds-import` in `@train` for `train.loss_reduction` "sample"; lowered by `ds-to-plan`.

    Example:

        %weights = ds.label_weights %labels : (tensor<2x8xi32>) -> tensor<2x8xf32>

    Constraints:
    - C8: `labels` has at least one dimension, `result` its shape and element type f32.
  }];
  let arguments = (ins DS_Ids:$labels);
  let results = (outs DS_Tensor:$result);
}

def DS_CountOp : DS_ComputeOp<"count", [NotDifferentiable]> {
  let summary = "Number of counted labels, or of samples that have one";
  let description = [{
        result = |{i : labels[i] != -100}|
        result = |{i : there is a j with labels[i, j] != -100}|        with `samples`

    Exact. A cut of any dimension leaves partial sums; with `samples`, of any but the last.

    Created by `ds-import`; lowered by `ds-to-plan`.

    Example:

        %count = ds.count %labels : (tensor<2x8xi32>) -> tensor<f64>

    Constraints:
    - C5: `labels` has at least one dimension.
  }];
  let arguments = (ins DS_Ids:$labels, UnitAttr:$samples);
  let results = (outs DS_Scalar:$result);
}

def DS_LossSeedOp : DS_ComputeOp<"loss_seed", [NotDifferentiable]> {
  let summary = "Where the backward pass starts: scale / count, 0 if nothing counts";
  let description = [{
        result = count > 0 ? scale / count : 0

    in f64; `scale` is 1 where absent, the loss scale where `ds-loss-scaling` has put it. `count` is that of the whole
    window, so nothing but the scale is divided out afterwards. Replicated on every rank.

    Created by `ds-differentiate` (the backward of `ds.token_mean`); lowered by `ds-to-plan`.

    Example:

        %seed = ds.loss_seed %count : (tensor<f64>) -> tensor<f64>
  }];
  let arguments = (ins DS_Scalar:$count, Optional<DS_Scalar>:$scale);
  let results = (outs DS_Scalar:$result);
  let hasVerifier = 0;
}

def DS_TokenMeanOp : DS_ComputeOp<"token_mean", [
    DeclareOpInterfaceMethods<DifferentiableOpInterface, ["isObjective"]>, HasFlops]> {
  let summary = "Sum of all losses in f64 and a fixed order, divided by the count (0 if nothing counts)";
  let description = [{
        result = count > 0 ? sum_i losses[i] / count : 0

    Losses of uncounted labels are 0 already. `count` is that of labels or, where losses are weighted, that of samples. A cut of any dimension leaves partial sums.

    The objective of a training program: its own gradient is 1 and is never built. The backward gives `losses` the
    scalar `ds.loss_seed` of `count`, which `ds.cross_entropy` understands as the gradient of each of its rows.
    Saved for backward: `count`.

    Created by `ds-import`; lowered by `ds-to-plan`.

    Example:

        %loss = ds.token_mean %losses, %count : (tensor<2x8xf32>, tensor<f64>) -> tensor<f64>

    Constraints:
    - C6: `losses` has at least one dimension.
    - C7: the mean is the objective: no gradient reaches its result.
  }];
  let arguments = (ins DS_Tensor:$losses, DS_Scalar:$count);
  let results = (outs DS_Scalar:$result);
}

def DS_SliceRowsOp : DS_ComputeOp<"slice_rows", [NotDifferentiable, SharesBytes, NoTraffic]> {
  let summary = "A run of rows of the input seen as a matrix; shares its bytes";
  let description = [{
        result[i, ..] = folded(input)[start + i, ..]

    Leading dimensions are folded: for a result of rank 2, [b, t, d] is seen as [b * t, d]; for a result of rank 1,
    [b, t] is seen as [b * t]. Rows are not cut by a strategy: tiles come after partitioning.

    Created by head tiling after differentiation; becomes a `plan.view` in `ds-to-plan`, never a kernel.

    Example:

        %tile = ds.slice_rows %x {start = 8 : i64} : (tensor<2x8x16xf32>) -> tensor<4x16xf32>

    Constraints:
    - R1: 0 <= `start`, and `start` + rows of the result is at most the rows of the input.
    - R2: `result` has rank 1 or 2; with rank 2 its last dimension is that of `input`; element types agree.
  }];
  let arguments = (ins AnyStaticShapeTensor:$input, I64Attr:$start);
  let results = (outs AnyStaticShapeTensor:$result);
  let hasFolder = 1;
}

def DS_ConcatRowsOp : DS_ComputeOp<"concat_rows", [NotDifferentiable, SharesBytes, NoTraffic]> {
  let summary = "Puts runs of rows below each other, folding leading dimensions; shares their bytes";
  let description = [{
        folded(result) = inputs[0] above inputs[1] above ...

    The inverse of a set of `ds.slice_rows` that cover their input in order. Rows are not cut by a strategy.

    Created by head tiling after differentiation; in `ds-to-plan` its inputs become views of the result's buffer,
    never a kernel.

    Example:

        %x = ds.concat_rows %a, %b : (tensor<12x16xf32>, tensor<4x16xf32>) -> tensor<2x8x16xf32>

    Constraints:
    - R3: there is at least one input; inputs have rank 1 or 2, all the same, and one element type.
    - R4: the rows of the inputs add up to the rows of the result; with rank 2 last dimensions agree.
  }];
  let arguments = (ins Variadic<AnyStaticShapeTensor>:$inputs);
  let results = (outs AnyStaticShapeTensor:$result);
  let hasFolder = 1;
}

#endif // DSC_DIALECT_DS_LOSS
