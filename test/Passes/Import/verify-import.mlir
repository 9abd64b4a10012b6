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

// Generation keeps keys and values, and has no backward.
// CHECK-LABEL: func.func @decode
ds.variable cache @c : tensor<2x8x16xf32> = zeros
func.func @decode(%tokens: tensor<2x1xi32>, %ids: tensor<2x1xi32>, %rows: tensor<2xi32>) {
  %w = ds.read @w : tensor<16x4xf32>
  %c = ds.read @c : tensor<2x8x16xf32>
  ds.report "logits", %w : tensor<16x4xf32>
  ds.assign @c, %c : tensor<2x8x16xf32>
  return
}
// CHECK-LABEL: func.func @prefill
func.func @prefill(%tokens: tensor<1x8xi32>, %ids: tensor<1x8xi32>, %rows: tensor<1xi32>) {
  %c = ds.read @c : tensor<2x8x16xf32>
  ds.assign @c, %c : tensor<2x8x16xf32>
  return
}
