// RUN: ds-opt %s --ds-differentiate=apart --ds-accumulate-gradients="micro-batches=5 tree" | FileCheck %s

// Five micro-batches: (((0 1) (2 3)) 4) needs two slots. The two uses of the table are kept apart, the head's first.
// CHECK-DAG: ds.variable window @"grad:w" : tensor<4x4xf32> = zeros
// CHECK-DAG: ds.variable window @"use.1.grad:w" : tensor<4x4xf32> = zeros
// CHECK-DAG: ds.variable window @"tree.0.grad:w"
// CHECK-DAG: ds.variable window @"tree.1.use.1.grad:w"
// CHECK-DAG: ds.variable window @tree.1.window.loss
// CHECK-NOT: tree.2
// CHECK: ds.schedule [@train.window, @train.micro, @train.push.0, @train.micro, @train.merge.0, @train.push.0, @train.micro, @train.push.1, @train.micro, @train.merge.1, @train.merge.0, @train.push.0, @train.micro, @train.merge.0, @train]
// CHECK-SAME: times [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
ds.variable parameter @w : tensor<4x4xf32> = zeros

// CHECK-LABEL: func.func @train.window(
// CHECK: ds.assign @window.count
// CHECK-NOT: ds.zeros

// A micro-batch starts from nothing.
// CHECK-LABEL: func.func @train.micro(
// CHECK: %[[HEAD:.*]] = ds.linear_weight_grad %{{.*}}, %{{[^ ]*}} {transpose_weight}
// CHECK: %[[TABLE:.*]] = ds.embedding_grad %{{.*}}, %{{[^ ]*}} :
// CHECK-DAG: ds.assign @"grad:w", %[[HEAD]]
// CHECK-DAG: ds.assign @"use.1.grad:w", %[[TABLE]]

// CHECK-LABEL: func.func @train.push.0()
// CHECK: %[[NEW:.*]] = ds.read @"grad:w"
// CHECK: ds.assign @"tree.0.grad:w", %[[NEW]]

// CHECK-LABEL: func.func @train.merge.0()
// CHECK: %[[OLD:.*]] = ds.read @"tree.0.grad:w"
// CHECK: %[[NEW:.*]] = ds.read @"grad:w"
// CHECK: %[[SUM:.*]] = ds.add %[[OLD]], %[[NEW]]
// CHECK: ds.assign @"grad:w", %[[SUM]]

// CHECK-LABEL: func.func @train()
// CHECK: %[[A:.*]] = ds.read @"grad:w"
// CHECK: %[[B:.*]] = ds.read @"use.1.grad:w"
// CHECK: %[[SUM:.*]] = ds.add %[[B]], %[[A]]
// CHECK: ds.assign @"grad:w", %[[SUM]]
// CHECK: ds.report "grad:w", %[[SUM]]
func.func @train(%tokens: tensor<1x4xi32>, %labels: tensor<1x4xi32>) {
  %w = ds.read @w : tensor<4x4xf32>
  %x = ds.embedding %tokens, %w : tensor<1x4xi32>, tensor<4x4xf32> -> tensor<1x4x4xf32>
  %logits = ds.linear %x, %w {transpose_weight} : tensor<1x4x4xf32>, tensor<4x4xf32> -> tensor<1x4x4xf32>
  %losses, %lse = ds.cross_entropy %logits, %labels : (tensor<1x4x4xf32>, tensor<1x4xi32>) -> (tensor<1x4xf32>, tensor<1x4xf32>)
  %count = ds.count %labels : (tensor<1x4xi32>) -> tensor<f64>
  %loss = ds.token_mean %losses, %count : (tensor<1x4xf32>, tensor<f64>) -> tensor<f64>
  ds.report "loss", %loss : tensor<f64>
  ds.report "tokens", %count : tensor<f64>
  return
}
