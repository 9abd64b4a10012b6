// RUN: ds-opt %s --ds-verify-import | FileCheck %s

// CHECK-LABEL: func.func @train
ds.variable parameter @w : tensor<16x4xf32> = zeros
func.func @train(%tokens: tensor<2x8xi32>, %labels: tensor<2x8xi32>) {
  %w = ds.read @w : tensor<16x4xf32>
  %count = ds.count %labels : (tensor<2x8xi32>) -> tensor<f64>
  ds.report "loss", %count : tensor<f64>
  ds.report "tokens", %count : tensor<f64>
  return
}
// CHECK-LABEL: func.func @logits
func.func @logits(%tokens: tensor<1x8xi32>) {
  %w = ds.read @w : tensor<16x4xf32>
  ds.report "logits", %w : tensor<16x4xf32>
  return
}
