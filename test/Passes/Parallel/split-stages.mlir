// RUN: ds-opt --ds-split-stages='layout=2,1,1,1' %s | FileCheck %s
// RUN: ds-opt --ds-split-stages='layout=1,1,1,1' %s | FileCheck %s --check-prefix=ONE

// ONE-NOT: module @stage

// State stays outside, whole, and stands in the stage as a rank has it; sums move.
// CHECK: ds.variable parameter @w : tensor<4xf32> = ones
// CHECK-NOT: grad:w
// CHECK: ds.variable optimizer_state @velocity.w : tensor<4xf32> = zeros
// CHECK-NOT: share
// CHECK: func.func @evaluate
// CHECK-NOT: func.func
// CHECK: module @stage.0 attributes {ds.layout = array<i64: 2, 1, 1, 1>} {
// CHECK-DAG: ds.variable parameter @w : tensor<4xf32> = ones
// CHECK-DAG: ds.variable window @"grad:w" : tensor<4xf32> = zeros
// CHECK-DAG: ds.variable optimizer_state @velocity.w : tensor<4xf32> = zeros {share = 1 : i32}
// CHECK-NOT: @unused
// CHECK: ds.schedule [@train.micro, @train] times [2, 1]
// CHECK: func.func @train.micro
// CHECK: func.func @train(

ds.variable parameter @w : tensor<4xf32> = ones
ds.variable window @"grad:w" : tensor<4xf32> = zeros
ds.variable optimizer_state @velocity.w : tensor<4xf32> = zeros {share = 1 : i32}
ds.hyperparameter @unused = 1.0
ds.schedule [@train.micro, @train] times [2, 1]
func.func @evaluate() {
  %w = ds.read @w : tensor<4xf32>
  ds.report "w", %w : tensor<4xf32>
  return
}
func.func @train.micro() {
  %w = ds.read @w : tensor<4xf32>
  ds.assign @"grad:w", %w : tensor<4xf32>
  return
}
func.func @train() {
  %g = ds.read @"grad:w" : tensor<4xf32>
  ds.assign @velocity.w, %g : tensor<4xf32>
  return
}
