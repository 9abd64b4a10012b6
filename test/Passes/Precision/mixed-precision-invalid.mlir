// RUN: ds-opt %s --split-input-file --verify-diagnostics --ds-mixed-precision
// RUN: not ds-opt %S/mixed-precision.mlir --ds-mixed-precision=type=f8 2>&1 | FileCheck %s

// CHECK: error: X1: unknown type 'f8', expected f16 or bf16

ds.variable parameter @w : tensor<16x8xf32> = ones
// expected-error @below {{'ds.variable' op X3: 'half.w' is the name of a working copy}}
ds.variable parameter @half.w : tensor<4xf32> = ones
func.func @logits(%x: tensor<4x16xf32>) {
  %w = ds.read @w : tensor<16x8xf32>
  %y = ds.linear %x, %w : tensor<4x16xf32>, tensor<16x8xf32> -> tensor<4x8xf32>
  return
}
