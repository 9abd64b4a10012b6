// RUN: ds-opt %s --canonicalize | FileCheck %s

// MP-17: widening is exact, so what is narrowed again right after it is what it was.
// CHECK-LABEL: func.func @widened_and_narrowed
// CHECK-SAME: (%[[X:.*]]: tensor<4xf16>)
// CHECK-NEXT: return %[[X]]
func.func @widened_and_narrowed(%x: tensor<4xf16>) -> tensor<4xf16> {
  %0 = ds.cast %x : (tensor<4xf16>) -> tensor<4xf32>
  %1 = ds.cast %0 : (tensor<4xf32>) -> tensor<4xf16>
  return %1 : tensor<4xf16>
}

// Narrowing rounds: both casts stay.
// CHECK-LABEL: func.func @narrowed_and_widened
// CHECK: ds.cast
// CHECK: ds.cast
func.func @narrowed_and_widened(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = ds.cast %x : (tensor<4xf32>) -> tensor<4xbf16>
  %1 = ds.cast %0 : (tensor<4xbf16>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// Infinity and NaN of f32 have their places in f16, but a large f16 has none in bf16's precision: other types never cancel.
// CHECK-LABEL: func.func @by_way_of_another
// CHECK: ds.cast
// CHECK: ds.cast
// CHECK: ds.cast
// CHECK: ds.cast
func.func @by_way_of_another(%x: tensor<4xf16>) -> (tensor<4xf16>, tensor<4xbf16>) {
  %0 = ds.cast %x : (tensor<4xf16>) -> tensor<4xbf16>
  %1 = ds.cast %0 : (tensor<4xbf16>) -> tensor<4xf16>
  %2 = ds.cast %x : (tensor<4xf16>) -> tensor<4xf32>
  %3 = ds.cast %2 : (tensor<4xf32>) -> tensor<4xbf16>
  return %1, %3 : tensor<4xf16>, tensor<4xbf16>
}
