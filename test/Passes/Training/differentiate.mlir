// RUN: ds-opt %s --split-input-file --ds-differentiate | FileCheck %s

// The backward of a block follows the blocks in reverse. What it reads of the forward block is yielded by that one;
// contributions to the residual stream are added; the tied table takes the head's gradient first.
ds.variable parameter @wte : tensor<64x16xf32> = normal {stddev = 2.0e-2 : f64, decay}
ds.variable parameter @wpe : tensor<8x16xf32> = normal {stddev = 2.0e-2 : f64, decay}
ds.variable parameter @gain : tensor<16xf32> = ones
ds.variable parameter @bias : tensor<16xf32> = zeros
// CHECK-LABEL: func.func @train
// CHECK-SAME: %[[TOKENS:.*]]: tensor<2x8xi32>, %[[LABELS:.*]]: tensor<2x8xi32>
func.func @train(%tokens: tensor<2x8xi32>, %labels: tensor<2x8xi32>) {
  // CHECK: %[[WTE:.*]] = ds.read @wte
  %wte = ds.read @wte : tensor<64x16xf32>
  %wpe = ds.read @wpe : tensor<8x16xf32>
  // CHECK: %[[X:.*]] = ds.block "embedding" -> tensor<2x8x16xf32> {
  %x = ds.block "embedding" -> tensor<2x8x16xf32> {
    %0 = ds.embedding %tokens, %wte positions %wpe : tensor<2x8xi32>, tensor<64x16xf32> positions tensor<8x16xf32> -> tensor<2x8x16xf32>
    ds.yield %0 : tensor<2x8x16xf32>
  }
  // CHECK: %[[GAIN:.*]] = ds.read @gain
  %gain = ds.read @gain : tensor<16xf32>
  %bias = ds.read @bias : tensor<16xf32>
  // CHECK: %[[Y:.*]]:4 = ds.block "h.0"
  // CHECK: %[[NORMED:.*]], %[[MEAN:.*]], %[[RSTD:.*]] = ds.layer_norm
  // CHECK: ds.yield %{{.*}}, %[[NORMED]], %[[MEAN]], %[[RSTD]]
  %y = ds.block "h.0" -> tensor<2x8x16xf32> {
    %0, %mean, %rstd = ds.layer_norm %x, %gain, %bias {eps = 1.0e-5 : f64} : (tensor<2x8x16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<2x8x16xf32>, tensor<2x8xf32>, tensor<2x8xf32>)
    %1 = ds.activation gelu %0 : (tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
    %2 = ds.add %x, %1 : (tensor<2x8x16xf32>, tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
    ds.yield %2 : tensor<2x8x16xf32>
  }
  // CHECK: %[[HEAD:.*]]:3 = ds.block "head"
  // CHECK: %[[LOGITS:.*]] = ds.linear
  // CHECK: %[[LOSSES:.*]], %[[LSE:.*]] = ds.cross_entropy
  // CHECK: ds.yield %[[LOSSES]], %[[LOGITS]], %[[LSE]]
  %losses = ds.block "head" -> tensor<2x8xf32> {
    %0 = ds.linear %y, %wte {transpose_weight} : tensor<2x8x16xf32>, tensor<64x16xf32> -> tensor<2x8x64xf32>
    %1, %lse = ds.cross_entropy %0, %labels : (tensor<2x8x64xf32>, tensor<2x8xi32>) -> (tensor<2x8xf32>, tensor<2x8xf32>)
    ds.yield %1 : tensor<2x8xf32>
  }
  // CHECK: %[[COUNT:.*]] = ds.count
  %count = ds.count %labels : (tensor<2x8xi32>) -> tensor<f64>
  // CHECK: ds.token_mean %[[HEAD]]#0, %[[COUNT]]
  %loss = ds.token_mean %losses, %count : (tensor<2x8xf32>, tensor<f64>) -> tensor<f64>
  ds.report "loss", %loss : tensor<f64>
  ds.report "tokens", %count : tensor<f64>
  return
  // CHECK: %[[SEED:.*]] = ds.loss_seed %[[COUNT]]
  // CHECK: %[[DHEAD:.*]]:2 = ds.block "head.backward"
  // CHECK-NEXT: %[[DLOGITS:.*]] = ds.cross_entropy_grad %[[HEAD]]#1, %[[LABELS]], %[[HEAD]]#2, %[[SEED]]
  // CHECK-NEXT: %[[A:.*]] = ds.linear_input_grad %[[DLOGITS]], %[[WTE]] {transpose_weight}
  // CHECK-NEXT: %[[B:.*]] = ds.linear_weight_grad %[[Y]]#0, %[[DLOGITS]] {transpose_weight}
  // CHECK-NEXT: ds.yield %[[A]], %[[B]]
  // CHECK: %[[DY:.*]]:3 = ds.block "h.0.backward"
  // CHECK-NEXT: %[[A:.*]] = ds.activation_grad gelu %[[DHEAD]]#0, %[[Y]]#1
  // CHECK-NEXT: %[[B:.*]] = ds.layer_norm_input_grad %[[A]], %[[X]], %[[GAIN]], %[[Y]]#2, %[[Y]]#3
  // CHECK-NEXT: %[[DGAIN:.*]], %[[DBIAS:.*]] = ds.layer_norm_parameter_grad %[[A]], %[[X]], %[[Y]]#2, %[[Y]]#3
  // CHECK-NEXT: %[[SUM:.*]] = ds.add %[[DHEAD]]#0, %[[B]]
  // CHECK-NEXT: ds.yield %[[SUM]], %[[DGAIN]], %[[DBIAS]]
  // CHECK: %[[DX:.*]]:2 = ds.block "embedding.backward"
  // CHECK-NEXT: ds.embedding_grad %[[DY]]#0, %[[TOKENS]] init %[[DHEAD]]#1
  // CHECK-NEXT: ds.position_grad %[[DY]]#0
  // CHECK: ds.report "grad:wte", %[[DX]]#0
  // CHECK-NEXT: ds.report "grad:wpe", %[[DX]]#1
  // CHECK-NEXT: ds.report "grad:gain", %[[DY]]#1
  // CHECK-NEXT: ds.report "grad:bias", %[[DY]]#2
  // CHECK-NEXT: return
}

// -----

// Outside blocks, a bias used twice: the earlier op adds onto what the later one found. The weight is also an
// input here; the sum of its contributions comes after the op that could have added to it.
ds.variable parameter @w : tensor<16x16xf32> = normal {stddev = 2.0e-2 : f64, decay}
ds.variable parameter @b : tensor<16xf32> = zeros
// CHECK-LABEL: func.func @train
func.func @train(%labels: tensor<16xi32>) {
  %w = ds.read @w : tensor<16x16xf32>
  %b = ds.read @b : tensor<16xf32>
  // CHECK: %[[FIRST:.*]] = ds.linear
  %0 = ds.linear %w, %w bias %b : tensor<16x16xf32>, tensor<16x16xf32> bias tensor<16xf32> -> tensor<16x16xf32>
  // CHECK: %[[SECOND:.*]] = ds.linear
  %1 = ds.linear %0, %w bias %b : tensor<16x16xf32>, tensor<16x16xf32> bias tensor<16xf32> -> tensor<16x16xf32>
  %losses, %lse = ds.cross_entropy %1, %labels : (tensor<16x16xf32>, tensor<16xi32>) -> (tensor<16xf32>, tensor<16xf32>)
  %count = ds.count %labels : (tensor<16xi32>) -> tensor<f64>
  %loss = ds.token_mean %losses, %count : (tensor<16xf32>, tensor<f64>) -> tensor<f64>
  ds.report "loss", %loss : tensor<f64>
  return
  // CHECK: %[[G:.*]] = ds.cross_entropy_grad
  // CHECK: %[[DX1:.*]] = ds.linear_input_grad %[[G]]
  // CHECK: %[[DW1:.*]] = ds.linear_weight_grad %[[FIRST]], %[[G]] :
  // CHECK: %[[DB1:.*]] = ds.bias_grad %[[G]] :
  // CHECK: %[[DX0:.*]] = ds.linear_input_grad %[[DX1]]
  // CHECK: %[[DW0:.*]] = ds.linear_weight_grad %{{.*}}, %[[DX1]] :
  // CHECK: %[[DB0:.*]] = ds.bias_grad %[[DX1]] init %[[DB1]] :
  // CHECK: %[[SUM:.*]] = ds.add %[[DW1]], %[[DX0]]
  // CHECK: %[[ALL:.*]] = ds.add %[[SUM]], %[[DW0]]
  // CHECK: ds.report "grad:w", %[[ALL]]
  // CHECK: ds.report "grad:b", %[[DB0]]
}

// -----

// A module without @train is an evaluation: left alone.
// CHECK-LABEL: func.func @evaluate
// CHECK-NOT: _grad
func.func @evaluate(%x: tensor<4xf32>) {
  %y = ds.activation relu %x : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// A frozen table has no gradient, and nothing in front of the first parameter that is trained is differentiated.
ds.variable parameter @wte : tensor<64x16xf32> = normal {stddev = 2.0e-2 : f64, frozen}
ds.variable parameter @w : tensor<16x16xf32> = normal {stddev = 2.0e-2 : f64, decay}
ds.variable parameter @b : tensor<16xf32> = zeros {frozen}
// CHECK-LABEL: func.func @train
func.func @train(%tokens: tensor<2x8xi32>, %labels: tensor<2x8xi32>) {
  %wte = ds.read @wte : tensor<64x16xf32>
  %x = ds.block "embedding" -> tensor<2x8x16xf32> {
    %0 = ds.embedding %tokens, %wte : tensor<2x8xi32>, tensor<64x16xf32> -> tensor<2x8x16xf32>
    ds.yield %0 : tensor<2x8x16xf32>
  }
  %w = ds.read @w : tensor<16x16xf32>
  %b = ds.read @b : tensor<16xf32>
  %y = ds.block "h.0" -> tensor<2x8x16xf32> {
    %0 = ds.linear %x, %w bias %b : tensor<2x8x16xf32>, tensor<16x16xf32> bias tensor<16xf32> -> tensor<2x8x16xf32>
    ds.yield %0 : tensor<2x8x16xf32>
  }
  %losses = ds.block "head" -> tensor<2x8xf32> {
    %0 = ds.linear %y, %wte {transpose_weight} : tensor<2x8x16xf32>, tensor<64x16xf32> -> tensor<2x8x64xf32>
    %1, %lse = ds.cross_entropy %0, %labels : (tensor<2x8x64xf32>, tensor<2x8xi32>) -> (tensor<2x8xf32>, tensor<2x8xf32>)
    ds.yield %1 : tensor<2x8xf32>
  }
  %count = ds.count %labels : (tensor<2x8xi32>) -> tensor<f64>
  %loss = ds.token_mean %losses, %count : (tensor<2x8xf32>, tensor<f64>) -> tensor<f64>
  ds.report "loss", %loss : tensor<f64>
  // CHECK: ds.block "head.backward" -> tensor<2x8x16xf32> {
  // CHECK-NEXT: ds.cross_entropy_grad
  // CHECK-NEXT: ds.linear_input_grad
  // CHECK-NEXT: ds.yield
  // CHECK: %[[DW:.*]] = ds.block "h.0.backward" -> tensor<16x16xf32> {
  // CHECK-NEXT: ds.linear_weight_grad
  // CHECK-NEXT: ds.yield
  // CHECK-NOT: embedding
  // CHECK: ds.report "grad:w", %[[DW]]
  // CHECK-NEXT: return
  return
}
