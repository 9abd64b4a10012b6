// RUN: ds-opt %s --split-input-file --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @embedding
// CHECK: ds.embedding %{{.*}}, %{{.*}} : tensor<2x8xi32>, tensor<256x16xf32> -> tensor<2x8x16xf32>
// CHECK: ds.embedding %{{.*}}, %{{.*}} positions %{{.*}} : tensor<2x8xi32>, tensor<256x16xf32> positions tensor<32x16xf32> -> tensor<2x8x16xf32>
// CHECK: ds.embedding_grad %{{.*}}, %{{.*}} : tensor<2x8x16xf32>, tensor<2x8xi32> -> tensor<256x16xf32>
// CHECK: ds.embedding_grad %{{.*}}, %{{.*}} init %{{.*}} : tensor<2x8x16xf32>, tensor<2x8xi32> init tensor<256x16xf32> -> tensor<256x16xf32>
// CHECK: ds.position_grad %{{.*}} : (tensor<2x8x16xf32>) -> tensor<32x16xf32>
func.func @embedding(%ids: tensor<2x8xi32>, %t: tensor<256x16xf32>, %p: tensor<32x16xf32>) -> tensor<32x16xf32> {
  %0 = ds.embedding %ids, %t : tensor<2x8xi32>, tensor<256x16xf32> -> tensor<2x8x16xf32>
  %1 = ds.embedding %ids, %t positions %p : tensor<2x8xi32>, tensor<256x16xf32> positions tensor<32x16xf32> -> tensor<2x8x16xf32>
  %2 = ds.embedding_grad %1, %ids : tensor<2x8x16xf32>, tensor<2x8xi32> -> tensor<256x16xf32>
  %3 = ds.embedding_grad %1, %ids init %2 : tensor<2x8x16xf32>, tensor<2x8xi32> init tensor<256x16xf32> -> tensor<256x16xf32>
  %4 = ds.position_grad %1 : (tensor<2x8x16xf32>) -> tensor<32x16xf32>
  return %4 : tensor<32x16xf32>
}

// CHECK-LABEL: func.func @places
// CHECK: ds.embedding %{{.*}}, %{{.*}} positions %{{.*}} at %{{.*}} : tensor<2x8xi32>, tensor<256x16xf32> positions tensor<32x16xf32> at tensor<2x8xi32> -> tensor<2x8x16xf32>
func.func @places(%ids: tensor<2x8xi32>, %t: tensor<256x16xf32>, %p: tensor<32x16xf32>) -> tensor<2x8x16xf32> {
  %0 = ds.embedding %ids, %t positions %p at %ids : tensor<2x8xi32>, tensor<256x16xf32> positions tensor<32x16xf32> at tensor<2x8xi32> -> tensor<2x8x16xf32>
  return %0 : tensor<2x8x16xf32>
}
