// RUN: ds-opt %s --split-input-file --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @loss
// CHECK: ds.cross_entropy %{{.*}}, %{{.*}} : (tensor<2x8x256xf32>, tensor<2x8xi32>) -> (tensor<2x8xf32>, tensor<2x8xf32>)
// CHECK: ds.count %{{.*}} : (tensor<2x8xi32>) -> tensor<f64>
// CHECK: ds.token_mean %{{.*}}, %{{.*}} : (tensor<2x8xf32>, tensor<f64>) -> tensor<f64>
// CHECK: ds.loss_seed %{{.*}} : (tensor<f64>) -> tensor<f64>
// CHECK: ds.cross_entropy_grad %{{.*}} : (tensor<2x8x256xf32>, tensor<2x8xi32>, tensor<2x8xf32>, tensor<f64>) -> tensor<2x8x256xf32>
func.func @loss(%x: tensor<2x8x256xf32>, %l: tensor<2x8xi32>) -> tensor<2x8x256xf32> {
  %losses, %lse = ds.cross_entropy %x, %l : (tensor<2x8x256xf32>, tensor<2x8xi32>) -> (tensor<2x8xf32>, tensor<2x8xf32>)
  %count = ds.count %l : (tensor<2x8xi32>) -> tensor<f64>
  %mean = ds.token_mean %losses, %count : (tensor<2x8xf32>, tensor<f64>) -> tensor<f64>
  %seed = ds.loss_seed %count : (tensor<f64>) -> tensor<f64>
  %d = ds.cross_entropy_grad %x, %l, %lse, %seed : (tensor<2x8x256xf32>, tensor<2x8xi32>, tensor<2x8xf32>, tensor<f64>) -> tensor<2x8x256xf32>
  return %d : tensor<2x8x256xf32>
}

// CHECK-LABEL: func.func @smoothing
// CHECK: ds.cross_entropy %{{.*}}, %{{.*}}, %{{.*}} : (tensor<2x8x256xf32>, tensor<2x8xi32>, tensor<f64>) -> (tensor<2x8xf32>, tensor<2x8xf32>)
// CHECK: ds.cross_entropy_grad %{{.*}} : (tensor<2x8x256xf32>, tensor<2x8xi32>, tensor<2x8xf32>, tensor<f64>, tensor<f64>) -> tensor<2x8x256xf32>
func.func @smoothing(%x: tensor<2x8x256xf32>, %l: tensor<2x8xi32>, %s: tensor<f64>, %seed: tensor<f64>) -> tensor<2x8x256xf32> {
  %losses, %lse = ds.cross_entropy %x, %l, %s : (tensor<2x8x256xf32>, tensor<2x8xi32>, tensor<f64>) -> (tensor<2x8xf32>, tensor<2x8xf32>)
  %d = ds.cross_entropy_grad %x, %l, %lse, %seed, %s : (tensor<2x8x256xf32>, tensor<2x8xi32>, tensor<2x8xf32>, tensor<f64>, tensor<f64>) -> tensor<2x8x256xf32>
  return %d : tensor<2x8x256xf32>
}

// Each sample weighs the same.
// CHECK-LABEL: func.func @samples
// CHECK: %[[W:.*]] = ds.label_weights %{{.*}} : (tensor<2x8xi32>) -> tensor<2x8xf32>
// CHECK: ds.count %{{.*}} {samples} : (tensor<2x8xi32>) -> tensor<f64>
// CHECK: ds.cross_entropy %{{.*}}, %{{.*}} weights %[[W]] : (tensor<2x8x256xf32>, tensor<2x8xi32>, tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>)
// CHECK: ds.cross_entropy_grad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} weights %[[W]] :
func.func @samples(%x: tensor<2x8x256xf32>, %l: tensor<2x8xi32>, %s: tensor<f64>) -> (tensor<2x8x256xf32>, tensor<f64>) {
  %w = ds.label_weights %l : (tensor<2x8xi32>) -> tensor<2x8xf32>
  %count = ds.count %l {samples} : (tensor<2x8xi32>) -> tensor<f64>
  %losses, %lse = ds.cross_entropy %x, %l weights %w : (tensor<2x8x256xf32>, tensor<2x8xi32>, tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>)
  %d = ds.cross_entropy_grad %x, %l, %lse, %count, %s weights %w : (tensor<2x8x256xf32>, tensor<2x8xi32>, tensor<2x8xf32>, tensor<f64>, tensor<f64>, tensor<2x8xf32>) -> tensor<2x8x256xf32>
  return %d, %count : tensor<2x8x256xf32>, tensor<f64>
}

// Rows of a matrix, and of a column of ids.
// CHECK-LABEL: func.func @rows
// CHECK: ds.slice_rows %{{.*}} {start = 12 : i64} : (tensor<2x8x16xf32>) -> tensor<4x16xf32>
// CHECK: ds.slice_rows %{{.*}} {start = 0 : i64} : (tensor<2x8xi32>) -> tensor<12xi32>
// CHECK: ds.concat_rows %{{.*}}, %{{.*}} : (tensor<12x16xf32>, tensor<4x16xf32>) -> tensor<2x8x16xf32>
func.func @rows(%x: tensor<2x8x16xf32>, %l: tensor<2x8xi32>, %a: tensor<12x16xf32>) -> tensor<2x8x16xf32> {
  %tile = ds.slice_rows %x {start = 12 : i64} : (tensor<2x8x16xf32>) -> tensor<4x16xf32>
  %ids = ds.slice_rows %l {start = 0 : i64} : (tensor<2x8xi32>) -> tensor<12xi32>
  %y = ds.concat_rows %a, %tile : (tensor<12x16xf32>, tensor<4x16xf32>) -> tensor<2x8x16xf32>
  return %y : tensor<2x8x16xf32>
}
