//===- Elementwise.td - activations and sums -------------------------------===//
#ifndef DSC_DIALECT_DS_ELEMENTWISE
#define DSC_DIALECT_DS_ELEMENTWISE

include "dsc/Dialect/DS/DSBase.td"

def DS_AddOp : DS_ComputeOp<"add", [SameOperandsAndResultType, Differentiable, HasFlops, MayOverwrite]> {
  let summary = "Element-wise sum";
  let arguments = (ins DS_Tensor:$lhs, DS_Tensor:$rhs);
  let results = (outs DS_Tensor:$result);
}

def DS_ActivationOp : DS_ComputeOp<"activation", [SameOperandsAndResultType, Differentiable, HasFlops, MayOverwrite]> {
  let summary = "Element-wise activation function";
  let description = [{
        gelu_tanh: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
        gelu:      0.5 x (1 + erf(x / sqrt(2)))
        relu:      max(x, 0)

    Saved for backward: `input`.

    Constraints:
    - E1: `function` is not `none`.
  }];
  let arguments = (ins DS_Tensor:$input, DS_Activation:$function);
  let results = (outs DS_Tensor:$result);
}

def DS_ActivationGradOp : DS_ComputeOp<"activation_grad", [SameOperandsAndResultType, HasFlops, MayOverwrite]> {
  let summary = "Gradient of an activation with respect to its input";
  let description = [{
        result = gradient * function'(input)

    The derivative of `relu` at 0 is 0. Constraints: E1.
  }];
  let arguments = (ins DS_Tensor:$gradient, DS_Tensor:$input, DS_Activation:$function);
  let results = (outs DS_Tensor:$result);
}

#endif // DSC_DIALECT_DS_ELEMENTWISE
