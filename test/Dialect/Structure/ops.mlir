// RUN: ds-opt %s --split-input-file --verify-roundtrip | FileCheck %s

// CHECK: ds.variable parameter @wte.weight : tensor<256x16xf32> = normal {decay, stddev = 2.000000e-02 : f64}
ds.variable parameter @"wte.weight" : tensor<256x16xf32> = normal {stddev = 0.02 : f64, decay}
// CHECK: ds.variable optimizer_state @adam.m.wte.weight : tensor<256x16xf32> = zeros
ds.variable optimizer_state @"adam.m.wte.weight" : tensor<256x16xf32> = zeros
// CHECK: ds.variable counter @updates : tensor<f64> = zeros
ds.variable counter @updates : tensor<f64> = zeros
// CHECK: ds.hyperparameter @train.optimizer.params.lr = 1.000000e-03
ds.hyperparameter @"train.optimizer.params.lr" = 1.0e-3

// CHECK-LABEL: func.func @train
func.func @train() {
  // CHECK: %[[W:.*]] = ds.read @wte.weight : tensor<256x16xf32>
  %w = ds.read @"wte.weight" : tensor<256x16xf32>
  // CHECK: %[[RATE:.*]] = ds.read @train.optimizer.params.lr : tensor<f64>
  %rate = ds.read @"train.optimizer.params.lr" : tensor<f64>
  // CHECK: %[[B:.*]]:2 = ds.block "h.0" -> tensor<256x16xf32>, tensor<256x16xf32> {
  // CHECK:   ds.yield %{{.*}}, %[[W]] : tensor<256x16xf32>, tensor<256x16xf32>
  %b:2 = ds.block "h.0" -> tensor<256x16xf32>, tensor<256x16xf32> {
    %sum = ds.add %w, %w : (tensor<256x16xf32>, tensor<256x16xf32>) -> tensor<256x16xf32>
    ds.yield %sum, %w : tensor<256x16xf32>, tensor<256x16xf32>
  }
  // CHECK: ds.block "nothing" {
  // CHECK-NEXT: ds.yield{{$}}
  ds.block "nothing" {
    ds.yield
  }
  // CHECK: ds.report "loss", %[[RATE]] : tensor<f64>
  ds.report "loss", %rate : tensor<f64>
  // CHECK: ds.guard %[[RATE]], %[[RATE]], %[[RATE]]
  ds.guard %rate, %rate, %rate
  // CHECK: ds.assign @wte.weight, %[[B]]#0 : tensor<256x16xf32>
  ds.assign @"wte.weight", %b#0 : tensor<256x16xf32>
  return
}

// -----

// What moves with every step, and within one, may be assigned before the guard.
// CHECK: ds.schedule [@train.micro, @train] times [4, 1]
// CHECK: ds.variable step_state @scale : tensor<f64> = constant {value = 6.553600e+04 : f64}
// CHECK: ds.variable window @sum : tensor<f64> = zeros
ds.schedule [@train.micro, @train] times [4, 1]
ds.variable step_state @scale : tensor<f64> = constant {value = 65536.0 : f64}
ds.variable window @sum : tensor<f64> = zeros
func.func @train.micro(%x: tensor<f64>) {
  ds.assign @sum, %x : tensor<f64>
  return
}
func.func @train(%x: tensor<f64>) {
  ds.assign @scale, %x : tensor<f64>
  // CHECK: ds.guard %[[X:.*]], %[[X]], %[[X]] skips %[[X]] within %[[X]]
  ds.guard %x, %x, %x skips %x within %x
  return
}
