//===- Scalar.td - norms, clipping, schedules, counters --------------------===//
#ifndef DSC_DIALECT_DS_SCALAR
#define DSC_DIALECT_DS_SCALAR

include "dsc/Dialect/DS/DSBase.td"

def DS_SquareSumOp : DS_ComputeOp<"square_sum", [NotDifferentiable, HasFlops, CutsGenericLoops]> {
  let summary = "Sums of squares of a variable's gradient, one for each block of 1,024 elements";
  let description = [{
        result[i] = sum_{1024 i <= e < min(1024 (i + 1), elements)} input[e]^2        in f64

    Blocks are cut from the logical variable, row-major, so shards that are cut at block boundaries and any
    number of threads repeat the sums to the bit. `ds.global_norm` adds the blocks up. ZeRO cuts blocks; where a
    dimension is cut, a rank has the blocks of its part, to be summed over the ranks.

    Created by `ds-clip-gradients`; lowered by `ds-to-plan`.

    Example:

        %s = ds.square_sum %dw : (tensor<64x48xf32>) -> tensor<3xf64>

    Constraints:
    - Q1: `result` is tensor<Nxf64> with N = ceil(elements of `input` / 1024).
  }];
  let arguments = (ins DS_Tensor:$input);
  let results = (outs DS_Tensor:$result);
}

def DS_GlobalNormOp : DS_ComputeOp<"global_norm", [NotDifferentiable, HasFlops]> {
  let summary = "Square root of the sum of all square sums";
  let description = [{
        result = sqrt(sum_v tree(squareSums[v]))        in f64

    Each operand is the result of a `ds.square_sum`. Its blocks are added by a fixed binary tree (level by
    level, entry 2 i with entry 2 i + 1, a last odd entry passing unchanged), then the operands in order.
    Operands come sorted by the name of their variable, so that no layout changes the order. No dimension is cut.

    Created by `ds-clip-gradients`; lowered by `ds-to-plan`.

    Example:

        %norm = ds.global_norm %a, %b : (tensor<3xf64>, tensor<1xf64>) -> tensor<f64>

    Constraints:
    - Q2: operands are one-dimensional f64 tensors, and there is at least one.
  }];
  let arguments = (ins Variadic<DS_Tensor>:$squareSums);
  let results = (outs DS_Scalar:$result);
}

def DS_ClipFactorOp : DS_ComputeOp<"clip_factor", [NotDifferentiable, HasFlops]> {
  let summary = "min(1, limit / norm); 1 if the limit or the norm is 0";
  let description = [{
        result = limit > 0 and norm > limit ? limit / norm : 1        in f64, no epsilon

    Created by `ds-clip-gradients`, whether or not the spec clips, so that the limit stays a scalar of the plan;
    lowered by `ds-to-plan`.

    Example:

        %clip = ds.clip_factor %norm, %limit : (tensor<f64>, tensor<f64>) -> tensor<f64>
  }];
  let arguments = (ins DS_Scalar:$norm, DS_Scalar:$limit);
  let results = (outs DS_Scalar:$result);
  let hasVerifier = 0;
}

def DS_LearningRateOp : DS_ComputeOp<"learning_rate", [NotDifferentiable, HasFlops]> {
  let summary = "Learning rate of an update";
  let description = [{
    With t applied updates so far, W = `warmup`, T = `total`, E = `extra`:

        t < W:  peak * (t + 1) / W
        constant:     peak
        cosine:       floor + (peak - floor) * (1 + cos(pi (t - W) / (T - W))) / 2,  floor for t >= T
        linear:       floor + (peak - floor) * (1 - (t - W) / (T - W)),              floor for t >= T
        inverse_sqrt: max(floor, peak * sqrt(E / (t - W + E)))
        wsd:          peak for t < T - E, then floor + (peak - floor) * (1 - (t - (T - E)) / E),  floor for t >= T

    and DeepSpeed's (deepspeed/runtime/lr_schedules.py), where W is at least 2 and the warm-up is
    w(t) = log(t + 1) / log(W), or t / W with `linear_warmup`, and 1 for t >= W:

        warmup_lr:        floor + (peak - floor) * w(t)
        warmup_decay_lr:  the same for t < W, then floor + (peak - floor) * max(0, (T - t) / max(1, T - W))
        warmup_cosine_lr: peak * (E + (1 - E) * w(t)) for t < W,
                          then peak * (floor + (1 - floor) * (1 + cos(pi min(1, (t - W + 1) / (T - W)))) / 2)

    In f64. `floor` and `total` mean nothing to `constant`, `total` nothing to `inverse_sqrt` and `warmup_lr`.
    The cosine of DeepSpeed rises again behind T; here it stays at its end.

    Created by `ds-insert-optimizer`; lowered by `ds-to-plan`.

    Example:

        %rate = ds.learning_rate cosine %updates, %peak, %floor, %warmup, %total

    Constraints:
    - Q3: `extra` is there for `inverse_sqrt` (a time scale above 0), `wsd` (updates of decay) and
      `warmup_cosine_lr` (ratio at the first update), and for no other schedule.
    - Q4: `linear_warmup` belongs to `warmup_lr`, `warmup_decay_lr` and `warmup_cosine_lr`.
  }];
  let arguments = (ins DS_Scalar:$updates, DS_Scalar:$peak, DS_Scalar:$floor, DS_Scalar:$warmup,
                       DS_Scalar:$total, Optional<DS_Scalar>:$extra, DS_Schedule:$schedule,
                       UnitAttr:$linear_warmup);
  let results = (outs DS_Scalar:$result);
  let assemblyFormat = [{
    $schedule $updates `,` $peak `,` $floor `,` $warmup `,` $total (`,` $extra^)? attr-dict
  }];
}

