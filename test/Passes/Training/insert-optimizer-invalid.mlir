// RUN: ds-opt %s --split-input-file --verify-diagnostics --ds-insert-optimizer

// No loss, no count, no gradient of one of the parameters.
ds.variable parameter @w : tensor<16x16xf32> = normal {stddev = 2.0e-2 : f64, decay}
ds.variable parameter @b : tensor<16xf32> = zeros
// expected-error @below {{'func.func' op T1: no 'loss' is reported}}
func.func @train(%dw: tensor<16x16xf32>, %db: tensor<16xf32>, %loss: tensor<f64>, %count: tensor<f64>, %norm: tensor<f64>) {
  %w = ds.read @w : tensor<16x16xf32>
  %b = ds.read @b : tensor<16xf32>
  ds.report "tokens", %count : tensor<f64>
  ds.report "grad:w", %dw : tensor<16x16xf32>
  ds.report "grad:b", %db : tensor<16xf32>
  ds.report "grad_norm", %norm : tensor<f64>
  %limit = ds.read @train.gradient_clipping : tensor<f64>
  %clip = ds.clip_factor %norm, %limit : (tensor<f64>, tensor<f64>) -> tensor<f64>
  return
}
ds.hyperparameter @train.gradient_clipping = 1.0
ds.hyperparameter @train.optimizer.params.lr = 1.0e-3
ds.hyperparameter @train.optimizer.params.betas.0 = 0.9
ds.hyperparameter @train.optimizer.params.betas.1 = 0.95
ds.hyperparameter @train.optimizer.params.eps = 1.0e-8
ds.hyperparameter @train.optimizer.params.momentum = 0.9
ds.hyperparameter @train.optimizer.params.weight_decay = 0.1
ds.hyperparameter @train.scheduler.params.warmup_steps = 5.0
ds.hyperparameter @train.scheduler.params.total_steps = 20.0
ds.hyperparameter @train.scheduler.params.min_lr = 1.0e-4

// -----

ds.variable parameter @w : tensor<16x16xf32> = normal {stddev = 2.0e-2 : f64, decay}
ds.variable parameter @b : tensor<16xf32> = zeros
// expected-error @below {{'func.func' op T1: no 'tokens' is reported}}
func.func @train(%dw: tensor<16x16xf32>, %db: tensor<16xf32>, %loss: tensor<f64>, %count: tensor<f64>, %norm: tensor<f64>) {
  %w = ds.read @w : tensor<16x16xf32>
  %b = ds.read @b : tensor<16xf32>
  ds.report "loss", %loss : tensor<f64>
  ds.report "grad:w", %dw : tensor<16x16xf32>
  ds.report "grad:b", %db : tensor<16xf32>
  ds.report "grad_norm", %norm : tensor<f64>
  %limit = ds.read @train.gradient_clipping : tensor<f64>
  %clip = ds.clip_factor %norm, %limit : (tensor<f64>, tensor<f64>) -> tensor<f64>
  return
}
ds.hyperparameter @train.gradient_clipping = 1.0
ds.hyperparameter @train.optimizer.params.lr = 1.0e-3
ds.hyperparameter @train.optimizer.params.betas.0 = 0.9
ds.hyperparameter @train.optimizer.params.betas.1 = 0.95
ds.hyperparameter @train.optimizer.params.eps = 1.0e-8
ds.hyperparameter @train.optimizer.params.momentum = 0.9
ds.hyperparameter @train.optimizer.params.weight_decay = 0.1
ds.hyperparameter @train.scheduler.params.warmup_steps = 5.0
ds.hyperparameter @train.scheduler.params.total_steps = 20.0
ds.hyperparameter @train.scheduler.params.min_lr = 1.0e-4

// -----

