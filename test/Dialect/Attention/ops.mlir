// RUN: ds-opt %s --split-input-file --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @attention
// CHECK: ds.attention %{{.*}} {heads = 4 : i64, scale = 5.000000e-01 : f64} : (tensor<2x8x48xf32>) -> (tensor<2x8x16xf32>, tensor<2x4x8xf32>)
// CHECK: ds.attention_grad %{{.*}} {heads = 4 : i64, scale = 5.000000e-01 : f64} : {{.*}} -> tensor<2x8x48xf32>
func.func @attention(%qkv: tensor<2x8x48xf32>) -> tensor<2x8x48xf32> {
  %y, %lse = ds.attention %qkv {heads = 4 : i64, scale = 0.5 : f64} : (tensor<2x8x48xf32>) -> (tensor<2x8x16xf32>, tensor<2x4x8xf32>)
  %d = ds.attention_grad %y, %qkv, %y, %lse {heads = 4 : i64, scale = 0.5 : f64} : (tensor<2x8x16xf32>, tensor<2x8x48xf32>, tensor<2x8x16xf32>, tensor<2x4x8xf32>) -> tensor<2x8x48xf32>
  return %d : tensor<2x8x48xf32>
}

// CHECK-LABEL: func.func @dropout
// CHECK: ds.attention %{{.*}}, %{{.*}} {dropout = 1.000000e-01 : f64, heads = 4 : i64, scale = 5.000000e-01 : f64} : (tensor<2x8x48xf32>, tensor<5xf64>) -> (tensor<2x8x16xf32>, tensor<2x4x8xf32>)
// CHECK: ds.attention_grad %{{.*}} : (tensor<2x8x16xf32>, tensor<2x8x48xf32>, tensor<2x8x16xf32>, tensor<2x4x8xf32>, tensor<5xf64>) -> tensor<2x8x48xf32>
func.func @dropout(%x: tensor<2x8x48xf32>, %k: tensor<5xf64>) -> tensor<2x8x48xf32> {
  %y, %lse = ds.attention %x, %k {heads = 4 : i64, scale = 0.5 : f64, dropout = 0.1 : f64} : (tensor<2x8x48xf32>, tensor<5xf64>) -> (tensor<2x8x16xf32>, tensor<2x4x8xf32>)
  %d = ds.attention_grad %y, %x, %y, %lse, %k {heads = 4 : i64, scale = 0.5 : f64, dropout = 0.1 : f64} : (tensor<2x8x16xf32>, tensor<2x8x48xf32>, tensor<2x8x16xf32>, tensor<2x4x8xf32>, tensor<5xf64>) -> tensor<2x8x48xf32>
  return %d : tensor<2x8x48xf32>
}

// CHECK-LABEL: func.func @packed
// CHECK: ds.attention %{{.*}} within %{{.*}} {heads = 4 : i64, scale = 5.000000e-01 : f64} : (tensor<2x8x48xf32>) within tensor<2x8xi32> -> (tensor<2x8x16xf32>, tensor<2x4x8xf32>)
// CHECK: ds.attention %{{.*}}, %{{.*}} within %{{.*}} {dropout = 1.000000e-01 : f64, {{.*}}} : (tensor<2x8x48xf32>, tensor<5xf64>) within tensor<2x8xi32> -> (tensor<2x8x16xf32>, tensor<2x4x8xf32>)
// CHECK: ds.attention_grad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} within %{{.*}} {{{.*}}} : (tensor<2x8x16xf32>, tensor<2x8x48xf32>, tensor<2x8x16xf32>, tensor<2x4x8xf32>) within tensor<2x8xi32> -> tensor<2x8x48xf32>
func.func @packed(%x: tensor<2x8x48xf32>, %k: tensor<5xf64>, %p: tensor<2x8xi32>) -> tensor<2x8x48xf32> {
  %y, %lse = ds.attention %x within %p {heads = 4 : i64, scale = 0.5 : f64} : (tensor<2x8x48xf32>) within tensor<2x8xi32> -> (tensor<2x8x16xf32>, tensor<2x4x8xf32>)
  %z, %lsz = ds.attention %x, %k within %p {heads = 4 : i64, scale = 0.5 : f64, dropout = 0.1 : f64} : (tensor<2x8x48xf32>, tensor<5xf64>) within tensor<2x8xi32> -> (tensor<2x8x16xf32>, tensor<2x4x8xf32>)
  %d = ds.attention_grad %z, %x, %y, %lse within %p {heads = 4 : i64, scale = 0.5 : f64} : (tensor<2x8x16xf32>, tensor<2x8x48xf32>, tensor<2x8x16xf32>, tensor<2x4x8xf32>) within tensor<2x8xi32> -> tensor<2x8x48xf32>
  return %d : tensor<2x8x48xf32>
}

// CHECK-LABEL: func.func @cached
// CHECK: ds.cached_attention {{.*}} {heads = 4 : i64, scale = 5.000000e-01 : f64} : (tensor<2x1x48xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<2x1xi32>, tensor<2xi32>) -> (tensor<2x1x16xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>)
func.func @cached(%x: tensor<2x1x48xf32>, %k: tensor<4x8x16xf32>, %p: tensor<2x1xi32>, %r: tensor<2xi32>) -> tensor<2x1x16xf32> {
  %y, %keys, %values = ds.cached_attention %x, %k, %k, %p, %r {heads = 4 : i64, scale = 0.5 : f64} : (tensor<2x1x48xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<2x1xi32>, tensor<2xi32>) -> (tensor<2x1x16xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>)
  return %y : tensor<2x1x16xf32>
}
