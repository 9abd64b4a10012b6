//===- CostOpInterface.td - what an op costs, from its local shapes --------===//
#ifndef DSC_INTERFACES_COST
#define DSC_INTERFACES_COST

include "mlir/IR/OpBase.td"

def CostOpInterface : OpInterface<"CostOpInterface"> {
  let cppNamespace = "::dsc";
  let description = [{
    Work and traffic of one execution, from the shapes of operands and results. A multiply-add counts two
    FLOPs; bytes are those an execution without any cache reuse across ops must read and write once.
  }];
  let methods = [
    InterfaceMethod<"Floating-point operations, a multiply-add counted as two.", "int64_t", "flops",
      (ins), "", [{ return 0; }]>,
    InterfaceMethod<"Bytes read from operands.", "int64_t", "bytesRead", (ins), "",
      [{ return ::dsc::bytesOfValues($_op->getOperands()); }]>,
    InterfaceMethod<"Bytes written to results.", "int64_t", "bytesWritten", (ins), "",
      [{ return ::dsc::bytesOfValues($_op->getResults()); }]>
  ];
}

#endif // DSC_INTERFACES_COST
