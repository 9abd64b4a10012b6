// RUN: ds-opt %s --split-input-file --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @once
// CHECK: ds.once %{{.*}}, %{{.*}} : (tensor<48xf32>, tensor<f64>) -> tensor<48xf32>
func.func @once(%bias: tensor<48xf32>, %rank: tensor<f64>) -> tensor<48xf32> {
  %first = ds.once %bias, %rank : (tensor<48xf32>, tensor<f64>) -> tensor<48xf32>
  return %first : tensor<48xf32>
}

// CHECK-LABEL: func.func @local_ids
// CHECK: ds.local_ids %{{.*}}, %{{.*}} {rows = 66 : i64} : (tensor<2x8xi32>, tensor<f64>) -> tensor<2x8xi32>
func.func @local_ids(%ids: tensor<2x8xi32>, %rank: tensor<f64>) -> tensor<2x8xi32> {
  %mine = ds.local_ids %ids, %rank {rows = 66 : i64} : (tensor<2x8xi32>, tensor<f64>) -> tensor<2x8xi32>
  return %mine : tensor<2x8xi32>
}

// A part of a mask is drawn by the same ops.
// CHECK-LABEL: func.func @part_key
// CHECK: %[[KEY:.*]] = ds.part_key %{{.*}}, %{{.*}} {elements = 64 : i64} : (tensor<5xf64>, tensor<f64>) -> tensor<6xf64>
// CHECK: ds.dropout %{{.*}}, %[[KEY]] {p = 1.000000e-01 : f64} : (tensor<2x64xf32>, tensor<6xf64>) -> tensor<2x64xf32>
func.func @part_key(%x: tensor<2x64xf32>, %key: tensor<5xf64>, %rank: tensor<f64>) -> tensor<2x64xf32> {
  %mine = ds.part_key %key, %rank {elements = 64 : i64} : (tensor<5xf64>, tensor<f64>) -> tensor<6xf64>
  %y = ds.dropout %x, %mine {p = 0.1 : f64} : (tensor<2x64xf32>, tensor<6xf64>) -> tensor<2x64xf32>
  return %y : tensor<2x64xf32>
}

// CHECK-LABEL: func.func @loss
// CHECK: ds.loss_parts %{{.*}}, %{{.*}}, %{{.*}} {classes = 131 : i64} : (tensor<2x8x66xf32>, tensor<2x8xi32>, tensor<f64>) -> (tensor<2x2x8xf32>, tensor<2x8xf32>)
// CHECK: ds.join_loss %{{.*}}, %{{.*}}, %{{.*}} weights %{{.*}} {classes = 131 : i64} : (tensor<2x2x8xf32>, tensor<2x8xf32>, tensor<2x8xi32>, tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>)
// CHECK: ds.cross_entropy_grad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} part %{{.*}} {classes = 131 : i64} : (tensor<2x8x66xf32>, tensor<2x8xi32>, tensor<2x8xf32>, tensor<f64>, tensor<f64>) -> tensor<2x8x66xf32>
func.func @loss(%logits: tensor<2x8x66xf32>, %labels: tensor<2x8xi32>, %mine: tensor<2x8xi32>, %w: tensor<2x8xf32>,
                %seed: tensor<f64>, %rank: tensor<f64>) -> tensor<2x8x66xf32> {
  %parts, %chosen = ds.loss_parts %logits, %mine, %rank {classes = 131 : i64}
      : (tensor<2x8x66xf32>, tensor<2x8xi32>, tensor<f64>) -> (tensor<2x2x8xf32>, tensor<2x8xf32>)
  %losses, %lse = ds.join_loss %parts, %chosen, %labels weights %w {classes = 131 : i64}
      : (tensor<2x2x8xf32>, tensor<2x8xf32>, tensor<2x8xi32>, tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>)
  %d = ds.cross_entropy_grad %logits, %mine, %lse, %seed part %rank {classes = 131 : i64}
      : (tensor<2x8x66xf32>, tensor<2x8xi32>, tensor<2x8xf32>, tensor<f64>, tensor<f64>) -> tensor<2x8x66xf32>
  return %d : tensor<2x8x66xf32>
}

// With smoothing the sum of the logits crosses, too.
// CHECK-LABEL: func.func @smoothed
// CHECK: ds.loss_parts {{.*}} -> (tensor<2x7xf32>, tensor<7xf32>, tensor<7xf32>)
// CHECK: ds.join_loss {{.*}} smoothing %{{.*}}, %{{.*}} {classes = 12 : i64}
func.func @smoothed(%logits: tensor<7x6xf32>, %labels: tensor<7xi32>, %mine: tensor<7xi32>, %s: tensor<f64>, %rank: tensor<f64>) -> tensor<7xf32> {
  %parts, %chosen, %total = ds.loss_parts %logits, %mine, %rank {classes = 12 : i64}
      : (tensor<7x6xf32>, tensor<7xi32>, tensor<f64>) -> (tensor<2x7xf32>, tensor<7xf32>, tensor<7xf32>)
  %losses, %lse = ds.join_loss %parts, %chosen, %labels smoothing %s, %total {classes = 12 : i64}
      : (tensor<2x7xf32>, tensor<7xf32>, tensor<7xi32>, tensor<f64>, tensor<7xf32>) -> (tensor<7xf32>, tensor<7xf32>)
  return %losses : tensor<7xf32>
}
