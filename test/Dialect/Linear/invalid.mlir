// RUN: ds-opt %s --split-input-file --verify-diagnostics

func.func @weight_rank(%x: tensor<2x512xf32>, %w: tensor<512xf32>) {
  // expected-error @below {{'ds.linear' op L1: weight must have rank 2 and input at least rank 1, found [512] and [2, 512]}}
  %y = ds.linear %x, %w : tensor<2x512xf32>, tensor<512xf32> -> tensor<2x512xf32>
  return
}

// -----

func.func @inner(%x: tensor<2x512xf32>, %w: tensor<768x4xf32>) {
  // expected-error @below {{'ds.linear' op L1: inner dimensions differ: 512 vs 768}}
  %y = ds.linear %x, %w : tensor<2x512xf32>, tensor<768x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @inner_transposed(%x: tensor<2x4xf32>, %w: tensor<4x8xf32>) {
  // expected-error @below {{'ds.linear' op L1: inner dimensions differ: 4 vs 8}}
  %y = ds.linear %x, %w {transpose_weight} : tensor<2x4xf32>, tensor<4x8xf32> -> tensor<2x8xf32>
  return
}

// -----

func.func @bias(%x: tensor<2x4xf32>, %w: tensor<4x8xf32>, %b: tensor<4xf32>) {
  // expected-error @below {{'ds.linear' op L2: bias is [4], expected [8]}}
  %y = ds.linear %x, %w bias %b : tensor<2x4xf32>, tensor<4x8xf32> bias tensor<4xf32> -> tensor<2x8xf32>
  return
}

// -----

func.func @result(%x: tensor<2x4xf32>, %w: tensor<4x8xf32>) {
  // expected-error @below {{'ds.linear' op L3: result is [8, 2], expected [2, 8]}}
  %y = ds.linear %x, %w : tensor<2x4xf32>, tensor<4x8xf32> -> tensor<8x2xf32>
  return
}

// -----

func.func @residual(%x: tensor<2x4xf32>, %w: tensor<4x8xf32>) {
  // expected-error @below {{'ds.linear' op L3: residual is [2, 4], expected [2, 8]}}
  %y = ds.linear %x, %w residual %x : tensor<2x4xf32>, tensor<4x8xf32> residual tensor<2x4xf32> -> tensor<2x8xf32>
  return
}

// -----

func.func @pre_without_activation(%x: tensor<2x4xf32>, %w: tensor<4x8xf32>) {
  // expected-error @below {{'ds.linear' op L4: pre is kept without an activation}}
  %y, %pre = ds.linear %x, %w : tensor<2x4xf32>, tensor<4x8xf32> -> tensor<2x8xf32> pre tensor<2x8xf32>
  return
}

// -----

func.func @pre_shape(%x: tensor<2x4xf32>, %w: tensor<4x8xf32>) {
  // expected-error @below {{'ds.linear' op L4: pre is [2, 4], expected [2, 8]}}
  %y, %pre = ds.linear %x, %w activation relu : tensor<2x4xf32>, tensor<4x8xf32> -> tensor<2x8xf32> pre tensor<2x4xf32>
  return
}

// -----

func.func @types(%x: tensor<2x4xf16>, %w: tensor<4x8xbf16>) {
  // expected-error @below {{'ds.linear' op L5: element types differ: 'f16' vs 'bf16'}}
  %y = ds.linear %x, %w : tensor<2x4xf16>, tensor<4x8xbf16> -> tensor<2x8xf32>
  return
}

// -----

func.func @kept(%x: tensor<2x4xf16>, %w: tensor<4x8xf16>, %b: tensor<8xf16>) {
  // expected-error @below {{'ds.linear' op L5: bias is 'f16', must be f32 or f64}}
  %y = ds.linear %x, %w bias %b : tensor<2x4xf16>, tensor<4x8xf16> bias tensor<8xf16> -> tensor<2x8xf16>
  return
}

// -----

func.func @beside_f64(%x: tensor<2x4xf64>, %w: tensor<4x8xbf16>) {
  // expected-error @below {{'ds.linear' op L5: element types differ: 'f64' vs 'bf16'}}
  %y = ds.linear %x, %w : tensor<2x4xf64>, tensor<4x8xbf16> -> tensor<2x8xf64>
  return
}

// -----

func.func @input_grad_rank(%g: tensor<2x8xf32>, %w: tensor<8xf32>) {
  // expected-error @below {{'ds.linear_input_grad' op LI1: weight must have rank 2 and gradient at least rank 1, found [8] and [2, 8]}}
  %y = ds.linear_input_grad %g, %w : tensor<2x8xf32>, tensor<8xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @input_grad_outer(%g: tensor<2x8xf32>, %w: tensor<8x4xf32>) {
  // expected-error @below {{'ds.linear_input_grad' op LI1: outer dimensions differ: 8 vs 4}}
  %y = ds.linear_input_grad %g, %w : tensor<2x8xf32>, tensor<8x4xf32> -> tensor<2x8xf32>
  return
}

// -----

func.func @input_grad_result(%g: tensor<2x8xf32>, %w: tensor<4x8xf32>) {
  // expected-error @below {{'ds.linear_input_grad' op LI2: result is [2, 8], expected [2, 4]}}
  %y = ds.linear_input_grad %g, %w : tensor<2x8xf32>, tensor<4x8xf32> -> tensor<2x8xf32>
  return
}

// -----

func.func @input_grad_residual(%g: tensor<2x8xf32>, %w: tensor<4x8xf32>) {
  // expected-error @below {{'ds.linear_input_grad' op LI2: residual is [2, 8], expected [2, 4]}}
  %y = ds.linear_input_grad %g, %w residual %g : tensor<2x8xf32>, tensor<4x8xf32> residual tensor<2x8xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @input_grad_pre_shape(%g: tensor<2x8xf32>, %w: tensor<4x8xf32>) {
  // expected-error @below {{'ds.linear_input_grad' op LI2: pre is [2, 8], expected [2, 4]}}
  %y = ds.linear_input_grad %g, %w activation relu at %g : tensor<2x8xf32>, tensor<4x8xf32> pre tensor<2x8xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @input_grad_pre(%g: tensor<2x8xf32>, %w: tensor<4x8xf32>, %p: tensor<2x4xf32>) {
  // expected-error @below {{'ds.linear_input_grad' op LI3: pre and activation come together, found pre with activation none}}
  %y = ds.linear_input_grad %g, %w activation none at %p : tensor<2x8xf32>, tensor<4x8xf32> pre tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @input_grad_types(%g: tensor<2x8xf32>, %w: tensor<4x8xf32>) {
  // expected-error @below {{'ds.linear_input_grad' op LI4: element types differ: 'f32' vs 'f64'}}
  %y = ds.linear_input_grad %g, %w : tensor<2x8xf32>, tensor<4x8xf32> -> tensor<2x4xf64>
  return
}

// -----

func.func @weight_grad_rows(%x: tensor<3x4xf32>, %g: tensor<2x8xf32>) {
  // expected-error @below {{'ds.linear_weight_grad' op LW1: leading dimensions differ: [3, 4] vs [2, 8]}}
  %y = ds.linear_weight_grad %x, %g : tensor<3x4xf32>, tensor<2x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @weight_grad_result(%x: tensor<2x4xf32>, %g: tensor<2x8xf32>) {
  // expected-error @below {{'ds.linear_weight_grad' op LW2: result is [4, 8], expected [8, 4]}}
  %y = ds.linear_weight_grad %x, %g {transpose_weight} : tensor<2x4xf32>, tensor<2x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @weight_grad_init(%x: tensor<2x4xf32>, %g: tensor<2x8xf32>) {
  // expected-error @below {{'ds.linear_weight_grad' op LW3: init is [2, 8], expected [4, 8]}}
  %y = ds.linear_weight_grad %x, %g init %g : tensor<2x4xf32>, tensor<2x8xf32> init tensor<2x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @weight_grad_types(%x: tensor<2x4xf32>, %g: tensor<2x8xf32>) {
  // expected-error @below {{'ds.linear_weight_grad' op LW3: element types differ: 'f32' vs 'f64'}}
  %y = ds.linear_weight_grad %x, %g : tensor<2x4xf32>, tensor<2x8xf32> -> tensor<4x8xf64>
  return
}

// -----

func.func @bias_grad_scalar(%g: tensor<f32>) {
  // expected-error @below {{'ds.bias_grad' op LB1: gradient has no dimension}}
  %y = ds.bias_grad %g : tensor<f32> -> tensor<2xf32>
  return
}

// -----

func.func @bias_grad_result(%g: tensor<2x8xf32>) {
  // expected-error @below {{'ds.bias_grad' op LB1: result is [2], expected [8]}}
  %y = ds.bias_grad %g : tensor<2x8xf32> -> tensor<2xf32>
  return
}

// -----

func.func @bias_grad_init(%g: tensor<2x8xf32>, %i: tensor<2xf32>) {
  // expected-error @below {{'ds.bias_grad' op LB2: init is [2], expected [8]}}
  %y = ds.bias_grad %g init %i : tensor<2x8xf32> init tensor<2xf32> -> tensor<8xf32>
  return
}

// -----

func.func @bias_grad_types(%g: tensor<2x8xf32>) {
  // expected-error @below {{'ds.bias_grad' op LB2: element types differ: 'f32' vs 'f64'}}
  %y = ds.bias_grad %g : tensor<2x8xf32> -> tensor<8xf64>
  return
}

// -----

func.func @weight_grad_kept(%x: tensor<2x4xf16>, %g: tensor<2x8xf16>) {
  // expected-error @below {{'ds.linear_weight_grad' op LW3: result is 'f16', must be f32 or f64}}
  %y = ds.linear_weight_grad %x, %g : tensor<2x4xf16>, tensor<2x8xf16> -> tensor<4x8xf16>
  return
}

// -----

func.func @bias_grad_kept(%g: tensor<2x8xbf16>) {
  // expected-error @below {{'ds.bias_grad' op LB2: result is 'bf16', must be f32 or f64}}
  %y = ds.bias_grad %g : tensor<2x8xbf16> -> tensor<8xbf16>
  return
}
