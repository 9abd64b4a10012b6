// RUN: ds-opt %s --ds-differentiate=apart --ds-accumulate-gradients="micro-batches=2 apart always" --ds-clip-gradients \
// RUN:   --ds-split-stages="layout=1,1,2,1" | FileCheck %s
// RUN: ds-opt %s --ds-differentiate=apart --ds-accumulate-gradients="micro-batches=2 apart always" --ds-clip-gradients \
// RUN:   --ds-split-stages="layout=1,1,2,1 schedule=gpipe blocks=1,2" | FileCheck %s --check-prefix=GPIPE
// RUN: ds-opt %s --ds-differentiate=apart --ds-accumulate-gradients="micro-batches=3 apart always tree" --ds-clip-gradients \
// RUN:   --ds-split-stages="layout=1,1,2,1 schedule=zero_bubble" | FileCheck %s --check-prefix=ZERO
// RUN: ds-opt %s --ds-differentiate=apart --ds-accumulate-gradients="micro-batches=3 apart always" --ds-clip-gradients \
// RUN:   --ds-split-stages="layout=1,1,3,1" | FileCheck %s --check-prefix=THREE

// The first stage: tokens come in, what its backward reads waits in stashes, a place for each of two micro-batches in
// flight; what goes on is read from its place. The tied table is here and on the last stage.
// CHECK: module @stage.0
// CHECK-NOT: @c :
// CHECK-DAG: ds.variable window @"use.1.grad:wte"
// CHECK-DAG: ds.variable stash @stash.h.1 : tensor<1x8x4xf32> = zeros {places = 2 : i64}
// CHECK-DAG: ds.variable stash @stash.h.0.1 : tensor<5xf64> = zeros {places = 2 : i64}
// CHECK: ds.schedule [@train.window, @train.forward, @train.forward, @train.backward, @train.backward, @train]
// CHECK: func.func @train.window(%{{.*}}: tensor<2x8xi32> {ds.name = "labels"})
// CHECK-NOT: ds.assign @"grad:wte"
// CHECK: ds.assign @window.sample,
// CHECK: func.func @train.forward(%{{.*}}: tensor<1x8xi32> {ds.name = "tokens"})
// CHECK: %[[H0:.*]]:2 = ds.block "h.0"
// CHECK: ds.random_key
// CHECK: ds.assign @stash.h.0.1, %[[H0]]#1
// CHECK: ds.block "h.1"
// CHECK: ds.assign @stash.h.1,
// CHECK: %[[KEPT:.*]] = ds.read @stash.h.1
// CHECK: ds.send %[[KEPT]] to 1 channel 0 {ds.label = "h.1"}
// CHECK: ds.assign @window.sample,
// CHECK: func.func @train.backward(%{{.*}}: tensor<1x8xi32> {ds.name = "tokens"})
// CHECK-NOT: ds.random_key
// CHECK: %[[DY:.*]] = ds.receive from 1 channel 1
// CHECK: %[[KEY:.*]] = ds.read @stash.h.0.1
// CHECK: ds.block "h.0.backward"
// CHECK: ds.dropout %{{.*}}, %[[KEY]]
// CHECK-NOT: window.sample
// CHECK: ds.assign @"use.1.grad:wte"

// Once a window the uses of the table meet on both stages; the last stage's comes first. Norm and loss are sums with zeros.
// CHECK: func.func @train()
// CHECK: %[[USE:.*]] = ds.read @"use.1.grad:wte"
// CHECK: %[[HEAD:.*]] = ds.receive from 1 channel 2
// CHECK: ds.send %[[USE]] to 1 channel 3
// CHECK: %[[SUM:.*]] = ds.add %[[USE]], %[[HEAD]]
// CHECK: ds.report "grad:wte", %[[SUM]]
// CHECK: %[[A:.*]] = ds.square_sum
// CHECK: %[[NONE:.*]] = ds.zeros {{.*}}tensor<f64>
// CHECK: %[[ALL:.*]]:5 = ds.all_reduce pipeline %[[NONE]], %[[A]],
// CHECK: ds.report "loss", %[[ALL]]#0
// CHECK: ds.global_norm %[[ALL]]#1, %[[ALL]]#2, %[[ALL]]#3, %[[ALL]]#4

