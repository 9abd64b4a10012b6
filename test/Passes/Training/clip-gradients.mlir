// RUN: ds-opt %s --split-input-file --ds-clip-gradients | FileCheck %s

// Sorted by name of the variable, whatever the order of reports: "h.0.b" before "h.1.a" before "wte".
ds.hyperparameter @train.gradient_clipping = 1.0
// CHECK-LABEL: func.func @train
// CHECK-SAME: %[[WTE:.*]]: tensor<64x48xf32>, %[[A:.*]]: tensor<16xf32>, %[[B:.*]]: tensor<2x512xf32>
func.func @train(%wte: tensor<64x48xf32>, %a: tensor<16xf32>, %b: tensor<2x512xf32>) {
  ds.report "grad:wte", %wte : tensor<64x48xf32>
  ds.report "grad:h.1.a", %a : tensor<16xf32>
  ds.report "grad:h.0.b", %b : tensor<2x512xf32>
  // CHECK: %[[SB:.*]] = ds.square_sum %[[B]] : (tensor<2x512xf32>) -> tensor<1xf64>
  // CHECK-NEXT: %[[SA:.*]] = ds.square_sum %[[A]] : (tensor<16xf32>) -> tensor<1xf64>
  // CHECK-NEXT: %[[SW:.*]] = ds.square_sum %[[WTE]] : (tensor<64x48xf32>) -> tensor<3xf64>
  // CHECK-NEXT: %[[NORM:.*]] = ds.global_norm %[[SB]], %[[SA]], %[[SW]]
  // CHECK-NEXT: ds.report "grad_norm", %[[NORM]] : tensor<f64>
  // CHECK-NEXT: %[[LIMIT:.*]] = ds.read @train.gradient_clipping : tensor<f64>
  // CHECK-NEXT: ds.clip_factor %[[NORM]], %[[LIMIT]]
  // CHECK-NEXT: return
  return
}

// -----

// A module without @train is an evaluation: left alone.
// CHECK-LABEL: func.func @evaluate
// CHECK-NEXT: return
func.func @evaluate() {
  return
}
