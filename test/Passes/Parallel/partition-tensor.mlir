// RUN: ds-opt --ds-partition-tensor='ranks=2' %s | FileCheck %s
// RUN: ds-opt --ds-partition-tensor='ranks=4' %s | FileCheck %s --check-prefix=UNEVEN
// RUN: ds-opt --ds-partition-tensor='ranks=1' %s | FileCheck %s --check-prefix=ONE

// ONE-NOT: part:
// ONE-NOT: all_reduce

// Programs that are not cut read whole variables; those of the step have parts beside them. Sums of gradients and what no
// other program reads are parts themselves.
// CHECK-DAG: ds.variable parameter @up : tensor<16x50xf32> = ones
// CHECK-DAG: ds.variable parameter @"part:up" : tensor<16x25xf32> = ones {cut = array<i64: 16, 50, 1>, cut_axis = 2 : i32, ds.why = "columns of up, rows of down", logical = array<i64: 16, 50>}
// CHECK-DAG: ds.variable parameter @"part:up.bias" : tensor<25xf32> = zeros {cut = array<i64: 1, 50, 1>
// CHECK-DAG: ds.variable parameter @"part:down" : tensor<25x16xf32> = ones {cut = array<i64: 1, 50, 16>
// CHECK-DAG: ds.variable optimizer_state @"part:velocity.down" : tensor<25x16xf32>
// CHECK-DAG: ds.variable window @"grad:down" : tensor<25x16xf32> = zeros {cut = array<i64: 1, 50, 16>, cut_axis = 2 : i32
// CHECK-DAG: ds.variable window @"grad:down.bias" : tensor<16xf32> = zeros{{$}}
// CHECK-DAG: ds.hyperparameter @rank.tensor = 0

// 50 columns over 4: 13 places each, the last rank has 11 and two of zeros.
// UNEVEN-DAG: ds.variable parameter @"part:up" : tensor<16x13xf32> {{.*}}cut = array<i64: 16, 50, 1>

// CHECK-LABEL: func.func @evaluate
// CHECK: ds.read @up : tensor<16x50xf32>

// The bias behind the sum enters it on one rank; everything between the products is a part.
// CHECK-LABEL: func.func @train.micro
// CHECK: %[[RANK:.*]] = ds.read @rank.tensor : tensor<f64>
// CHECK: ds.block "mlp"
// CHECK: ds.linear %{{.*}} : tensor<2x8x16xf32>, tensor<16x25xf32> bias tensor<25xf32> -> tensor<2x8x25xf32>
// CHECK: ds.activation relu %{{.*}} : (tensor<2x8x25xf32>) -> tensor<2x8x25xf32>
// CHECK: %[[BIAS:.*]] = ds.once %{{.*}}, %[[RANK]] : (tensor<16xf32>, tensor<f64>) -> tensor<16xf32>
// CHECK: %[[PART:.*]] = ds.linear %{{.*}} bias %[[BIAS]] : tensor<2x8x25xf32>, tensor<25x16xf32> bias tensor<16xf32> -> tensor<2x8x16xf32>
// CHECK: %[[SUM:.*]] = ds.all_reduce tensor %[[PART]] : tensor<2x8x16xf32>
// CHECK-NOT: all_reduce
// CHECK: ds.yield %[[SUM]], %{{.*}} : tensor<2x8x16xf32>, tensor<2x8x25xf32>, tensor<2x8x25xf32>
// CHECK: ds.block "mlp.backward"
// CHECK-NOT: all_reduce
// CHECK: ds.linear_weight_grad %{{.*}} : tensor<2x8x16xf32>, tensor<2x8x25xf32> -> tensor<16x25xf32>
// CHECK: %[[PART:.*]] = ds.linear_input_grad %{{.*}} : tensor<2x8x25xf32>, tensor<16x25xf32> -> tensor<2x8x16xf32>
// CHECK: %[[SUM:.*]] = ds.all_reduce tensor %[[PART]] : tensor<2x8x16xf32>
// CHECK-NOT: all_reduce
// CHECK: ds.yield %[[SUM]]

// Square sums of parts cross in one message, those of what every rank has whole do not.
// CHECK-LABEL: func.func @train(
// CHECK-DAG: %[[DOWN:.*]] = ds.square_sum %{{.*}} : (tensor<25x16xf32>) -> tensor<1xf64>
// CHECK-DAG: %[[BIAS:.*]] = ds.square_sum %{{.*}} : (tensor<16xf32>) -> tensor<1xf64>
// CHECK-DAG: %[[UP:.*]] = ds.square_sum %{{.*}} : (tensor<16x25xf32>) -> tensor<1xf64>
// CHECK: %[[SUMS:.*]]:2 = ds.all_reduce tensor %[[DOWN]], %[[UP]] : tensor<1xf64>, tensor<1xf64>
// CHECK: ds.global_norm %[[SUMS]]#0, %[[BIAS]], %[[SUMS]]#1
// CHECK: ds.sgd_update {{.*}} -> (tensor<25x16xf32>, tensor<25x16xf32>)
// CHECK: ds.assign @"part:down"

