// RUN: ds-opt %s --split-input-file --ds-verify-training | FileCheck %s

// A complete step, and a program beside it.
// CHECK-LABEL: func.func @train
ds.variable parameter @w : tensor<16xf32> = zeros
ds.variable counter @updates : tensor<f64> = zeros
func.func @train(%dw: tensor<16xf32>, %s: tensor<f64>) {
  ds.report "loss", %s : tensor<f64>
  ds.report "tokens", %s : tensor<f64>
  ds.report "grad_norm", %s : tensor<f64>
  ds.report "learning_rate", %s : tensor<f64>
  ds.report "grad:w", %dw : tensor<16xf32>
  ds.guard %s, %s, %s
  ds.assign @w, %dw : tensor<16xf32>
  ds.assign @updates, %s : tensor<f64>
  return
}
// CHECK-LABEL: func.func @evaluate
func.func @evaluate(%s: tensor<f64>) {
  ds.report "loss", %s : tensor<f64>
  return
}

// -----

// Nothing to train.
// CHECK-LABEL: func.func @logits
func.func @logits() {
  return
}
