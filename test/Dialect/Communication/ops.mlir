// RUN: ds-opt %s | ds-opt | FileCheck %s

// CHECK-LABEL: func.func @communication
func.func @communication(%a: tensor<64x48xf32>, %b: tensor<3xf64>) {
  // CHECK: ds.all_reduce data %{{.*}}, %{{.*}} : tensor<64x48xf32>, tensor<3xf64>
  %0:2 = ds.all_reduce data %a, %b : tensor<64x48xf32>, tensor<3xf64>
  // CHECK: ds.reduce_scatter data %{{.*}} : tensor<64x48xf32>
  %1 = ds.reduce_scatter data %0#0 {block = 1024 : i64} : tensor<64x48xf32>
  // CHECK: ds.all_gather tensor %{{.*}} {block = 1 : i64} : tensor<3xf64>
  %2 = ds.all_gather tensor %b {block = 1 : i64} : tensor<3xf64>
  // CHECK: ds.send %{{.*}} to 1 channel 0 : tensor<64x48xf32>
  ds.send %1 to 1 channel 0 : tensor<64x48xf32>
  // CHECK: ds.receive from 0 channel 7 : tensor<2x8xf16>
  %3 = ds.receive from 0 channel 7 : tensor<2x8xf16>
  return
}
