// RUN: ds-opt %s --ds-verify-precision | FileCheck %s

// CHECK: ds.variable working_copy @half.w
ds.variable parameter @w : tensor<4x4xf32> = ones
ds.variable working_copy @half.w : tensor<4x4xbf16> = zeros
func.func @train(%x: tensor<4x4xbf16>, %next: tensor<4x4xf32>) {
  %w = ds.read @half.w : tensor<4x4xbf16>
  %y = ds.linear %x, %w : tensor<4x4xbf16>, tensor<4x4xbf16> -> tensor<4x4xbf16>
  %0 = ds.cast %next : (tensor<4x4xf32>) -> tensor<4x4xbf16>
  ds.assign @w, %next : tensor<4x4xf32>
  ds.assign @half.w, %0 : tensor<4x4xbf16>
  return
}
func.func @logits(%x: tensor<4x4xbf16>) {
  %w = ds.read @half.w : tensor<4x4xbf16>
  %y = ds.linear %x, %w : tensor<4x4xbf16>, tensor<4x4xbf16> -> tensor<4x4xf32>
  return
}
