// RUN: ds-opt %s --split-input-file --ds-mixed-precision=type=f16 --ds-verify-precision | FileCheck %s
// RUN: ds-opt %s --split-input-file --ds-mixed-precision=type=f16 --ds-verify-precision --ds-fuse | FileCheck %s --check-prefix=FUSED

// A parameter that a product reads has a working copy; the bias has none. The copy is the new value, rounded where the
// parameter is assigned; `ds-fuse` then lets the update write both.
// CHECK: ds.variable parameter @w : tensor<16x8xf32> = ones
// CHECK: ds.variable parameter @b : tensor<8xf32> = zeros
// CHECK: ds.variable working_copy @half.w : tensor<16x8xf16> = zeros
// CHECK-NOT: half.b
ds.variable parameter @w : tensor<16x8xf32> = ones
ds.variable parameter @b : tensor<8xf32> = zeros

// CHECK-LABEL: func.func @train
// FUSED-LABEL: func.func @train
func.func @train(%x: tensor<4x16xf32>, %dy: tensor<4x8xf32>, %s: tensor<f64>) {
  // The master is read too: by the update.
  // CHECK: %[[X:.*]] = ds.cast %arg0 : (tensor<4x16xf32>) -> tensor<4x16xf16>
  // CHECK: %[[W:.*]] = ds.read @w : tensor<16x8xf32>
  // CHECK: %[[HALF:.*]] = ds.read @half.w : tensor<16x8xf16>
  // CHECK: %[[B:.*]] = ds.read @b : tensor<8xf32>
  %w = ds.read @w : tensor<16x8xf32>
  %b = ds.read @b : tensor<8xf32>
  // CHECK: ds.block "h.0" -> tensor<4x8xf16>, tensor<4x8xf16>
  %y:2 = ds.block "h.0" -> tensor<4x8xf32>, tensor<4x8xf32> {
    // CHECK: ds.linear %[[X]], %[[HALF]] bias %[[B]] : tensor<4x16xf16>, tensor<16x8xf16> bias tensor<8xf32> -> tensor<4x8xf16>
    %0 = ds.linear %x, %w bias %b : tensor<4x16xf32>, tensor<16x8xf32> bias tensor<8xf32> -> tensor<4x8xf32>
    // CHECK: ds.activation relu %{{.*}} : (tensor<4x8xf16>) -> tensor<4x8xf16>
    %1 = ds.activation relu %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ds.yield %1, %0 : tensor<4x8xf32>, tensor<4x8xf32>
  }
  // Gradients of parameters, and what is computed from them, stay f32.
  // CHECK: ds.activation_grad relu %{{.*}} : (tensor<4x8xf16>, tensor<4x8xf16>) -> tensor<4x8xf16>
  // CHECK: ds.linear_weight_grad %[[X]], %{{.*}} : tensor<4x16xf16>, tensor<4x8xf16> -> tensor<16x8xf32>
  // CHECK: ds.square_sum %{{.*}} : (tensor<16x8xf32>)
  %g = ds.activation_grad relu %dy, %y#1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %dw = ds.linear_weight_grad %x, %g : tensor<4x16xf32>, tensor<4x8xf32> -> tensor<16x8xf32>
  %sum = ds.square_sum %dw : (tensor<16x8xf32>) -> tensor<1xf64>
  // CHECK: %[[NEXT:.*]], %{{.*}} = ds.sgd_update %[[W]],
  // CHECK-NEXT: ds.assign @w, %[[NEXT]] : tensor<16x8xf32>
  // CHECK-NEXT: %[[ROUNDED:.*]] = ds.cast %[[NEXT]] : (tensor<16x8xf32>) -> tensor<16x8xf16>
  // CHECK-NEXT: ds.assign @half.w, %[[ROUNDED]] : tensor<16x8xf16>
  // FUSED: %[[NEXT:.*]], %{{.*}}, %[[ROUNDED:.*]] = ds.sgd_update %{{.*}} -> (tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf16>)
  // FUSED-NEXT: ds.assign @w, %[[NEXT]] : tensor<16x8xf32>
  // FUSED-NEXT: ds.assign @half.w, %[[ROUNDED]] : tensor<16x8xf16>
  %next, %velocity = ds.sgd_update %w, %dw, %dw, %s, %s, %s : (tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<16x8xf32>, tensor<16x8xf32>)
  ds.assign @w, %next : tensor<16x8xf32>
  return
}

