// RUN: not ds-opt %s --ds-recompute=full=h.1 2>&1 | FileCheck %s
// RUN: not ds-opt %s --ds-recompute=selective=h.0.backward 2>&1 | FileCheck %s --check-prefix=BACKWARD

// CHECK: R1: option 'full' names 'h.1', which is no block with a backward
// BACKWARD: R1: option 'selective' names 'h.0.backward', which is no block with a backward
func.func @train(%x: tensor<4xf32>) {
  %0 = ds.block "h.0" -> tensor<4xf32> {
    %1 = ds.add %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ds.yield %1 : tensor<4xf32>
  }
  %2 = ds.block "h.0.backward" -> tensor<4xf32> {
    ds.yield %0 : tensor<4xf32>
  }
  ds.report "a", %2 : tensor<4xf32>
  return
}
