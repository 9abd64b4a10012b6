// RUN: ds-opt %s --split-input-file --plan-assign-memory --plan-verify | FileCheck %s

// Buffers whose lives do not meet share bytes; the first and the last of this chain do. Inputs are there from the
// start, outputs until the end.
plan.kernel @relu results [1] {
^bb0(%a: tensor<100xf32>, %b: tensor<100xf32>):
  %0 = ds.activation relu %a : (tensor<100xf32>) -> tensor<100xf32>
}
// CHECK-LABEL: plan.program @evaluate {
plan.program @evaluate {
  // CHECK-DAG: plan.buffer "x" input at [[#%u,X:]] :
  // CHECK-DAG: plan.buffer "a" activation at [[#%u,A:]] :
  // CHECK-DAG: plan.buffer "b" activation at [[#X]] :
  // CHECK-DAG: plan.buffer "y" output at [[#A]] :
  %x = plan.buffer "x" input : memref<100xf32>
  %a = plan.buffer "a" activation : memref<100xf32>
  %b = plan.buffer "b" activation : memref<100xf32>
  %y = plan.buffer "y" output : memref<100xf32>
  plan.launch @relu(%x, %a) "a" : memref<100xf32>, memref<100xf32>
  plan.launch @relu(%a, %b) "b" : memref<100xf32>, memref<100xf32>
  plan.launch @relu(%b, %y) "y" : memref<100xf32>, memref<100xf32>
}

// -----

// What lives across programs has the same bytes in each, in front of everything else; hyper-parameters first.
plan.kernel @add results [2] {
^bb0(%a: tensor<2000xf32>, %b: tensor<2000xf32>, %c: tensor<2000xf32>):
  %0 = ds.add %a, %b : (tensor<2000xf32>, tensor<2000xf32>) -> tensor<2000xf32>
}
// CHECK-LABEL: plan.program @train {
plan.program @train {
  // CHECK-NEXT: plan.buffer "w" parameter at 4096
  // CHECK-NEXT: plan.buffer "grad:w" gradient at 16384
  // CHECK-NEXT: plan.buffer "rate" hyperparameter at 0
  %w = plan.buffer "w" parameter : memref<2000xf32>
  %g = plan.buffer "grad:w" gradient : memref<2000xf32>
  %r = plan.buffer "rate" hyperparameter : memref<f64>
  // CHECK-NEXT: plan.buffer "used" output at [[#%u,]]
  %u = plan.buffer "used" output : memref<f64>
  plan.launch @add(%w, %w, %g) "add" : memref<2000xf32>, memref<2000xf32>, memref<2000xf32>
  plan.copy %r to %u : memref<f64> to memref<f64>
}
// CHECK-LABEL: plan.program @evaluate {
plan.program @evaluate {
  // CHECK-NEXT: plan.buffer "w" parameter at 4096
  %w = plan.buffer "w" parameter : memref<2000xf32>
  %y = plan.buffer "y" output : memref<2000xf32>
  plan.launch @add(%w, %w, %y) "add" : memref<2000xf32>, memref<2000xf32>, memref<2000xf32>
}

// -----

// Equal large buffers do not start at equal places of a page: 4,096 bytes each, 320 bytes apart.
plan.kernel @add results [2] {
^bb0(%a: tensor<1024xf32>, %b: tensor<1024xf32>, %c: tensor<1024xf32>):
  %0 = ds.add %a, %b : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
}
// CHECK-LABEL: plan.program @evaluate {
plan.program @evaluate {
  // CHECK-DAG: input at [[#%u,BASE:]]
  // CHECK-DAG: input at [[#BASE + 4096 + 320]]
  // CHECK-DAG: output at [[#BASE + 8192 + 640]]
  %x = plan.buffer "x" input : memref<1024xf32>
  %y = plan.buffer "y" input : memref<1024xf32>
  %z = plan.buffer "z" output : memref<1024xf32>
  plan.launch @add(%x, %y, %z) "add" : memref<1024xf32>, memref<1024xf32>, memref<1024xf32>
}

// -----

// Caches have the same bytes in the programs that use them, over those of a program that does not.
plan.kernel @relu results [1] {
^bb0(%a: tensor<2000xf32>, %b: tensor<2000xf32>):
  %0 = ds.activation relu %a : (tensor<2000xf32>) -> tensor<2000xf32>
}
// CHECK-LABEL: plan.program @evaluate {
plan.program @evaluate {
  // CHECK: plan.buffer "y" output at 12288
  %w = plan.buffer "w" parameter : memref<2000xf32>
  %y = plan.buffer "y" output : memref<2000xf32>
  plan.launch @relu(%w, %y) "y" : memref<2000xf32>, memref<2000xf32>
}
// CHECK-LABEL: plan.program @prefill {
plan.program @prefill {
  // CHECK: plan.buffer "keys" cache at 12288
  %w = plan.buffer "w" parameter : memref<2000xf32>
  %k = plan.buffer "keys" cache : memref<2000xf32>
  plan.launch @relu(%w, %k) "k" : memref<2000xf32>, memref<2000xf32>
}
// CHECK-LABEL: plan.program @decode {
plan.program @decode {
  // CHECK: plan.buffer "values" cache at 20608
  // CHECK-NEXT: plan.buffer "keys" cache at 12288
  // CHECK-NEXT: plan.buffer "z" output at 32768
  %v = plan.buffer "values" cache : memref<2000xf32>
  %k = plan.buffer "keys" cache : memref<2000xf32>
  %z = plan.buffer "z" output : memref<2000xf32>
  plan.launch @relu(%k, %v) "v" : memref<2000xf32>, memref<2000xf32>
  plan.launch @relu(%v, %z) "z" : memref<2000xf32>, memref<2000xf32>
}
