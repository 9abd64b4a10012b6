// RUN: ds-opt %s --split-input-file --ds-accumulate-gradients=micro-batches=3 | FileCheck %s
// RUN: ds-opt %s --split-input-file --ds-accumulate-gradients | FileCheck %s --check-prefix=ONE

// ONE-LABEL: func.func @train(
// ONE-NOT: ds.schedule

// A gradient that can start from a sum does so, whatever block it is computed in and however many ops add onto each
// other; another one is added.
// CHECK: ds.variable parameter @w
// CHECK: ds.variable window @window.count : tensor<f64> = zeros
// CHECK: ds.variable window @window.loss : tensor<f64> = zeros
// CHECK: ds.variable window @"grad:w" : tensor<4x4xf32> = zeros
// CHECK: ds.variable window @"grad:p" : tensor<4x4xf32> = zeros
// CHECK: ds.schedule [@train.window, @train.micro, @train] times [1, 3, 1]
ds.variable parameter @w : tensor<4x4xf32> = zeros
ds.variable parameter @p : tensor<4x4xf32> = zeros

// CHECK-LABEL: func.func @train.window(
// CHECK-SAME: %[[ALL:.*]]: tensor<6x4xi32> {ds.name = "labels"})
// CHECK: %[[COUNT:.*]] = ds.count %[[ALL]]
// CHECK: ds.assign @window.count, %[[COUNT]]
// CHECK: %[[NONE:.*]] = ds.zeros : () -> tensor<f64>
// CHECK: ds.assign @window.loss, %[[NONE]]
// CHECK: %[[ZW:.*]] = ds.zeros : () -> tensor<4x4xf32>
// CHECK: ds.assign @"grad:w", %[[ZW]]
// CHECK: ds.zeros
// CHECK: ds.assign @"grad:p",

// CHECK-LABEL: func.func @train.micro(
// CHECK-SAME: %[[X:.*]]: tensor<2x4xi32>, %[[LABELS:.*]]: tensor<2x4xi32>
// CHECK-DAG: %[[SW:.*]] = ds.read @"grad:w"
// CHECK-DAG: %[[SP:.*]] = ds.read @"grad:p"
// CHECK-NOT: ds.count
// CHECK: %[[C:.*]] = ds.read @window.count
// CHECK: %[[MEAN:.*]] = ds.token_mean %{{.*}}, %[[C]]
// CHECK: ds.loss_seed %[[C]]
// CHECK: ds.block "head.backward"
// CHECK: %[[FIRST:.*]] = ds.linear_weight_grad %{{.*}}, %{{.*}} init %[[SW]]
// CHECK: ds.yield %{{.*}}, %[[FIRST]]
// CHECK: %[[SECOND:.*]] = ds.embedding_grad %{{.*}}, %{{.*}} init %
// CHECK: %[[P:.*]] = ds.position_grad
// CHECK-NOT: ds.report
// CHECK: ds.assign @"grad:w", %[[SECOND]]
// CHECK: %[[SUM:.*]] = ds.add %[[P]], %[[SP]]
// CHECK: ds.assign @"grad:p", %[[SUM]]
// CHECK: %[[OLD:.*]] = ds.read @window.loss
// CHECK: %[[NEW:.*]] = ds.increment %[[OLD]], %[[MEAN]]
// CHECK: ds.assign @window.loss, %[[NEW]]
// CHECK-NEXT: return

