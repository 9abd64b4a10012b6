// RUN: ds-opt %s --split-input-file --ds-to-plan | FileCheck %s

// Arguments are inputs, reports outputs, and a report that starts with grad: a gradient. Equal ops share a kernel.
ds.variable parameter @w : tensor<4xf32> = zeros
ds.hyperparameter @rate = 1.0
// CHECK-LABEL: plan.kernel @add_4 results [2] {
// CHECK-LABEL: plan.program @train {
// CHECK-DAG: %w = plan.buffer "w" parameter : memref<4xf32>
// CHECK-DAG: %grad_w = plan.buffer "grad:w" gradient : memref<4xf32>
// CHECK-DAG: %rate = plan.buffer "rate" hyperparameter : memref<f64>
// CHECK-DAG: %[[X:.*]] = plan.buffer "x" input : memref<4xf32>
// CHECK-DAG: %[[Y:.*]] = plan.buffer "y" output : memref<4xf32>
// CHECK-DAG: %[[RATE:.*]] = plan.buffer "used" output : memref<f64>
// CHECK: plan.launch @add_4(%[[X]], %w, %[[Y]]) "h.0/add(w)"
// CHECK-NEXT: plan.launch @add_4(%[[Y]], %w, %grad_w) "add(w)"
// CHECK-NEXT: plan.copy %rate to %[[RATE]]
// CHECK-NOT: plan.kernel @add_4_2
func.func @train(%x: tensor<4xf32> {ds.name = "x"}) {
  %w = ds.read @w : tensor<4xf32>
  %0 = ds.add %x, %w {ds.label = "h.0"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  ds.report "y", %0 : tensor<4xf32>
  %1 = ds.add %0, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  ds.report "grad:w", %1 : tensor<4xf32>
  %rate = ds.read @rate : tensor<f64>
  ds.report "used", %rate : tensor<f64>
  return
}

// -----

// A result is written over an operand that nobody reads afterwards, and only then; inputs are never written.
// CHECK-LABEL: plan.kernel @activation_4_relu results [1] {
// CHECK-LABEL: plan.kernel @activation_4_relu_2 results [0] {
// CHECK-LABEL: plan.program @evaluate {
// CHECK: plan.launch @activation_4_relu(%tokens, %[[A:.*]])
// CHECK-NEXT: plan.launch @activation_4_relu(%[[A]], %[[B:.*]])
// CHECK-NEXT: plan.launch @activation_4_relu_2(%[[B]])
// CHECK-NEXT: plan.launch @add_4{{.*}}(%[[A]], %[[B]])
func.func @evaluate(%x: tensor<4xf32>) {
  %a = ds.activation relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %b = ds.activation relu %a : (tensor<4xf32>) -> tensor<4xf32>
  %c = ds.activation relu %b : (tensor<4xf32>) -> tensor<4xf32>
  %d = ds.add %a, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  ds.report "d", %d : tensor<4xf32>
  return
}

// -----

// An accumulation works in its operand's bytes; if that operand is still needed, in a copy of them.
// CHECK-LABEL: plan.program @train {
// CHECK: plan.launch @bias_grad_2x4_4(%tokens, %[[A:.*]])
// CHECK-NEXT: plan.copy %[[A]] to %[[B:.*]] :
// CHECK-NEXT: plan.launch @bias_grad_2x4_4_2(%tokens, %[[B]])
// CHECK-NEXT: plan.launch @bias_grad_2x4_4_2(%tokens, %[[A]])
func.func @train(%g: tensor<2x4xf32>) {
  %a = ds.bias_grad %g : tensor<2x4xf32> -> tensor<4xf32>
  %b = ds.bias_grad %g init %a : tensor<2x4xf32> init tensor<4xf32> -> tensor<4xf32>
  %c = ds.bias_grad %g init %a : tensor<2x4xf32> init tensor<4xf32> -> tensor<4xf32>
  ds.report "grad:b", %b : tensor<4xf32>
  ds.report "grad:c", %c : tensor<4xf32>
  return
}

// -----

// Behind the guard a variable is updated in its own bytes and the assignment costs nothing.
ds.variable counter @updates : tensor<f64> = zeros
// CHECK-LABEL: plan.program @train {
// CHECK: plan.guard
// CHECK-NEXT: plan.launch @increment_scalar(%updates) "increment"
// CHECK-NOT: plan.copy
func.func @train(%c: tensor<f64>) {
  %u = ds.read @updates : tensor<f64>
  ds.guard %c, %c, %c
  %n = ds.increment %u : (tensor<f64>) -> tensor<f64>
  ds.assign @updates, %n : tensor<f64>
  return
}

// -----

// Before the guard, or where the old value is still read, the new value is computed apart and copied at the end.
ds.variable counter @early : tensor<f64> = zeros
ds.variable counter @read : tensor<f64> = zeros
// CHECK-LABEL: plan.program @train {
// CHECK: plan.launch @increment_scalar(%early, %[[E:.*]]) "increment"
// CHECK-NEXT: plan.guard
// CHECK-NEXT: plan.copy %[[E]] to %early
// CHECK-NEXT: plan.launch @increment_scalar(%read, %[[R:.*]]) "increment"
// CHECK-NEXT: plan.copy %read to %old :
// CHECK-NEXT: plan.copy %[[R]] to %read
// CHECK-NOT: plan.copy
func.func @train(%c: tensor<f64>) {
  %e = ds.read @early : tensor<f64>
  %r = ds.read @read : tensor<f64>
  %e1 = ds.increment %e : (tensor<f64>) -> tensor<f64>
  ds.guard %c, %c, %c
  ds.assign @early, %e1 : tensor<f64>
  %r1 = ds.increment %r : (tensor<f64>) -> tensor<f64>
  ds.assign @read, %r1 : tensor<f64>
  ds.report "old", %r : tensor<f64>
  return
}

// -----

// A variable that takes another one's old value: both are read before either is written.
ds.variable parameter @a : tensor<4xf32> = zeros
ds.variable parameter @b : tensor<4xf32> = zeros
// CHECK-LABEL: plan.program @train {
// CHECK: plan.guard
// CHECK-NEXT: plan.copy %a to %[[OLD:.*]] :
// CHECK-NEXT: plan.copy %b to %a
// CHECK-NEXT: plan.copy %[[OLD]] to %b
func.func @train(%c: tensor<f64>) {
  %a = ds.read @a : tensor<4xf32>
  %b = ds.read @b : tensor<4xf32>
  ds.guard %c, %c, %c
  ds.assign @a, %b : tensor<4xf32>
  ds.assign @b, %a : tensor<4xf32>
  return
}

// -----

// Rows are computed where they belong: slices and concatenations launch nothing.
// CHECK-LABEL: plan.program @evaluate {
// CHECK-DAG: %[[ALL:.*]] = plan.buffer "all" output : memref<2x2x4xf32>
// CHECK: %[[S1:.*]] = plan.view %tokens at 32 : memref<2x2x4xf32> -> memref<2x4xf32>
// CHECK: %[[T1:.*]] = plan.view %[[ALL]] at 0 : memref<2x2x4xf32> -> memref<2x4xf32>
// CHECK: plan.launch @activation_2x4_relu(%[[S1]], %[[T1]])
// CHECK: %[[S0:.*]] = plan.view %tokens at 0 : memref<2x2x4xf32> -> memref<2x4xf32>
// CHECK: %[[T0:.*]] = plan.view %[[ALL]] at 32 : memref<2x2x4xf32> -> memref<2x4xf32>
// CHECK: plan.launch @activation_2x4_relu(%[[S0]], %[[T0]])
// CHECK-NOT: plan.copy
func.func @evaluate(%x: tensor<2x2x4xf32>) {
  %s1 = ds.slice_rows %x {start = 2 : i64} : (tensor<2x2x4xf32>) -> tensor<2x4xf32>
  %t1 = ds.activation relu %s1 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %s0 = ds.slice_rows %x {start = 0 : i64} : (tensor<2x2x4xf32>) -> tensor<2x4xf32>
  %t0 = ds.activation relu %s0 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %all = ds.concat_rows %t1, %t0 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x2x4xf32>
  ds.report "all", %all : tensor<2x2x4xf32>
  return
}

// -----

// Rows that have a place already, and rows that occur twice, are copied into the whole.
// CHECK-LABEL: plan.program @evaluate {
// CHECK: %[[S:.*]] = plan.view %tokens at 0
// CHECK: %[[C:.*]] = plan.view %[[ALL:.*]] at 0 : memref<3x4xf32> -> memref<1x4xf32>
// CHECK: plan.copy %[[S]] to %[[C]]
// CHECK: plan.copy
func.func @evaluate(%x: tensor<2x4xf32>) {
  %s = ds.slice_rows %x {start = 0 : i64} : (tensor<2x4xf32>) -> tensor<1x4xf32>
  %t = ds.activation relu %s : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %all = ds.concat_rows %s, %t, %t : (tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<3x4xf32>
  ds.report "all", %all : tensor<3x4xf32>
  return
}

// -----

// Other attributes, other types or other sharing make other kernels.
// CHECK-LABEL: plan.kernel @linear_4x8x8 results [2] {
// CHECK-LABEL: plan.kernel @linear_4x8x8_transpose_weight results [2] {
// CHECK-LABEL: plan.kernel @linear_4x8x8_bias_gelu_tanh results [3] {
func.func @evaluate(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %b: tensor<8xf32>) {
  %0 = ds.linear %x, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %1 = ds.linear %0, %w {transpose_weight} : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %2 = ds.linear %1, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %3 = ds.linear %2, %w bias %b activation gelu_tanh : tensor<4x8xf32>, tensor<8x8xf32> bias tensor<8xf32> -> tensor<4x8xf32>
  ds.report "y", %3 : tensor<4x8xf32>
  return
}
