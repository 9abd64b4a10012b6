// RUN: ds-opt %s --split-input-file --ds-fuse | FileCheck %s

// The activation becomes part of the product; the value before it is kept because the block yields it.
// CHECK-LABEL: func.func @activation_kept
func.func @activation_kept(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %b: tensor<16xf32>) {
  // CHECK: %[[BLOCK:.*]]:2 = ds.block "h.0"
  %y:2 = ds.block "h.0" -> tensor<4x16xf32>, tensor<4x16xf32> {
    // CHECK-NEXT: %[[RESULT:.*]], %[[PRE:.*]] = ds.linear %{{.*}}, %{{.*}} bias %{{.*}} activation gelu_tanh : {{.*}} pre tensor<4x16xf32>
    // CHECK-NEXT: ds.yield %[[RESULT]], %[[PRE]]
    %0 = ds.linear %x, %w bias %b : tensor<4x8xf32>, tensor<8x16xf32> bias tensor<16xf32> -> tensor<4x16xf32>
    %1 = ds.activation gelu_tanh %0 : (tensor<4x16xf32>) -> tensor<4x16xf32>
    ds.yield %1, %0 : tensor<4x16xf32>, tensor<4x16xf32>
  }
  return
}

// -----

// Nothing else reads the value before the activation: it is not kept.
// CHECK-LABEL: func.func @activation_only
func.func @activation_only(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) {
  %y = ds.block "h.0" -> tensor<4x16xf32> {
    // CHECK: %[[R:.*]] = ds.linear %{{.*}}, %{{.*}} activation relu : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
    // CHECK-NEXT: ds.yield %[[R]]
    %0 = ds.linear %x, %w : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
    %1 = ds.activation relu %0 : (tensor<4x16xf32>) -> tensor<4x16xf32>
    ds.yield %1 : tensor<4x16xf32>
  }
  return
}

// -----

// A sum joins the product it adds up, on either side; a product that is used twice stays as it is.
// CHECK-LABEL: func.func @residual
func.func @residual(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) {
  // CHECK: ds.block "left"
  // CHECK-NEXT: ds.linear %{{.*}}, %{{.*}} residual %{{.*}} :
  // CHECK-NOT: ds.add
  // CHECK: ds.block "right"
  %a = ds.block "left" -> tensor<4x8xf32> {
    %0 = ds.linear %x, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
    %1 = ds.add %0, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ds.yield %1 : tensor<4x8xf32>
  }
  // CHECK-NEXT: ds.linear %{{.*}}, %{{.*}} residual %{{.*}} :
  // CHECK-NOT: ds.add
  // CHECK: ds.block "twice"
  %b = ds.block "right" -> tensor<4x8xf32> {
    %0 = ds.linear %x, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
    %1 = ds.add %x, %0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ds.yield %1 : tensor<4x8xf32>
  }
  // CHECK-NEXT: %[[P:.*]] = ds.linear
  // CHECK-NEXT: ds.add %[[P]], %[[P]]
  %c = ds.block "twice" -> tensor<4x8xf32> {
    %0 = ds.linear %x, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
    %1 = ds.add %0, %0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ds.yield %1 : tensor<4x8xf32>
  }
  return
}

// -----

// What crosses a block boundary is rounded there: no fusion over it.
// CHECK-LABEL: func.func @boundary
func.func @boundary(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) {
  // CHECK: ds.linear
  %a = ds.block "a" -> tensor<4x8xf32> {
    %0 = ds.linear %x, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
    ds.yield %0 : tensor<4x8xf32>
  }
  // CHECK: ds.activation
  // CHECK: ds.add
  %b = ds.block "b" -> tensor<4x8xf32> {
    %0 = ds.activation gelu %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %1 = ds.add %0, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ds.yield %1 : tensor<4x8xf32>
  }
  return
}

// -----

// Gradients: the derivative of the activation, then residual gradients of products and norms.
// CHECK-LABEL: func.func @gradients
func.func @gradients(%g: tensor<4x8xf32>, %w: tensor<16x8xf32>, %pre: tensor<4x16xf32>, %v: tensor<16x16xf32>,
                     %gain: tensor<16xf32>, %mean: tensor<4xf32>) {
  // CHECK: ds.block "h.0.backward"
  // CHECK-NEXT: %[[D:.*]] = ds.linear_input_grad %{{.*}}, %{{.*}} activation gelu at %{{.*}} :
  // CHECK-NEXT: %[[E:.*]] = ds.linear_input_grad %[[D]], %{{.*}} residual %[[D]] :
  // CHECK-NEXT: %[[F:.*]] = ds.layer_norm_input_grad %[[E]], {{.*}} residual %[[D]] :
  // CHECK-NEXT: ds.yield %[[F]]
  %y = ds.block "h.0.backward" -> tensor<4x16xf32> {
    %0 = ds.linear_input_grad %g, %w : tensor<4x8xf32>, tensor<16x8xf32> -> tensor<4x16xf32>
    %1 = ds.activation_grad gelu %0, %pre : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
    %2 = ds.linear_input_grad %1, %v : tensor<4x16xf32>, tensor<16x16xf32> -> tensor<4x16xf32>
    %3 = ds.add %1, %2 : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
    %4 = ds.layer_norm_input_grad %3, %pre, %gain, %mean, %mean : tensor<4x16xf32>, tensor<4x16xf32>, tensor<16xf32>, tensor<4xf32>, tensor<4xf32> -> tensor<4x16xf32>
    %5 = ds.add %1, %4 : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
    ds.yield %5 : tensor<4x16xf32>
  }
  return
}
