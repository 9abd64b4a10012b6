//===- Training.td - from a forward pass to a whole step -------------------===//
#ifndef DSC_PASSES_TRAINING
#define DSC_PASSES_TRAINING

include "mlir/Pass/PassBase.td"

def DsDifferentiate : Pass<"ds-differentiate", "::mlir::ModuleOp"> {
  let summary = "Append the backward pass of the reported loss to @train";
  let description = [{
    Visits the ops of `@train` in reverse and lets each build its own backward (DifferentiableOpInterface). A
    `ds.block "h.0"` gets a `ds.block "h.0.backward"`; what that one reads of the forward block is yielded by the
    forward block, so saved values are explicit. Contributions to a value that is used several times are added
    in the order of the backward pass: onto each other in place where the op can (`init`, so a tied table takes
    the head's gradient first and the embedding's onto it), with `ds.add` elsewhere. The gradient of variable `v` is
    reported as `grad:v`, in the order of the variables. With `apart` nothing is added in place across uses of a
    parameter, so that a stage cut between them could not change a bit. Frozen parameters get none, and what leads to no other
    parameter is not differentiated at all.

    Before: an imported module. After: `@train` reports one gradient a parameter. A module without `@train` is left alone.

    - D1: `@train` reports `loss`, computed outside blocks by an op that is an objective (`ds.token_mean`).
    - D2: every op between a parameter and the loss knows its backward.
    - D3: backward ops read nothing of the forward pass that `savedValues` does not name.
    - D4: every parameter that is not frozen gets a gradient.
    - D5: what a trained parameter has a part in is no operand that an op has no gradient for, such as weights of losses.

    ```mlir
    %y = ds.block "h.0" -> tensor<2x8x16xf32> {
      %0 = ds.linear %x, %w : tensor<2x8x16xf32>, tensor<16x16xf32> -> tensor<2x8x16xf32>
      %1 = ds.activation relu %0 : (tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
      ds.yield %1 : tensor<2x8x16xf32>
    }
    ```
    becomes
    ```mlir
    %y:2 = ds.block "h.0" -> tensor<2x8x16xf32>, tensor<2x8x16xf32> {
      %0 = ds.linear %x, %w : tensor<2x8x16xf32>, tensor<16x16xf32> -> tensor<2x8x16xf32>
      %1 = ds.activation relu %0 : (tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
      ds.yield %1, %0 : tensor<2x8x16xf32>, tensor<2x8x16xf32>
    }
    ...
    %g:2 = ds.block "h.0.backward" -> tensor<2x8x16xf32>, tensor<16x16xf32> {
      %0 = ds.activation_grad relu %dy, %y#1 : (tensor<2x8x16xf32>, tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
      %1 = ds.linear_input_grad %0, %w : tensor<2x8x16xf32>, tensor<16x16xf32> -> tensor<2x8x16xf32>
      %2 = ds.linear_weight_grad %x, %0 : tensor<2x8x16xf32>, tensor<2x8x16xf32> -> tensor<16x16xf32>
      ds.yield %1, %2 : tensor<2x8x16xf32>, tensor<16x16xf32>
    }
    ds.report "grad:w", %g#1 : tensor<16x16xf32>
    ```
  }];
  let options = [
    Option<"apart", "apart", "bool", "false",
           "give each use of a parameter a gradient of its own, added with ds.add at the end, last use first; default false">
  ];
  let dependentDialects = ["::dsc::ds::DSDialect"];
  let statistics = [
    Statistic<"opsDifferentiated", "ops", "forward ops that built their backward">,
    Statistic<"valuesSaved", "saved-values", "values forward blocks yield for the backward pass">,
    Statistic<"gradientsAdded", "sums", "contributions added to an earlier one">
  ];
}

