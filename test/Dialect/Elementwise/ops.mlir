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
