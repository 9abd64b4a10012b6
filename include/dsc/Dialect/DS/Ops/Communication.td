//===- Communication.td - values that cross from rank to rank --------------===//
// On one device each of these is the identity: that is what the reference computes. Lowered to instructions of the
// plan, never to kernels, and no strategy looks for a sharding rule here: they are what sharding leaves.
#ifndef DSC_DIALECT_DS_COMMUNICATION
#define DSC_DIALECT_DS_COMMUNICATION

include "dsc/Dialect/DS/DSBase.td"

defvar SameTypes = RangedTypesMatchWith<"results have the types of inputs", "inputs", "results", "$_self">;

def DS_AllReduceOp : DS_Op<"all_reduce", [Pure, KeepsOperand, SameTypes]> {
  let summary = "Sums over the ranks of a group, on each of them";
  let description = [{
        results[i] = tree over the ranks of the group along `axis` of inputs[i]

    element by element, in the input's type, by the left-complete binary tree over the coordinate: with p the largest
    power of two below n, T(0..n) = T(0..p) + T(p..n). Neither the transport nor the list, which is one message,
    changes a bit. Results lie over inputs.

    Created by the passes of the Parallel phase; becomes `plan.all_reduce`.

    Example:

        %sum = ds.all_reduce data %grad : tensor<64x48xf32>

    Constraints:
    - CO1: there is at least one input, and result i has the type of input i.
  }];
  let arguments = (ins DS_Axis:$axis, Variadic<DS_Tensor>:$inputs);
  let results = (outs Variadic<DS_Tensor>:$results);
  let assemblyFormat = "$axis $inputs attr-dict `:` type($inputs)";
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "Axis":$axis, "::mlir::ValueRange":$inputs)>];
}

def DS_ReduceScatterOp : DS_Op<"reduce_scatter", [Pure, KeepsOperand, SameTypes]> {
  let summary = "Sums over the ranks of a group, each on the rank that owns it";
  let description = [{
    As `ds.all_reduce`, but a rank has the sums of its own share of `block` elements alone (rank r of N owns blocks
    [B r / N, B (r + 1) / N)); what the results hold elsewhere means nothing. Types stay logical.

    Created by `ds-reduce-gradients`; becomes `plan.reduce_scatter`.

    Example:

        %mine = ds.reduce_scatter data %grad {block = 1024 : i64} : tensor<64x48xf32>

    Constraints:
    - CO1: there is at least one input, and result i has the type of input i.
    - CO2: `block` is positive.
  }];
  let arguments = (ins DS_Axis:$axis, Variadic<DS_Tensor>:$inputs, DefaultValuedAttr<I64Attr, "1024">:$block);
  let results = (outs Variadic<DS_Tensor>:$results);
  let assemblyFormat = "$axis $inputs attr-dict `:` type($inputs)";
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "Axis":$axis, "::mlir::ValueRange":$inputs, CArg<"int64_t", "1024">:$block)>];
}

def DS_AllGatherOp : DS_Op<"all_gather", [Pure, KeepsOperand, SameTypes]> {
  let summary = "Every rank's share, on each rank of a group";
  let description = [{
    The inverse of the scattering in `ds.reduce_scatter`: of each input a rank's own share means something, of each
    result everything.

    Created by `ds-reduce-gradients`; becomes `plan.all_gather`.

    Example:

        %whole = ds.all_gather data %mine {block = 1024 : i64} : tensor<64x48xf32>

    Constraints:
    - CO1: there is at least one input, and result i has the type of input i.
    - CO2: `block` is positive.
  }];
  let arguments = (ins DS_Axis:$axis, Variadic<DS_Tensor>:$inputs, DefaultValuedAttr<I64Attr, "1024">:$block);
  let results = (outs Variadic<DS_Tensor>:$results);
  let assemblyFormat = "$axis $inputs attr-dict `:` type($inputs)";
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "Axis":$axis, "::mlir::ValueRange":$inputs, CArg<"int64_t", "1024">:$block)>];
}

def DS_SendOp : DS_Op<"send", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Gives a value to the rank of another stage";
  let description = [{
    To the rank of `stage` with the same other coordinates, where a `ds.receive` with the same `channel` takes it.
    Values of one channel arrive in the order in which they were sent.

    Created by `ds-split-stages`; becomes `plan.send`.

    Example:

        ds.send %x to 1 channel 0 : tensor<2x8x16xf32>

    Constraints:
    - CO3: `stage` and `channel` are not negative.
  }];
  let arguments = (ins DS_Tensor:$value, I64Attr:$stage, I64Attr:$channel);
  let assemblyFormat = "$value `to` $stage `channel` $channel attr-dict `:` type($value)";
  let hasVerifier = 1;
}

def DS_ReceiveOp : DS_Op<"receive", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Takes a value that the rank of another stage sends";
  let description = [{
    See `ds.send`.

    Created by `ds-split-stages`; becomes `plan.receive`.

    Example:

        %x = ds.receive from 0 channel 0 : tensor<2x8x16xf32>

    Constraints:
    - CO3: `stage` and `channel` are not negative.
  }];
  let arguments = (ins I64Attr:$stage, I64Attr:$channel);
  let results = (outs DS_Tensor:$value);
  let assemblyFormat = "`from` $stage `channel` $channel attr-dict `:` type($value)";
  let hasVerifier = 1;
}

#endif // DSC_DIALECT_DS_COMMUNICATION