def DsAccumulateGradients : Pass<"ds-accumulate-gradients", "::mlir::ModuleOp"> {
  let summary = "Cut the step into what runs once a micro-batch and what runs once a window";
  let description = [{
    With K > 1 micro-batches, `@train` becomes three programs that `ds.schedule` puts in order: `@train.window` counts
    the labels of all K micro-batches and sets the sums to zero; `@train.micro`, K times, is the forward and backward
    pass of one micro-batch, whose gradients are added onto the sums (in place where the op can start from one);
    `@train` reports the sums, and later passes append norm, clipping, guard and updates to it. Every backward pass
    starts from 1 over the count of the whole window, so nothing is divided afterwards, and micro-batches of unequal
    counts weigh as their tokens do.

    With `tree` micro-batches are added by one binary tree over their index, whatever rank they run on: a micro-batch starts
    from nothing, `@train.push.s` keeps its gradients in slot s of a stack, `@train.merge.s` adds those onto the newest ones,
    as soon as two subtrees of one size exist, and at the end from the smallest to the largest. K micro-batches need
    ⌊log2 K⌋ slots. Terms that `ds-differentiate{apart}` left apart are added in `@train`.

    Before: `@train` reports `loss`, `tokens` and gradients. After: as above. Without `@train` the module is left alone, and
    with K = 1 unless `always` is given, for programs of many ranks: then the micro-batch assigns its gradients and adds nothing.

    - A1: `tokens` is the `ds.count` of an argument. Every `ds.count` of that argument, that of the samples too, is
      taken over the window.
    - A2: gradients are reported, and not clipped yet.
    - A3: K is positive.

    ```mlir
    %count = ds.count %labels : (tensor<2x8xi32>) -> tensor<f64>
    ...
    ds.report "grad:w", %g : tensor<16x16xf32>
    ```
    becomes
    ```mlir
    ds.schedule [@train.window, @train.micro, @train] times [1, 4, 1]
    func.func @train.window(%labels: tensor<8x8xi32>) {
      %0 = ds.count %labels : (tensor<8x8xi32>) -> tensor<f64>
      ds.assign @window.count, %0 : tensor<f64>
      %1 = ds.zeros : () -> tensor<16x16xf32>
      ds.assign @"grad:w", %1 : tensor<16x16xf32>
      ...
    }
    func.func @train.micro(%tokens: tensor<2x8xi32>, %labels: tensor<2x8xi32>) {
      %sum = ds.read @"grad:w" : tensor<16x16xf32>
      %count = ds.read @window.count : tensor<f64>
      ...
      ds.assign @"grad:w", %g : tensor<16x16xf32>
    }
    ```
  }];
  let options = [
    Option<"microBatches", "micro-batches", "int64_t", "1", "micro-batches a window; default 1">,
    Option<"tree", "tree", "bool", "false", "add micro-batches by a fixed binary tree; default false">,
    Option<"apart", "apart", "bool", "false",
           "sum the uses of a parameter apart, which ds-differentiate{apart} left so; with `tree` always; default false">,
    Option<"fresh", "fresh", "bool", "false",
           "add each micro-batch's whole gradient, so that ranks can sum it first (ZeRO 2 and 3); default false">,
    Option<"always", "always", "bool", "false", "also where a window has one micro-batch; default false">
  ];
  let dependentDialects = ["::dsc::ds::DSDialect"];
  let statistics = [
    Statistic<"inPlace", "in-place", "gradients that start from the sum">,
    Statistic<"added", "added", "gradients added to the sum afterwards">
  ];
}

