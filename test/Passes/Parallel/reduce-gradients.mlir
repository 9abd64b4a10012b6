// RUN: ds-opt --ds-reduce-gradients='ranks=2' %s | FileCheck %s
// RUN: ds-opt --ds-reduce-gradients='ranks=2 zero=1' %s | FileCheck %s --check-prefix=ZERO
// RUN: ds-opt --ds-reduce-gradients='ranks=2 zero=2' %s | FileCheck %s --check-prefix=TWO
// RUN: ds-opt --ds-reduce-gradients='ranks=2 zero=3' %s | FileCheck %s --check-prefix=THREE
// RUN: ds-opt --ds-reduce-gradients='ranks=2 bucket-bytes=0' %s | FileCheck %s --check-prefix=APART
// RUN: ds-opt --ds-reduce-gradients='ranks=1' %s | FileCheck %s --check-prefix=ONE

// ONE-NOT: all_reduce

// Counts are summed before the first micro-batch starts from them; samples are numbered from the rank's first row.
// CHECK: ds.hyperparameter @rank.sample = 0
// CHECK-LABEL: func.func @train.window
// CHECK: %[[COUNT:.*]] = ds.count
// CHECK: %[[SUM:.*]] = ds.all_reduce data %[[COUNT]] : tensor<f64>
// CHECK: ds.assign @window.count, %[[SUM]]
// CHECK: %[[SAMPLE:.*]] = ds.read @rank.sample
// CHECK: ds.assign @window.sample, %[[SAMPLE]]

// A micro-batch is the same on one device.
// CHECK-LABEL: func.func @train.micro
// CHECK-NOT: all_reduce

// One bucket, in the order in which the backward pass completes gradients: b before w.
// CHECK-LABEL: func.func @train(
// CHECK: %[[GRADS:.*]]:2 = ds.all_reduce data %{{.*}}, %{{.*}} {ds.label = "gradients.0"} : tensor<8xf32>, tensor<64x48xf32>
// CHECK: ds.assign @"grad:b", %[[GRADS]]#0
// CHECK: ds.assign @"grad:w", %[[GRADS]]#1
// CHECK: %[[LOSS:.*]] = ds.all_reduce data %{{.*}} : tensor<f64>
// CHECK: ds.assign @window.loss, %[[LOSS]]
// CHECK: ds.square_sum %[[GRADS]]#0
// CHECK: ds.square_sum %[[GRADS]]#1
// CHECK-NOT: ds.share

// APART-LABEL: func.func @train(
// APART: ds.all_reduce data %{{.*}} {ds.label = "gradients.0"} : tensor<8xf32>
// APART: ds.all_reduce data %{{.*}} {ds.label = "gradients.1"} : tensor<64x48xf32>

// The optimizer's state is shared out, weights are gathered behind the last update.
// ZERO: ds.variable optimizer_state @velocity.w : tensor<64x48xf32> = zeros {share = 1 : i32}
// ZERO-LABEL: func.func @train(
// ZERO: %[[GRADS:.*]]:2 = ds.reduce_scatter data
// ZERO: %[[S:.*]] = ds.square_sum %[[GRADS]]#0 {ds.share = 1 : i32}
// ZERO: %[[T:.*]] = ds.square_sum %[[GRADS]]#1 {ds.share = 1 : i32}
// ZERO: %[[ALL:.*]]:2 = ds.all_gather data %[[S]], %[[T]] {block = 1 : i64} : tensor<1xf64>, tensor<3xf64>
// ZERO: ds.global_norm %[[ALL]]#0, %[[ALL]]#1
// ZERO: ds.guard
// ZERO: ds.sgd_update {{.*}}ds.share = 1 : i32
// ZERO: ds.sgd_update {{.*}}ds.share = 1 : i32
// ZERO: %[[ALL:.*]]:2 = ds.all_gather data %{{.*}}, %{{.*}} {ds.label = "weights"} : tensor<64x48xf32>, tensor<8xf32>
// ZERO: ds.assign @w, %[[ALL]]#0
// ZERO: ds.assign @b, %[[ALL]]#1

// Gradients of a micro-batch are scattered as soon as they are there, into shared sums.
// TWO: ds.variable window @"grad:w" : tensor<64x48xf32> = zeros {share = 1 : i32}
// TWO-LABEL: func.func @train.micro
// TWO: %[[GRADS:.*]]:2 = ds.reduce_scatter data %{{.*}}, %{{.*}} {ds.label = "gradients.0"} : tensor<8xf32>, tensor<64x48xf32>
// TWO: ds.assign @"grad:b", %[[GRADS]]#0
// TWO: ds.assign @"grad:w", %[[GRADS]]#1
// TWO-LABEL: func.func @train(
// TWO-NOT: reduce_scatter
// TWO: ds.sgd_update {{.*}}ds.share = 1 : i32
// TWO: ds.all_gather data %{{.*}}, %{{.*}} {ds.label = "weights"}

