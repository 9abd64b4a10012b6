// RUN: ds-opt %s --ds-verify-lowering | FileCheck %s

// A straight-line program of ds ops is what the plan phase takes; the pass changes nothing.
// CHECK-LABEL: func.func @train
// CHECK-NEXT: ds.add
// CHECK-NEXT: ds.report
func.func @train(%x: tensor<4xf32>) {
  %0 = ds.add %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  ds.report "sum", %0 : tensor<4xf32>
  return
}