def DsClipGradients : Pass<"ds-clip-gradients", "::mlir::ModuleOp"> {
  let summary = "Compute the global gradient norm and the clipping factor";
  let description = [{
    Takes the square sums of all gradients that `@train` reports, sorted by the name of their variable, and from
    them the norm, reported as `grad_norm`, unscaled and before clipping. The factor min(1, limit / norm) is left for
    `ds-insert-optimizer` to hand to the updates; gradients stay as they are. The limit is the hyper-parameter
    `train.gradient_clipping`; 0 means no clipping, the norm is reported all the same.

    Before: a differentiated module. After: `@train` reports `grad_norm` and holds one `ds.clip_factor`. A module
    without `@train` is left alone.

    - K1: `@train` reports at least one gradient, and no `grad_norm` yet.
    - K2: the module has `ds.hyperparameter @"train.gradient_clipping"`.

    ```mlir
    %sums = ds.square_sum %gradient : (tensor<64x48xf32>) -> tensor<3xf64>
    %norm = ds.global_norm %sums : (tensor<3xf64>) -> tensor<f64>
    ds.report "grad_norm", %norm : tensor<f64>
    %limit = ds.read @train.gradient_clipping : tensor<f64>
    %clip = ds.clip_factor %norm, %limit : (tensor<f64>, tensor<f64>) -> tensor<f64>
    ```
  }];
  let dependentDialects = ["::dsc::ds::DSDialect"];
  let statistics = [Statistic<"gradients", "gradients", "gradients in the norm">];
}

def DsInsertOptimizer : Pass<"ds-insert-optimizer", "::mlir::ModuleOp"> {
  let summary = "Append the learning rate, the guard and the update of every parameter";
  let description = [{
    Adds the counter `updates` and the optimizer's state (`adam.m.<parameter>` and `adam.v.<parameter>`,
    `sgd.velocity.<parameter>`, `lion.m.<parameter>`, `lamb.m.<parameter>` and `lamb.v.<parameter>`;
    `adafactor.row.<parameter>` and `adafactor.column.<parameter>` where a parameter has two dimensions, else
    `adafactor.v.<parameter>`), all starting at zero, and to `@train` the learning rate (reported), the guard, the update and the assignments of each parameter,
    and last the counter's next value. Scalars are read from hyper-parameters, so none is compiled in. Only members of
    the decay group get the weight decay; a parameter in group n has the rate scaled by
    `train.param_groups.n.lr_scale` and the decay `train.param_groups.n.weight_decay` where the module declares
    them. Frozen parameters have no state and no update. With the hyper-parameter `train.gradient_clipping_value` each
    gradient goes through `ds.clip_values` first.

    Before: gradients and a clipping factor. After: a whole step. A module without `@train` is left alone.

    - T1: `@train` reports `loss` and `tokens` and one gradient a parameter.
    - T2: `@train` holds one `ds.clip_factor`.
    - T3: the module has the hyper-parameters that optimizer and schedule read.
    - T4: `optimizer` and `schedule` are known.
    - T5: no optimizer has been inserted yet.

    ```mlir
    %rate = ds.learning_rate cosine %updates, %peak, %floor, %warmup, %total
    ds.report "learning_rate", %rate : tensor<f64>
    ds.guard %count, %loss, %norm
    %m = ds.read @adam.m.w : tensor<16x16xf32>
    %v = ds.read @adam.v.w : tensor<16x16xf32>
    %next:3 = ds.adam_update %w, %gradient, %m, %v, %clip, %rate, %beta1, %beta2, %eps, %updates, %decay {decoupled} : ...
    ds.assign @w, %next#0 : tensor<16x16xf32>
    ds.assign @adam.m.w, %next#1 : tensor<16x16xf32>
    ds.assign @adam.v.w, %next#2 : tensor<16x16xf32>
    %0 = ds.increment %updates : (tensor<f64>) -> tensor<f64>
    ds.assign @updates, %0 : tensor<f64>
    ```
  }];
  let options = [
    Option<"optimizer", "optimizer", "std::string", "\"adamw\"",
           "adamw, adam, sgd, lion, lamb or adafactor; default adamw">,
    Option<"decoupled", "decoupled", "bool", "true",
           "for adam: decay the weight (AdamW) and not the gradient; default true">,
    Option<"nesterov", "nesterov", "bool", "false", "for sgd: Nesterov's form of momentum; default false">,
    Option<"schedule", "schedule", "std::string", "\"constant\"",
           "a schedule of ds.learning_rate, such as cosine; default constant">,
    Option<"linearWarmup", "linear-warmup", "bool", "false",
           "for DeepSpeed's schedules: a linear warm-up, not a logarithmic one; default false">
  ];
  let dependentDialects = ["::dsc::ds::DSDialect"];
  let statistics = [
    Statistic<"parametersUpdated", "parameters", "parameters updated">,
    Statistic<"stateBytes", "state-bytes", "bytes of optimizer state">
  ];
}

