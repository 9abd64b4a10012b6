//===- PlanOps.td - the plan dialect: who does what, when, in which bytes --===//
#ifndef DSC_DIALECT_PLAN_OPS
#define DSC_DIALECT_PLAN_OPS

include "mlir/IR/OpBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Plan_Dialect : Dialect {
  let name = "plan";
  let cppNamespace = "::dsc::plan";
  let summary = "Instructions on buffers, as the executor and the simulator read them";
  let description = [{
    A module holds `plan.kernel` symbols and one `plan.program` a program. A program lists its buffers, each
    with a kind and, once memory is assigned, a byte offset in the arena, then its instructions in order.
  }];
  let usePropertiesForAttributes = 1;
}

def Plan_BufferKind : I32EnumAttr<"BufferKind", "what a buffer is for", [
    I32EnumAttrCase<"Parameter", 0, "parameter">,
    I32EnumAttrCase<"Gradient", 1, "gradient">,
    I32EnumAttrCase<"OptimizerState", 2, "optimizer_state">,
    I32EnumAttrCase<"Counter", 3, "counter">,
    I32EnumAttrCase<"Hyperparameter", 4, "hyperparameter">,
    I32EnumAttrCase<"Input", 5, "input">,
    I32EnumAttrCase<"Output", 6, "output">,
    I32EnumAttrCase<"Activation", 7, "activation">]> {
  let cppNamespace = "::dsc::plan";
}

class Plan_Op<string mnemonic, list<Trait> traits = []> : Op<Plan_Dialect, mnemonic, traits>;

def Plan_KernelOp : Plan_Op<"kernel", [Symbol, IsolatedFromAbove, NoTerminator]> {
  let summary = "What one kernel computes: a single ds op on its own arguments";
  let description = [{
    The body is one `ds` op in value form; block arguments are its operands, then one for each result that
    is not written over an operand. `results` maps result i to the argument that holds it. Equal ops share
    one kernel. Code for a target is generated from the body.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, DenseI64ArrayAttr:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `results` $results attr-dict-with-keyword $body";
}

def Plan_ProgramOp : Plan_Op<"program", [Symbol, SingleBlock, NoTerminator]> {
  let summary = "The instructions of one program, in order";
  let arguments = (ins SymbolNameAttr:$sym_name);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
}

def Plan_BufferOp : Plan_Op<"buffer", []> {
  let summary = "A run of bytes with a shape";
  let description = [{
    `offset` is absent until `plan-assign-memory`. Buffers of the same `label` and of a kind up to
    `hyperparameter` are the same bytes in all programs.
  }];
  let arguments = (ins StrAttr:$label, Plan_BufferKind:$kind, OptionalAttr<I64Attr>:$offset);
  let results = (outs AnyMemRef:$buffer);
  let assemblyFormat = "$label $kind (`at` $offset^)? attr-dict `:` type($buffer)";
}

def Plan_ViewOp : Plan_Op<"view", [Pure]> {
  let summary = "Part of a buffer, or the same bytes with another shape";
  let arguments = (ins AnyMemRef:$source, I64Attr:$byte_offset);
  let results = (outs AnyMemRef:$view);
  let assemblyFormat = "$source `at` $byte_offset attr-dict `:` type($source) `->` type($view)";
}

def Plan_LaunchOp : Plan_Op<"launch"> {
  let summary = "Runs a kernel on buffers, all its work items, on all threads";
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyMemRef>:$operands, StrAttr:$label);
  let assemblyFormat = "$kernel `(` $operands `)` $label attr-dict `:` type($operands)";
}

def Plan_CopyOp : Plan_Op<"copy"> {
  let summary = "Copies a buffer's bytes";
  let arguments = (ins AnyMemRef:$source, AnyMemRef:$target);
  let assemblyFormat = "$source `to` $target attr-dict `:` type($source) `to` type($target)";
}

def Plan_GuardOp : Plan_Op<"guard"> {
  let summary = "Ends the step unless the update may be applied: see ds.guard";
  let arguments = (ins AnyMemRef:$count, AnyMemRef:$loss, AnyMemRef:$norm);
  let assemblyFormat = "$count `,` $loss `,` $norm attr-dict `:` type($count) `,` type($loss) `,` type($norm)";
}

#endif // DSC_DIALECT_PLAN_OPS
