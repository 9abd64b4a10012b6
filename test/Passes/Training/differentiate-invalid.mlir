// RUN: ds-opt %s --split-input-file --verify-diagnostics --ds-differentiate

// expected-error @below {{'func.func' op D1: no 'loss' is reported}}
func.func @train() {
  return
}

// -----

func.func @train(%loss: tensor<f64>) {
  // expected-error @below {{'ds.report' op D1: the reported loss is not computed by an op that is an objective}}
  ds.report "loss", %loss : tensor<f64>
  return
}

// -----

// An op of the training loop between parameter and loss.
ds.variable parameter @w : tensor<4xf32> = zeros
func.func @train(%x: tensor<2x4xf32>, %count: tensor<f64>) {
  %w = ds.read @w : tensor<4xf32>
  // expected-error @below {{'ds.bias_grad' op D2: a gradient reaches an op that does not know its backward}}
  %y = ds.bias_grad %x init %w : tensor<2x4xf32> init tensor<4xf32> -> tensor<4xf32>
  %loss = ds.token_mean %y, %count : (tensor<4xf32>, tensor<f64>) -> tensor<f64>
  ds.report "loss", %loss : tensor<f64>
  return
}

// -----

ds.variable parameter @used : tensor<8x4xf32> = zeros
// expected-error @below {{'ds.variable' op D4: no gradient reaches the parameter from the loss}}
ds.variable parameter @unused : tensor<4xf32> = zeros
func.func @train(%labels: tensor<8xi32>) {
  %w = ds.read @used : tensor<8x4xf32>
  %losses, %lse = ds.cross_entropy %w, %labels : (tensor<8x4xf32>, tensor<8xi32>) -> (tensor<8xf32>, tensor<8xf32>)
  %count = ds.count %labels : (tensor<8xi32>) -> tensor<f64>
  %loss = ds.token_mean %losses, %count : (tensor<8xf32>, tensor<f64>) -> tensor<f64>
  ds.report "loss", %loss : tensor<f64>
  return
}

// -----

// The losses take one seed, not a gradient of their own shape.
ds.variable parameter @w : tensor<8x4xf32> = zeros
func.func @train(%labels: tensor<8xi32>) {
  %w = ds.read @w : tensor<8x4xf32>
  %count = ds.count %labels : (tensor<8xi32>) -> tensor<f64>
  // expected-error @below {{'ds.cross_entropy' op C3: lse takes no gradient}}
  %losses, %lse = ds.cross_entropy %w, %labels : (tensor<8x4xf32>, tensor<8xi32>) -> (tensor<8xf32>, tensor<8xf32>)
  %sum = ds.add %losses, %lse : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %loss = ds.token_mean %sum, %count : (tensor<8xf32>, tensor<f64>) -> tensor<f64>
  ds.report "loss", %loss : tensor<f64>
  return
}

// -----

ds.variable parameter @w : tensor<8x4xf32> = zeros
func.func @train(%labels: tensor<8xi32>) {
  %w = ds.read @w : tensor<8x4xf32>
  %count = ds.count %labels : (tensor<8xi32>) -> tensor<f64>
  // expected-error @below {{'ds.cross_entropy' op C3: the gradient of losses must be a scalar tensor<f64>}}
  %losses, %lse = ds.cross_entropy %w, %labels : (tensor<8x4xf32>, tensor<8xi32>) -> (tensor<8xf32>, tensor<8xf32>)
  %loss = ds.token_mean %lse, %count : (tensor<8xf32>, tensor<f64>) -> tensor<f64>
  ds.report "loss", %loss : tensor<f64>
  return
}

// -----

// What is minimised is a mean of losses, nothing computed from one.
ds.variable parameter @w : tensor<8x4xf32> = zeros
func.func @train(%labels: tensor<8xi32>, %one: tensor<f64>) {
  %w = ds.read @w : tensor<8x4xf32>
  %losses, %lse = ds.cross_entropy %w, %labels : (tensor<8x4xf32>, tensor<8xi32>) -> (tensor<8xf32>, tensor<8xf32>)
  %mean = ds.token_mean %losses, %one : (tensor<8xf32>, tensor<f64>) -> tensor<f64>
  %twice = ds.add %mean, %mean : (tensor<f64>, tensor<f64>) -> tensor<f64>
  // expected-error @below {{'ds.report' op D1: the reported loss is not computed by an op that is an objective}}
  ds.report "loss", %twice : tensor<f64>
  return
}

// -----

// Fusion comes after differentiation.
ds.variable parameter @w : tensor<4x4xf32> = zeros
func.func @train(%labels: tensor<4xi32>) {
  %w = ds.read @w : tensor<4x4xf32>
  // expected-error @below {{'ds.linear' op L6: a fused linear has no derivative, differentiate before ds-fuse}}
  %y = ds.linear %w, %w residual %w : tensor<4x4xf32>, tensor<4x4xf32> residual tensor<4x4xf32> -> tensor<4x4xf32>
  %losses, %lse = ds.cross_entropy %y, %labels : (tensor<4x4xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>)
  %count = ds.count %labels : (tensor<4xi32>) -> tensor<f64>
  %loss = ds.token_mean %losses, %count : (tensor<4xf32>, tensor<f64>) -> tensor<f64>
  ds.report "loss", %loss : tensor<f64>
  return
}

// -----

// Weights of losses have no gradient: a parameter in them would be left out.
ds.variable parameter @w : tensor<8x4xf32> = zeros
ds.variable parameter @v : tensor<8xf32> = zeros
func.func @train(%labels: tensor<8xi32>) {
  %w = ds.read @w : tensor<8x4xf32>
  %v = ds.read @v : tensor<8xf32>
  // expected-error @below {{'ds.cross_entropy' op D5: gives no gradient for an operand of type 'tensor<8xf32>' that a trained parameter has a part in}}
  %losses, %lse = ds.cross_entropy %w, %labels weights %v : (tensor<8x4xf32>, tensor<8xi32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  %count = ds.count %labels : (tensor<8xi32>) -> tensor<f64>
  %loss = ds.token_mean %losses, %count : (tensor<8xf32>, tensor<f64>) -> tensor<f64>
  ds.report "loss", %loss : tensor<f64>
  return
}
