//===- Parallel.td - from one device's programs to those of many ranks -----===//
#ifndef DSC_PASSES_PARALLEL
#define DSC_PASSES_PARALLEL

include "mlir/Pass/PassBase.td"

def DsPartitionTensor : Pass<"ds-partition-tensor", "::mlir::ModuleOp"> {
  let summary = "Deal the matrices of each layer out to tensor-parallel ranks";
  let description = [{
    Megatron's cut, found by structure. Where a product sums over what another one has made, and all between them is
    parallel in that dimension, the first is cut by columns and the second by rows: an MLP by its width, attention by its
    heads. Each rank then has partial sums, which one `ds.all_reduce` adds up behind the second product, and in the
    backward pass one behind the gradient of the first one's input. Head and loss are such a pair, too: the vocabulary
    is cut, each rank sums over its own classes, and two numbers a token cross, never the logits. Tables are cut by rows.

    What is cut spreads over the loops of the ops (`ShardableOpInterface`) to all values of all programs of the step:
    activations, gradients, their sums, the state of the optimizer. Parameters that are not cut have equal gradients on
    all ranks. Square sums of what is cut are added over the ranks, so that all agree on the norm.

    Sizes that do not divide are rounded up, and what is too much is zero. All ranks run one program; where it differs
    it reads the coordinate, `rank.tensor`. A variable that other programs read whole stays, its part stands beside it
    as `part:<name>` until `ds-split-stages`. `ds.why` of a variable says who asked for its cut.

    Before: the whole step, with or without mixed precision. After: types of parts, sums in place; with one rank the
    module is left alone.

    ```mlir
    %h = ds.linear %x, %up : tensor<2x8x16xf32>, tensor<16x50xf32> -> tensor<2x8x50xf32>
    %y = ds.linear %h, %down : tensor<2x8x50xf32>, tensor<50x16xf32> -> tensor<2x8x16xf32>
    ```
    becomes, for each of 2 ranks,
    ```mlir
    %h = ds.linear %x, %up : tensor<2x8x16xf32>, tensor<16x25xf32> -> tensor<2x8x25xf32>
    %y = ds.linear %h, %down : tensor<2x8x25xf32>, tensor<25x16xf32> -> tensor<2x8x16xf32>
    %sum = ds.all_reduce tensor %y : tensor<2x8x16xf32>
    ```
  }];
  let options = [
    Option<"ranks", "ranks", "int64_t", "1", "ranks along the tensor axis; default 1">
  ];
  let dependentDialects = ["::dsc::ds::DSDialect"];
  let statistics = [
    Statistic<"variables", "variables", "variables that are cut">,
    Statistic<"ops", "ops", "ops that do a part of their work">,
    Statistic<"reductions", "reductions", "sums over the ranks">
  ];
}

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
    The programs of the step, their schedule and the variables that they touch go to modules `@stage.0`, `@stage.1` and so on;
    the module around them keeps the other programs and the logical state, whole.

    With several stages the model is cut into parts at blocks (`blocks`: how many each part has; the first also has the
    embedding, the last the head), part v on stage v mod P, and `@train.micro` into programs of a part: `@train.forward` and
    `@train.backward`, or one `@train.micro` where backward follows forward at once; schedules that delay gradients of
    parameters have `@train.backward.input` and `@train.backward.weights`. The last block goes backward as it goes forward. A
    value that another program reads becomes a variable `stash.<block>` with a place for each micro-batch in flight; one that
    another stage reads is sent from there. `ds.schedule` has a row a micro-batch and program.

    `@train` runs on every stage with what it has. Square sums and loss of other stages are zeros, and a sum over the stages
    makes them whole; gradients of a tied parameter are exchanged, so that each of its stages updates the same bits.

    Before: programs of the whole step, collectives in place. After: no `@train` outside of stages. With one rank the
    module is left alone.

    - P1: there are `ds.schedule` and the programs that it names.
    - P2: schedule, parts and micro-batches go together, and every part has a block.
    - P3: every op belongs to a stage, and values flow from part to part.
    - P4: what all stages decide upon, all have: loss and norm.
    - P5: no stage holds more micro-batches than theory says, and none waits for ever.

    ```mlir
    module {
      ds.schedule [@train.window, @train.micro, @train] times [1, 2, 1]
      func.func @train.micro(%tokens: tensor<1x8xi32>, %labels: tensor<1x8xi32>) {
        %x = ds.block "h.0" -> tensor<1x8x16xf32> { ... }
        %y = ds.block "h.1" -> tensor<1x8x16xf32> { ... }
        ...
    ```
    becomes
    ```mlir
    module {
      module @stage.0 attributes {ds.layout = array<i64: 1, 1, 2, 1>} {
        ds.schedule [@train.window, @train.forward, @train.forward, @train.backward, @train.backward, @train] times [1, 1, 1, 1, 1, 1]
        ds.variable stash @stash.h.0 : tensor<1x8x16xf32> = zeros {places = 2 : i64}
        func.func @train.forward(%tokens: tensor<1x8xi32>) {
          %x = ds.block "h.0" -> tensor<1x8x16xf32> { ... }
          ds.assign @stash.h.0, %x : tensor<1x8x16xf32>
          %kept = ds.read @stash.h.0 : tensor<1x8x16xf32>
          ds.send %kept to 1 channel 0 : tensor<1x8x16xf32>
          return
        }
        ...
    ```
  }];
  let options = [
    ListOption<"layout", "layout", "int64_t", "ranks along data, tensor, pipeline and context; default one of each">,
    Option<"pipelineSchedule", "schedule", "std::string", "\"1f1b\"",
           "gpipe, 1f1b, interleaved or zero_bubble; default 1f1b">,
    Option<"interleave", "interleave", "int64_t", "1", "parts of the model a stage; default 1">,
    ListOption<"blocks", "blocks", "int64_t", "blocks of each part; default: dealt evenly">
  ];
  let dependentDialects = ["::dsc::ds::DSDialect"];
  let statistics = [
    Statistic<"stages", "stages", "modules of stages">,
    Statistic<"places", "places", "places of all stashes">
  ];
}

#endif // DSC_PASSES_PARALLEL
