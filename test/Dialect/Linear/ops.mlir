// RUN: ds-opt %s --split-input-file --verify-roundtrip | FileCheck %s

// Conv1D layout with a bias, as import creates it.
// CHECK-LABEL: func.func @plain
// CHECK: ds.linear %{{.*}}, %{{.*}} bias %{{.*}} : tensor<2x8x16xf32>, tensor<16x48xf32> bias tensor<48xf32> -> tensor<2x8x48xf32>
func.func @plain(%x: tensor<2x8x16xf32>, %w: tensor<16x48xf32>, %b: tensor<48xf32>) -> tensor<2x8x48xf32> {
  %y = ds.linear %x, %w bias %b : tensor<2x8x16xf32>, tensor<16x48xf32> bias tensor<48xf32> -> tensor<2x8x48xf32>
  return %y : tensor<2x8x48xf32>
}

// An embedding table as output head.
// CHECK-LABEL: func.func @head
// CHECK: ds.linear %{{.*}}, %{{.*}} {transpose_weight} : tensor<5x16xf32>, tensor<7x16xf32> -> tensor<5x7xf32>
func.func @head(%x: tensor<5x16xf32>, %w: tensor<7x16xf32>) -> tensor<5x7xf32> {
  %y = ds.linear %x, %w {transpose_weight} : tensor<5x16xf32>, tensor<7x16xf32> -> tensor<5x7xf32>
  return %y : tensor<5x7xf32>
}

// Fused: activation with the value before it kept, and a residual.
// CHECK-LABEL: func.func @fused
// CHECK: ds.linear %{{.*}}, %{{.*}} bias %{{.*}} activation gelu_tanh : {{.*}} -> tensor<5x7xf32> pre tensor<5x7xf32>
// CHECK: ds.linear %{{.*}}, %{{.*}} residual %{{.*}} : {{.*}} residual tensor<5x7xf32> -> tensor<5x7xf32>
func.func @fused(%x: tensor<5x16xf32>, %w: tensor<16x7xf32>, %b: tensor<7xf32>) -> tensor<5x7xf32> {
  %y, %pre = ds.linear %x, %w bias %b activation gelu_tanh : tensor<5x16xf32>, tensor<16x7xf32> bias tensor<7xf32> -> tensor<5x7xf32> pre tensor<5x7xf32>
  %z = ds.linear %x, %w residual %y : tensor<5x16xf32>, tensor<16x7xf32> residual tensor<5x7xf32> -> tensor<5x7xf32>
  return %z : tensor<5x7xf32>
}

// CHECK-LABEL: func.func @gradients
// CHECK: ds.linear_input_grad %{{.*}}, %{{.*}} : tensor<5x7xf32>, tensor<16x7xf32> -> tensor<5x16xf32>
// CHECK: ds.linear_input_grad %{{.*}}, %{{.*}} activation relu at %{{.*}} residual %{{.*}}
// CHECK: ds.linear_weight_grad %{{.*}}, %{{.*}} : tensor<5x16xf32>, tensor<5x7xf32> -> tensor<16x7xf32>
// CHECK: ds.linear_weight_grad %{{.*}}, %{{.*}} init %{{.*}} {transpose_weight} : {{.*}} -> tensor<7x16xf32>
// CHECK: ds.bias_grad %{{.*}} : tensor<5x7xf32> -> tensor<7xf32>
// CHECK: ds.bias_grad %{{.*}} init %{{.*}} : tensor<5x7xf32> init tensor<7xf32> -> tensor<7xf32>
func.func @gradients(%dy: tensor<5x7xf32>, %x: tensor<5x16xf32>, %w: tensor<16x7xf32>, %old: tensor<7x16xf32>) -> tensor<7x16xf32> {
  %dx = ds.linear_input_grad %dy, %w : tensor<5x7xf32>, tensor<16x7xf32> -> tensor<5x16xf32>
  %fused = ds.linear_input_grad %dy, %w activation relu at %x residual %dx : tensor<5x7xf32>, tensor<16x7xf32> pre tensor<5x16xf32> residual tensor<5x16xf32> -> tensor<5x16xf32>
  %dw = ds.linear_weight_grad %x, %dy : tensor<5x16xf32>, tensor<5x7xf32> -> tensor<16x7xf32>
  %dt = ds.linear_weight_grad %x, %dy init %old {transpose_weight} : tensor<5x16xf32>, tensor<5x7xf32> init tensor<7x16xf32> -> tensor<7x16xf32>
  %db = ds.bias_grad %dy : tensor<5x7xf32> -> tensor<7xf32>
  %db2 = ds.bias_grad %dy init %db : tensor<5x7xf32> init tensor<7xf32> -> tensor<7xf32>
  return %dt : tensor<7x16xf32>
}
