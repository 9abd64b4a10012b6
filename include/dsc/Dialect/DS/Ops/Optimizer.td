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

def DS_FactorSumsOp : DS_ComputeOp<"factor_sums", [NotDifferentiable, HasFlops]> {
  let summary = "Sums of squares of a gradient along its rows and along its columns";
  let description = [{
        rowSums[0, i] = sum_j gradient[i, j]^2
        columnSums[k, j] = sum_{i in group k} gradient[i, j]^2        in f64

    One pass over the gradient. A row is added up in runs of 1,024 elements, the runs in order. Columns are added up
    over groups of rows, in order within a group; `ds.factor_moment` adds the groups. A group is the least multiple
    of 32 rows that is a whole number of blocks of 1,024 elements (32 rows where the columns are a multiple of 32),
    so shards that are cut between groups, and any number of threads, repeat the sums to the bit. No dimension is cut
    by a strategy: groups are.

    Created by `ds-insert-optimizer` for Adafactor; lowered by `ds-to-plan`.

    Example:

        %rows, %columns = ds.factor_sums %g : (tensor<64x48xf32>) -> (tensor<1x64xf64>, tensor<1x48xf64>)

    Constraints:
    - O3: `gradient` has two dimensions.
    - O4: `rowSums` is tensor<1xRxf64> for R rows, `columnSums` tensor<GxCxf64> for G groups and C columns.
  }];
  let arguments = (ins DS_Tensor:$gradient);
  let results = (outs DS_Tensor:$rowSums, DS_Tensor:$columnSums);
  let extraClassDeclaration = [{
    /// Rows of a group of a gradient with `columns` columns.
    static int64_t rowsOfGroup(int64_t columns);
    /// Groups of a gradient of `rows` rows, the last of which may be short.
    static int64_t groupsOf(int64_t rows, int64_t columns);
  }];
}

def DS_FactorMomentOp : DS_ComputeOp<"factor_moment", [NotDifferentiable, HasFlops, MayOverwrite]> {
  let summary = "Next value of one factor of Adafactor's second moment";
  let description = [{
        mean[j] = clip^2 * tree_k(sums[k, j]) / terms
        m'[j] = m[j] + toward * (mean[j] - m[j])

    `sums` is a result of `ds.factor_sums`; its rows are added by the tree of `ds.global_norm`. The mean is computed
    in f64 and rounded to f32 once. The second dimension shards freely.

    Created by `ds-insert-optimizer`; lowered by `ds-to-plan`. The new moment may be written over `moment`.

    Example:

        %c1 = ds.factor_moment %columns, %c, %clip, %toward {terms = 64 : i64}
            : (tensor<1x48xf64>, tensor<48xf32>, tensor<f64>, tensor<f64>) -> tensor<48xf32>

    Constraints:
    - O5: `sums` is tensor<GxNxf64> for a moment of N elements.
    - O6: `newMoment` has the type of `moment`.
    - O7: `terms` is positive.
  }];
  let arguments = (ins DS_Tensor:$sums, DS_Tensor:$moment, DS_Scalar:$clip, DS_Scalar:$toward, I64Attr:$terms);
  let results = (outs DS_Tensor:$newMoment);
}

def DS_MomentMeanOp : DS_ComputeOp<"moment_mean", [NotDifferentiable, HasFlops]> {
  let summary = "Mean of the elements of a moment";
  let description = [{
        result = tree(blocks) / N,  blocks[k] = sum_{1024 k <= i < min(1024 (k + 1), N)} moment[i]        in f64

    with the tree of `ds.global_norm`. No dimension is cut.

    Created by `ds-insert-optimizer` for Adafactor; lowered by `ds-to-plan`.

    Example:

        %mean = ds.moment_mean %r : (tensor<64xf32>) -> tensor<f64>
  }];
  let arguments = (ins DS_Tensor:$moment);
  let results = (outs DS_Scalar:$result);
  let hasVerifier = 0;
}

def DS_FactoredDirectionOp : DS_ComputeOp<"factored_direction", [NotDifferentiable, HasFlops, MayOverwrite]> {
  let summary = "Where Adafactor goes, from the two factors of the second moment";
  let description = [{
    Shazeer and Stern, "Adafactor: adaptive learning rates with sublinear memory cost" (2018), in the form that
    PyTorch gives it:

        v = max(row[i] * column[j] / max(mean, eps), eps^2)
        direction[i, j] = clip * gradient[i, j] / sqrt(v)

    `mean` is that of `row`. row[i] / max(mean, eps) is computed in f64 and rounded to f32 once a row, the element loop
    runs in f32. Every dimension shards freely (ZeRO).

    Created by `ds-insert-optimizer`; lowered by `ds-to-plan`. The direction may be written over `gradient`.

    Example:

        %d = ds.factored_direction %g, %r, %c, %mean, %clip, %eps
            : (tensor<64x48xf32>, tensor<64xf32>, tensor<48xf32>, tensor<f64>, tensor<f64>, tensor<f64>)
            -> tensor<64x48xf32>

    Constraints:
    - O8: `gradient` and the result have one type, of two dimensions.
    - O9: `row` is as long as the first, `column` as the second.
  }];
  let arguments = (ins DS_Tensor:$gradient, DS_Tensor:$row, DS_Tensor:$column, DS_Scalar:$mean,
                       DS_Scalar:$clip, DS_Scalar:$eps);
  let results = (outs DS_Tensor:$direction);
}

def DS_AdafactorDirectionOp
    : DS_ComputeOp<"adafactor_direction", [NotDifferentiable, HasFlops, MayOverwrite]> {
  let summary = "Where Adafactor goes, with a second moment of its own for each element";
  let description = [{
    For variables that have no two dimensions. With g = clip * gradient:

        v' = v + toward * (g^2 - v)
        direction = g / sqrt(max(v', eps^2))

    The element loop runs in f32. Every dimension shards freely (ZeRO).

    Created by `ds-insert-optimizer`; lowered by `ds-to-plan`. The direction may be written over `gradient`, the new
    moment over `v`.

    Example:

        %d, %v1 = ds.adafactor_direction %g, %v, %clip, %toward, %eps
            : (tensor<4xf32>, tensor<4xf32>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<4xf32>, tensor<4xf32>)

    Constraints:
    - O10: `gradient`, `v` and the results have one type.
  }];
  let arguments = (ins DS_Tensor:$gradient, DS_Tensor:$v, DS_Scalar:$clip, DS_Scalar:$toward,
                       DS_Scalar:$eps);
  let results = (outs DS_Tensor:$direction, DS_Tensor:$newV);
}

#endif // DSC_DIALECT_DS_OPTIMIZER