ds.variable parameter @w : tensor<16x16xf32> = normal {stddev = 2.0e-2 : f64, decay}
ds.variable parameter @b : tensor<16xf32> = zeros
// expected-error @below {{'func.func' op T1: no gradient of 'b' is reported}}
func.func @train(%dw: tensor<16x16xf32>, %db: tensor<16xf32>, %loss: tensor<f64>, %count: tensor<f64>, %norm: tensor<f64>) {
  %w = ds.read @w : tensor<16x16xf32>
  %b = ds.read @b : tensor<16xf32>
  ds.report "loss", %loss : tensor<f64>
  ds.report "tokens", %count : tensor<f64>
  ds.report "grad:w", %dw : tensor<16x16xf32>
  ds.report "grad_norm", %norm : tensor<f64>
  %limit = ds.read @train.gradient_clipping : tensor<f64>
  %clip = ds.clip_factor %norm, %limit : (tensor<f64>, tensor<f64>) -> tensor<f64>
  return
}
ds.hyperparameter @train.gradient_clipping = 1.0
ds.hyperparameter @train.optimizer.params.lr = 1.0e-3
ds.hyperparameter @train.optimizer.params.betas.0 = 0.9
ds.hyperparameter @train.optimizer.params.betas.1 = 0.95
ds.hyperparameter @train.optimizer.params.eps = 1.0e-8
ds.hyperparameter @train.optimizer.params.momentum = 0.9
ds.hyperparameter @train.optimizer.params.weight_decay = 0.1
ds.hyperparameter @train.scheduler.params.warmup_steps = 5.0
ds.hyperparameter @train.scheduler.params.total_steps = 20.0
ds.hyperparameter @train.scheduler.params.min_lr = 1.0e-4

// -----

ds.variable parameter @w : tensor<16x16xf32> = normal {stddev = 2.0e-2 : f64, decay}
ds.variable parameter @b : tensor<16xf32> = zeros
// expected-error @below {{'func.func' op T1: the gradient of 'b' is 'tensor<16x16xf32>', the parameter is 'tensor<16xf32>'}}
func.func @train(%dw: tensor<16x16xf32>, %db: tensor<16xf32>, %loss: tensor<f64>, %count: tensor<f64>, %norm: tensor<f64>) {
  %w = ds.read @w : tensor<16x16xf32>
  %b = ds.read @b : tensor<16xf32>
  ds.report "loss", %loss : tensor<f64>
  ds.report "tokens", %count : tensor<f64>
  ds.report "grad:w", %dw : tensor<16x16xf32>
  ds.report "grad:b", %dw : tensor<16x16xf32>
  ds.report "grad_norm", %norm : tensor<f64>
  %limit = ds.read @train.gradient_clipping : tensor<f64>
  %clip = ds.clip_factor %norm, %limit : (tensor<f64>, tensor<f64>) -> tensor<f64>
  return
}
ds.hyperparameter @train.gradient_clipping = 1.0
ds.hyperparameter @train.optimizer.params.lr = 1.0e-3
ds.hyperparameter @train.optimizer.params.betas.0 = 0.9
ds.hyperparameter @train.optimizer.params.betas.1 = 0.95
ds.hyperparameter @train.optimizer.params.eps = 1.0e-8
ds.hyperparameter @train.optimizer.params.momentum = 0.9
ds.hyperparameter @train.optimizer.params.weight_decay = 0.1
ds.hyperparameter @train.scheduler.params.warmup_steps = 5.0
ds.hyperparameter @train.scheduler.params.total_steps = 20.0
ds.hyperparameter @train.scheduler.params.min_lr = 1.0e-4

// -----

// expected-error @below {{'func.func' op T1: there is no parameter to update}}
func.func @train(%loss: tensor<f64>) {
  ds.report "loss", %loss : tensor<f64>
  ds.report "tokens", %loss : tensor<f64>
  return
}

// -----

// Gradients that nobody has clipped.
ds.variable parameter @w : tensor<16x16xf32> = normal {stddev = 2.0e-2 : f64, decay}
ds.variable parameter @b : tensor<16xf32> = zeros
// expected-error @below {{'func.func' op T2: expected one ds.clip_factor, found 0; run ds-clip-gradients first}}
func.func @train(%dw: tensor<16x16xf32>, %db: tensor<16xf32>, %loss: tensor<f64>, %count: tensor<f64>, %norm: tensor<f64>) {
  %w = ds.read @w : tensor<16x16xf32>
  %b = ds.read @b : tensor<16xf32>
  ds.report "loss", %loss : tensor<f64>
  ds.report "tokens", %count : tensor<f64>
  ds.report "grad:w", %dw : tensor<16x16xf32>
  ds.report "grad:b", %db : tensor<16xf32>
  ds.report "grad_norm", %norm : tensor<f64>
  %limit = ds.read @train.gradient_clipping : tensor<f64>
  return
}
ds.hyperparameter @train.gradient_clipping = 1.0
ds.hyperparameter @train.optimizer.params.lr = 1.0e-3
ds.hyperparameter @train.optimizer.params.betas.0 = 0.9
ds.hyperparameter @train.optimizer.params.betas.1 = 0.95
ds.hyperparameter @train.optimizer.params.eps = 1.0e-8
ds.hyperparameter @train.optimizer.params.momentum = 0.9
ds.hyperparameter @train.optimizer.params.weight_decay = 0.1
ds.hyperparameter @train.scheduler.params.warmup_steps = 5.0
ds.hyperparameter @train.scheduler.params.total_steps = 20.0
ds.hyperparameter @train.scheduler.params.min_lr = 1.0e-4

