//===- PlanOps.td - the plan dialect: who does what, when, in which bytes --===//
#ifndef DSC_DIALECT_PLAN_OPS
#define DSC_DIALECT_PLAN_OPS

include "mlir/IR/OpBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/OpAsmInterface.td"
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
    I32EnumAttrCase<"Activation", 7, "activation">,
    I32EnumAttrCase<"WorkingCopy", 8, "working_copy">,
    I32EnumAttrCase<"StepState", 9, "step_state">,
    I32EnumAttrCase<"Window", 10, "window">,
    I32EnumAttrCase<"Cache", 11, "cache">,
    I32EnumAttrCase<"Stash", 12, "stash">]> {
  let cppNamespace = "::dsc::plan";
}

def Plan_Axis : I32EnumAttr<"GridAxis", "an axis of the device grid", [
    I32EnumAttrCase<"None", 0, "none">,
    I32EnumAttrCase<"Data", 1, "data">,
    I32EnumAttrCase<"Tensor", 2, "tensor">,
    I32EnumAttrCase<"Pipeline", 3, "pipeline">,
    I32EnumAttrCase<"Context", 4, "context">]> {
  let cppNamespace = "::dsc::plan";
}

def Plan_Collective : I32EnumAttr<"CollectiveKind", "what a group of ranks does together", [
    I32EnumAttrCase<"AllReduce", 0, "all_reduce">,
    I32EnumAttrCase<"ReduceScatter", 1, "reduce_scatter">,
    I32EnumAttrCase<"AllGather", 2, "all_gather">]> {
  let cppNamespace = "::dsc::plan";
}

class Plan_Op<string mnemonic, list<Trait> traits = []> : Op<Plan_Dialect, mnemonic, traits>;

