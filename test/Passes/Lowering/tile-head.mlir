// RUN: ds-opt %s --split-input-file --ds-tile-head=block-bytes=1280 | FileCheck %s
// RUN: ds-opt %s --split-input-file --ds-tile-head | FileCheck %s --check-prefix=WHOLE

// 16 rows of 40 logits are 2,560 bytes: two runs of 8 rows. The seed of the backward pass moves in front.
// CHECK-LABEL: func.func @train
// WHOLE-LABEL: func.func @train
func.func @train(%x: tensor<2x8x16xf32>, %labels: tensor<2x8xi32>, %w: tensor<40x16xf32>) {
  // CHECK: %[[COUNT:.*]] = ds.count %arg1
  // CHECK: %[[SEED:.*]] = ds.loss_seed %[[COUNT]]
  // CHECK: %[[X0:.*]] = ds.slice_rows %arg0 {ds.label = "head", start = 0 : i64} : (tensor<2x8x16xf32>) -> tensor<8x16xf32>
  // CHECK: %[[L0:.*]] = ds.slice_rows %arg1 {start = 0 : i64} : (tensor<2x8xi32>) -> tensor<8xi32>
  // CHECK: %[[LOGITS0:.*]] = ds.linear %[[X0]], %arg2 {ds.label = "head", transpose_weight} : tensor<8x16xf32>, tensor<40x16xf32> -> tensor<8x40xf32>
  // CHECK: %[[LOSS0:.*]], %[[LSE0:.*]] = ds.cross_entropy %[[LOGITS0]], %[[L0]]
  // CHECK: %[[D0:.*]] = ds.cross_entropy_grad %[[LOGITS0]], %[[L0]], %[[LSE0]], %[[SEED]]
  // CHECK: %[[DX0:.*]] = ds.linear_input_grad %[[D0]], %arg2 {transpose_weight}
  // CHECK: %[[DW0:.*]] = ds.linear_weight_grad %[[X0]], %[[D0]] {transpose_weight}
  // CHECK: %[[X1:.*]] = ds.slice_rows %arg0 {{.*}}start = 8
  // CHECK: %[[LOSS1:.*]], %{{.*}} = ds.cross_entropy
  // CHECK: %[[D1:.*]] = ds.cross_entropy_grad
  // CHECK: %[[DX1:.*]] = ds.linear_input_grad %[[D1]]
  // CHECK: %[[DW1:.*]] = ds.linear_weight_grad %[[X1]], %[[D1]] init %[[DW0]]
  // CHECK: %[[DX:.*]] = ds.concat_rows %[[DX0]], %[[DX1]] : {{.*}} -> tensor<2x8x16xf32>
  // CHECK: %[[LOSSES:.*]] = ds.concat_rows %[[LOSS0]], %[[LOSS1]] : {{.*}} -> tensor<2x8xf32>
  // CHECK: ds.token_mean %[[LOSSES]], %[[COUNT]]
  // WHOLE-NOT: ds.slice_rows
  %logits = ds.linear %x, %w {transpose_weight, ds.label = "head"} : tensor<2x8x16xf32>, tensor<40x16xf32> -> tensor<2x8x40xf32>
  %losses, %lse = ds.cross_entropy %logits, %labels : (tensor<2x8x40xf32>, tensor<2x8xi32>) -> (tensor<2x8xf32>, tensor<2x8xf32>)
  %count = ds.count %labels : (tensor<2x8xi32>) -> tensor<f64>
  %loss = ds.token_mean %losses, %count : (tensor<2x8xf32>, tensor<f64>) -> tensor<f64>
  ds.report "loss", %loss : tensor<f64>
  %seed = ds.loss_seed %count : (tensor<f64>) -> tensor<f64>
  %d = ds.cross_entropy_grad %logits, %labels, %lse, %seed : (tensor<2x8x40xf32>, tensor<2x8xi32>, tensor<2x8xf32>, tensor<f64>) -> tensor<2x8x40xf32>
  %dx = ds.linear_input_grad %d, %w {transpose_weight} : tensor<2x8x40xf32>, tensor<40x16xf32> -> tensor<2x8x16xf32>
  %dw = ds.linear_weight_grad %x, %d {transpose_weight} : tensor<2x8x16xf32>, tensor<2x8x40xf32> -> tensor<40x16xf32>
  // CHECK: ds.report "grad:x", %[[DX]]
  // CHECK: ds.report "grad:w", %[[DW1]]
  ds.report "grad:x", %dx : tensor<2x8x16xf32>
  ds.report "grad:w", %dw : tensor<40x16xf32>
  return
}

// -----

// Evaluation has no gradients; 15 rows make runs of 8 and 7.
// CHECK-LABEL: func.func @evaluate
func.func @evaluate(%x: tensor<3x5x16xf32>, %labels: tensor<3x5xi32>, %w: tensor<16x40xf32>) {
  // CHECK: ds.linear %{{.*}} : tensor<8x16xf32>, tensor<16x40xf32> -> tensor<8x40xf32>
  // CHECK: ds.linear %{{.*}} : tensor<7x16xf32>, tensor<16x40xf32> -> tensor<7x40xf32>
  // CHECK: ds.concat_rows {{.*}} : (tensor<8xf32>, tensor<7xf32>) -> tensor<3x5xf32>
  // CHECK-NOT: ds.concat_rows
  %logits = ds.linear %x, %w : tensor<3x5x16xf32>, tensor<16x40xf32> -> tensor<3x5x40xf32>
  %losses, %lse = ds.cross_entropy %logits, %labels : (tensor<3x5x40xf32>, tensor<3x5xi32>) -> (tensor<3x5xf32>, tensor<3x5xf32>)
  ds.report "losses", %losses : tensor<3x5xf32>
  return
}

