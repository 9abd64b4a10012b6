// RUN: ds-opt %s --ds-inline-blocks | FileCheck %s

// Ops stay in order and remember their block; an op that has a label already keeps it.
// CHECK-LABEL: func.func @train
// CHECK-NOT: ds.block
func.func @train(%x: tensor<4xf32>) {
  // CHECK: %[[A:.*]] = ds.add %arg0, %arg0 {ds.label = "h.0"}
  // CHECK-NEXT: %[[B:.*]] = ds.activation relu %[[A]] {ds.label = "kept"}
  %0:2 = ds.block "h.0" -> tensor<4xf32>, tensor<4xf32> {
    %1 = ds.add %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %2 = ds.activation relu %1 {ds.label = "kept"} : (tensor<4xf32>) -> tensor<4xf32>
    ds.yield %2, %x : tensor<4xf32>, tensor<4xf32>
  }
  // What the block merely passes on comes from where it was.
  // CHECK-NEXT: ds.report "a", %[[B]]
  // CHECK-NEXT: ds.report "b", %arg0
  ds.report "a", %0#0 : tensor<4xf32>
  ds.report "b", %0#1 : tensor<4xf32>
  return
}
