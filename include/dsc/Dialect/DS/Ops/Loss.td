//===- Loss.td - cross-entropy over counted labels -------------------------===//
#ifndef DSC_DIALECT_DS_LOSS
#define DSC_DIALECT_DS_LOSS

include "dsc/Dialect/DS/DSBase.td"

def DS_CrossEntropyOp : DS_ComputeOp<"cross_entropy", [Differentiable, HasFlops]> {
  let summary = "Negative log-likelihood of each label under the softmax of its logits";
  let description = [{
        lse[i] = log sum_v exp(logits[i, v]),  losses[i] = lse[i] - logits[i, labels[i]]

    A label of -100 is not counted: its loss is 0. The gradient of `losses` is taken to be the same scalar
    for every row (`seed`, 1 over the counted tokens): see `ds.cross_entropy_grad`.
    Saved for backward: `logits`, `labels`, `lse`.

    Constraints:
    - C1: `labels`, `losses` and `lse` have the leading dimensions of `logits`.
  }];
  let arguments = (ins DS_Tensor:$logits, DS_Ids:$labels);
  let results = (outs DS_Tensor:$losses, DS_Tensor:$lse);
}

def DS_CrossEntropyGradOp : DS_ComputeOp<"cross_entropy_grad", [HasFlops, MayOverwrite]> {
  let summary = "Gradient of the cross-entropy with respect to the logits";
  let description = [{
        result[i, v] = seed * (exp(logits[i, v] - lse[i]) - (v == labels[i]))        0 where uncounted
  }];
  let arguments = (ins DS_Tensor:$logits, DS_Ids:$labels, DS_Tensor:$lse, DS_Scalar:$seed);
  let results = (outs DS_Tensor:$result);
}

def DS_CountOp : DS_ComputeOp<"count"> {
  let summary = "Number of counted labels";
  let arguments = (ins DS_Ids:$labels);
  let results = (outs DS_Scalar:$result);
}

def DS_LossSeedOp : DS_ComputeOp<"loss_seed"> {
  let summary = "Where the backward pass starts: 1 / count, 0 if nothing counts";
  let arguments = (ins DS_Scalar:$count);
  let results = (outs DS_Scalar:$result);
}

def DS_TokenMeanOp : DS_ComputeOp<"token_mean", [HasFlops]> {
  let summary = "Sum of all losses in f64 and a fixed order, divided by the count (0 if nothing counts)";
  let arguments = (ins DS_Tensor:$losses, DS_Scalar:$count);
  let results = (outs DS_Scalar:$result);
}

def DS_SliceRowsOp : DS_ComputeOp<"slice_rows"> {
  let summary = "A run of rows of the input seen as a matrix; shares its bytes";
  let description = [{
    Leading dimensions are folded: [b, t, d] is seen as [b * t, d], [b, t] as [b * t].

    Constraints:
    - R1: 0 <= `start`, and `start` + rows of the result is at most the rows of the input.
  }];
  let arguments = (ins AnyStaticShapeTensor:$input, I64Attr:$start);
  let results = (outs AnyStaticShapeTensor:$result);
}

def DS_ConcatRowsOp : DS_ComputeOp<"concat_rows"> {
  let summary = "Puts runs of rows below each other, folding leading dimensions; shares their bytes";
  let arguments = (ins Variadic<AnyStaticShapeTensor>:$inputs);
  let results = (outs AnyStaticShapeTensor:$result);
}

#endif // DSC_DIALECT_DS_LOSS
