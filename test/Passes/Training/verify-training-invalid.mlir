// RUN: ds-opt %s --split-input-file --verify-diagnostics --ds-verify-training

ds.variable parameter @w : tensor<16xf32> = zeros
ds.variable counter @updates : tensor<f64> = zeros
// expected-error @below {{'func.func' op W1: no 'loss' is reported}}
func.func @train(%dw: tensor<16xf32>, %s: tensor<f64>) {
  ds.report "tokens", %s : tensor<f64>
  ds.report "grad_norm", %s : tensor<f64>
  ds.report "learning_rate", %s : tensor<f64>
  ds.report "grad:w", %dw : tensor<16xf32>
  ds.guard %s, %s, %s
  ds.assign @w, %dw : tensor<16xf32>
  ds.assign @updates, %s : tensor<f64>
  return
}

// -----

ds.variable parameter @w : tensor<16xf32> = zeros
ds.variable counter @updates : tensor<f64> = zeros
// expected-error @below {{'func.func' op W1: no 'tokens' is reported}}
func.func @train(%dw: tensor<16xf32>, %s: tensor<f64>) {
  ds.report "loss", %s : tensor<f64>
  ds.report "grad_norm", %s : tensor<f64>
  ds.report "learning_rate", %s : tensor<f64>
  ds.report "grad:w", %dw : tensor<16xf32>
  ds.guard %s, %s, %s
  ds.assign @w, %dw : tensor<16xf32>
  ds.assign @updates, %s : tensor<f64>
  return
}

// -----

ds.variable parameter @w : tensor<16xf32> = zeros
ds.variable counter @updates : tensor<f64> = zeros
// expected-error @below {{'func.func' op W1: no 'grad_norm' is reported}}
func.func @train(%dw: tensor<16xf32>, %s: tensor<f64>) {
  ds.report "loss", %s : tensor<f64>
  ds.report "tokens", %s : tensor<f64>
  ds.report "learning_rate", %s : tensor<f64>
  ds.report "grad:w", %dw : tensor<16xf32>
  ds.guard %s, %s, %s
  ds.assign @w, %dw : tensor<16xf32>
  ds.assign @updates, %s : tensor<f64>
  return
}

// -----

ds.variable parameter @w : tensor<16xf32> = zeros
ds.variable counter @updates : tensor<f64> = zeros
// expected-error @below {{'func.func' op W1: no 'learning_rate' is reported}}
func.func @train(%dw: tensor<16xf32>, %s: tensor<f64>) {
  ds.report "loss", %s : tensor<f64>
  ds.report "tokens", %s : tensor<f64>
  ds.report "grad_norm", %s : tensor<f64>
  ds.report "grad:w", %dw : tensor<16xf32>
  ds.guard %s, %s, %s
  ds.assign @w, %dw : tensor<16xf32>
  ds.assign @updates, %s : tensor<f64>
  return
}

// -----

// expected-error @below {{'ds.variable' op W2: its gradient is not reported}}
ds.variable parameter @w : tensor<16xf32> = zeros
ds.variable counter @updates : tensor<f64> = zeros
func.func @train(%dw: tensor<16xf32>, %s: tensor<f64>) {
  ds.report "loss", %s : tensor<f64>
  ds.report "tokens", %s : tensor<f64>
  ds.report "grad_norm", %s : tensor<f64>
  ds.report "learning_rate", %s : tensor<f64>
  ds.guard %s, %s, %s
  ds.assign @w, %dw : tensor<16xf32>
  ds.assign @updates, %s : tensor<f64>
  return
}

// -----

// expected-error @below {{'ds.variable' op W2: its gradient is 'tensor<f64>', the parameter is 'tensor<16xf32>'}}
ds.variable parameter @w : tensor<16xf32> = zeros
ds.variable counter @updates : tensor<f64> = zeros
func.func @train(%dw: tensor<16xf32>, %s: tensor<f64>) {
  ds.report "loss", %s : tensor<f64>
  ds.report "tokens", %s : tensor<f64>
  ds.report "grad_norm", %s : tensor<f64>
  ds.report "learning_rate", %s : tensor<f64>
  ds.report "grad:w", %s : tensor<f64>
  ds.guard %s, %s, %s
  ds.assign @w, %dw : tensor<16xf32>
  ds.assign @updates, %s : tensor<f64>
  return
}

// -----

ds.variable parameter @w : tensor<16xf32> = zeros
ds.variable counter @updates : tensor<f64> = zeros
// expected-error @below {{'func.func' op W2: 'updates' has a gradient and is no parameter that is trained}}
func.func @train(%dw: tensor<16xf32>, %s: tensor<f64>) {
  ds.report "loss", %s : tensor<f64>
  ds.report "tokens", %s : tensor<f64>
  ds.report "grad_norm", %s : tensor<f64>
  ds.report "learning_rate", %s : tensor<f64>
  ds.report "grad:w", %dw : tensor<16xf32>
  ds.report "grad:updates", %s : tensor<f64>
  ds.guard %s, %s, %s
  ds.assign @w, %dw : tensor<16xf32>
  ds.assign @updates, %s : tensor<f64>
  return
}

