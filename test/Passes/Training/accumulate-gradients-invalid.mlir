// RUN: ds-opt %s --split-input-file --ds-accumulate-gradients=micro-batches=2 --verify-diagnostics
// RUN: not ds-opt --ds-accumulate-gradients=micro-batches=0 %S/insert-optimizer-options.mlir 2>&1 | FileCheck %s --check-prefix=NONE

// NONE: A3: option 'micro-batches' must be positive, got 0

// expected-error @below {{A1: no 'loss' is reported}}
func.func @train() {
  return
}

// -----

func.func @train(%count: tensor<f64>) {
  ds.report "loss", %count : tensor<f64>
  // expected-error @below {{A1: the tokens are not counted on an argument of @train}}
  ds.report "tokens", %count : tensor<f64>
  return
}

// -----

// expected-error @below {{A2: no gradient is reported, run ds-differentiate first}}
func.func @train(%labels: tensor<2x4xi32>) {
  %count = ds.count %labels : (tensor<2x4xi32>) -> tensor<f64>
  ds.report "loss", %count : tensor<f64>
  ds.report "tokens", %count : tensor<f64>
  return
}

// -----

// expected-error @below {{A2: 'grad_norm' is reported already; accumulate before clipping}}
func.func @train(%labels: tensor<2x4xi32>, %g: tensor<4xf32>) {
  %count = ds.count %labels : (tensor<2x4xi32>) -> tensor<f64>
  ds.report "loss", %count : tensor<f64>
  ds.report "tokens", %count : tensor<f64>
  ds.report "grad:w", %g : tensor<4xf32>
  ds.report "grad_norm", %count : tensor<f64>
  return
}
