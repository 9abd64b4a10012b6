//===- Elementwise.td - activations and sums -------------------------------===//
#ifndef DSC_DIALECT_DS_ELEMENTWISE
#define DSC_DIALECT_DS_ELEMENTWISE

include "dsc/Dialect/DS/DSBase.td"

def DS_AddOp : DS_ComputeOp<"add", [SameOperandsAndResultType, Differentiable, HasFlops, MayOverwrite]> {
  let summary = "Element-wise sum";
  let description = [{
        result[i] = lhs[i] + rhs[i]

    One rounding an element, to the element type. Every dimension shards freely. Nothing is saved: both operands
    get the gradient of the result as it is.

    Created by `ds-import` for residual connections and by `ds-differentiate` where a value is used several
    times; `ds-fuse` folds most into the product or norm before them, `ds-to-plan` lowers the rest to a kernel that
    may write over `rhs`.

    Example:

        %sum = ds.add %x, %projection : (tensor<2x8x16xf32>, tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
  }];
  let arguments = (ins DS_Tensor:$lhs, DS_Tensor:$rhs);
  let results = (outs DS_Tensor:$result);
  let hasVerifier = 0;
}

def DS_ActivationOp : DS_ComputeOp<"activation", [SameOperandsAndResultType, Differentiable, HasFlops, MayOverwrite]> {
  let summary = "Element-wise activation function";
  let description = [{
        gelu_tanh: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
        gelu:      0.5 x (1 + erf(x / sqrt(2)))
        relu:      max(x, 0)

    NaN stays NaN, in `relu` too. Every dimension shards freely. Saved for backward: `input`.

    Created by `ds-import` inside an MLP; `ds-fuse` folds it into the `ds.linear` before it.

    Example:

        %y = ds.activation gelu_tanh %x : (tensor<4x64xf32>) -> tensor<4x64xf32>

    Constraints:
    - E1: `function` is not `none`.
  }];
  let arguments = (ins DS_Tensor:$input, DS_Activation:$function);
  let results = (outs DS_Tensor:$result);
  let assemblyFormat = "$function $input attr-dict `:` functional-type(operands, results)";
}

def DS_ActivationGradOp : DS_ComputeOp<"activation_grad", [SameOperandsAndResultType, NotDifferentiable, HasFlops, MayOverwrite]> {
  let summary = "Gradient of an activation with respect to its input";
  let description = [{
        result[i] = gradient[i] * function'(input[i])

    The derivative of `relu` at 0 is 0. Every dimension shards freely.

    Created by `ds-differentiate`; `ds-fuse` folds it into the `ds.linear_input_grad` before it. May write over
    `gradient`.

    Example:

        %dx = ds.activation_grad gelu %dy, %x : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>

    Constraints:
    - E1: `function` is not `none`.
  }];
  let arguments = (ins DS_Tensor:$gradient, DS_Tensor:$input, DS_Activation:$function);
  let results = (outs DS_Tensor:$result);
  let assemblyFormat = "$function $gradient `,` $input attr-dict `:` functional-type(operands, results)";
}

def DS_CastOp : DS_ComputeOp<"cast", [SameOperandsAndResultShape, Differentiable]> {
  let summary = "The same numbers in another element type";
  let description = [{
        result[i] = input[i] rounded to the element type of the result

    To nearest, ties to even; what is too large becomes infinity, NaN stays NaN, denormals stay as they are. From f16 or
    bf16 to f32 nothing is rounded, so a cast back and forth folds; one forth and back does not. Every dimension
    shards freely. Nothing is saved: the gradient of the result is cast to the type of `input`.

    Created by `ds-mixed-precision` where a value has the wrong width for its reader; `ds-fuse` folds that of an
    updated weight into the update; lowered by `ds-to-plan`.

    Example:

        %h = ds.cast %x : (tensor<4x64xf32>) -> tensor<4x64xf16>

    Constraints:
    - E2: element types are two different ones of f32, f16 and bf16.

    The rule on element types, which every op on tensors refers to. A tensor is *stored* (activations, their
    gradients, operands of products, tables) or *kept* (statistics, losses, gains and biases, gradients of
    parameters, optimizer state); an op says which of its tensors are kept.
    - P1: kept tensors are f32, or f64; all of an op have one type.
    - P2: stored tensors have that type too, or are f16 or bf16; those of two bytes have one type.
    - P3: beside tensors of two bytes the others are f32.

    Whatever the types, an op computes in f32 (or f64) on the numbers it reads, accumulates in f32, and rounds each
    element of each result once, to the result's type.
  }];
  let arguments = (ins DS_Tensor:$input);
  let results = (outs DS_Tensor:$result);
  let hasFolder = 1;
}

#endif // DSC_DIALECT_DS_ELEMENTWISE
