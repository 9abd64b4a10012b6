//===- Optimizer.td - updates of one variable ------------------------------===//
#ifndef DSC_DIALECT_DS_OPTIMIZER
#define DSC_DIALECT_DS_OPTIMIZER

include "dsc/Dialect/DS/DSBase.td"

def DS_AdamUpdateOp : DS_ComputeOp<"adam_update", [NotDifferentiable, HasFlops, MayOverwrite]> {
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
    - O1: `weight`, `gradient`, the state and all results have one type.
  }];
  let arguments = (ins DS_Tensor:$weight, DS_Tensor:$gradient, DS_Tensor:$m, DS_Tensor:$v,
                       DS_Scalar:$clip, DS_Scalar:$rate, DS_Scalar:$beta1, DS_Scalar:$beta2,
                       DS_Scalar:$eps, DS_Scalar:$updates, Optional<DS_Scalar>:$decay,
                       UnitAttr:$decoupled);
  let results = (outs DS_Tensor:$newWeight, DS_Tensor:$newM, DS_Tensor:$newV);
}

def DS_SgdUpdateOp : DS_ComputeOp<"sgd_update", [NotDifferentiable, HasFlops, MayOverwrite]> {
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
    - O1: `weight`, `gradient`, the state and all results have one type.
  }];
  let arguments = (ins DS_Tensor:$weight, DS_Tensor:$gradient, DS_Tensor:$velocity,
                       DS_Scalar:$clip, DS_Scalar:$rate, DS_Scalar:$momentum, Optional<DS_Scalar>:$decay,
                       UnitAttr:$nesterov);
  let results = (outs DS_Tensor:$newWeight, DS_Tensor:$newVelocity);
}

#endif // DSC_DIALECT_DS_OPTIMIZER
