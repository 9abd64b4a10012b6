//===- Optimizer.td - updates of one variable ------------------------------===//
#ifndef DSC_DIALECT_DS_OPTIMIZER
#define DSC_DIALECT_DS_OPTIMIZER

include "dsc/Dialect/DS/DSBase.td"

def DS_AdamUpdateOp : DS_ComputeOp<"adam_update", [NotDifferentiable, HasFlops, MayOverwrite, WritesHalf]> {
  let summary = "One Adam or AdamW update of a variable";
  let description = [{
    With g = clip * gradient and t = `updates` + 1:

        decoupled (AdamW): w -= rate * decay * w            before the step
        otherwise:         g += decay * w
        m' = beta1 m + (1 - beta1) g,  v' = beta2 v + (1 - beta2) g^2
        w' = w - rate * (m' / (1 - beta1^t)) / (sqrt(v' / (1 - beta2^t)) + eps)

    Scalars derived from t are computed in f64 once, the element loop in f32. `decay` is absent for variables
    outside the decay group. Every dimension shards freely (ZeRO).

    Created by `ds-insert-optimizer`; lowered by `ds-to-plan`. New values may be written over `weight`, `m` and `v`.

    Example:

        %w1, %m1, %v1 = ds.adam_update %w, %g, %m, %v, %clip, %rate, %beta1, %beta2, %eps, %updates, %decay {decoupled}
            : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f64>, tensor<f64>, tensor<f64>,
               tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)

    Constraints:
    - O1: `weight`, `gradient`, the state and all results but `newHalf` have one type.
    - O2: `newHalf`, the new weight rounded for products to read, has its shape and is f16 or bf16.
  }];
  let arguments = (ins DS_Tensor:$weight, DS_Tensor:$gradient, DS_Tensor:$m, DS_Tensor:$v,
                       DS_Scalar:$clip, DS_Scalar:$rate, DS_Scalar:$beta1, DS_Scalar:$beta2,
                       DS_Scalar:$eps, DS_Scalar:$updates, Optional<DS_Scalar>:$decay,
                       UnitAttr:$decoupled);
  let results = (outs DS_Tensor:$newWeight, DS_Tensor:$newM, DS_Tensor:$newV,
                      Optional<DS_Tensor>:$newHalf);
}

def DS_SgdUpdateOp : DS_ComputeOp<"sgd_update", [NotDifferentiable, HasFlops, MayOverwrite, WritesHalf]> {
  let summary = "One update of stochastic gradient descent with momentum";
  let description = [{
        g = clip * gradient + decay * w
        u' = momentum * u + g,  w' = w - rate * (nesterov ? g + momentum * u' : u')

    `decay` is absent for variables outside the decay group. The element loop runs in f32. Every dimension
    shards freely (ZeRO).

    Created by `ds-insert-optimizer`; lowered by `ds-to-plan`. New values may be written over `weight` and `velocity`.

    Example:

        %w1, %u1 = ds.sgd_update %w, %g, %u, %clip, %rate, %momentum {nesterov}
            : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<4xf32>, tensor<4xf32>)

    Constraints:
    - O1: `weight`, `gradient`, the state and all results but `newHalf` have one type.
    - O2: `newHalf`, the new weight rounded for products to read, has its shape and is f16 or bf16.
  }];
  let arguments = (ins DS_Tensor:$weight, DS_Tensor:$gradient, DS_Tensor:$velocity,
                       DS_Scalar:$clip, DS_Scalar:$rate, DS_Scalar:$momentum, Optional<DS_Scalar>:$decay,
                       UnitAttr:$nesterov);
  let results = (outs DS_Tensor:$newWeight, DS_Tensor:$newVelocity, Optional<DS_Tensor>:$newHalf);
}

def DS_LionUpdateOp : DS_ComputeOp<"lion_update", [NotDifferentiable, HasFlops, MayOverwrite]> {
  let summary = "One update of Lion: the sign of a momentum";
  let description = [{
    Chen et al., "Symbolic discovery of optimization algorithms" (2023). With g = clip * gradient:

        c = beta1 m + (1 - beta1) g
        w' = w - rate * (sign(c) + decay * w),  m' = beta2 m + (1 - beta2) g        sign(0) = 0

    `decay` is absent for variables outside the decay group. The element loop runs in f32. Every dimension
    shards freely (ZeRO).

    Created by `ds-insert-optimizer`; lowered by `ds-to-plan`. New values may be written over `weight` and `m`.

    Example:

        %w1, %m1 = ds.lion_update %w, %g, %m, %clip, %rate, %beta1, %beta2
            : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>)
            -> (tensor<4xf32>, tensor<4xf32>)

    Constraints:
    - O1: `weight`, `gradient`, the state and all results have one type.
  }];
  let arguments = (ins DS_Tensor:$weight, DS_Tensor:$gradient, DS_Tensor:$m,
                       DS_Scalar:$clip, DS_Scalar:$rate, DS_Scalar:$beta1, DS_Scalar:$beta2,
                       Optional<DS_Scalar>:$decay);
  let results = (outs DS_Tensor:$newWeight, DS_Tensor:$newM);
}

