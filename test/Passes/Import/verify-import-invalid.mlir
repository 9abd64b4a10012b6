// RUN: ds-opt %s --split-input-file --verify-diagnostics --ds-verify-import

ds.variable parameter @w : tensor<16x4xf32> = zeros
// expected-error @below {{'func.func' op I1: expected @train, @evaluate, @logits, @prefill or @decode}}
func.func @step(%tokens: tensor<2x8xi32>, %labels: tensor<2x8xi32>) {
  %w = ds.read @w : tensor<16x4xf32>
  %count = ds.count %labels : (tensor<2x8xi32>) -> tensor<f64>
  ds.report "loss", %count : tensor<f64>
  ds.report "tokens", %count : tensor<f64>
  return
}

// -----

// expected-error @below {{'func.func' op I1: a program hands values out by ds.report and returns nothing}}
func.func @train(%tokens: tensor<2x8xi32>) -> tensor<2x8xi32> {
  return %tokens : tensor<2x8xi32>
}

// -----

// expected-error @below {{'func.func' op I1: arguments must be ids or labels, found 'tensor<2x8xf32>'}}
func.func @train(%tokens: tensor<2x8xf32>) {
  return
}

// -----

ds.variable parameter @w : tensor<16x4xf32> = zeros
func.func @train(%tokens: tensor<2x8xi32>, %labels: tensor<2x8xi32>) {
  %w = ds.read @w : tensor<16x4xf32>
  %count = ds.count %labels : (tensor<2x8xi32>) -> tensor<f64>
  ds.report "loss", %count : tensor<f64>
  ds.report "tokens", %count : tensor<f64>
  // expected-error @below {{'ds.assign' op I2: a forward program changes nothing}}
  ds.assign @w, %w : tensor<16x4xf32>
  return
}

// -----

ds.variable parameter @w : tensor<16x4xf32> = zeros
func.func @train(%tokens: tensor<2x8xi32>, %labels: tensor<2x8xi32>) {
  %w = ds.read @w : tensor<16x4xf32>
  %count = ds.count %labels : (tensor<2x8xi32>) -> tensor<f64>
  ds.report "loss", %count : tensor<f64>
  ds.report "tokens", %count : tensor<f64>
  // expected-error @below {{'ds.guard' op I2: a forward program changes nothing}}
  ds.guard %count, %count, %count
  return
}

// -----

ds.variable parameter @w : tensor<16x4xf32> = zeros
func.func @train(%tokens: tensor<2x8xi32>, %labels: tensor<2x8xi32>) {
  %w = ds.read @w : tensor<16x4xf32>
  %count = ds.count %labels : (tensor<2x8xi32>) -> tensor<f64>
  ds.report "loss", %count : tensor<f64>
  ds.report "tokens", %count : tensor<f64>
  // expected-error @below {{'ds.loss_seed' op I3: is no part of a forward pass}}
  %seed = ds.loss_seed %count : (tensor<f64>) -> tensor<f64>
  return
}

// -----

ds.variable parameter @w : tensor<16x4xf32> = zeros
// expected-error @below {{'func.func' op I4: no 'loss' is reported}}
func.func @train(%tokens: tensor<2x8xi32>, %labels: tensor<2x8xi32>) {
  %w = ds.read @w : tensor<16x4xf32>
  %count = ds.count %labels : (tensor<2x8xi32>) -> tensor<f64>
  ds.report "tokens", %count : tensor<f64>
  return
}

// -----

ds.variable parameter @w : tensor<16x4xf32> = zeros
// expected-error @below {{'func.func' op I4: no 'tokens' is reported}}
func.func @train(%tokens: tensor<2x8xi32>, %labels: tensor<2x8xi32>) {
  %w = ds.read @w : tensor<16x4xf32>
  %count = ds.count %labels : (tensor<2x8xi32>) -> tensor<f64>
  ds.report "loss", %count : tensor<f64>
  return
}

// -----

ds.variable parameter @w : tensor<16x4xf32> = zeros
// expected-error @below {{'func.func' op I4: no 'logits' is reported}}
func.func @logits(%tokens: tensor<2x8xi32>, %labels: tensor<2x8xi32>) {
  %w = ds.read @w : tensor<16x4xf32>
  %count = ds.count %labels : (tensor<2x8xi32>) -> tensor<f64>
  ds.report "loss", %count : tensor<f64>
  ds.report "tokens", %count : tensor<f64>
  return
}

// -----

// expected-error @below {{'ds.variable' op I5: optimizer state and counters come with training, found counter}}
ds.variable counter @n : tensor<f64> = zeros
ds.variable parameter @w : tensor<16x4xf32> = zeros
func.func @train(%tokens: tensor<2x8xi32>, %labels: tensor<2x8xi32>) {
  %w = ds.read @w : tensor<16x4xf32>
  %count = ds.count %labels : (tensor<2x8xi32>) -> tensor<f64>
  ds.report "loss", %count : tensor<f64>
  ds.report "tokens", %count : tensor<f64>
  return
}

// -----

// expected-error @below {{'ds.variable' op I5: @train does not read it}}
ds.variable parameter @other : tensor<4xf32> = zeros
ds.variable parameter @w : tensor<16x4xf32> = zeros
func.func @train(%tokens: tensor<2x8xi32>, %labels: tensor<2x8xi32>) {
  %w = ds.read @w : tensor<16x4xf32>
  %count = ds.count %labels : (tensor<2x8xi32>) -> tensor<f64>
  ds.report "loss", %count : tensor<f64>
  ds.report "tokens", %count : tensor<f64>
  return
}

// -----

ds.variable parameter @w : tensor<16x4xf32> = zeros
func.func @prefill(%tokens: tensor<1x8xi32>, %ids: tensor<1x8xi32>, %rows: tensor<1xi32>) {
  %w = ds.read @w : tensor<16x4xf32>
  // expected-error @below {{'ds.assign' op I2: a forward program changes nothing}}
  ds.assign @w, %w : tensor<16x4xf32>
  return
}

// -----

// expected-error @below {{'func.func' op I4: no 'logits' is reported}}
func.func @decode(%tokens: tensor<2x1xi32>, %ids: tensor<2x1xi32>, %rows: tensor<2xi32>) {
  return
}
