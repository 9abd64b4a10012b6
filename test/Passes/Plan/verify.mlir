// RUN: ds-opt %s --plan-verify | FileCheck %s

// A plan that keeps all rules passes unchanged: buffers share bytes one after the other, the guard stands in front.
ds.variable parameter @w : tensor<16xf32> = zeros
plan.kernel @relu results [1] {
^bb0(%a: tensor<16xf32>, %b: tensor<16xf32>):
  %0 = ds.activation relu %a : (tensor<16xf32>) -> tensor<16xf32>
}
plan.kernel @relu_in_place results [0] {
^bb0(%a: tensor<16xf32>):
  %0 = ds.activation relu %a : (tensor<16xf32>) -> tensor<16xf32>
}
// CHECK-LABEL: plan.program @train {
// CHECK-COUNT-3: plan.launch
plan.program @train {
  %w = plan.buffer "w" parameter at 0 : memref<16xf32>
  %x = plan.buffer "x" input at 64 : memref<16xf32>
  %n = plan.buffer "n" input at 128 : memref<f64>
  %a = plan.buffer "a" activation at 192 : memref<16xf32>
  %b = plan.buffer "b" activation at 64 : memref<16xf32>
  plan.launch @relu(%x, %a) "a" : memref<16xf32>, memref<16xf32>
  plan.launch @relu(%a, %b) "b" : memref<16xf32>, memref<16xf32>
  plan.guard %n, %n, %n : memref<f64>, memref<f64>, memref<f64>
  plan.launch @relu_in_place(%w) "w" : memref<16xf32>
}
