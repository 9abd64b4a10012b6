// RUN: ds-opt %s --split-input-file --ds-loss-scaling=mode=dynamic --verify-diagnostics
// RUN: not ds-opt --ds-loss-scaling=mode=sometimes %S/insert-optimizer-options.mlir 2>&1 | FileCheck %s --check-prefix=MODE
// RUN: not ds-opt --ds-loss-scaling="mode=static initial=0" %S/insert-optimizer-options.mlir 2>&1 | FileCheck %s --check-prefix=START

// MODE: S4: expected mode none, static or dynamic and a positive initial scale, found 'sometimes' and
// START: S4: expected mode none, static or dynamic and a positive initial scale, found 'static' and

// expected-error @below {{S1: no ds.guard, run ds-insert-optimizer first}}
func.func @train() {
  return
}

// -----

// expected-error @below {{S1: no ds.clip_factor, run ds-insert-optimizer first}}
func.func @train(%x: tensor<f64>) {
  ds.guard %x, %x, %x
  return
}

// -----

func.func @train(%x: tensor<f64>) {
  %clip = ds.clip_factor %x, %x : (tensor<f64>, tensor<f64>) -> tensor<f64>
  // expected-error @below {{S2: the loss is scaled already}}
  ds.guard %x, %x, %x skips %x within %x
  return
}

// -----

// expected-error @below {{S3: there is no hyper-parameter 'train.fp16.loss_scale_window'}}
func.func @train(%x: tensor<f64>) {
  %clip = ds.clip_factor %x, %x : (tensor<f64>, tensor<f64>) -> tensor<f64>
  ds.guard %x, %x, %x
  return
}