// -----

ds.variable parameter @w : tensor<16xf32> = zeros
// expected-error @below {{'ds.variable' op W3: assigned 0 times in @train, expected once}}
ds.variable counter @updates : tensor<f64> = zeros
func.func @train(%dw: tensor<16xf32>, %s: tensor<f64>) {
  ds.report "loss", %s : tensor<f64>
  ds.report "tokens", %s : tensor<f64>
  ds.report "grad_norm", %s : tensor<f64>
  ds.report "learning_rate", %s : tensor<f64>
  ds.report "grad:w", %dw : tensor<16xf32>
  ds.guard %s, %s, %s
  ds.assign @w, %dw : tensor<16xf32>
  return
}

// -----

// expected-error @below {{'ds.variable' op W3: assigned 2 times in @train, expected once}}
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
  ds.assign @w, %dw : tensor<16xf32>
  return
}

// -----

ds.variable parameter @w : tensor<16xf32> = zeros
ds.variable counter @updates : tensor<f64> = zeros
// expected-error @below {{'func.func' op W4: no guard}}
func.func @train(%dw: tensor<16xf32>, %s: tensor<f64>) {
  ds.report "loss", %s : tensor<f64>
  ds.report "tokens", %s : tensor<f64>
  ds.report "grad_norm", %s : tensor<f64>
  ds.report "learning_rate", %s : tensor<f64>
  ds.report "grad:w", %dw : tensor<16xf32>
  ds.assign @w, %dw : tensor<16xf32>
  ds.assign @updates, %s : tensor<f64>
  return
}

// -----

ds.variable parameter @w : tensor<16xf32> = zeros
ds.variable counter @updates : tensor<f64> = zeros
func.func @train(%dw: tensor<16xf32>, %s: tensor<f64>) {
  ds.report "loss", %s : tensor<f64>
  ds.report "tokens", %s : tensor<f64>
  ds.report "grad_norm", %s : tensor<f64>
  ds.report "learning_rate", %s : tensor<f64>
  ds.report "grad:w", %dw : tensor<16xf32>
  ds.guard %s, %s, %s
  // expected-error @below {{'ds.guard' op W4: a second guard}}
  ds.guard %s, %s, %s
  ds.assign @w, %dw : tensor<16xf32>
  ds.assign @updates, %s : tensor<f64>
  return
}

// -----

ds.variable parameter @w : tensor<16xf32> = zeros
ds.variable counter @updates : tensor<f64> = zeros
func.func @train(%dw: tensor<16xf32>, %s: tensor<f64>) {
  ds.report "loss", %s : tensor<f64>
  ds.report "tokens", %s : tensor<f64>
  ds.report "grad_norm", %s : tensor<f64>
  ds.report "learning_rate", %s : tensor<f64>
  ds.report "grad:w", %dw : tensor<16xf32>
  ds.guard %s, %s, %s
  // expected-error @below {{'ds.report' op W4: stands after the guard}}
  ds.report "late", %s : tensor<f64>
  ds.assign @w, %dw : tensor<16xf32>
  ds.assign @updates, %s : tensor<f64>
  return
}

// -----

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
func.func @evaluate(%s: tensor<f64>) {
  // expected-error @below {{'ds.assign' op W5: stands outside @train}}
  ds.assign @updates, %s : tensor<f64>
  return
}

// -----

func.func @evaluate(%s: tensor<f64>) {
  // expected-error @below {{'ds.guard' op W5: stands outside @train}}
  ds.guard %s, %s, %s
  return
}

// -----

ds.variable parameter @w : tensor<16xf32> = zeros
// expected-error @below {{'ds.variable' op W3: assigned 1 times in @train, expected never}}
ds.variable parameter @frozen : tensor<16xf32> = zeros {frozen}
ds.variable counter @updates : tensor<f64> = zeros
func.func @train(%dw: tensor<16xf32>, %s: tensor<f64>) {
  ds.report "loss", %s : tensor<f64>
  ds.report "tokens", %s : tensor<f64>
  ds.report "grad_norm", %s : tensor<f64>
  ds.report "learning_rate", %s : tensor<f64>
  ds.report "grad:w", %dw : tensor<16xf32>
  ds.guard %s, %s, %s
  ds.assign @w, %dw : tensor<16xf32>
  ds.assign @frozen, %dw : tensor<16xf32>
  ds.assign @updates, %s : tensor<f64>
  return
}