def DS_IncrementOp : DS_ComputeOp<"increment", [NotDifferentiable, HasFlops, MayOverwrite]> {
  let summary = "A counter's or a sum's next value";
  let description = [{
        result = input + by        `step`, 1 unless given, where `by` is absent; counters are exact up to 2^53

    Created by `ds-insert-optimizer` for `updates` and by `ds-accumulate-gradients` for the sum of losses and the
    number of the sample; lowered by `ds-to-plan`. May write over `input`.

    Example:

        %next = ds.increment %updates : (tensor<f64>) -> tensor<f64>
  }];
  let arguments = (ins DS_Scalar:$input, Optional<DS_Scalar>:$by, DefaultValuedAttr<F64Attr, "1.0">:$step);
  let results = (outs DS_Scalar:$result);
  let hasVerifier = 0;
}

def DS_ScaleRateOp : DS_ComputeOp<"scale_rate", [NotDifferentiable, HasFlops]> {
  let summary = "The learning rate of a group of parameters";
  let description = [{
        result = rate * scale        in f64

    Created by `ds-insert-optimizer`, once a group that has a scale; lowered by `ds-to-plan`.

    Example:

        %group = ds.scale_rate %rate, %scale : (tensor<f64>, tensor<f64>) -> tensor<f64>
  }];
  let arguments = (ins DS_Scalar:$rate, DS_Scalar:$scale);
  let results = (outs DS_Scalar:$result);
  let hasVerifier = 0;
}

def DS_ZerosOp : DS_ComputeOp<"zeros", [NotDifferentiable]> {
  let summary = "A tensor of zeros";
  let description = [{
        result[i] = 0

    Every dimension shards freely.

    Created by `ds-accumulate-gradients`, where a window starts; lowered by `ds-to-plan`.

    Example:

        %none = ds.zeros : () -> tensor<16x48xf32>
  }];
  let results = (outs DS_Tensor:$result);
  let hasVerifier = 0;
}

def DS_UnscaleOp : DS_ComputeOp<"unscale", [NotDifferentiable, HasFlops]> {
  let summary = "A scalar divided by the loss scale";
  let description = [{
        result = input / scale        in f64

    Gradients stay scaled in memory: the norm is unscaled as a scalar, and so is the factor that the optimizer
    multiplies each gradient by.

    Created by `ds-loss-scaling`; lowered by `ds-to-plan`.

    Example:

        %norm = ds.unscale %scaled, %scale : (tensor<f64>, tensor<f64>) -> tensor<f64>
  }];
  let arguments = (ins DS_Scalar:$input, DS_Scalar:$scale);
  let results = (outs DS_Scalar:$result);
  let hasVerifier = 0;
}

