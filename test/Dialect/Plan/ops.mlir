// RUN: ds-opt %s --verify-roundtrip | FileCheck %s

// Every op of the dialect, printed as it was read.

// CHECK-LABEL: plan.kernel @add_4 results [0] {
// CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<4xf32>):
// CHECK-NEXT:   ds.add %[[A]], %[[B]]
plan.kernel @add_4 results [0] {
^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
  %0 = ds.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
}
// CHECK-LABEL: plan.kernel @count_2x8 results [1] {
plan.kernel @count_2x8 results [1] {
^bb0(%labels: tensor<2x8xi32>, %count: tensor<f64>):
  %0 = ds.count %labels : (tensor<2x8xi32>) -> tensor<f64>
}
// CHECK-LABEL: plan.program @train {
plan.program @train {
  // Buffers are named after their label.
  // CHECK-NEXT: %h.0.bias = plan.buffer "h.0.bias" parameter at 64 : memref<4xf32>
  %0 = plan.buffer "h.0.bias" parameter at 64 : memref<4xf32>
  // CHECK-NEXT: %grad_h.0.bias = plan.buffer "grad:h.0.bias" gradient : memref<4xf32>
  %1 = plan.buffer "grad:h.0.bias" gradient : memref<4xf32>
  %rows = plan.buffer "rows" activation : memref<2x4xf32>
  %labels = plan.buffer "labels" input : memref<2x8xi32>
  %count = plan.buffer "tokens" output : memref<f64>
  %loss = plan.buffer "loss" output : memref<f64>
  %norm = plan.buffer "grad_norm" output : memref<f64>
  // CHECK: plan.launch @count_2x8(%labels, %tokens) "count" : memref<2x8xi32>, memref<f64>
  plan.launch @count_2x8(%labels, %count) "count" : memref<2x8xi32>, memref<f64>
  // CHECK: %[[ROW:.*]] = plan.view %rows at 16 : memref<2x4xf32> -> memref<4xf32>
  %row = plan.view %rows at 16 : memref<2x4xf32> -> memref<4xf32>
  // CHECK: plan.copy %grad_h.0.bias to %[[ROW]] : memref<4xf32> to memref<4xf32>
  plan.copy %1 to %row : memref<4xf32> to memref<4xf32>
  // CHECK: plan.guard %tokens, %loss, %grad_norm : memref<f64>, memref<f64>, memref<f64>
  plan.guard %count, %loss, %norm : memref<f64>, memref<f64>, memref<f64>
  // CHECK: plan.launch @add_4(%h.0.bias, %[[ROW]]) "h.0/add"
  plan.launch @add_4(%0, %row) "h.0/add" : memref<4xf32>, memref<4xf32>
}
