//===- Precision.td - from f32 to mixed precision --------------------------===//
#ifndef DSC_PASSES_PRECISION
#define DSC_PASSES_PRECISION

include "mlir/Pass/PassBase.td"

def DsMixedPrecision : Pass<"ds-mixed-precision", "::mlir::ModuleOp"> {
  let summary = "Store activations and the operands of products in two bytes";
  let description = [{
    Half precision is a retyping: ops stay what they are, and compute and accumulate in f32; what they store gets another
    type. Walks every program with a table that has a row an op (`lib/Passes/Precision/Policy.cpp`), which says
    of each operand and result whether it is stored in two bytes (activations, their gradients, operands of
    products, tables) or kept in f32 (statistics, softmax, losses, gains and biases, gradients of parameters, state).

    - A result takes the type of its row. Logits that only the loss reads stay f32: they are the sums of the
      product, and nothing is gained by rounding them first.
    - An operand of the wrong width is read through a `ds.cast`, one a value.
    - A parameter that is read in two bytes gets a working copy, `ds.variable @"half.<name>"`. Wherever the parameter is
      assigned, the copy is assigned the new value, rounded, so it is made once a step; the parameter stays the
      master, in f32. At the start, and when weights are loaded, the runtime fills it.

    Before: programs in f32, complete with optimizer; blocks not yet dissolved. After: `ds-verify-precision`.

    - X1: `type` is f16 or bf16.
    - X2: every op that computes has a row in the table.
    - X3: nothing is named `half.<parameter>` yet.

    ```mlir
    %w = ds.read @w : tensor<16x48xf32>
    %b = ds.read @b : tensor<48xf32>
    %y = ds.linear %x, %w bias %b : tensor<8x16xf32>, tensor<16x48xf32> bias tensor<48xf32> -> tensor<8x48xf32>
    ...
    ds.assign @w, %next : tensor<16x48xf32>
    ```
    becomes, where `%x` is an activation,
    ```mlir
    %half.w = ds.read @half.w : tensor<16x48xf16>
    %b = ds.read @b : tensor<48xf32>
    %y = ds.linear %x, %half.w bias %b : tensor<8x16xf16>, tensor<16x48xf16> bias tensor<48xf32> -> tensor<8x48xf16>
    ...
    ds.assign @w, %next : tensor<16x48xf32>
    %0 = ds.cast %next : (tensor<16x48xf32>) -> tensor<16x48xf16>
    ds.assign @half.w, %0 : tensor<16x48xf16>
    ```
  }];
  let options = [Option<"type", "type", "std::string", "\"bf16\"", "f16 or bf16; default bf16">];
  let dependentDialects = ["::dsc::ds::DSDialect"];
  let statistics = [
    Statistic<"retyped", "retyped", "results stored in two bytes">,
    Statistic<"casts", "casts", "casts inserted">,
    Statistic<"copies", "working-copies", "parameters with a working copy">
  ];
}

def DsVerifyPrecision : Pass<"ds-verify-precision", "::mlir::ModuleOp"> {
  let summary = "Check what the precision phase promises";
  let description = [{
    Ends the precision phase. Changes nothing; fails unless

    - Y1: tensors of two bytes have one element type in the whole module;
    - Y2: every operand and result is as wide as its row in the policy says;
    - Y3: every working copy belongs to a parameter in f32 of its shape, whose name follows `half.`;
    - Y4: a program that assigns a parameter assigns its working copy, exactly once, and no other program does.

    Before: any module. After: the same module; what has f32 in it keeps f32 on every target.

    ```mlir
    ds.variable parameter @w : tensor<16x48xf32> = normal {stddev = 0.02 : f64}
    ds.variable working_copy @half.w : tensor<16x48xf16> = zeros
    ```
  }];
  let statistics = [Statistic<"checked", "tensors", "operands and results checked">];
}

#endif // DSC_PASSES_PRECISION
