//===- InPlaceOpInterface.td - results that may live in an operand's bytes -===//
#ifndef DSC_INTERFACES_INPLACE
#define DSC_INTERFACES_INPLACE

include "mlir/IR/OpBase.td"

def InPlaceOpInterface : OpInterface<"InPlaceOpInterface"> {
  let cppNamespace = "::dsc";
  let description = [{
    Says which operand a result may overwrite, element by element or as a whole. Bufferisation shares the
    buffer when that operand dies here; otherwise it copies first if the op must work in place
    (`mustAlias`, for accumulations) or gives the result its own buffer.
  }];
  let methods = [
    InterfaceMethod<"Index of the operand that result `result` may overwrite, or -1.", "int64_t",
      "inPlaceOperand", (ins "unsigned":$result), "", [{ return -1; }]>,
    InterfaceMethod<"True if result `result` must start out as the bytes of that operand.", "bool",
      "mustAlias", (ins "unsigned":$result), "", [{ return false; }]>,
    InterfaceMethod<[{Makes result `result` start out as `init` instead of zeros, so that the op adds onto it. False if the
      op cannot, or does so already; then the caller adds the two with `ds.add`.}], "bool",
      "accumulateOnto", (ins "unsigned":$result, "::mlir::Value":$init), "", [{ return false; }]>
  ];
}

#endif // DSC_INTERFACES_INPLACE
