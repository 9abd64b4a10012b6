//===- DifferentiableOpInterface.td - an op that builds its own backward ---===//
#ifndef DSC_INTERFACES_DIFFERENTIABLE
#define DSC_INTERFACES_DIFFERENTIABLE

include "mlir/IR/OpBase.td"

def DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::dsc";
  let description = [{
    A forward op that knows its own derivative.

    Contract: `buildBackward` is called once, after every use of every result has been visited, with the
    gradient of each result (null where no gradient flows). It creates the ops that compute the gradient of
    each operand and returns them through `gradients`, one entry an operand, null where the operand has
    none (token ids, labels) or none was asked for. Only the values named by `savedValues` may be used from
    the forward pass: recomputation and memory planning rely on that list.
  }];
  let methods = [
    InterfaceMethod<"Builds the backward ops; fills one gradient (or null) for each operand.",
      "::llvm::LogicalResult", "buildBackward",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$resultGradients,
           "::llvm::SmallVectorImpl<::mlir::Value> &":$gradients)>,
    InterfaceMethod<"Values of the forward pass that the backward ops read.",
      "::llvm::SmallVector<::mlir::Value>", "savedValues">,
    InterfaceMethod<[{True if the op computes what training minimises: its own gradient is 1 and is never built, so
      `buildBackward` gets a null one.}], "bool", "isObjective", (ins), "", [{ return false; }]>
  ];
}

#endif // DSC_INTERFACES_DIFFERENTIABLE
