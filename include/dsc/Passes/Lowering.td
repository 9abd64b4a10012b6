//===- Lowering.td - from ds blocks to kernels on buffers ------------------===//
#ifndef DSC_PASSES_LOWERING
#define DSC_PASSES_LOWERING

include "mlir/Pass/PassBase.td"

def DsFuse : Pass<"ds-fuse", "::mlir::ModuleOp"> {
  let summary = "Fold activations, residual sums and activation gradients into matrix products";
  let description = [{
    Inside a `ds.block` (what crosses its boundary is rounded there anyway):

    | before | after |
    |---|---|
    | `ds.activation` of a `ds.linear` | `ds.linear` with `activation`; `pre` is kept if the backward reads it |
    | `ds.add` of a `ds.linear` used once | `ds.linear` with `residual` |
    | `ds.activation_grad` of a `ds.linear_input_grad` used once | `ds.linear_input_grad` with `pre` |
    | `ds.add` of a `ds.linear_input_grad` or `ds.layer_norm_input_grad` used once | the same with `residual` |
    | `ds.cast` of an updated weight | the update writes the working copy too |

    Before and after:

        %y = ds.linear %x, %w bias %b : ...
        %a = ds.activation %y {function = gelu_tanh} : ...
        // becomes
        %a, %pre = ds.linear %x, %w bias %b {activation = gelu_tanh} : ... pre ...

    Every sum keeps its operands' order of rounding: the product is finished before the residual is added. With results of
    two bytes what is inside an op stays f32 and is rounded once, when the op is done.
  }];
  let dependentDialects = ["::dsc::ds::DSDialect"];
  let statistics = [
    Statistic<"activations", "activations", "activations folded into a product">,
    Statistic<"residuals", "residuals", "residual sums folded into a product or a norm's gradient">,
    Statistic<"activationGrads", "activation-gradients", "activation gradients folded into a product">,
    Statistic<"casts", "casts", "casts folded into updates">
  ];
}

def DsRecompute : Pass<"ds-recompute", "::mlir::ModuleOp"> {
  let summary = "Compute values of forward blocks again where the backward reads them"
                ", instead of keeping them";
  let description = [{
    A forward block hands its backward block the values that it saved. For the blocks named by `full` the backward gets
    copies of the ops that lead to those values, starting from what enters the block; for those named by `selective`
    only the core of attention is copied (trait AttentionCore) and everything else is kept. A copy stands in front of
    its first reader and is labelled `<block>.recompute`. `*` names all blocks. A block may be in both lists: `full` counts.

    The pass runs after `ds-fuse`, so copies are what the originals are: same ops, same kernels, same bits. Masks of
    dropout depend on nothing but their key, so they come out the same too.

    Before: fused ops in blocks. After: forward blocks yield what others still read; a product that kept its
    pre-activation for the backward alone no longer does.

    - R1: each name in `full` and `selective` is `*` or a block with a backward.

    ```mlir
    %y:2 = ds.block "h.0" -> tensor<2x8x16xf32>, tensor<2x8x16xf32> {
      %0 = ds.linear %x, %w : tensor<2x8x16xf32>, tensor<16x16xf32> -> tensor<2x8x16xf32>
      %1 = ds.activation relu %0 : (tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
      ds.yield %1, %0 : tensor<2x8x16xf32>, tensor<2x8x16xf32>
    }
    ```
    becomes
    ```mlir
    %y = ds.block "h.0" -> tensor<2x8x16xf32> {
      ...
      ds.yield %1 : tensor<2x8x16xf32>
    }
    %g:2 = ds.block "h.0.backward" -> ... {
      %0 = ds.linear %x, %w {ds.label = "h.0.recompute"} : tensor<2x8x16xf32>, tensor<16x16xf32> -> tensor<2x8x16xf32>
      %1 = ds.activation_grad relu %dy, %0 : (tensor<2x8x16xf32>, tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
      ...
    }
    ```
  }];
  let options = [
    ListOption<"full", "full", "std::string", "labels of blocks that are computed again whole">,
    ListOption<"selective", "selective", "std::string",
               "labels of blocks whose attention core is computed again">
  ];
  let dependentDialects = ["::dsc::ds::DSDialect"];
  let statistics = [
    Statistic<"opsCopied", "copies", "ops computed again">,
    Statistic<"valuesFreed", "freed-values", "values that forward blocks no longer keep">
  ];
}

def DsInlineBlocks : Pass<"ds-inline-blocks", "::mlir::ModuleOp"> {
  let summary = "Dissolve ds.block regions, keeping their names as labels";
  let description = [{
    The ops of a block move to where it stood, each with the block's name in the attribute `ds.label`, from
    which launches take the text that traces and error messages show. After it no `ds.block` is left.
  }];
  let dependentDialects = ["::dsc::ds::DSDialect"];
  let statistics = [Statistic<"blocks", "blocks", "blocks dissolved">];
}

def DsTileHead : Pass<"ds-tile-head", "::mlir::ModuleOp"> {
  let summary = "Split the output head and its loss by rows, so that logits never exist all at once";
  let description = [{
    Where a `ds.linear` feeds nothing but a `ds.cross_entropy` (and, in training, its gradient, whose uses
    are gradients of that same linear op) and the logits are larger than `block-bytes`, rows are cut into
    equal runs, and each run goes through the whole chain before the next one starts:

        for each run of rows r (unrolled):
          %x_r = ds.slice_rows %x, %labels_r = ds.slice_rows %labels
          %logits = ds.linear %x_r, %w
          %losses_r, %lse_r = ds.cross_entropy %logits, %labels_r
          %d = ds.cross_entropy_grad %logits, %labels_r, %lse_r, %seed
          %dx_r = ds.linear_input_grad %d, %w
          %dw = ds.linear_weight_grad %x_r, %d init %dw
        %losses = ds.concat_rows ..., %dx = ds.concat_rows ...

    The seed of the backward depends on the labels alone, so it is computed before the forward pass of the
    head. Needs: blocks inlined. Losses keep their bits; the weight gradient is summed run by run.
  }];
  let options = [
    Option<"blockBytes", "block-bytes", "int64_t", "67108864",
           "Most bytes of logits that may exist at a time">
  ];
  let dependentDialects = ["::dsc::ds::DSDialect"];
  let statistics = [Statistic<"runs", "runs", "runs of rows made">];
}

def DsVerifyLowering : Pass<"ds-verify-lowering", "::mlir::ModuleOp"> {
  let summary = "Contract of the lowering phase: straight-line programs of ops that have kernels";
  let description = [{
    Holds after `ds-inline-blocks` and `ds-tile-head`: each program is one basic block without `ds.block`;
    every function returns nothing; all values are tensors of static shape.
  }];
  let statistics = [Statistic<"ops", "ops", "compute ops found">];
}

#endif // DSC_PASSES_LOWERING
