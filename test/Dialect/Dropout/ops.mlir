// RUN: ds-opt %s --split-input-file --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @dropout
// CHECK: %[[KEY:.*]] = ds.random_key %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {path = "h.0.mlp.dropout"} : (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> tensor<5xf64>
// CHECK: ds.dropout %{{.*}}, %[[KEY]] {p = 1.000000e-01 : f64} : (tensor<2x8x16xf32>, tensor<5xf64>) -> tensor<2x8x16xf32>
func.func @dropout(%x: tensor<2x8x16xf32>, %s: tensor<f64>) -> tensor<2x8x16xf32> {
  %key = ds.random_key %s, %s, %s, %s {path = "h.0.mlp.dropout"} : (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> tensor<5xf64>
  %y = ds.dropout %x, %key {p = 0.1 : f64} : (tensor<2x8x16xf32>, tensor<5xf64>) -> tensor<2x8x16xf32>
  return %y : tensor<2x8x16xf32>
}