// -----

// A scalar that the spec did not give.
ds.variable parameter @w : tensor<16x16xf32> = normal {stddev = 2.0e-2 : f64, decay}
ds.variable parameter @b : tensor<16xf32> = zeros
// expected-error @below {{'func.func' op T3: there is no hyper-parameter 'train.optimizer.params.betas.1'}}
func.func @train(%dw: tensor<16x16xf32>, %db: tensor<16xf32>, %loss: tensor<f64>, %count: tensor<f64>, %norm: tensor<f64>) {
  %w = ds.read @w : tensor<16x16xf32>
  %b = ds.read @b : tensor<16xf32>
  ds.report "loss", %loss : tensor<f64>
  ds.report "tokens", %count : tensor<f64>
  ds.report "grad:w", %dw : tensor<16x16xf32>
  ds.report "grad:b", %db : tensor<16xf32>
  ds.report "grad_norm", %norm : tensor<f64>
  %limit = ds.read @train.gradient_clipping : tensor<f64>
  %clip = ds.clip_factor %norm, %limit : (tensor<f64>, tensor<f64>) -> tensor<f64>
  return
}
ds.hyperparameter @train.gradient_clipping = 1.0
ds.hyperparameter @train.optimizer.params.lr = 1.0e-3
ds.hyperparameter @train.optimizer.params.betas.0 = 0.9
ds.hyperparameter @train.optimizer.params.eps = 1.0e-8
ds.hyperparameter @train.optimizer.params.momentum = 0.9
ds.hyperparameter @train.optimizer.params.weight_decay = 0.1
ds.hyperparameter @train.scheduler.params.warmup_steps = 5.0
ds.hyperparameter @train.scheduler.params.total_steps = 20.0
ds.hyperparameter @train.scheduler.params.min_lr = 1.0e-4

// -----

// Twice.
ds.variable parameter @w : tensor<16x16xf32> = normal {stddev = 2.0e-2 : f64, decay}
ds.variable parameter @b : tensor<16xf32> = zeros
// expected-error @below {{'func.func' op T5: an optimizer has been inserted already}}
func.func @train(%dw: tensor<16x16xf32>, %db: tensor<16xf32>, %loss: tensor<f64>, %count: tensor<f64>, %norm: tensor<f64>) {
  %w = ds.read @w : tensor<16x16xf32>
  %b = ds.read @b : tensor<16xf32>
  ds.report "loss", %loss : tensor<f64>
  ds.report "tokens", %count : tensor<f64>
  ds.report "grad:w", %dw : tensor<16x16xf32>
  ds.report "grad:b", %db : tensor<16xf32>
  ds.report "grad_norm", %norm : tensor<f64>
  %limit = ds.read @train.gradient_clipping : tensor<f64>
  %clip = ds.clip_factor %norm, %limit : (tensor<f64>, tensor<f64>) -> tensor<f64>
  return
}
ds.hyperparameter @train.gradient_clipping = 1.0
ds.hyperparameter @train.optimizer.params.lr = 1.0e-3
ds.hyperparameter @train.optimizer.params.betas.0 = 0.9
ds.hyperparameter @train.optimizer.params.betas.1 = 0.95
ds.hyperparameter @train.optimizer.params.eps = 1.0e-8
ds.hyperparameter @train.optimizer.params.momentum = 0.9
ds.hyperparameter @train.optimizer.params.weight_decay = 0.1
ds.hyperparameter @train.scheduler.params.warmup_steps = 5.0
ds.hyperparameter @train.scheduler.params.total_steps = 20.0
ds.hyperparameter @train.scheduler.params.min_lr = 1.0e-4
ds.variable counter @updates : tensor<f64> = zeros