// CHECK-LABEL: func.func @train()
// CHECK: %[[L:.*]] = ds.read @window.loss
// CHECK: ds.report "loss", %[[L]]
// CHECK: %[[N:.*]] = ds.read @window.count
// CHECK: ds.report "tokens", %[[N]]
// CHECK: %[[GW:.*]] = ds.read @"grad:w"
// CHECK: ds.report "grad:w", %[[GW]]
// CHECK: %[[GP:.*]] = ds.read @"grad:p"
// CHECK: ds.report "grad:p", %[[GP]]
func.func @train(%tokens: tensor<2x4xi32>, %labels: tensor<2x4xi32>) {
  %w = ds.read @w : tensor<4x4xf32>
  %p = ds.read @p : tensor<4x4xf32>
  %x = ds.embedding %tokens, %w positions %p : tensor<2x4xi32>, tensor<4x4xf32> positions tensor<4x4xf32> -> tensor<2x4x4xf32>
  %y = ds.linear %x, %w {transpose_weight} : tensor<2x4x4xf32>, tensor<4x4xf32> -> tensor<2x4x4xf32>
  %losses, %lse = ds.cross_entropy %y, %labels : (tensor<2x4x4xf32>, tensor<2x4xi32>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
  %count = ds.count %labels : (tensor<2x4xi32>) -> tensor<f64>
  %mean = ds.token_mean %losses, %count : (tensor<2x4xf32>, tensor<f64>) -> tensor<f64>
  ds.report "loss", %mean : tensor<f64>
  ds.report "tokens", %count : tensor<f64>
  %seed = ds.loss_seed %count : (tensor<f64>) -> tensor<f64>
  %dy = ds.cross_entropy_grad %y, %labels, %lse, %seed : (tensor<2x4x4xf32>, tensor<2x4xi32>, tensor<2x4xf32>, tensor<f64>) -> tensor<2x4x4xf32>
  %back:2 = ds.block "head.backward" -> tensor<2x4x4xf32>, tensor<4x4xf32> {
    %dx = ds.linear_input_grad %dy, %w {transpose_weight} : tensor<2x4x4xf32>, tensor<4x4xf32> -> tensor<2x4x4xf32>
    %dw = ds.linear_weight_grad %x, %dy {transpose_weight} : tensor<2x4x4xf32>, tensor<2x4x4xf32> -> tensor<4x4xf32>
    ds.yield %dx, %dw : tensor<2x4x4xf32>, tensor<4x4xf32>
  }
  %tied = ds.embedding_grad %back#0, %tokens init %back#1 : tensor<2x4x4xf32>, tensor<2x4xi32> init tensor<4x4xf32> -> tensor<4x4xf32>
  %dp = ds.position_grad %back#0 : (tensor<2x4x4xf32>) -> tensor<4x4xf32>
  ds.report "grad:w", %tied : tensor<4x4xf32>
  ds.report "grad:p", %dp : tensor<4x4xf32>
  return
}

// -----

// CHECK-LABEL: func.func @evaluate
// CHECK-NEXT: return
func.func @evaluate() {
  return
}

// -----

// Where samples weigh the same, their number in the window is the divisor; the tokens are still counted.
// CHECK: ds.variable window @window.counted_samples : tensor<f64> = zeros
// CHECK: ds.variable window @window.count : tensor<f64> = zeros
ds.variable parameter @v : tensor<4x4xf32> = zeros
// CHECK-LABEL: func.func @train.window(
// CHECK-SAME: %[[ALL:.*]]: tensor<6x4xi32>
// CHECK-DAG: %[[TOKENS:.*]] = ds.count %[[ALL]] : (
// CHECK-DAG: %[[SAMPLES:.*]] = ds.count %[[ALL]] {samples} : (
// CHECK-DAG: ds.assign @window.count, %[[TOKENS]]
// CHECK-DAG: ds.assign @window.counted_samples, %[[SAMPLES]]
// CHECK-LABEL: func.func @train.micro(
// CHECK-NOT: ds.read @window.count :
// CHECK: ds.label_weights
// CHECK: %[[C:.*]] = ds.read @window.counted_samples
// CHECK-NOT: ds.count
// CHECK: ds.token_mean %{{.*}}, %[[C]]
// CHECK: ds.loss_seed %[[C]]
// CHECK-LABEL: func.func @train()
// CHECK: %[[N:.*]] = ds.read @window.count :
// CHECK: ds.report "tokens", %[[N]]
func.func @train(%x: tensor<2x4x4xf32>, %labels: tensor<2x4xi32>) {
  %v = ds.read @v : tensor<4x4xf32>
  %weights = ds.label_weights %labels : (tensor<2x4xi32>) -> tensor<2x4xf32>
  %samples = ds.count %labels {samples} : (tensor<2x4xi32>) -> tensor<f64>
  %y = ds.linear %x, %v : tensor<2x4x4xf32>, tensor<4x4xf32> -> tensor<2x4x4xf32>
  %losses, %lse = ds.cross_entropy %y, %labels weights %weights : (tensor<2x4x4xf32>, tensor<2x4xi32>, tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
  %count = ds.count %labels : (tensor<2x4xi32>) -> tensor<f64>
  %mean = ds.token_mean %losses, %samples : (tensor<2x4xf32>, tensor<f64>) -> tensor<f64>
  ds.report "loss", %mean : tensor<f64>
  ds.report "tokens", %count : tensor<f64>
  %seed = ds.loss_seed %samples : (tensor<f64>) -> tensor<f64>
  %dy = ds.cross_entropy_grad %y, %labels, %lse, %seed weights %weights : (tensor<2x4x4xf32>, tensor<2x4xi32>, tensor<2x4xf32>, tensor<f64>, tensor<2x4xf32>) -> tensor<2x4x4xf32>
  %dv = ds.linear_weight_grad %x, %dy : tensor<2x4x4xf32>, tensor<2x4x4xf32> -> tensor<4x4xf32>
  ds.report "grad:v", %dv : tensor<4x4xf32>
  return
}
