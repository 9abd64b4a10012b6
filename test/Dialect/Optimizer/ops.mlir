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