def DS_LambDirectionOp : DS_ComputeOp<"lamb_direction", [NotDifferentiable, HasFlops, MayOverwrite]> {
  let summary = "Where LAMB goes, before the layer's trust ratio scales it";
  let description = [{
    You et al., "Large batch optimization for deep learning" (2020). With g = clip * gradient and t = `updates` + 1:

        m' = beta1 m + (1 - beta1) g,  v' = beta2 v + (1 - beta2) g^2
        direction = (m' / (1 - beta1^t)) / (sqrt(v' / (1 - beta2^t)) + eps) + decay * w

    Scalars derived from t are computed in f64 once, the element loop in f32. `decay` is absent for variables
    outside the decay group. Every dimension shards freely (ZeRO).

    Created by `ds-insert-optimizer`, followed by `ds.trust_ratio` and `ds.descend`; lowered by `ds-to-plan`. New
    values may be written over `m` and `v`.

    Example:

        %d, %m1, %v1 = ds.lamb_direction %w, %g, %m, %v, %clip, %beta1, %beta2, %eps, %updates
            : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f64>, tensor<f64>, tensor<f64>,
               tensor<f64>, tensor<f64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)

    Constraints:
    - O1: `weight`, `gradient`, the state and all results have one type.
  }];
  let arguments = (ins DS_Tensor:$weight, DS_Tensor:$gradient, DS_Tensor:$m, DS_Tensor:$v,
                       DS_Scalar:$clip, DS_Scalar:$beta1, DS_Scalar:$beta2, DS_Scalar:$eps,
                       DS_Scalar:$updates, Optional<DS_Scalar>:$decay);
  let results = (outs DS_Tensor:$direction, DS_Tensor:$newM, DS_Tensor:$newV);
}

def DS_DescendOp : DS_ComputeOp<"descend", [NotDifferentiable, HasFlops, MayOverwrite]> {
  let summary = "One step of a variable along a direction";
  let description = [{
        w' = w - rate * (factor * direction + decay * w)

    The scalars are multiplied in f64, the element loop runs in f32. `decay` is absent where nothing decays, or
    where the direction has the decay already. Every dimension shards freely (ZeRO).

    Created by `ds-insert-optimizer`; lowered by `ds-to-plan`. The new weight may be written over `weight`.

    Example:

        %w1 = ds.descend %w, %d, %rate, %ratio : (tensor<4xf32>, tensor<4xf32>, tensor<f64>, tensor<f64>) -> tensor<4xf32>

    Constraints:
    - O1: `weight`, `direction` and the result have one type.
  }];
  let arguments = (ins DS_Tensor:$weight, DS_Tensor:$direction, DS_Scalar:$rate, DS_Scalar:$factor,
                       Optional<DS_Scalar>:$decay);
  let results = (outs DS_Tensor:$newWeight);
}

def DS_ClipValuesOp : DS_ComputeOp<"clip_values", [NotDifferentiable, HasFlops, MayOverwrite]> {
  let summary = "A gradient whose elements stay within a limit once the update has scaled them";
  let description = [{
        result = max(-limit / clip, min(gradient, limit / clip)),  gradient if limit is 0

    so that |clip * result| <= limit: the update multiplies by `clip`, which holds the clipping by norm and what
    else the gradient is to be divided by. The bound is computed in f64 and rounded to f32 once. Every dimension
    shards freely.

    Created by `ds-insert-optimizer` where the spec clips by value; lowered by `ds-to-plan`.

    Example:

        %g1 = ds.clip_values %g, %clip, %limit : (tensor<4xf32>, tensor<f64>, tensor<f64>) -> tensor<4xf32>

    Constraints:
    - O1: `gradient` and the result have one type.
  }];
  let arguments = (ins DS_Tensor:$gradient, DS_Scalar:$clip, DS_Scalar:$limit);
  let results = (outs DS_Tensor:$result);
}

#endif // DSC_DIALECT_DS_OPTIMIZER