// -----

// Somebody else reads the logits: they must exist all at once.
// CHECK-LABEL: func.func @reported
// CHECK-NOT: ds.slice_rows
func.func @reported(%x: tensor<2x8x16xf32>, %labels: tensor<2x8xi32>, %w: tensor<16x40xf32>) {
  %logits = ds.linear %x, %w : tensor<2x8x16xf32>, tensor<16x40xf32> -> tensor<2x8x40xf32>
  %losses, %lse = ds.cross_entropy %logits, %labels : (tensor<2x8x40xf32>, tensor<2x8xi32>) -> (tensor<2x8xf32>, tensor<2x8xf32>)
  ds.report "losses", %losses : tensor<2x8xf32>
  ds.report "logits", %logits : tensor<2x8x40xf32>
  return
}

// -----

// The seed depends on the losses: it cannot be had before them.
// CHECK-LABEL: func.func @late_seed
// CHECK-NOT: ds.slice_rows
func.func @late_seed(%x: tensor<2x8x16xf32>, %labels: tensor<2x8xi32>, %w: tensor<16x40xf32>, %count: tensor<f64>) {
  %logits = ds.linear %x, %w : tensor<2x8x16xf32>, tensor<16x40xf32> -> tensor<2x8x40xf32>
  %losses, %lse = ds.cross_entropy %logits, %labels : (tensor<2x8x40xf32>, tensor<2x8xi32>) -> (tensor<2x8xf32>, tensor<2x8xf32>)
  %seed = ds.token_mean %losses, %count : (tensor<2x8xf32>, tensor<f64>) -> tensor<f64>
  %d = ds.cross_entropy_grad %logits, %labels, %lse, %seed : (tensor<2x8x40xf32>, tensor<2x8xi32>, tensor<2x8xf32>, tensor<f64>) -> tensor<2x8x40xf32>
  %dx = ds.linear_input_grad %d, %w : tensor<2x8x40xf32>, tensor<16x40xf32> -> tensor<2x8x16xf32>
  ds.report "grad:x", %dx : tensor<2x8x16xf32>
  return
}

// -----

// Smoothing reaches every run.
ds.hyperparameter @"objective.label_smoothing" = 0.1
// CHECK-LABEL: func.func @train
func.func @train(%x: tensor<2x8x16xf32>, %labels: tensor<2x8xi32>, %w: tensor<16x40xf32>, %seed: tensor<f64>) {
  // CHECK: %[[S:.*]] = ds.read @objective.label_smoothing
  // CHECK-COUNT-2: ds.cross_entropy_grad {{.*}}, %[[S]] :
  // CHECK-NOT: ds.cross_entropy
  %s = ds.read @"objective.label_smoothing" : tensor<f64>
  %logits = ds.linear %x, %w : tensor<2x8x16xf32>, tensor<16x40xf32> -> tensor<2x8x40xf32>
  %losses, %lse = ds.cross_entropy %logits, %labels, %s : (tensor<2x8x40xf32>, tensor<2x8xi32>, tensor<f64>) -> (tensor<2x8xf32>, tensor<2x8xf32>)
  ds.report "losses", %losses : tensor<2x8xf32>
  %d = ds.cross_entropy_grad %logits, %labels, %lse, %seed, %s : (tensor<2x8x40xf32>, tensor<2x8xi32>, tensor<2x8xf32>, tensor<f64>, tensor<f64>) -> tensor<2x8x40xf32>
  %dw = ds.linear_weight_grad %x, %d : tensor<2x8x16xf32>, tensor<2x8x40xf32> -> tensor<16x40xf32>
  ds.report "grad:w", %dw : tensor<16x40xf32>
  return
}

// -----

// Each run takes its own part of the weights.
// CHECK-LABEL: func.func @train
func.func @train(%x: tensor<2x8x16xf32>, %labels: tensor<2x8xi32>, %w: tensor<16x40xf32>, %seed: tensor<f64>) {
  // CHECK: %[[ALL:.*]] = ds.label_weights
  // CHECK: %[[FIRST:.*]] = ds.slice_rows %[[ALL]] {start = 0 : i64}
  // CHECK: ds.cross_entropy %{{.*}} weights %[[FIRST]]
  // CHECK: ds.cross_entropy_grad {{.*}} weights %[[FIRST]]
  // CHECK: %[[SECOND:.*]] = ds.slice_rows %[[ALL]] {start = {{[1-9][0-9]*}} : i64}
  // CHECK: ds.cross_entropy %{{.*}} weights %[[SECOND]]
  // CHECK: ds.cross_entropy_grad {{.*}} weights %[[SECOND]]
  %logits = ds.linear %x, %w : tensor<2x8x16xf32>, tensor<16x40xf32> -> tensor<2x8x40xf32>
  %weights = ds.label_weights %labels : (tensor<2x8xi32>) -> tensor<2x8xf32>
  %losses, %lse = ds.cross_entropy %logits, %labels weights %weights : (tensor<2x8x40xf32>, tensor<2x8xi32>, tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>)
  ds.report "losses", %losses : tensor<2x8xf32>
  %d = ds.cross_entropy_grad %logits, %labels, %lse, %seed weights %weights : (tensor<2x8x40xf32>, tensor<2x8xi32>, tensor<2x8xf32>, tensor<f64>, tensor<2x8xf32>) -> tensor<2x8x40xf32>
  %dw = ds.linear_weight_grad %x, %d : tensor<2x8x16xf32>, tensor<2x8x40xf32> -> tensor<16x40xf32>
  ds.report "grad:w", %dw : tensor<16x40xf32>
  return
}
