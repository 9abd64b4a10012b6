//===- ShardableOpInterface.td - how an op's dimensions map ----------------===//
#ifndef DSC_INTERFACES_SHARDABLE
#define DSC_INTERFACES_SHARDABLE

include "mlir/IR/OpBase.td"

def ShardableOpInterface : OpInterface<"ShardableOpInterface"> {
  let cppNamespace = "::dsc";
  let description = [{
    Says how the dimensions of operands and results belong together, so that a strategy picks dimensions and
    never ops. The op is seen as a nest of loops; an affine map for each operand and result takes the loop
    indices to the indices of its elements.

    Contract: cutting a `parallel` loop cuts every tensor whose map uses it, and nothing else is needed; cutting
    a `sum` loop leaves partial sums in all results, to be added over the cut (an `init` operand counts once);
    a `generic` loop cannot be cut without a method of the op's own (a softmax over split columns, a
    normalisation over a split row). A tensor whose map does not use a loop is needed whole by every part.
    A dimension that folds several loops has a map such as `third * 48 + head * 16 + column`.
    The answer depends on types and attributes only.
  }];
  let methods = [
    InterfaceMethod<"Loops, and one map an operand and a result.", "::dsc::ShardingRule", "shardingRule">,
    InterfaceMethod<[{
      True if the op can be cut along a loop: of a generic one if it has a method for it.
    }], "bool", "canCut", (ins "unsigned":$loop), "", "return $_op.shardingRule().loops[loop].kind != ::dsc::LoopKind::Generic;">,
    InterfaceMethod<[{
      Makes the op that of a part of a loop, once its operands and results have the types of the part: sizes that
      attributes state, operands that depend on the rank, what counts once beside a sum. The caller reduces the results
      of a `sum` loop; after the cut of a generic one the op leaves nothing to reduce. May replace the op.
    }], "void", "cutLoop", (ins "::mlir::OpBuilder &":$builder, "const ::dsc::LoopPart &":$part), "",
      "(void)builder, (void)part;">
  ];
}

#endif // DSC_INTERFACES_SHARDABLE
