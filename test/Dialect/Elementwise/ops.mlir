// RUN: ds-opt %s --split-input-file --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @elementwise
// CHECK: ds.add %{{.*}}, %{{.*}} : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
// CHECK: ds.activation gelu_tanh %{{.*}} : (tensor<4x64xf32>) -> tensor<4x64xf32>
// CHECK: ds.activation gelu %
// CHECK: ds.activation relu %
// CHECK: ds.activation_grad relu %{{.*}}, %{{.*}} : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
func.func @elementwise(%x: tensor<4x64xf32>) -> tensor<4x64xf32> {
  %0 = ds.add %x, %x : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  %1 = ds.activation gelu_tanh %0 : (tensor<4x64xf32>) -> tensor<4x64xf32>
  %2 = ds.activation gelu %1 : (tensor<4x64xf32>) -> tensor<4x64xf32>
  %3 = ds.activation relu %2 : (tensor<4x64xf32>) -> tensor<4x64xf32>
  %4 = ds.activation_grad relu %3, %x : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  return %4 : tensor<4x64xf32>
}

// Stored tensors may have two bytes an element, kept ones stay f32; all stored ones need not be alike.
// CHECK-LABEL: func.func @two_bytes
// CHECK: ds.cast %{{.*}} : (tensor<4x64xf32>) -> tensor<4x64xf16>
// CHECK: ds.linear %{{.*}}, %{{.*}} bias %{{.*}} : tensor<4x64xf16>, tensor<64x8xf16> bias tensor<8xf32> -> tensor<4x8xf32>
// CHECK: ds.layer_norm %{{.*}} : (tensor<4x64xf16>, tensor<64xf32>, tensor<64xf32>) -> (tensor<4x64xf16>, tensor<4xf32>, tensor<4xf32>)
// CHECK: ds.add %{{.*}} : (tensor<4x64xf16>, tensor<4x64xf16>) -> tensor<4x64xf16>
func.func @two_bytes(%x: tensor<4x64xf32>, %w: tensor<64x8xf16>, %b: tensor<8xf32>, %g: tensor<64xf32>) -> (tensor<4x8xf32>, tensor<4x64xf16>) {
  %0 = ds.cast %x : (tensor<4x64xf32>) -> tensor<4x64xf16>
  %1 = ds.linear %0, %w bias %b : tensor<4x64xf16>, tensor<64x8xf16> bias tensor<8xf32> -> tensor<4x8xf32>
  %2, %mean, %rstd = ds.layer_norm %0, %g, %g {eps = 1.0e-5 : f64} : (tensor<4x64xf16>, tensor<64xf32>, tensor<64xf32>) -> (tensor<4x64xf16>, tensor<4xf32>, tensor<4xf32>)
  %3 = ds.add %0, %2 : (tensor<4x64xf16>, tensor<4x64xf16>) -> tensor<4x64xf16>
  return %1, %3 : tensor<4x8xf32>, tensor<4x64xf16>
}
