//===- Structure.td - variables, hyper-parameters, blocks, reports ---------===//
#ifndef DSC_DIALECT_DS_STRUCTURE
#define DSC_DIALECT_DS_STRUCTURE

include "dsc/Dialect/DS/DSBase.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

def DS_VariableOp : DS_Op<"variable", [Symbol]> {
  let summary = "A named tensor that lives across steps";
  let description = [{
    Parameters carry their Hugging Face name without the `transformer.` prefix; optimizer state is named
    `<optimizer>.<slot>.<parameter>`, such as `adam.m.wte.weight`; counters `updates`.

        ds.variable @"h.0.ln_1.weight" : tensor<768xf32> {role = parameter, initializer = ones}

    `decay` marks members of the weight-decay group. `stddev` belongs to the `normal` initialiser:
    element i = stddev * Philox(init.seed, hash of the name, i).

    Constraints:
    - V1: `stddev` is positive exactly when `initializer` is `normal`.
    - V2: only parameters may be in the decay group.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<AnyRankedTensor>:$type, DS_Role:$role,
                       DS_Initializer:$initializer, DefaultValuedAttr<F64Attr, "0.0">:$stddev,
                       UnitAttr:$decay);
  let assemblyFormat = "$sym_name `:` $type attr-dict";
  let hasVerifier = 1;
}

def DS_HyperparameterOp : DS_Op<"hyperparameter", [Symbol]> {
  let summary = "A scalar of the training loop that is data, not code";
  let description = [{
    Named by its path in the spec (`train.optimizer.params.lr`). Lives in the plan's scalar table, so that
    `dsrun --set PATH=VALUE` changes it without compiling again.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, F64Attr:$value);
  let assemblyFormat = "$sym_name `=` $value attr-dict";
}

def DS_ReadOp : DS_Op<"read", [DeclareOpInterfaceMethods<SymbolUserOpInterface>, MemoryEffects<[MemRead]>]> {
  let summary = "The value a variable or hyper-parameter has at this point";
  let arguments = (ins FlatSymbolRefAttr:$variable);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$variable attr-dict `:` type($result)";
}

def DS_AssignOp : DS_Op<"assign", [DeclareOpInterfaceMethods<SymbolUserOpInterface>, MemoryEffects<[MemWrite]>]> {
  let summary = "Gives a variable its next value";
  let arguments = (ins FlatSymbolRefAttr:$variable, AnyRankedTensor:$value);
  let assemblyFormat = "$variable `,` $value attr-dict `:` type($value)";
}

def DS_BlockOp : DS_Op<"block", [SingleBlock, RecursiveMemoryEffects]> {
  let summary = "One layer of the network, kept together";
  let description = [{
    A region with a name (`h.3`, `h.3.backward`). Values from outside are used directly; what outside needs
    comes out through `ds.yield`, among it what the backward pass saves. What crosses the boundary has one
    dtype and is rounded there.
  }];
  let arguments = (ins StrAttr:$label);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$label (`->` type($results)^)? $body attr-dict";
  let hasVerifier = 1;
}

def DS_YieldOp : DS_Op<"yield", [Terminator, Pure, HasParent<"BlockOp">]> {
  let summary = "Ends a block with its results";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def DS_ReportOp : DS_Op<"report", [MemoryEffects<[MemWrite]>]> {
  let summary = "Names a value that the program hands out";
  let description = [{
    Scalars become fields of the log line (`loss`, `grad_norm`, `learning_rate`, `tokens`); a tensor such as
    `logits` becomes a named output buffer.
  }];
  let arguments = (ins StrAttr:$name, AnyRankedTensor:$value);
  let assemblyFormat = "$name `,` $value attr-dict `:` type($value)";
}

def DS_GuardOp : DS_Op<"guard", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Ends the step before the update unless it may be applied";
  let description = [{
    If `count` is 0 the window has nothing to learn from: the step ends, skipped as `"empty"`. If `loss` or
    `norm` is not finite the run stops with exit code 4. No `ds.assign` may stand before it.
  }];
  let arguments = (ins DS_Scalar:$count, DS_Scalar:$loss, DS_Scalar:$norm);
  let assemblyFormat = "$count `,` $loss `,` $norm attr-dict";
}

#endif // DSC_DIALECT_DS_STRUCTURE
