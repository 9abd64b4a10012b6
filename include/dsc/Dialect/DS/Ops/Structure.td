//===- Structure.td - variables, hyper-parameters, blocks, reports ---------===//
#ifndef DSC_DIALECT_DS_STRUCTURE
#define DSC_DIALECT_DS_STRUCTURE

include "dsc/Dialect/DS/DSBase.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

def DS_VariableOp : DS_Op<"variable", [Symbol]> {
  let summary = "A named tensor that lives across steps";
  let description = [{
    Parameters carry their Hugging Face name without the `transformer.` prefix; optimizer state is named
    `<optimizer>.<slot>.<parameter>`, such as `adam.m.wte.weight`; the counter of applied updates `updates`.
    Roles say when a value moves: `parameter`, `optimizer_state` and `counter` with applied updates only, so they are
    assigned after the guard; `step_state` (loss scale, number of steps) with every step, skipped or not;
    `window` (sums of gradients, the count) within a step, from program to program, and means nothing after it;
    `cache` (keys and values of generation) from program to program among those that use it: all others may have
    their bytes; `stash` from the forward to the backward program of a pipeline stage, once for each of the `places`
    micro-batches that are in flight.
    `decay` marks members of the weight-decay group. A `frozen` parameter is never changed: it gets no gradient and
    no optimizer state. `group` is the index of the entry of `train.param_groups` whose learning rate and decay
    hold, -1 for none. `stddev` belongs to the `normal` initialiser:
    element i = stddev * Philox(init.seed, hash of the name, i). `value` belongs to the `constant` one.

    Parameters are created by `ds-import`, optimizer state and the counter by `ds-insert-optimizer`; each becomes
    a buffer of the same name in every program of the plan.

    In the module of a pipeline stage a variable is what one rank holds. With a `share` a rank has its own blocks of 1,024
    elements of it alone (ZeRO), while the type stays whole. With `cut_axis` the type is the rank's part of a
    tensor of shape `logical`: seen as `cut` = [outer, count, inner], row-major, part r of N has the
    indices [r c, r c + c) of the middle dimension with c = ceil(count / N), the last part padded with zeros.

    Example:

        ds.variable @"h.0.ln_1.weight" : tensor<768xf32> {role = 0 : i32, initializer = 1 : i32}

    Constraints:
    - V1: `stddev` is positive and finite when `initializer` is `normal`, and 0 otherwise; `value` is finite, and
      not 0 only when it is `constant`.
    - V2: only parameters may be in the decay group, frozen or in a group.
    - V3: the type has a static shape.
    - V4: a frozen parameter is not in the decay group.
    - V5: `places` is positive, and 1 unless the role is `stash`.
    - V6: `cut_axis`, `logical` and `cut` come together; `cut` has three positive numbers, whose product is that of
      `logical`.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<AnyRankedTensor>:$type, DS_Role:$role,
                       DS_Initializer:$initializer, DefaultValuedAttr<F64Attr, "0.0">:$stddev,
                       UnitAttr:$decay, UnitAttr:$frozen, DefaultValuedAttr<SI64Attr, "-1">:$group,
                       DefaultValuedAttr<F64Attr, "0.0">:$value, OptionalAttr<DS_Axis>:$share,
                       OptionalAttr<DS_Axis>:$cut_axis, OptionalAttr<DenseI64ArrayAttr>:$logical,
                       OptionalAttr<DenseI64ArrayAttr>:$cut, DefaultValuedAttr<I64Attr, "1">:$places);
  let builders = [
    // State of the training loop: every element starts as `start`.
    OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::RankedTensorType":$type, "Role":$role,
                   CArg<"double", "0">:$start)>
  ];
  let assemblyFormat = "$role $sym_name `:` $type `=` $initializer attr-dict";
  let hasVerifier = 1;
}

