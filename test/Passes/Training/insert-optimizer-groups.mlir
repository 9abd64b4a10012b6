// RUN: ds-opt %s --ds-insert-optimizer="optimizer=lamb schedule=warmup_cosine_lr linear-warmup" | FileCheck %s --check-prefixes=CHECK,LAMB
// RUN: ds-opt %s --ds-insert-optimizer="optimizer=lion schedule=wsd" | FileCheck %s --check-prefixes=CHECK,LION
// RUN: ds-opt %s --ds-insert-optimizer="optimizer=adafactor schedule=wsd" | FileCheck %s --check-prefixes=CHECK,ADAFACTOR

// A frozen parameter has neither state nor update. A group has its own rate and its own decay; gradients are clipped by
// value before anything else. LAMB's and Adafactor's norms are sums over the blocks of a variable. Adafactor's second moment is two
// factors of a matrix, a whole of anything else.
// ADAFACTOR: ds.variable optimizer_state @adafactor.row.w : tensor<64xf32>
// ADAFACTOR: ds.variable optimizer_state @adafactor.column.w : tensor<48xf32>
// ADAFACTOR: ds.variable optimizer_state @adafactor.v.b : tensor<16xf32>
// CHECK-NOT: ds.variable optimizer_state @{{.*}}.frozen
// CHECK-LABEL: func.func @train
// CHECK-SAME: %[[DW:.*]]: tensor<64x48xf32>, %[[DB:.*]]: tensor<16xf32>
// CHECK: %[[CLIP:.*]] = ds.clip_factor
// LION: %[[PEAK:.*]] = ds.read @train.optimizer.params.lr
// LION: %[[LENGTH:.*]] = ds.read @train.scheduler.params.decay_steps
// LION: %[[RATE:.*]] = ds.learning_rate wsd %{{.*}}, %[[PEAK]], %{{.*}}, %{{.*}}, %{{.*}}, %[[LENGTH]]
// LAMB: %[[FLOOR:.*]] = ds.read @train.scheduler.params.cos_min_ratio
// LAMB: %[[START:.*]] = ds.read @train.scheduler.params.warmup_min_ratio
// LAMB: %[[RATE:.*]] = ds.learning_rate warmup_cosine_lr %{{.*}}, %{{.*}}, %[[FLOOR]], %{{.*}}, %{{.*}}, %[[START]] {linear_warmup}
// ADAFACTOR: %[[LEAST:.*]] = ds.read @train.optimizer.params.eps.1
// ADAFACTOR: %[[MOST:.*]] = ds.read @train.optimizer.params.d
// ADAFACTOR: %[[UPDATES:.*]] = ds.read @updates
// ADAFACTOR: %[[RATE:.*]] = ds.learning_rate wsd
// CHECK: ds.report "learning_rate", %[[RATE]]
// ADAFACTOR: %[[TOWARD:.*]] = ds.update_power %[[UPDATES]], %{{.*}}
// CHECK: %[[SCALE:.*]] = ds.read @train.param_groups.1.lr_scale
// CHECK: %[[GROUP:.*]] = ds.scale_rate %[[RATE]], %[[SCALE]]
// CHECK: %[[DECAY:.*]] = ds.read @train.param_groups.1.weight_decay
// CHECK: %[[LIMIT:.*]] = ds.read @train.gradient_clipping_value
// CHECK: ds.guard
// CHECK: %[[GW:.*]] = ds.clip_values %[[DW]], %[[CLIP]], %[[LIMIT]]
// LION: ds.lion_update %[[W:.*]], %[[GW]], %{{.*}}, %[[CLIP]], %[[RATE]], %{{.*}}, %{{.*}} :
// LAMB: %[[D:.*]], %{{.*}}, %{{.*}} = ds.lamb_direction %[[W:.*]], %[[GW]],
// LAMB: %[[SW:.*]] = ds.square_sum %[[W]] : (tensor<64x48xf32>) -> tensor<3xf64>
// LAMB: %[[NW:.*]] = ds.global_norm %[[SW]]
// LAMB: %[[SD:.*]] = ds.square_sum %[[D]]
// LAMB: %[[ND:.*]] = ds.global_norm %[[SD]]
// LAMB: %[[RATIO:.*]] = ds.trust_ratio %[[NW]], %[[ND]],
// LAMB: %[[W1:.*]] = ds.descend %[[W]], %[[D]], %[[RATE]], %[[RATIO]] :
// LAMB: ds.assign @w, %[[W1]]
// ADAFACTOR: %[[ROWS:.*]], %[[COLUMNS:.*]] = ds.factor_sums %[[GW]]
// ADAFACTOR: %[[R:.*]] = ds.factor_moment %[[ROWS]], %{{.*}}, %[[CLIP]], %[[TOWARD]] {terms = 48 : i64}
// ADAFACTOR: %[[C:.*]] = ds.factor_moment %[[COLUMNS]], %{{.*}}, %[[CLIP]], %[[TOWARD]] {terms = 64 : i64}
// ADAFACTOR: %[[MEAN:.*]] = ds.moment_mean %[[R]]
// ADAFACTOR: %[[D:.*]] = ds.factored_direction %[[GW]], %[[R]], %[[C]], %[[MEAN]], %[[CLIP]],
// ADAFACTOR: ds.assign @adafactor.row.w, %[[R]]
// ADAFACTOR: ds.assign @adafactor.column.w, %[[C]]
// ADAFACTOR: %[[SW:.*]] = ds.square_sum %[[W:.*]] : (tensor<64x48xf32>) -> tensor<3xf64>
// ADAFACTOR: %[[NW:.*]] = ds.global_norm %[[SW]]
// ADAFACTOR: %[[SD:.*]] = ds.square_sum %[[D]]
// ADAFACTOR: %[[ND:.*]] = ds.global_norm %[[SD]]
// ADAFACTOR: %[[FACTOR:.*]] = ds.adafactor_factor %[[RATE]], %[[NW]], %[[ND]], %[[UPDATES]], %[[LEAST]], %[[MOST]] {elements = 3072 : i64}
// ADAFACTOR: %[[W1:.*]] = ds.descend %[[W]], %[[D]], %[[RATE]], %[[FACTOR]] :
// ADAFACTOR: ds.assign @w, %[[W1]]
// CHECK: %[[GB:.*]] = ds.clip_values %[[DB]]
// LION: ds.lion_update %{{.*}}, %[[GB]], %{{.*}}, %[[CLIP]], %[[GROUP]], %{{.*}}, %{{.*}}, %[[DECAY]] :
// LAMB: ds.lamb_direction {{.*}}, %[[DECAY]] :
// LAMB: ds.descend {{.*}}, %[[GROUP]],
// ADAFACTOR: %[[DB1:.*]], %[[VB1:.*]] = ds.adafactor_direction %[[GB]], %{{.*}}, %[[CLIP]], %[[TOWARD]],
// ADAFACTOR: ds.assign @adafactor.v.b, %[[VB1]]
// ADAFACTOR: ds.descend %{{.*}}, %[[DB1]], %[[GROUP]], %{{.*}}, %[[DECAY]] :
// CHECK-NOT: ds.assign @frozen
// CHECK: return
ds.variable parameter @w : tensor<64x48xf32> = normal {stddev = 2.0e-2 : f64}
ds.variable parameter @frozen : tensor<16xf32> = ones {frozen}
ds.variable parameter @b : tensor<16xf32> = zeros {decay, group = 1 : si64}
func.func @train(%dw: tensor<64x48xf32>, %db: tensor<16xf32>, %loss: tensor<f64>, %count: tensor<f64>, %norm: tensor<f64>) {
  %w = ds.read @w : tensor<64x48xf32>
  %b = ds.read @b : tensor<16xf32>
  ds.report "loss", %loss : tensor<f64>
  ds.report "tokens", %count : tensor<f64>
  ds.report "grad:w", %dw : tensor<64x48xf32>
  ds.report "grad:b", %db : tensor<16xf32>
  ds.report "grad_norm", %norm : tensor<f64>
  %limit = ds.read @train.gradient_clipping : tensor<f64>
  %clip = ds.clip_factor %norm, %limit : (tensor<f64>, tensor<f64>) -> tensor<f64>
  return
}
ds.hyperparameter @train.gradient_clipping = 0.0
ds.hyperparameter @train.gradient_clipping_value = 0.5
ds.hyperparameter @train.param_groups.1.lr_scale = 0.1
ds.hyperparameter @train.param_groups.1.weight_decay = 0.2
ds.hyperparameter @train.optimizer.params.lr = 1.0e-3
ds.hyperparameter @train.optimizer.params.betas.0 = 0.9
ds.hyperparameter @train.optimizer.params.betas.1 = 0.95
ds.hyperparameter @train.optimizer.params.eps = 1.0e-8
ds.hyperparameter @train.optimizer.params.eps.0 = 1.0e-7
ds.hyperparameter @train.optimizer.params.eps.1 = 1.0e-3
ds.hyperparameter @train.optimizer.params.beta2_decay = -0.8
ds.hyperparameter @train.optimizer.params.d = 1.0
ds.hyperparameter @train.optimizer.params.min_coeff = 0.01
ds.hyperparameter @train.optimizer.params.max_coeff = 10.0
ds.hyperparameter @train.optimizer.params.weight_decay = 0.1
ds.hyperparameter @train.scheduler.params.warmup_steps = 5.0
ds.hyperparameter @train.scheduler.params.total_steps = 20.0
ds.hyperparameter @train.scheduler.params.min_lr = 1.0e-4
ds.hyperparameter @train.scheduler.params.decay_steps = 4.0
ds.hyperparameter @train.scheduler.params.cos_min_ratio = 0.1
ds.hyperparameter @train.scheduler.params.warmup_min_ratio = 0.1
