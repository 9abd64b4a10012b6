//===- Dropout.td - masks and the keys they are drawn by -------------------===//
#ifndef DSC_DIALECT_DS_DROPOUT
#define DSC_DIALECT_DS_DROPOUT

include "dsc/Dialect/DS/DSBase.td"

def DS_RandomKeyOp : DS_ComputeOp<"random_key", [NotDifferentiable]> {
  let summary = "Key and counter of the random numbers of one place in the network";
  let description = [{
        result = [seedLow, seedHigh, sample, step, hash(path)]        whole numbers below 2^32, modulo 2^32

    `seedLow` and `seedHigh` are the halves of `train.seed`, `sample` the index in the global batch of this
    micro-batch's first sample, `step` the steps attempted so far, and the hash the low 32 bits of FNV-1a (64 bits)
    of `path`, the Hugging Face name of the module. Element e of sample i (of the tensor that a mask is for) belongs
    to word e mod 4 of Philox 4x32-10 with the key [seedLow, seedHigh] and the counter

        [e div 4, sample + i, step, hash]

    so a mask depends on no state, layout, micro-batch or thread. Replicated on every rank.

    Created by `ds-import`, beside the op that draws; lowered by `ds-to-plan`.

    Example:

        %key = ds.random_key %low, %high, %sample, %step {path = "h.0.mlp.dropout"}
            : (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> tensor<5xf64>

    Constraints:
    - X1: `result` is tensor<5xf64>.
    - X2: `path` is not empty.
  }];
  let arguments = (ins DS_Scalar:$seedLow, DS_Scalar:$seedHigh, DS_Scalar:$sample, DS_Scalar:$step,
                       StrAttr:$path);
  let results = (outs DS_Tensor:$result);
}

def DS_DropoutOp : DS_ComputeOp<"dropout", [Differentiable, HasFlops, MayOverwrite]> {
  let summary = "Sets elements to zero at random and scales the others";
  let description = [{
        result[e] = word(e) >= p 2^32 ? input[e] / (1 - p) : 0

    `word(e)` is a word of Philox as `ds.random_key` says, with e the row-major index within the sample, the first
    dimension being that of samples. The comparison is exact; 1 / (1 - p) is rounded to f32 once. p = 1 gives
    zeros. Dropped elements are 0 whatever the input holds.

    The gradient is the same op on the gradient of the result. Saved for backward: `key`. Every dimension shards
    freely, as long as a shard knows its global elements.

    Created by `ds-import` in `@train` only, where p is above 0; lowered by `ds-to-plan`. May write over `input`.

    Example:

        %y = ds.dropout %x, %key {p = 0.1 : f64} : (tensor<2x8x16xf32>, tensor<5xf64>) -> tensor<2x8x16xf32>

    Constraints:
    - X3: `key` is tensor<5xf64>, or tensor<6xf64> of a part.
    - X4: `result` has the type of `input`, which has at least one dimension.
    - X5: 0 <= p <= 1.
  }];
  let arguments = (ins DS_Tensor:$input, DS_Tensor:$key, F64Attr:$p);
  let results = (outs DS_Tensor:$result);
}

#endif // DSC_DIALECT_DS_DROPOUT