def DS_HyperparameterOp : DS_Op<"hyperparameter", [Symbol]> {
  let summary = "A scalar of the training loop that is data, not code";
  let description = [{
    Named by its path in the spec (`train.optimizer.params.lr`). Lives in the plan's scalar table, so that
    `dsrun --set PATH=VALUE` changes it without compiling again. Reads as `tensor<f64>`.

    Created by `ds-import`.

    Example:

        ds.hyperparameter @"train.optimizer.params.lr" = 1.0e-3

    Constraints:
    - H1: the value is finite.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, F64Attr:$value);
  let assemblyFormat = "$sym_name `=` $value attr-dict";
  let hasVerifier = 1;
}

def DS_ReadOp : DS_Op<"read", [DeclareOpInterfaceMethods<SymbolUserOpInterface>, MemoryEffects<[MemRead]>,
                               DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "The value a variable or hyper-parameter has at this point";
  let description = [{
    Created by `ds-import` and `ds-insert-optimizer`, one a variable and program; becomes the variable's buffer.

    Example:

        %w = ds.read @"wte.weight" : tensor<256x16xf32>

    Constraints:
    - U1: the symbol names a `ds.variable` or a `ds.hyperparameter`.
    - U2: the result has the type of the variable, or `tensor<f64>` for a hyper-parameter.
  }];
  let arguments = (ins FlatSymbolRefAttr:$variable);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$variable attr-dict `:` type($result)";
}

def DS_AssignOp : DS_Op<"assign", [DeclareOpInterfaceMethods<SymbolUserOpInterface>, MemoryEffects<[MemWrite]>]> {
  let summary = "Gives a variable its next value";
  let description = [{
    Assignments come last in a program: no value read from the variable is used after one.

    Created by `ds-insert-optimizer`; vanishes in `ds-to-plan` where the value was computed in place.

    Example:

        ds.assign @"wte.weight", %next : tensor<256x16xf32>

    Constraints:
    - U3: the symbol names a `ds.variable`.
    - U4: the value has the type of the variable.
  }];
  let arguments = (ins FlatSymbolRefAttr:$variable, AnyRankedTensor:$value);
  let assemblyFormat = "$variable `,` $value attr-dict `:` type($value)";
}

def DS_BlockOp : DS_Op<"block", [SingleBlock, RecursiveMemoryEffects,
                                 DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "One layer of the network, kept together";
  let description = [{
    A region with a name (`h.3`, `h.3.backward`). Values from outside are used directly; what outside needs
    comes out through `ds.yield`, among it what the backward pass saves. What crosses the boundary has one
    dtype and is rounded there. A stage cut, a recompute choice or a per-layer strategy holds on to it.

    Created by `ds-import` (`embedding`, `h.0` and so on, `head`) and `ds-differentiate` (`<label>.backward`);
    dissolved by `ds-to-plan`, where labels live on in launches.

    Example:

        %y = ds.block "h.0" -> tensor<2x8x16xf32> {
          %sum = ds.add %x, %z : (tensor<2x8x16xf32>, tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
          ds.yield %sum : tensor<2x8x16xf32>
        }

    Constraints:
    - B1: `ds.yield` gives one value of the right type for each result.
    - B2: `label` is not empty.
    - B3: blocks do not nest.
  }];
  let arguments = (ins StrAttr:$label);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$label (`->` type($results)^)? $body attr-dict";
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The terminator.
    YieldOp getYield();
  }];
}

def DS_YieldOp : DS_Op<"yield", [Terminator, Pure, HasParent<"BlockOp">]> {
  let summary = "Ends a block with its results";
  let description = [{
    See `ds.block`.
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def DS_ReportOp : DS_Op<"report", [MemoryEffects<[MemWrite]>]> {
  let summary = "Names a value that the program hands out";
  let description = [{
    Scalars become fields of the log line (`loss`, `tokens`, `grad_norm`, `learning_rate`); a tensor such as
    `logits` becomes a named output buffer. `grad:<variable>` names the gradient of a variable.

    Created by `ds-import` and the training passes; becomes the name and kind of a buffer in `ds-to-plan`.

    Example:

        ds.report "loss", %loss : tensor<f64>

    Constraints:
    - P1: `name` is not empty.
    - P2: a report stands outside blocks.
  }];
  let arguments = (ins StrAttr:$name, AnyRankedTensor:$value);
  let assemblyFormat = "$name `,` $value attr-dict `:` type($value)";
  let hasVerifier = 1;
}

def DS_GuardOp : DS_Op<"guard", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Ends the step before the update unless it may be applied";
  let description = [{
    If `count` is 0 the window has nothing to learn from: the step ends, skipped as `"empty"`. If `loss` or
    `norm` is not finite the run stops with exit code 4. With `skips` (loss scaling) such a step is skipped as
    `"overflow"` instead, unless `floored`, the number of skips in a row at the lowest scale, has reached
    `patience`: then the run stops. No parameter, optimizer state or counter has been assigned yet, so they are those
    after the last good step.

    Created by `ds-insert-optimizer`, `skips` by `ds-loss-scaling`; becomes `plan.guard` in `ds-to-plan`.

    Example:

        ds.guard %count, %loss, %norm

    Constraints:
    - G1: nothing that moves with applied updates only is assigned before it.
  }];
  let arguments = (ins DS_Scalar:$count, DS_Scalar:$loss, DS_Scalar:$norm, Optional<DS_Scalar>:$floored,
                       Optional<DS_Scalar>:$patience);
  let assemblyFormat = "$count `,` $loss `,` $norm (`skips` $floored^ `within` $patience)? attr-dict";
  let hasVerifier = 1;
}

def DS_ScheduleOp : DS_Op<"schedule", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Which programs make one training step, in order, and how often each runs";
  let description = [{
    Without one a step is `@train`, once. Programs that run several times are given one micro-batch after the other;
    a program with an argument of more rows is given those of the whole window. They meet in variables of role
    `window`. The last program ends with the guard and the updates.

    Created by `ds-accumulate-gradients`; becomes `plan.schedule` in `ds-to-plan`.

    Example:

        ds.schedule [@train.window, @train.micro, @train] times [1, 4, 1]

    Constraints:
    - S1: as many repetitions as programs, each positive.
    - S2: each entry names a program.
  }];
  let arguments = (ins FlatSymbolRefArrayAttr:$programs, DenseI64ArrayAttr:$repetitions);
  let assemblyFormat = "$programs `times` $repetitions attr-dict";
  let hasVerifier = 1;
}

#endif // DSC_DIALECT_DS_STRUCTURE