// Another program reads the same copy, and assigns nothing. Reports are f32.
// CHECK-LABEL: func.func @logits
// CHECK: ds.read @half.w : tensor<16x8xf16>
// CHECK: %[[Y:.*]] = ds.linear %{{.*}} -> tensor<4x8xf32>
// CHECK: ds.report "logits", %[[Y]] : tensor<4x8xf32>
// CHECK-NOT: ds.assign
func.func @logits(%x: tensor<4x16xf32>) {
  %w = ds.read @w : tensor<16x8xf32>
  %y = ds.linear %x, %w : tensor<4x16xf32>, tensor<16x8xf32> -> tensor<4x8xf32>
  ds.report "logits", %y : tensor<4x8xf32>
  return
}

// -----

// The sums of the head's product stay f32, as only the loss reads them, in the block and outside; the gradient that
// comes back from the loss has two bytes.
// CHECK-LABEL: func.func @head
func.func @head(%x: tensor<4x16xf32>, %w: tensor<16x8xf32>, %labels: tensor<4xi32>, %seed: tensor<f64>) {
  // CHECK: ds.linear %{{.*}} : tensor<4x16xf16>, tensor<16x8xf16> -> tensor<4x8xf32>
  // CHECK: ds.cross_entropy %{{.*}} : (tensor<4x8xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>)
  %y:2 = ds.block "head" -> tensor<4x8xf32>, tensor<4xf32> {
    %0 = ds.linear %x, %w : tensor<4x16xf32>, tensor<16x8xf32> -> tensor<4x8xf32>
    %losses, %lse = ds.cross_entropy %0, %labels : (tensor<4x8xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>)
    ds.yield %0, %lse : tensor<4x8xf32>, tensor<4xf32>
  }
  // CHECK: ds.cross_entropy_grad %{{.*}} : (tensor<4x8xf32>, tensor<4xi32>, tensor<4xf32>, tensor<f64>) -> tensor<4x8xf16>
  // CHECK: ds.linear_input_grad %{{.*}} : tensor<4x8xf16>, tensor<16x8xf16> -> tensor<4x16xf16>
  %d = ds.cross_entropy_grad %y#0, %labels, %y#1, %seed : (tensor<4x8xf32>, tensor<4xi32>, tensor<4xf32>, tensor<f64>) -> tensor<4x8xf32>
  %dx = ds.linear_input_grad %d, %w : tensor<4x8xf32>, tensor<16x8xf32> -> tensor<4x16xf32>
  // What a program returns keeps its type.
  // CHECK: ds.cast %{{.*}} : (tensor<4x16xf16>) -> tensor<4x16xf32>
  ds.report "dx", %dx : tensor<4x16xf32>
  return
}

// -----

// Statistics, gain and bias of a norm are f32; its input and result are stored in two bytes. MP-11: nothing squares or
// sums in f16.
// CHECK-LABEL: func.func @norm
// CHECK: ds.layer_norm %{{.*}} : (tensor<4x16xf16>, tensor<16xf32>, tensor<16xf32>) -> (tensor<4x16xf16>, tensor<4xf32>, tensor<4xf32>)
// CHECK: ds.attention %{{.*}} : (tensor<2x2x12xf16>) -> (tensor<2x2x4xf16>, tensor<2x1x2xf32>)
// A sum goes with its operands: one cast, none of two.
// CHECK: ds.add %{{.*}} : (tensor<4x16xf16>, tensor<4x16xf16>) -> tensor<4x16xf16>
// CHECK: ds.add %{{.*}} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
func.func @norm(%x: tensor<4x16xf32>, %g: tensor<16xf32>, %qkv: tensor<2x2x12xf32>) {
  %y, %mean, %rstd = ds.layer_norm %x, %g, %g {eps = 1.0e-5 : f64} : (tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>)
  %a, %lse = ds.attention %qkv {heads = 1 : i64, scale = 0.5 : f64} : (tensor<2x2x12xf32>) -> (tensor<2x2x4xf32>, tensor<2x1x2xf32>)
  %sum = ds.add %x, %y : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  %kept = ds.add %g, %g : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return
}

// -----

// Two readers share one cast, and an operand that has two bytes already needs none.
// CHECK-LABEL: func.func @shared
// CHECK-COUNT-1: ds.cast
// CHECK-NOT: ds.cast
func.func @shared(%x: tensor<4x16xf32>) {
  %a = ds.activation relu %x : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %b = ds.activation gelu %x : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %c = ds.activation gelu %b : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return
}