ds.variable parameter @up : tensor<16x50xf32> = ones
ds.variable parameter @up.bias : tensor<50xf32> = zeros
ds.variable parameter @down : tensor<50x16xf32> = ones
ds.variable parameter @down.bias : tensor<16xf32> = zeros
ds.variable optimizer_state @velocity.down : tensor<50x16xf32> = zeros
ds.variable window @"grad:up" : tensor<16x50xf32> = zeros
ds.variable window @"grad:down" : tensor<50x16xf32> = zeros
ds.variable window @"grad:down.bias" : tensor<16xf32> = zeros
ds.hyperparameter @rate = 1.0e-1

func.func @evaluate() {
  %up = ds.read @up : tensor<16x50xf32>
  ds.report "up", %up : tensor<16x50xf32>
  return
}

func.func @train.micro(%x: tensor<2x8x16xf32>, %dy: tensor<2x8x16xf32>) {
  %up = ds.read @up : tensor<16x50xf32>
  %b = ds.read @up.bias : tensor<50xf32>
  %down = ds.read @down : tensor<50x16xf32>
  %c = ds.read @down.bias : tensor<16xf32>
  %mlp:3 = ds.block "mlp" -> tensor<2x8x16xf32>, tensor<2x8x50xf32>, tensor<2x8x50xf32> {
    %h = ds.linear %x, %up bias %b : tensor<2x8x16xf32>, tensor<16x50xf32> bias tensor<50xf32> -> tensor<2x8x50xf32>
    %a = ds.activation relu %h : (tensor<2x8x50xf32>) -> tensor<2x8x50xf32>
    %y = ds.linear %a, %down bias %c : tensor<2x8x50xf32>, tensor<50x16xf32> bias tensor<16xf32> -> tensor<2x8x16xf32>
    ds.yield %y, %h, %a : tensor<2x8x16xf32>, tensor<2x8x50xf32>, tensor<2x8x50xf32>
  }
  ds.report "y", %mlp#0 : tensor<2x8x16xf32>
  %grads:4 = ds.block "mlp.backward" -> tensor<2x8x16xf32>, tensor<16x50xf32>, tensor<50x16xf32>, tensor<16xf32> {
    %da = ds.linear_input_grad %dy, %down : tensor<2x8x16xf32>, tensor<50x16xf32> -> tensor<2x8x50xf32>
    %ddown = ds.linear_weight_grad %mlp#2, %dy : tensor<2x8x50xf32>, tensor<2x8x16xf32> -> tensor<50x16xf32>
    %dc = ds.bias_grad %dy : tensor<2x8x16xf32> -> tensor<16xf32>
    %dh = ds.activation_grad relu %da, %mlp#1 : (tensor<2x8x50xf32>, tensor<2x8x50xf32>) -> tensor<2x8x50xf32>
    %dup = ds.linear_weight_grad %x, %dh : tensor<2x8x16xf32>, tensor<2x8x50xf32> -> tensor<16x50xf32>
    %dx = ds.linear_input_grad %dh, %up : tensor<2x8x50xf32>, tensor<16x50xf32> -> tensor<2x8x16xf32>
    ds.yield %dx, %dup, %ddown, %dc : tensor<2x8x16xf32>, tensor<16x50xf32>, tensor<50x16xf32>, tensor<16xf32>
  }
  ds.report "dx", %grads#0 : tensor<2x8x16xf32>
  ds.assign @"grad:up", %grads#1 : tensor<16x50xf32>
  ds.assign @"grad:down", %grads#2 : tensor<50x16xf32>
  ds.assign @"grad:down.bias", %grads#3 : tensor<16xf32>
  return
}

func.func @train() {
  %dup = ds.read @"grad:up" : tensor<16x50xf32>
  %ddown = ds.read @"grad:down" : tensor<50x16xf32>
  %dc = ds.read @"grad:down.bias" : tensor<16xf32>
  %rate = ds.read @rate : tensor<f64>
  %s0 = ds.square_sum %ddown : (tensor<50x16xf32>) -> tensor<1xf64>
  %s1 = ds.square_sum %dc : (tensor<16xf32>) -> tensor<1xf64>
  %s2 = ds.square_sum %dup : (tensor<16x50xf32>) -> tensor<1xf64>
  %norm = ds.global_norm %s0, %s1, %s2 : (tensor<1xf64>, tensor<1xf64>, tensor<1xf64>) -> tensor<f64>
  ds.report "grad_norm", %norm : tensor<f64>
  %down = ds.read @down : tensor<50x16xf32>
  %v = ds.read @velocity.down : tensor<50x16xf32>
  %w1, %v1 = ds.sgd_update %down, %ddown, %v, %rate, %rate, %rate
      : (tensor<50x16xf32>, tensor<50x16xf32>, tensor<50x16xf32>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<50x16xf32>, tensor<50x16xf32>)
  ds.assign @down, %w1 : tensor<50x16xf32>
  ds.assign @velocity.down, %v1 : tensor<50x16xf32>
  return
}