// The last stage goes backward at once.
// CHECK: module @stage.1
// CHECK-NOT: @a :
// CHECK: ds.schedule [@train.window, @train.micro, @train.micro, @train]
// CHECK: func.func @train.micro(%{{.*}}: tensor<1x8xi32> {ds.name = "labels"})
// CHECK: ds.receive from 0 channel 0
// CHECK: ds.block "head.backward"
// CHECK: ds.block "h.2.backward"
// CHECK: ds.send %{{.*}} to 0 channel 1
// CHECK: ds.assign @window.loss
// CHECK: func.func @train()
// CHECK: ds.send %{{.*}} to 0 channel 2
// CHECK: ds.receive from 0 channel 3
// CHECK: ds.all_reduce pipeline %window.loss

// All forward, then all backward; the head does both, so that no logits wait.
// GPIPE: module @stage.0
// GPIPE-NOT: func.func @train.forward{{.*}}"h.1"
// GPIPE: module @stage.1
// GPIPE: ds.schedule [@train.window, @train.forward, @train.forward, @train.backward, @train.backward, @train]
// GPIPE: func.func @train.forward
// GPIPE: ds.block "h.1"
// GPIPE: ds.block "head.backward"
// GPIPE: ds.assign @stash.head.backward,
// GPIPE: func.func @train.backward()
// GPIPE: ds.read @stash.head.backward
// GPIPE: ds.block "h.2.backward"

// Gradients of parameters wait. Sums move up the tree as soon as they are complete: the head's with its micro-batch, the
// others behind the second half.
// ZERO: module @stage.0
// ZERO: ds.schedule [@train.window, @train.forward, @train.forward, @train.backward.input, @train.backward.weights, @train.push.0, @train.forward, @train.backward.input,
// ZERO: func.func @train.backward.input()
// ZERO: ds.block "h.0.backward"
// ZERO-NOT: ds.linear_weight_grad
// ZERO: func.func @train.backward.weights(
// ZERO: ds.linear_weight_grad
// ZERO: ds.embedding_grad
// ZERO: module @stage.1
// ZERO: ds.schedule [@train.window, @train.micro, @train.push.0.micro, @train.micro, @train.merge.0.micro, @train.push.0.micro, @train.backward.weights, @train.push.0.backward.weights,
// ZERO: func.func @train.push.0.micro
// ZERO-NOT: grad:c
// ZERO: ds.assign @"tree.0.grad:wte"
// ZERO: func.func @train.push.0.backward.weights
// ZERO: ds.assign @"tree.0.grad:c"

