// RUN: ds-opt %s --split-input-file --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @attention
// CHECK: ds.attention %{{.*}} {heads = 4 : i64, scale = 5.000000e-01 : f64} : (tensor<2x8x48xf32>) -> (tensor<2x8x16xf32>, tensor<2x4x8xf32>)
// CHECK: ds.attention_grad %{{.*}} {heads = 4 : i64, scale = 5.000000e-01 : f64} : {{.*}} -> tensor<2x8x48xf32>
func.func @attention(%qkv: tensor<2x8x48xf32>) -> tensor<2x8x48xf32> {
  %y, %lse = ds.attention %qkv {heads = 4 : i64, scale = 0.5 : f64} : (tensor<2x8x48xf32>) -> (tensor<2x8x16xf32>, tensor<2x4x8xf32>)
  %d = ds.attention_grad %y, %qkv, %y, %lse {heads = 4 : i64, scale = 0.5 : f64} : (tensor<2x8x16xf32>, tensor<2x8x48xf32>, tensor<2x8x16xf32>, tensor<2x4x8xf32>) -> tensor<2x8x48xf32>
  return %d : tensor<2x8x48xf32>
}
