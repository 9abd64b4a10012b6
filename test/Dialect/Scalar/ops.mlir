// RUN: ds-opt %s --split-input-file --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @scalars
// CHECK: ds.square_sum %{{.*}} : (tensor<64x48xf32>) -> tensor<3xf64>
// CHECK: ds.global_norm %{{.*}}, %{{.*}} : (tensor<3xf64>, tensor<3xf64>) -> tensor<f64>
// CHECK: ds.clip_factor %{{.*}}, %{{.*}} : (tensor<f64>, tensor<f64>) -> tensor<f64>
// CHECK: ds.learning_rate constant %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}{{$}}
// CHECK: ds.learning_rate linear
// CHECK: ds.learning_rate cosine
// CHECK: ds.learning_rate inverse_sqrt %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}{{$}}
// CHECK: ds.learning_rate wsd
// CHECK: ds.learning_rate warmup_lr %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {linear_warmup}
// CHECK: ds.learning_rate warmup_decay_lr
// CHECK: ds.learning_rate warmup_cosine_lr
// CHECK: ds.increment %{{.*}} : (tensor<f64>) -> tensor<f64>
func.func @scalars(%g: tensor<64x48xf32>, %s: tensor<f64>) -> tensor<f64> {
  %sums = ds.square_sum %g : (tensor<64x48xf32>) -> tensor<3xf64>
  %norm = ds.global_norm %sums, %sums : (tensor<3xf64>, tensor<3xf64>) -> tensor<f64>
  %clip = ds.clip_factor %norm, %s : (tensor<f64>, tensor<f64>) -> tensor<f64>
  %a = ds.learning_rate constant %s, %s, %s, %s, %s
  %b = ds.learning_rate linear %s, %s, %s, %s, %s
  %c = ds.learning_rate cosine %s, %s, %s, %s, %s
  %d = ds.learning_rate inverse_sqrt %s, %s, %s, %s, %s, %s
  %e = ds.learning_rate wsd %s, %s, %s, %s, %s, %s
  %f = ds.learning_rate warmup_lr %s, %s, %s, %s, %s {linear_warmup}
  %g1 = ds.learning_rate warmup_decay_lr %s, %s, %s, %s, %s
  %h = ds.learning_rate warmup_cosine_lr %s, %s, %s, %s, %s, %s
  %next = ds.increment %s : (tensor<f64>) -> tensor<f64>
  return %next : tensor<f64>
}

// -----

// CHECK-LABEL: func.func @windows
// CHECK: ds.zeros : () -> tensor<3x5xf32>
// CHECK: ds.increment %{{.*}}, %{{.*}} : (tensor<f64>, tensor<f64>) -> tensor<f64>
// CHECK: ds.increment %{{.*}} {step = 8.000000e+00 : f64} : (tensor<f64>) -> tensor<f64>
// CHECK: ds.unscale %{{.*}}, %{{.*}} : (tensor<f64>, tensor<f64>) -> tensor<f64>
// CHECK: ds.loss_scale_update {{.*}} {consecutive} :
func.func @windows(%s: tensor<f64>) -> tensor<3x5xf32> {
  %z = ds.zeros : () -> tensor<3x5xf32>
  %a = ds.increment %s, %s : (tensor<f64>, tensor<f64>) -> tensor<f64>
  %b = ds.increment %s {step = 8.0 : f64} : (tensor<f64>) -> tensor<f64>
  %c = ds.unscale %s, %s : (tensor<f64>, tensor<f64>) -> tensor<f64>
  %d:4 = ds.loss_scale_update %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s {consecutive} : (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>)
  return %z : tensor<3x5xf32>
}