def Plan_KernelOp : Plan_Op<"kernel", [Symbol, IsolatedFromAbove, SingleBlock, NoTerminator]> {
  let summary = "What one kernel computes: a single ds op on its own arguments";
  let description = [{
    The body is one `ds` op in value form; block arguments are its operands, then one for each result that
    is not written over an operand. `results` maps result i to the argument that holds it. Equal ops share
    one kernel. Code for a target is generated from the body.

        plan.kernel @add_64x768 results [0] {
        ^bb0(%a: tensor<64x768xf32>, %b: tensor<64x768xf32>):
          %sum = ds.add %a, %b : (tensor<64x768xf32>, tensor<64x768xf32>) -> tensor<64x768xf32>
        }

    Created by `ds-to-plan`; emission turns it into code and a row of the plan's kernel table.

    Constraints:
    - K1: the body is one op whose operands are the first block arguments, in order.
    - K2: `results` has one entry for each result, the index of an argument of the result's type.
    - K3: arguments behind the operands hold exactly one result each.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, DenseI64ArrayAttr:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `results` $results attr-dict-with-keyword $body";
  let extraClassDeclaration = [{
    /// The op the kernel computes.
    ::mlir::Operation *getComputation() { return &getBody().front().front(); }
  }];
  let hasVerifier = 1;
}

def Plan_ProgramOp : Plan_Op<"program", [Symbol, SingleBlock, NoTerminator]> {
  let summary = "The instructions of one program, in order";
  let description = [{
    Buffers first, then instructions (`plan.launch`, `plan.copy`, `plan.guard`) with the views they use.
    Inputs are buffers of kind `input` (`tokens`, `labels`), results of kind `output` (`loss`, `grad_norm`).
  }];
  let arguments = (ins SymbolNameAttr:$sym_name);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
}

def Plan_BufferOp : Plan_Op<"buffer", [DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "A run of bytes with a shape";
  let description = [{
    Row-major, without gaps. `offset`, in bytes from the start of the arena, is absent until
    `plan-assign-memory`. Buffers of the same `label` and of a kind up to `hyperparameter`, `step_state`,
    `window` or `stash` are the same bytes in all programs. With a `share` the buffer holds this rank's blocks of 1,024
    elements alone; a `stash` has `places` of them, one behind the other.

    Constraints:
    - B1: the shape is static and the layout the plain one.
    - B2: `offset` is a multiple of 64, not negative.
  }];
  let arguments = (ins StrAttr:$label, Plan_BufferKind:$kind, OptionalAttr<I64Attr>:$offset,
                       OptionalAttr<Plan_Axis>:$share, DefaultValuedAttr<I64Attr, "1">:$places);
  let results = (outs AnyMemRef:$buffer);
  let assemblyFormat = "$label $kind (`at` $offset^)? attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

def Plan_ViewOp : Plan_Op<"view", [Pure]> {
  let summary = "Part of a buffer, or the same bytes with another shape";
  let description = [{
    Constraints:
    - W1: the bytes from `byte_offset` lie inside `source`, and start at a multiple of the element size.
  }];
  let arguments = (ins AnyMemRef:$source, I64Attr:$byte_offset);
  let results = (outs AnyMemRef:$view);
  let assemblyFormat = "$source `at` $byte_offset attr-dict `:` type($source) `->` type($view)";
  let hasVerifier = 1;
}

def Plan_LaunchOp : Plan_Op<"launch", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Runs a kernel on buffers, all its work items, on all threads";
  let description = [{
    `label` names the layer and the op for messages and traces. Every thread has finished before the next
    instruction starts. With a `share` along an axis of N ranks, rank r runs items [I r / N, I (r + 1) / N).

    Constraints:
    - X1: `kernel` names a `plan.kernel` with as many arguments as there are operands, of the same shapes.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyMemRef>:$operands, StrAttr:$label,
                       OptionalAttr<Plan_Axis>:$share);
  let assemblyFormat = "$kernel `(` $operands `)` $label attr-dict `:` type($operands)";
}

def Plan_CopyOp : Plan_Op<"copy"> {
  let summary = "Copies a buffer's bytes";
  let description = [{
    Constraints:
    - Y1: both sides have as many bytes.
  }];
  let arguments = (ins AnyMemRef:$source, AnyMemRef:$target, OptionalAttr<Plan_Axis>:$share);
  let assemblyFormat = "$source `to` $target attr-dict `:` type($source) `to` type($target)";
  let hasVerifier = 1;
}

def Plan_CollectiveOp : Plan_Op<"collective"> {
  let summary = "A group of ranks sums or gathers buffers in place, all as one message";
  let description = [{
    The group is the ranks that differ in their coordinate along `axis` alone. `block` is the number of elements in
    a block of a share, 0 for `all_reduce`. See `ds.all_reduce`, `ds.reduce_scatter`, `ds.all_gather`.

    Constraints:
    - N1: there is at least one buffer; `block` is positive but for `all_reduce`.
  }];
  let arguments = (ins Plan_Collective:$kind, Plan_Axis:$axis, Variadic<AnyMemRef>:$operands, StrAttr:$label,
                       DefaultValuedAttr<I64Attr, "0">:$block);
  let assemblyFormat = "$kind $axis `(` $operands `)` $label attr-dict `:` type($operands)";
  let hasVerifier = 1;
}

def Plan_SendOp : Plan_Op<"send"> {
  let summary = "Gives a buffer's bytes to the rank of another stage: see ds.send";
  let description = [{
    The bytes must stay until the micro-batch's place is used again.
  }];
  let arguments = (ins AnyMemRef:$source, I64Attr:$stage, I64Attr:$channel, StrAttr:$label);
  let assemblyFormat = "$source `to` $stage `channel` $channel $label attr-dict `:` type($source)";
}

def Plan_ReceiveOp : Plan_Op<"receive"> {
  let summary = "Takes a buffer's bytes from the rank of another stage: see ds.receive";
  let description = [{
    Ends when they are there.
  }];
  let arguments = (ins AnyMemRef:$target, I64Attr:$stage, I64Attr:$channel, StrAttr:$label);
  let assemblyFormat = "$target `from` $stage `channel` $channel $label attr-dict `:` type($target)";
}

def Plan_GuardOp : Plan_Op<"guard"> {
  let summary = "Ends the step unless the update may be applied: see ds.guard";
  let description = [{
    Operands are `count`, `loss`, `norm` and, with loss scaling, `floored` and `patience`.

    Constraints:
    - G1: operands are f64 scalars, three or five.
  }];
  let arguments = (ins Variadic<AnyMemRef>:$operands);
  let assemblyFormat = "$operands attr-dict `:` type($operands)";
  let hasVerifier = 1;
}

def Plan_ScheduleOp : Plan_Op<"schedule", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Which programs make one training step: see ds.schedule";
  let description = [{
    Constraints:
    - S1: as many repetitions as programs, each positive.
    - S2: each entry names a `plan.program`.
  }];
  let arguments = (ins FlatSymbolRefArrayAttr:$programs, DenseI64ArrayAttr:$repetitions);
  let assemblyFormat = "$programs `times` $repetitions attr-dict";
  let hasVerifier = 1;
}

#endif // DSC_DIALECT_PLAN_OPS