// A stage in the middle has three micro-batches' worth less than the first, and neither tokens nor labels of its own.
// THREE: module @stage.0
// THREE: places = 3
// THREE: ds.schedule [@train.window, @train.forward, @train.forward, @train.forward, @train.backward, @train.backward, @train.backward, @train]
// THREE: module @stage.1
// THREE: places = 2
// THREE: ds.schedule [@train.window, @train.forward, @train.forward, @train.backward, @train.forward, @train.backward, @train.backward, @train]
// THREE: func.func @train.forward()
// THREE: ds.receive from 0
// THREE: ds.send %{{.*}} to 2
// THREE: func.func @train.backward()
// THREE: ds.receive from 2
// THREE: ds.send %{{.*}} to 0
// THREE: module @stage.2
ds.hyperparameter @train.gradient_clipping = 1.0
ds.hyperparameter @train.seed.low = 1.0
ds.hyperparameter @train.seed.high = 0.0
ds.variable step_state @steps : tensor<f64> = zeros
ds.variable window @window.sample : tensor<f64> = zeros
ds.variable parameter @wte : tensor<8x4xf32> = normal {stddev = 2.0e-2 : f64, decay}
ds.variable parameter @a : tensor<4x4xf32> = zeros
ds.variable parameter @b : tensor<4x4xf32> = zeros
ds.variable parameter @c : tensor<4x4xf32> = zeros
func.func @train(%tokens: tensor<1x8xi32>, %labels: tensor<1x8xi32>) {
  %low = ds.read @train.seed.low : tensor<f64>
  %high = ds.read @train.seed.high : tensor<f64>
  %sample = ds.read @window.sample : tensor<f64>
  %steps = ds.read @steps : tensor<f64>
  %wte = ds.read @wte : tensor<8x4xf32>
  %x = ds.block "embedding" -> tensor<1x8x4xf32> {
    %0 = ds.embedding %tokens, %wte : tensor<1x8xi32>, tensor<8x4xf32> -> tensor<1x8x4xf32>
    ds.yield %0 : tensor<1x8x4xf32>
  }
  %a = ds.read @a : tensor<4x4xf32>
  %y = ds.block "h.0" -> tensor<1x8x4xf32> {
    %0 = ds.linear %x, %a : tensor<1x8x4xf32>, tensor<4x4xf32> -> tensor<1x8x4xf32>
    %key = ds.random_key %low, %high, %sample, %steps {path = "h.0.drop"} : (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> tensor<5xf64>
    %1 = ds.dropout %0, %key {p = 1.0e-01 : f64} : (tensor<1x8x4xf32>, tensor<5xf64>) -> tensor<1x8x4xf32>
    %2 = ds.add %x, %1 : (tensor<1x8x4xf32>, tensor<1x8x4xf32>) -> tensor<1x8x4xf32>
    ds.yield %2 : tensor<1x8x4xf32>
  }
  %b = ds.read @b : tensor<4x4xf32>
  %z = ds.block "h.1" -> tensor<1x8x4xf32> {
    %0 = ds.linear %y, %b : tensor<1x8x4xf32>, tensor<4x4xf32> -> tensor<1x8x4xf32>
    %1 = ds.activation gelu %0 : (tensor<1x8x4xf32>) -> tensor<1x8x4xf32>
    %2 = ds.add %y, %1 : (tensor<1x8x4xf32>, tensor<1x8x4xf32>) -> tensor<1x8x4xf32>
    ds.yield %2 : tensor<1x8x4xf32>
  }
  %c = ds.read @c : tensor<4x4xf32>
  %v = ds.block "h.2" -> tensor<1x8x4xf32> {
    %0 = ds.linear %z, %c : tensor<1x8x4xf32>, tensor<4x4xf32> -> tensor<1x8x4xf32>
    %1 = ds.add %z, %0 : (tensor<1x8x4xf32>, tensor<1x8x4xf32>) -> tensor<1x8x4xf32>
    ds.yield %1 : tensor<1x8x4xf32>
  }
  %losses = ds.block "head" -> tensor<1x8xf32> {
    %0 = ds.linear %v, %wte {transpose_weight} : tensor<1x8x4xf32>, tensor<8x4xf32> -> tensor<1x8x8xf32>
    %1, %lse = ds.cross_entropy %0, %labels : (tensor<1x8x8xf32>, tensor<1x8xi32>) -> (tensor<1x8xf32>, tensor<1x8xf32>)
    ds.yield %1 : tensor<1x8xf32>
  }
  %count = ds.count %labels : (tensor<1x8xi32>) -> tensor<f64>
  %loss = ds.token_mean %losses, %count : (tensor<1x8xf32>, tensor<f64>) -> tensor<f64>
  ds.report "loss", %loss : tensor<f64>
  ds.report "tokens", %count : tensor<f64>
  return
}
