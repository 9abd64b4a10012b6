// RUN: ds-opt %s --ds-mixed-precision=type=f16 | FileCheck %s --check-prefix=F16
// RUN: ds-opt %s --ds-mixed-precision | FileCheck %s --check-prefix=BF16
// RUN: ds-opt %s --ds-precision=type=f32 | FileCheck %s --check-prefix=F32
// RUN: ds-opt %s --ds-precision=type=bf16 | FileCheck %s --check-prefix=BF16

// F16: ds.activation relu %{{.*}} : (tensor<4xf16>) -> tensor<4xf16>
// BF16: ds.activation relu %{{.*}} : (tensor<4xbf16>) -> tensor<4xbf16>
// F32: ds.activation relu %{{.*}} : (tensor<4xf32>) -> tensor<4xf32>
func.func @logits(%x: tensor<4xf32>) {
  %y = ds.activation relu %x : (tensor<4xf32>) -> tensor<4xf32>
  return
}
