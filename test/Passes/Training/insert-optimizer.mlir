// RUN: ds-opt %s --ds-insert-optimizer="schedule=cosine" | FileCheck %s --check-prefixes=CHECK,ADAMW
// RUN: ds-opt %s --ds-insert-optimizer="optimizer=adam decoupled=false" | FileCheck %s --check-prefixes=CHECK,ADAM
// RUN: ds-opt %s --ds-insert-optimizer="optimizer=adam" | FileCheck %s --check-prefix=ADAMMODE
// RUN: ds-opt %s --ds-insert-optimizer="optimizer=sgd nesterov=true schedule=linear" | FileCheck %s --check-prefix=SGD

// State starts at zero and follows the parameters in the symbol table.
// CHECK: ds.variable parameter @b
// CHECK-NEXT: ds.variable counter @updates : tensor<f64> = zeros
// CHECK-NEXT: ds.variable optimizer_state @adam.m.w : tensor<16x16xf32> = zeros
// CHECK-NEXT: ds.variable optimizer_state @adam.v.w : tensor<16x16xf32> = zeros
// CHECK-NEXT: ds.variable optimizer_state @adam.m.b : tensor<16xf32> = zeros
// CHECK-NEXT: ds.variable optimizer_state @adam.v.b : tensor<16xf32> = zeros
// SGD: ds.variable counter @updates : tensor<f64> = zeros
// SGD-NEXT: ds.variable optimizer_state @sgd.velocity.w : tensor<16x16xf32> = zeros
// SGD-NEXT: ds.variable optimizer_state @sgd.velocity.b : tensor<16xf32> = zeros

// The rate is reported before the guard; after the guard come only updates. No scalar is compiled in, and only the
// decay group reads the decay.
// CHECK-LABEL: func.func @train
// CHECK-SAME: %[[DW:.*]]: tensor<16x16xf32>, %[[DB:.*]]: tensor<16xf32>, %[[LOSS:.*]]: tensor<f64>, %[[COUNT:.*]]: tensor<f64>, %[[NORM:.*]]: tensor<f64>
// CHECK: %[[W:.*]] = ds.read @w
// CHECK: %[[B:.*]] = ds.read @b
// CHECK: %[[CLIP:.*]] = ds.clip_factor
// CHECK-DAG: %[[PEAK:.*]] = ds.read @train.optimizer.params.lr
// CHECK-DAG: %[[FLOOR:.*]] = ds.read @train.scheduler.params.min_lr
// CHECK-DAG: %[[WARMUP:.*]] = ds.read @train.scheduler.params.warmup_steps
// CHECK-DAG: %[[TOTAL:.*]] = ds.read @train.scheduler.params.total_steps
// CHECK-DAG: %[[BETA1:.*]] = ds.read @train.optimizer.params.betas.0
// CHECK-DAG: %[[BETA2:.*]] = ds.read @train.optimizer.params.betas.1
// CHECK-DAG: %[[EPS:.*]] = ds.read @train.optimizer.params.eps
// CHECK-DAG: %[[DECAY:.*]] = ds.read @train.optimizer.params.weight_decay
// CHECK: %[[T:.*]] = ds.read @updates
// ADAMW: %[[RATE:.*]] = ds.learning_rate cosine %[[T]], %[[PEAK]], %[[FLOOR]], %[[WARMUP]], %[[TOTAL]]
// ADAM: %[[RATE:.*]] = ds.learning_rate constant %[[T]], %[[PEAK]], %[[FLOOR]], %[[WARMUP]], %[[TOTAL]]
// CHECK-NEXT: ds.report "learning_rate", %[[RATE]]
// CHECK-NEXT: ds.guard %[[COUNT]], %[[LOSS]], %[[NORM]]
// CHECK-NEXT: %[[M:.*]] = ds.read @adam.m.w
// CHECK-NEXT: %[[V:.*]] = ds.read @adam.v.w
// ADAMW-NEXT: %[[W1:.*]], %[[M1:.*]], %[[V1:.*]] = ds.adam_update %[[W]], %[[DW]], %[[M]], %[[V]], %[[CLIP]], %[[RATE]], %[[BETA1]], %[[BETA2]], %[[EPS]], %[[T]], %[[DECAY]] {decoupled} :
// ADAM-NEXT: %[[W1:.*]], %[[M1:.*]], %[[V1:.*]] = ds.adam_update %[[W]], %[[DW]], %[[M]], %[[V]], %[[CLIP]], %[[RATE]], %[[BETA1]], %[[BETA2]], %[[EPS]], %[[T]], %[[DECAY]] :
// CHECK-NEXT: ds.assign @w, %[[W1]]
// CHECK-NEXT: ds.assign @adam.m.w, %[[M1]]
// CHECK-NEXT: ds.assign @adam.v.w, %[[V1]]
// CHECK: ds.adam_update %[[B]], %[[DB]], {{.*}}, %[[EPS]], %[[T]]{{( {decoupled})?}} :
// CHECK: ds.assign @b
// CHECK: %[[NEXT:.*]] = ds.increment %[[T]]
// CHECK-NEXT: ds.assign @updates, %[[NEXT]]
// CHECK-NEXT: return

// DeepSpeed's Adam is decoupled unless told otherwise.
// ADAMMODE-COUNT-2: ds.adam_update {{.*}} {decoupled}

// SGD-LABEL: func.func @train
// SGD: %[[CLIP:.*]] = ds.clip_factor
// SGD: %[[MOMENTUM:.*]] = ds.read @train.optimizer.params.momentum
// SGD: %[[DECAY:.*]] = ds.read @train.optimizer.params.weight_decay
// SGD: %[[RATE:.*]] = ds.learning_rate linear
// SGD: ds.guard
// SGD: %[[U:.*]] = ds.read @sgd.velocity.w
// SGD-NEXT: %[[W1:.*]], %[[U1:.*]] = ds.sgd_update %{{.*}}, %{{.*}}, %[[U]], %[[CLIP]], %[[RATE]], %[[MOMENTUM]], %[[DECAY]] {nesterov} :
// SGD-NEXT: ds.assign @w, %[[W1]]
// SGD-NEXT: ds.assign @sgd.velocity.w, %[[U1]]
// SGD: ds.sgd_update %{{.*}}, %[[CLIP]], %[[RATE]], %[[MOMENTUM]] {nesterov} :
ds.variable parameter @w : tensor<16x16xf32> = normal {stddev = 2.0e-2 : f64, decay}
ds.variable parameter @b : tensor<16xf32> = zeros
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
