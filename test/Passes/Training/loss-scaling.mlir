// RUN: ds-opt %s --ds-loss-scaling="mode=dynamic initial=1024 consecutive" | FileCheck %s
// RUN: ds-opt %s --ds-loss-scaling=mode=static | FileCheck %s --check-prefix=STATIC
// RUN: ds-opt %s --ds-loss-scaling | FileCheck %s --check-prefix=NONE

// NONE-NOT: loss_scale.scale

// CHECK: ds.variable counter @updates
// CHECK-NEXT: ds.variable step_state @loss_scale.scale : tensor<f64> = constant {value = 1.024000e+03 : f64}
// CHECK-NEXT: ds.variable step_state @loss_scale.good : tensor<f64> = zeros
// CHECK-NEXT: ds.variable step_state @loss_scale.used : tensor<f64> = zeros
// CHECK-NEXT: ds.variable step_state @loss_scale.floored : tensor<f64> = zeros
ds.hyperparameter @train.fp16.loss_scale = 512.0
ds.hyperparameter @train.fp16.loss_scale_window = 1000.0
ds.hyperparameter @train.fp16.hysteresis = 2.0
ds.hyperparameter @train.fp16.min_loss_scale = 1.0
ds.hyperparameter @train.fp16.max_loss_scale = 65536.0
ds.hyperparameter @train.fp16.max_skips_at_floor = 20.0
ds.variable parameter @w : tensor<4x4xf32> = zeros
ds.variable counter @updates : tensor<f64> = zeros

// Backward may start in another program.
// CHECK-LABEL: func.func @train.micro
// CHECK: %[[HERE:.*]] = ds.read @loss_scale.scale
// CHECK: ds.loss_seed %{{.*}}, %[[HERE]] : (tensor<f64>, tensor<f64>)
// STATIC-LABEL: func.func @train.micro
// STATIC: %[[HERE:.*]] = ds.read @train.fp16.loss_scale
// STATIC: ds.loss_seed %{{.*}}, %[[HERE]] : (tensor<f64>, tensor<f64>)
func.func @train.micro(%count: tensor<f64>) {
  %seed = ds.loss_seed %count : (tensor<f64>) -> tensor<f64>
  ds.report "seed", %seed : tensor<f64>
  return
}

// CHECK-LABEL: func.func @train(
// CHECK: %[[WINDOW:.*]] = ds.read @train.fp16.loss_scale_window
// CHECK: %[[HYSTERESIS:.*]] = ds.read @train.fp16.hysteresis
// CHECK: %[[PATIENCE:.*]] = ds.read @train.fp16.max_skips_at_floor
// CHECK: %[[FLOOR:.*]] = ds.read @train.fp16.min_loss_scale
// CHECK: %[[CAP:.*]] = ds.read @train.fp16.max_loss_scale
// CHECK: %[[SCALE:.*]] = ds.read @loss_scale.scale
// CHECK: ds.loss_seed %{{.*}}, %[[SCALE]]
// CHECK: %[[SCALED:.*]] = ds.global_norm
// CHECK: %[[NORM:.*]] = ds.unscale %[[SCALED]], %[[SCALE]]
// CHECK: ds.report "grad_norm", %[[NORM]]
// CHECK: %[[CLIP:.*]] = ds.clip_factor %[[NORM]], %
// CHECK: %[[FACTOR:.*]] = ds.unscale %[[CLIP]], %[[SCALE]]
// CHECK: ds.report "loss_scale", %[[SCALE]]
// CHECK: %[[GOOD:.*]] = ds.read @loss_scale.good
// CHECK: %[[USED:.*]] = ds.read @loss_scale.used
// CHECK: %[[FLOORED:.*]] = ds.read @loss_scale.floored
// CHECK: %[[S:.*]], %[[G:.*]], %[[U:.*]], %[[F:.*]] = ds.loss_scale_update %[[COUNT:.*]], %[[LOSS:.*]], %[[NORM]], %[[SCALE]], %[[GOOD]], %[[USED]], %[[FLOORED]], %[[WINDOW]], %[[HYSTERESIS]], %[[FLOOR]], %[[CAP]] {consecutive}
// CHECK: ds.assign @loss_scale.scale, %[[S]]
// CHECK: ds.assign @loss_scale.good, %[[G]]
// CHECK: ds.assign @loss_scale.used, %[[U]]
// CHECK: ds.assign @loss_scale.floored, %[[F]]
// CHECK: ds.guard %[[COUNT]], %[[LOSS]], %[[NORM]] skips %[[F]] within %[[PATIENCE]]
// CHECK: ds.sgd_update %{{.*}}, %{{.*}}, %{{.*}}, %[[FACTOR]],

// A static scale is its own floor and cap.
// STATIC-LABEL: func.func @train(
// STATIC: %[[FIXED:.*]] = ds.read @train.fp16.loss_scale :
// STATIC: ds.loss_seed %{{.*}}, %[[FIXED]]
// STATIC: ds.report "loss_scale", %[[FIXED]]
func.func @train(%g: tensor<4x4xf32>, %count: tensor<f64>, %loss: tensor<f64>, %limit: tensor<f64>) {
  %w = ds.read @w : tensor<4x4xf32>
  %seed = ds.loss_seed %count : (tensor<f64>) -> tensor<f64>
  ds.report "seed", %seed : tensor<f64>
  %s = ds.square_sum %g : (tensor<4x4xf32>) -> tensor<1xf64>
  %norm = ds.global_norm %s : (tensor<1xf64>) -> tensor<f64>
  ds.report "grad_norm", %norm : tensor<f64>
  %clip = ds.clip_factor %norm, %limit : (tensor<f64>, tensor<f64>) -> tensor<f64>
  ds.guard %count, %loss, %norm
  %next:2 = ds.sgd_update %w, %g, %w, %clip, %limit, %limit : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
  ds.assign @w, %next#0 : tensor<4x4xf32>
  return
}
