// RUN: ds-opt %s --split-input-file --verify-roundtrip | FileCheck %s

// With decay, decoupled, and outside the decay group.
// CHECK-LABEL: func.func @adam
// CHECK: ds.adam_update %{{.*}}, %[[DECAY:.*]] {decoupled} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
// CHECK: ds.adam_update %{{.*}} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
func.func @adam(%w: tensor<4xf32>, %s: tensor<f64>) -> tensor<4xf32> {
  %a:3 = ds.adam_update %w, %w, %w, %w, %s, %s, %s, %s, %s, %s, %s {decoupled} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  %b:3 = ds.adam_update %w, %w, %w, %w, %s, %s, %s, %s, %s, %s : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return %b#0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @sgd
// CHECK: ds.sgd_update %{{.*}} {nesterov} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<4xf32>, tensor<4xf32>)
// CHECK: ds.sgd_update %{{.*}} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<4xf32>, tensor<4xf32>)
func.func @sgd(%w: tensor<4xf32>, %s: tensor<f64>) -> tensor<4xf32> {
  %a:2 = ds.sgd_update %w, %w, %w, %s, %s, %s, %s {nesterov} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<4xf32>, tensor<4xf32>)
  %b:2 = ds.sgd_update %w, %w, %w, %s, %s, %s : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<4xf32>, tensor<4xf32>)
  return %b#0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @lion
// CHECK: ds.lion_update %{{.*}} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<4xf32>, tensor<4xf32>)
// CHECK: ds.lion_update %{{.*}} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<4xf32>, tensor<4xf32>)
func.func @lion(%w: tensor<4xf32>, %s: tensor<f64>) -> tensor<4xf32> {
  %a:2 = ds.lion_update %w, %w, %w, %s, %s, %s, %s, %s : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<4xf32>, tensor<4xf32>)
  %b:2 = ds.lion_update %w, %w, %w, %s, %s, %s, %s : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<4xf32>, tensor<4xf32>)
  return %b#0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @adafactor
// CHECK: ds.update_power %{{.*}} : (tensor<f64>, tensor<f64>) -> tensor<f64>
// CHECK: ds.factor_sums %{{.*}} : (tensor<65x48xf32>) -> (tensor<1x65xf64>, tensor<2x48xf64>)
// CHECK: ds.factor_moment %{{.*}} {terms = 48 : i64} : (tensor<1x65xf64>, tensor<65xf32>, tensor<f64>, tensor<f64>) -> tensor<65xf32>
// CHECK: ds.factor_moment %{{.*}} {terms = 65 : i64} : (tensor<2x48xf64>, tensor<48xf32>, tensor<f64>, tensor<f64>) -> tensor<48xf32>
// CHECK: ds.moment_mean %{{.*}} : (tensor<65xf32>) -> tensor<f64>
// CHECK: ds.factored_direction %{{.*}} : (tensor<65x48xf32>, tensor<65xf32>, tensor<48xf32>, tensor<f64>, tensor<f64>, tensor<f64>) -> tensor<65x48xf32>
// CHECK: ds.adafactor_factor %{{.*}} {elements = 3120 : i64} : (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> tensor<f64>
// CHECK: ds.adafactor_direction %{{.*}} : (tensor<48xf32>, tensor<48xf32>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<48xf32>, tensor<48xf32>)
func.func @adafactor(%g: tensor<65x48xf32>, %r: tensor<65xf32>, %c: tensor<48xf32>, %s: tensor<f64>) -> tensor<65x48xf32> {
  %toward = ds.update_power %s, %s : (tensor<f64>, tensor<f64>) -> tensor<f64>
  %sums:2 = ds.factor_sums %g : (tensor<65x48xf32>) -> (tensor<1x65xf64>, tensor<2x48xf64>)
  %r1 = ds.factor_moment %sums#0, %r, %s, %toward {terms = 48 : i64} : (tensor<1x65xf64>, tensor<65xf32>, tensor<f64>, tensor<f64>) -> tensor<65xf32>
  %c1 = ds.factor_moment %sums#1, %c, %s, %toward {terms = 65 : i64} : (tensor<2x48xf64>, tensor<48xf32>, tensor<f64>, tensor<f64>) -> tensor<48xf32>
  %mean = ds.moment_mean %r1 : (tensor<65xf32>) -> tensor<f64>
  %d = ds.factored_direction %g, %r1, %c1, %mean, %s, %s : (tensor<65x48xf32>, tensor<65xf32>, tensor<48xf32>, tensor<f64>, tensor<f64>, tensor<f64>) -> tensor<65x48xf32>
  %factor = ds.adafactor_factor %s, %s, %s, %s, %s, %s {elements = 3120 : i64} : (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> tensor<f64>
  %b:2 = ds.adafactor_direction %c, %c, %s, %toward, %s : (tensor<48xf32>, tensor<48xf32>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<48xf32>, tensor<48xf32>)
  return %d : tensor<65x48xf32>
}

// CHECK-LABEL: func.func @lamb
// CHECK: ds.clip_values %{{.*}} : (tensor<4xf32>, tensor<f64>, tensor<f64>) -> tensor<4xf32>
// CHECK: ds.lamb_direction %{{.*}} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
// CHECK: ds.trust_ratio %{{.*}} : (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> tensor<f64>
// CHECK: ds.scale_rate %{{.*}} : (tensor<f64>, tensor<f64>) -> tensor<f64>
// CHECK: ds.descend %{{.*}} : (tensor<4xf32>, tensor<4xf32>, tensor<f64>, tensor<f64>) -> tensor<4xf32>
// CHECK: ds.descend %{{.*}} : (tensor<4xf32>, tensor<4xf32>, tensor<f64>, tensor<f64>, tensor<f64>) -> tensor<4xf32>
func.func @lamb(%w: tensor<4xf32>, %s: tensor<f64>) -> tensor<4xf32> {
  %g = ds.clip_values %w, %s, %s : (tensor<4xf32>, tensor<f64>, tensor<f64>) -> tensor<4xf32>
  %d:3 = ds.lamb_direction %w, %g, %w, %w, %s, %s, %s, %s, %s : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  %ratio = ds.trust_ratio %s, %s, %s, %s : (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> tensor<f64>
  %rate = ds.scale_rate %s, %s : (tensor<f64>, tensor<f64>) -> tensor<f64>
  %a = ds.descend %w, %d#0, %rate, %ratio : (tensor<4xf32>, tensor<4xf32>, tensor<f64>, tensor<f64>) -> tensor<4xf32>
  %b = ds.descend %w, %d#0, %rate, %ratio, %s : (tensor<4xf32>, tensor<4xf32>, tensor<f64>, tensor<f64>, tensor<f64>) -> tensor<4xf32>
  return %b : tensor<4xf32>
}