def DsLossScaling : Pass<"ds-loss-scaling", "::mlir::ModuleOp"> {
  let summary = "Scale the loss, unscale the update, skip steps that overflow";
  let description = [{
    Half-precision gradients are kept away from zero by a factor S on the loss. Every `ds.loss_seed` takes it, so
    backward starts from S / count; the norm and the factor that the optimizer multiplies gradients by are divided by
    it as scalars, so gradients stay scaled in memory and nothing is rounded twice. Square sums are f64: one pass over
    the gradients tells norm and whether all are finite. Before the guard the state of S is advanced
    (`ds.loss_scale_update`, DeepSpeed's state machine) and assigned; the guard then skips a step that overflowed, and
    stops the run after `train.fp16.max_skips_at_floor` such steps in a row at the lowest scale.

    `static` reads S from `train.fp16.loss_scale`; `dynamic` keeps it in `loss_scale.scale`.

    Before: `@train` ends with a guard and updates. After: as above; `loss_scale` is reported. With mode `none` or
    without `@train` the module is left alone.

    - S1: `@train` has one `ds.clip_factor` and a guard.
    - S2: the loss is not scaled yet.
    - S3: the scaler's hyper-parameters exist.
    - S4: the mode is known and the initial scale positive and finite.

    ```mlir
    %seed = ds.loss_seed %count, %scale : (tensor<f64>, tensor<f64>) -> tensor<f64>
    ...
    %scaled = ds.global_norm %0, %1 : (tensor<3xf64>, tensor<1xf64>) -> tensor<f64>
    %norm = ds.unscale %scaled, %scale : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %clip = ds.clip_factor %norm, %limit : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %factor = ds.unscale %clip, %scale : (tensor<f64>, tensor<f64>) -> tensor<f64>
    ds.report "loss_scale", %scale : tensor<f64>
    %next:4 = ds.loss_scale_update %count, %loss, %norm, %scale, %good, %used, %floored, ...
    ds.assign @loss_scale.scale, %next#0 : tensor<f64>
    ...
    ds.guard %count, %loss, %norm skips %next#3 within %patience
    ```
  }];
  let options = [
    Option<"mode", "mode", "std::string", "\"none\"", "none, static or dynamic; default none">,
    Option<"consecutive", "consecutive", "bool", "false",
           "a good step gives the whole hysteresis back; default false">,
    Option<"initial", "initial", "double", "65536", "first scale; default 65536">
  ];
  let dependentDialects = ["::dsc::ds::DSDialect"];
  let statistics = [Statistic<"seeds", "seeds", "places where backward starts">];
}

def DsVerifyTraining : Pass<"ds-verify-training", "::mlir::ModuleOp"> {
  let summary = "Check what the training phase promises";
  let description = [{
    Ends the training phase. Changes nothing; fails unless `@train`, if there is one,

    - W1: reports `loss`, `tokens`, `grad_norm` and `learning_rate`;
    - W2: reports a gradient of each parameter's type, frozen ones excepted, and none of anything else;
    - W3: assigns every variable exactly once, frozen parameters never, those of roles `window` and `cache` aside;
    - W4: holds one guard, after all reports;

    and W5: no other program guards anything or assigns what outlives the step.

    Before: any module. After: the same module; a step is complete and safe to stop at its guard.

    ```mlir
    ds.report "grad:w", %gradient : tensor<16x16xf32>
    ...
    ds.guard %count, %loss, %norm
    ...
    ds.assign @w, %next#0 : tensor<16x16xf32>
    ```
  }];
  let statistics = [Statistic<"assignments", "assignments", "assignments checked">];
}

#endif // DSC_PASSES_TRAINING
