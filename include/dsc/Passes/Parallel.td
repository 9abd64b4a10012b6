//===- Parallel.td - from one device's programs to those of many ranks -----===//
#ifndef DSC_PASSES_PARALLEL
#define DSC_PASSES_PARALLEL

include "mlir/Pass/PassBase.td"

def DsReduceGradients : Pass<"ds-reduce-gradients", "::mlir::ModuleOp"> {
  let summary = "Add counts, losses and gradients of data-parallel ranks, and share out the optimizer";
  let description = [{
    Each of N ranks along the data axis runs the micro-batches of its rows. What `@train.window` counts and what `@train`
    reads of the sums (loss, gradients) is summed over the ranks, so that norm, guard and updates see what one device
    would; uses of a tied parameter are summed before they are added to each other, as on one device.

    With `zero` at least 1 gradients are scattered: a rank gets the sums of its share, blocks of 1,024 elements. The
    square sums, the element-wise ops of the updates and the optimizer's state are shared out likewise
    (`ds.share`, `share` of the variable), and new weights are gathered. A parameter that the forward pass reads through
    its working copy alone is shared out too.

    With `zero` at least 2 the gradients of each micro-batch are scattered, before they are added to shared sums; ranks take
    micro-batches in turn, so that they are the lowest levels of the tree over all of them. With 3 parameters are
    shared out as well, and each block gathers those that it reads, forward and backward.

    Gradients travel in buckets of at most `bucket-bytes` bytes, in the order in which the backward pass completes them.

    Before: `ds-accumulate-gradients{always}`, the optimizer and mixed precision. After: as above; with one rank the module is
    left alone.

    - R1: there are `@train.window`, `@train.micro` and `@train`.
    - R2: with `zero`, what an update does to a shared gradient is element-wise or a `ds.square_sum`.

    ```mlir
    %g = ds.read @"grad:w" : tensor<64x48xf32>
    ds.report "grad:w", %g : tensor<64x48xf32>
    ```
    becomes
    ```mlir
    %g = ds.read @"grad:w" : tensor<64x48xf32>
    %sum = ds.all_reduce data %g : tensor<64x48xf32>
    ds.assign @"grad:w", %sum : tensor<64x48xf32>
    ds.report "grad:w", %sum : tensor<64x48xf32>
    ```
  }];
  let options = [
    Option<"ranks", "ranks", "int64_t", "1", "ranks along the data axis; default 1">,
    Option<"zero", "zero", "int64_t", "0", "ZeRO stage, 0 to 3; default 0">,
    Option<"bucketBytes", "bucket-bytes", "int64_t", "33554432", "most bytes of a bucket, 0: one a gradient; default 32 MiB">
  ];
  let dependentDialects = ["::dsc::ds::DSDialect"];
  let statistics = [
    Statistic<"reduced", "reduced", "tensors summed over the ranks">,
    Statistic<"buckets", "buckets", "collectives that sum gradients">,
    Statistic<"shared", "shared", "ops of updates that are shared out">
  ];
}

def DsSplitStages : Pass<"ds-split-stages", "::mlir::ModuleOp"> {
  let summary = "Move training into one module a pipeline stage";
  let description = [{
    The programs of the step, their schedule and the variables that they touch go to `module @stage.0`; the module around it
    keeps the other programs and the logical state, whole.

    Before: programs of the whole step, collectives in place. After: no `@train` outside of stages. With one rank the
    module is left alone.

    - P1: there are `ds.schedule` and the programs that it names.

    ```mlir
    module {
      ds.schedule [@train.window, @train.micro, @train] times [1, 4, 1]
      ...
    }
    ```
    becomes
    ```mlir
    module {
      module @stage.0 attributes {ds.layout = array<i64: 2, 1, 1, 1>} {
        ds.schedule [@train.window, @train.micro, @train] times [1, 4, 1]
        ...
      }
    }
    ```
  }];
  let options = [
    ListOption<"layout", "layout", "int64_t", "ranks along data, tensor, pipeline and context; default one of each">
  ];
  let dependentDialects = ["::dsc::ds::DSDialect"];
  let statistics = [
    Statistic<"stages", "stages", "modules of stages">
  ];
}

#endif // DSC_PASSES_PARALLEL
