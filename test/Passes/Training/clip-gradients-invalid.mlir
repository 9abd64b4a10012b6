// RUN: ds-opt %s --split-input-file --verify-diagnostics --ds-clip-gradients

ds.hyperparameter @train.gradient_clipping = 1.0
// expected-error @below {{'func.func' op K1: no gradient is reported, run ds-differentiate first}}
func.func @train() {
  return
}

// -----

ds.hyperparameter @train.gradient_clipping = 1.0
// expected-error @below {{'func.func' op K1: 'grad_norm' is reported already}}
func.func @train(%g: tensor<16xf32>, %norm: tensor<f64>) {
  ds.report "grad:w", %g : tensor<16xf32>
  ds.report "grad_norm", %norm : tensor<f64>
  return
}

// -----

// expected-error @below {{'func.func' op K2: there is no hyper-parameter 'train.gradient_clipping'}}
func.func @train(%g: tensor<16xf32>) {
  ds.report "grad:w", %g : tensor<16xf32>
  return
}
