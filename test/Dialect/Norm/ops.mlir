// RUN: ds-opt %s --split-input-file --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @norm
// CHECK: ds.layer_norm %{{.*}}, %{{.*}}, %{{.*}} {eps = 1.000000e-05 : f64} : (tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>)
// CHECK: ds.layer_norm_input_grad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : tensor<4x16xf32>, tensor<4x16xf32>, tensor<16xf32>, tensor<4xf32>, tensor<4xf32> -> tensor<4x16xf32>
// CHECK: ds.layer_norm_input_grad %{{.*}} residual %{{.*}} : {{.*}} residual tensor<4x16xf32> -> tensor<4x16xf32>
// CHECK: ds.layer_norm_parameter_grad %{{.*}} -> (tensor<16xf32>, tensor<16xf32>)
func.func @norm(%x: tensor<4x16xf32>, %g: tensor<16xf32>) -> tensor<4x16xf32> {
  %y, %mean, %rstd = ds.layer_norm %x, %g, %g {eps = 1.0e-5 : f64} : (tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>)
  %dx = ds.layer_norm_input_grad %y, %x, %g, %mean, %rstd : tensor<4x16xf32>, tensor<4x16xf32>, tensor<16xf32>, tensor<4xf32>, tensor<4xf32> -> tensor<4x16xf32>
  %dr = ds.layer_norm_input_grad %y, %x, %g, %mean, %rstd residual %dx : tensor<4x16xf32>, tensor<4x16xf32>, tensor<16xf32>, tensor<4xf32>, tensor<4xf32> residual tensor<4x16xf32> -> tensor<4x16xf32>
  %dg, %db = ds.layer_norm_parameter_grad %y, %x, %mean, %rstd : (tensor<4x16xf32>, tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<16xf32>, tensor<16xf32>)
  return %dr : tensor<4x16xf32>
}
