// RUN: ds-opt %s --ds-recompute=full=h.0 | FileCheck %s --check-prefix=FULL
// RUN: ds-opt %s --ds-recompute=selective=h.0 | FileCheck %s --check-prefix=CORE
// RUN: ds-opt %s --ds-recompute=full=* | FileCheck %s --check-prefix=FULL
// RUN: ds-opt %s --ds-recompute | FileCheck %s --check-prefix=NONE

ds.variable parameter @w : tensor<16x48xf32> = zeros
ds.variable parameter @v : tensor<16x16xf32> = zeros

// Whole: the forward block hands out what the next one reads, and nothing else; the product drops its second result.
// FULL-LABEL: func.func @train
// FULL: %[[Y:.*]] = ds.block "h.0" -> tensor<1x8x16xf32> {
// FULL: ds.linear %{{.*}}, %{{.*}} activation relu : tensor<1x8x16xf32>, tensor<16x16xf32> -> tensor<1x8x16xf32>{{$}}
// FULL: ds.yield %{{.*}} : tensor<1x8x16xf32>
// Copies in the order of the originals, each in front of its first reader; what the backward does not read is not copied.
// FULL: ds.block "h.0.backward"
// FULL-NEXT: %[[QKV:.*]] = ds.linear %arg0, %w {ds.label = "h.0.recompute"}
// FULL-NEXT: %[[A:.*]], %[[LSE:.*]] = ds.attention %[[QKV]] {ds.label = "h.0.recompute"
// FULL-NEXT: %[[R:.*]], %[[PRE:.*]] = ds.linear %[[A]], %v activation relu {ds.label = "h.0.recompute"}
// FULL-NEXT: %[[D:.*]] = ds.activation_grad relu %arg1, %[[PRE]]
// FULL-NEXT: ds.linear_weight_grad %[[A]], %[[D]]
// FULL-NEXT: %[[G:.*]] = ds.linear_input_grad %[[D]], %v
// FULL-NEXT: ds.attention_grad %[[G]], %[[QKV]], %[[A]], %[[LSE]]

// The core alone: its input stays, its results go.
// CORE-LABEL: func.func @train
// CORE: %[[Y:.*]]:3 = ds.block "h.0" -> tensor<1x8x16xf32>, tensor<1x8x48xf32>, tensor<1x8x16xf32> {
// CORE: ds.block "h.0.backward"
// CORE-NEXT: %[[D:.*]] = ds.activation_grad relu %arg1, %[[Y]]#2
// CORE-NEXT: %[[A:.*]], %[[LSE:.*]] = ds.attention %[[Y]]#1 {ds.label = "h.0.recompute"
// CORE-NEXT: ds.linear_weight_grad %[[A]], %[[D]]
// CORE: ds.attention_grad %{{.*}}, %[[Y]]#1, %[[A]], %[[LSE]]

// NONE: ds.block "h.0" -> tensor<1x8x16xf32>, tensor<1x8x48xf32>, tensor<1x8x16xf32>, tensor<1x2x8xf32>, tensor<1x8x16xf32> {
func.func @train(%x: tensor<1x8x16xf32>, %dy: tensor<1x8x16xf32>) {
  %w = ds.read @w : tensor<16x48xf32>
  %v = ds.read @v : tensor<16x16xf32>
  %0:5 = ds.block "h.0" -> tensor<1x8x16xf32>, tensor<1x8x48xf32>, tensor<1x8x16xf32>, tensor<1x2x8xf32>, tensor<1x8x16xf32> {
    %qkv = ds.linear %x, %w : tensor<1x8x16xf32>, tensor<16x48xf32> -> tensor<1x8x48xf32>
    %a, %lse = ds.attention %qkv {heads = 2 : i64, scale = 0.5 : f64} : (tensor<1x8x48xf32>) -> (tensor<1x8x16xf32>, tensor<1x2x8xf32>)
    %r, %pre = ds.linear %a, %v activation relu : tensor<1x8x16xf32>, tensor<16x16xf32> -> tensor<1x8x16xf32> pre tensor<1x8x16xf32>
    %y = ds.add %r, %x : (tensor<1x8x16xf32>, tensor<1x8x16xf32>) -> tensor<1x8x16xf32>
    ds.yield %y, %qkv, %a, %lse, %pre : tensor<1x8x16xf32>, tensor<1x8x48xf32>, tensor<1x8x16xf32>, tensor<1x2x8xf32>, tensor<1x8x16xf32>
  }
  ds.report "y", %0#0 : tensor<1x8x16xf32>
  %1:2 = ds.block "h.0.backward" -> tensor<1x8x48xf32>, tensor<16x16xf32> {
    %d = ds.activation_grad relu %dy, %0#4 : (tensor<1x8x16xf32>, tensor<1x8x16xf32>) -> tensor<1x8x16xf32>
    %dv = ds.linear_weight_grad %0#2, %d : tensor<1x8x16xf32>, tensor<1x8x16xf32> -> tensor<16x16xf32>
    %g = ds.linear_input_grad %d, %v : tensor<1x8x16xf32>, tensor<16x16xf32> -> tensor<1x8x16xf32>
    %dqkv = ds.attention_grad %g, %0#1, %0#2, %0#3 {heads = 2 : i64, scale = 0.5 : f64} : (tensor<1x8x16xf32>, tensor<1x8x48xf32>, tensor<1x8x16xf32>, tensor<1x2x8xf32>) -> tensor<1x8x48xf32>
    ds.yield %dqkv, %dv : tensor<1x8x48xf32>, tensor<16x16xf32>
  }
  ds.report "dqkv", %1#0 : tensor<1x8x48xf32>
  ds.report "dv", %1#1 : tensor<16x16xf32>
  return
}