def DS_TrustRatioOp : DS_ComputeOp<"trust_ratio", [NotDifferentiable, HasFlops]> {
  let summary = "LAMB's ratio between the norms of a variable and of its direction";
  let description = [{
        result = weight > 0 and direction > 0 ? max(least, min(weight / direction, most)) : 1        in f64

    The norms are results of `ds.global_norm`, so they are sums over fixed blocks and the same in every layout.

    Created by `ds-insert-optimizer`; lowered by `ds-to-plan`.

    Example:

        %ratio = ds.trust_ratio %weight, %direction, %least, %most
            : (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> tensor<f64>
  }];
  let arguments = (ins DS_Scalar:$weight, DS_Scalar:$direction, DS_Scalar:$least, DS_Scalar:$most);
  let results = (outs DS_Scalar:$result);
  let hasVerifier = 0;
}

def DS_UpdatePowerOp : DS_ComputeOp<"update_power", [NotDifferentiable, HasFlops]> {
  let summary = "A power of the number of the update";
  let description = [{
        result = (updates + 1)^exponent,  exponent <= 0        in f64; 1 at the first update

    How far Adafactor's moments move toward what they see: 1 - beta2 of the update.

    Created by `ds-insert-optimizer`, once; lowered by `ds-to-plan`.

    Example:

        %toward = ds.update_power %updates, %exponent : (tensor<f64>, tensor<f64>) -> tensor<f64>
  }];
  let arguments = (ins DS_Scalar:$updates, DS_Scalar:$exponent);
  let results = (outs DS_Scalar:$result);
  let hasVerifier = 0;
}

def DS_AdafactorFactorOp : DS_ComputeOp<"adafactor_factor", [NotDifferentiable, HasFlops]> {
  let summary = "What Adafactor multiplies rate and direction by";
  let description = [{
    With t = `updates` + 1 and rms(x) = x / sqrt(elements) of the norm x of a variable of `elements` elements:

        result = max(least, rms(weight)) * min(1, 1 / (rate * sqrt(t))) / max(1, rms(direction) / threshold)

    in f64, so that rate * result is the relative step min(rate, 1 / sqrt(t)) of a variable as large as it is, at
    least `least`, along a direction whose root mean square is at most `threshold`. The norms are results of
    `ds.global_norm`, so they are sums over fixed blocks and the same in every layout.

    Created by `ds-insert-optimizer`, followed by `ds.descend`; lowered by `ds-to-plan`.

    Example:

        %factor = ds.adafactor_factor %rate, %weight, %direction, %updates, %least, %threshold {elements = 3072 : i64}
            : (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> tensor<f64>

    Constraints:
    - Q5: `elements` is positive.
  }];
  let arguments = (ins DS_Scalar:$rate, DS_Scalar:$weight, DS_Scalar:$direction, DS_Scalar:$updates,
                       DS_Scalar:$least, DS_Scalar:$threshold, I64Attr:$elements);
  let results = (outs DS_Scalar:$result);
}

def DS_LossScaleUpdateOp : DS_ComputeOp<"loss_scale_update", [NotDifferentiable, HasFlops]> {
  let summary = "Next state of the dynamic loss scale";
  let description = [{
    The state machine of DeepSpeed's `DynamicLossScaler`, whose counters start at zero here: `good` is the number of
    steps since the last overflow, `used` how much of the hysteresis overflows have used up.

        nothing counted (count = 0): nothing changes
        overflow (`loss` or `norm` not finite):
            scale' = used + 1 >= hysteresis ? max(scale / 2, floor) : scale,  used' = used + 1 where scale is kept
            good' = 0,  floored' = scale <= floor ? floored + 1 : 0
        otherwise, with grow = (good + 1) mod window = 0:
            scale' = grow ? min(2 scale, cap) : scale,  used' = grow or `consecutive` ? 0 : used
            good' = good + 1,  floored' = 0

    A step beyond what is finite never enters: `cap` is finite. In f64.

    Created by `ds-loss-scaling`; lowered by `ds-to-plan`.

    Example:

        %scale1, %good1, %used1, %floored1 = ds.loss_scale_update %count, %loss, %norm, %scale, %good, %used, %floored,
                                                 %window, %hysteresis, %floor, %cap {consecutive}
            : (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>,
               tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>)
  }];
  let arguments = (ins DS_Scalar:$count, DS_Scalar:$loss, DS_Scalar:$norm, DS_Scalar:$scale, DS_Scalar:$good,
                       DS_Scalar:$used, DS_Scalar:$floored, DS_Scalar:$window, DS_Scalar:$hysteresis,
                       DS_Scalar:$floor, DS_Scalar:$cap, UnitAttr:$consecutive);
  let results = (outs DS_Scalar:$newScale, DS_Scalar:$newGood, DS_Scalar:$newUsed, DS_Scalar:$newFloored);
  let hasVerifier = 0;
}

#endif // DSC_DIALECT_DS_SCALAR