// Parameters are gathered by those who read them, and never after the update.
// THREE: ds.variable parameter @w : tensor<64x48xf32> = ones {share = 1 : i32}
// THREE-LABEL: func.func @train.micro
// THREE: %[[W:.*]] = ds.all_gather data %{{.*}} : tensor<64x48xf32>
// THREE-NEXT: ds.linear_input_grad %{{.*}}, %[[W]]
// THREE-LABEL: func.func @train(
// THREE-NOT: "weights"

ds.variable parameter @w : tensor<64x48xf32> = ones
ds.variable parameter @b : tensor<8xf32> = zeros
ds.variable optimizer_state @velocity.w : tensor<64x48xf32> = zeros
ds.variable optimizer_state @velocity.b : tensor<8xf32> = zeros
ds.variable window @window.count : tensor<f64> = zeros
ds.variable window @window.loss : tensor<f64> = zeros
ds.variable window @window.sample : tensor<f64> = zeros
ds.variable window @"grad:w" : tensor<64x48xf32> = zeros
ds.variable window @"grad:b" : tensor<8xf32> = zeros
ds.hyperparameter @rate = 1.0e-1
ds.schedule [@train.window, @train.micro, @train] times [1, 2, 1]
func.func @train.window(%labels: tensor<4x8xi32>) {
  %0 = ds.count %labels : (tensor<4x8xi32>) -> tensor<f64>
  ds.assign @window.count, %0 : tensor<f64>
  %1 = ds.zeros : () -> tensor<f64>
  ds.assign @window.sample, %1 : tensor<f64>
  return
}
func.func @train.micro(%x: tensor<2x64xf32>, %dy: tensor<2x48xf32>, %db: tensor<2x8xf32>) {
  %w = ds.read @w : tensor<64x48xf32>
  %b = ds.read @b : tensor<8xf32>
  %dx = ds.linear_input_grad %dy, %w : tensor<2x48xf32>, tensor<64x48xf32> -> tensor<2x64xf32>
  %twice = ds.add %b, %b : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %0 = ds.bias_grad %db : tensor<2x8xf32> -> tensor<8xf32>
  %1 = ds.linear_weight_grad %x, %dy : tensor<2x64xf32>, tensor<2x48xf32> -> tensor<64x48xf32>
  ds.assign @"grad:w", %1 : tensor<64x48xf32>
  ds.assign @"grad:b", %0 : tensor<8xf32>
  return
}
func.func @train() {
  %loss = ds.read @window.loss : tensor<f64>
  ds.report "loss", %loss : tensor<f64>
  %count = ds.read @window.count : tensor<f64>
  %gw = ds.read @"grad:w" : tensor<64x48xf32>
  %gb = ds.read @"grad:b" : tensor<8xf32>
  %sb = ds.square_sum %gb : (tensor<8xf32>) -> tensor<1xf64>
  %sw = ds.square_sum %gw : (tensor<64x48xf32>) -> tensor<3xf64>
  %norm = ds.global_norm %sb, %sw : (tensor<1xf64>, tensor<3xf64>) -> tensor<f64>
  ds.guard %count, %loss, %norm
  %rate = ds.read @rate : tensor<f64>
  %w = ds.read @w : tensor<64x48xf32>
  %uw = ds.read @velocity.w : tensor<64x48xf32>
  %w1, %uw1 = ds.sgd_update %w, %gw, %uw, %rate, %rate, %rate : (tensor<64x48xf32>, tensor<64x48xf32>, tensor<64x48xf32>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<64x48xf32>, tensor<64x48xf32>)
  ds.assign @w, %w1 : tensor<64x48xf32>
  ds.assign @velocity.w, %uw1 : tensor<64x48xf32>
  %b = ds.read @b : tensor<8xf32>
  %ub = ds.read @velocity.b : tensor<8xf32>
  %b1, %ub1 = ds.sgd_update %b, %gb, %ub, %rate, %rate, %rate : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<8xf32>, tensor<8xf32>)
  ds.assign @b, %b1 : tensor<8xf32>
  ds.assign @velocity.b, %ub1 : tensor<8xf32>
  return
}
