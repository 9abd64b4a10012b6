// RUN: ds-opt %s --canonicalize | FileCheck %s

// A slice of all rows, and a concatenation of one run, are what they were made of.
// CHECK-LABEL: func.func @whole
// CHECK-SAME: (%[[X:.*]]: tensor<4x16xf32>)
// CHECK-NEXT: return %[[X]], %[[X]]
func.func @whole(%x: tensor<4x16xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>) {
  %a = ds.slice_rows %x {start = 0 : i64} : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %b = ds.concat_rows %x : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return %a, %b : tensor<4x16xf32>, tensor<4x16xf32>
}

// A change of shape stays.
// CHECK-LABEL: func.func @folded
// CHECK: ds.slice_rows
// CHECK: ds.concat_rows
func.func @folded(%x: tensor<2x2x16xf32>) -> tensor<2x2x16xf32> {
  %a = ds.slice_rows %x {start = 0 : i64} : (tensor<2x2x16xf32>) -> tensor<4x16xf32>
  %b = ds.concat_rows %a : (tensor<4x16xf32>) -> tensor<2x2x16xf32>
  return %b : tensor<2x2x16xf32>
}
