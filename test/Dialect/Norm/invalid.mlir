// RUN: ds-opt %s --split-input-file --verify-diagnostics

func.func @scalar(%x: tensor<f32>, %g: tensor<16xf32>, %b: tensor<16xf32>) {
  // expected-error @below {{'ds.layer_norm' op N1: input has no dimension}}
  %y, %m, %r = ds.layer_norm %x, %g, %b {eps = 1.0e-5 : f64} : (tensor<f32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @gain(%x: tensor<4x16xf32>, %g: tensor<8xf32>, %b: tensor<16xf32>) {
  // expected-error @below {{'ds.layer_norm' op N1: gain is [8], expected [16]}}
  %y, %m, %r = ds.layer_norm %x, %g, %b {eps = 1.0e-5 : f64} : (tensor<4x16xf32>, tensor<8xf32>, tensor<16xf32>) -> (tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @bias(%x: tensor<4x16xf32>, %g: tensor<16xf32>, %b: tensor<1x16xf32>) {
  // expected-error @below {{'ds.layer_norm' op N1: bias is [1, 16], expected [16]}}
  %y, %m, %r = ds.layer_norm %x, %g, %b {eps = 1.0e-5 : f64} : (tensor<4x16xf32>, tensor<16xf32>, tensor<1x16xf32>) -> (tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @eps(%x: tensor<4x16xf32>, %g: tensor<16xf32>, %b: tensor<16xf32>) {
  // expected-error @below {{'ds.layer_norm' op N2: eps must be positive, found 0.000000e+00 : f64}}
  %y, %m, %r = ds.layer_norm %x, %g, %b {eps = 0.0 : f64} : (tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @eps_nan(%x: tensor<4x16xf32>, %g: tensor<16xf32>, %b: tensor<16xf32>) {
  // expected-error @below {{'ds.layer_norm' op N2: eps must be positive, found 0x7FF8000000000000 : f64}}
  %y, %m, %r = ds.layer_norm %x, %g, %b {eps = 0x7FF8000000000000 : f64} : (tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @mean(%x: tensor<4x16xf32>, %g: tensor<16xf32>, %b: tensor<16xf32>) {
  // expected-error @below {{'ds.layer_norm' op N3: mean is [16], expected [4]}}
  %y, %m, %r = ds.layer_norm %x, %g, %b {eps = 1.0e-5 : f64} : (tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<4x16xf32>, tensor<16xf32>, tensor<4xf32>)
  return
}

// -----

func.func @rstd(%x: tensor<4x16xf32>, %g: tensor<16xf32>, %b: tensor<16xf32>) {
  // expected-error @below {{'ds.layer_norm' op N3: rstd is [4, 1], expected [4]}}
  %y, %m, %r = ds.layer_norm %x, %g, %b {eps = 1.0e-5 : f64} : (tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<4x16xf32>, tensor<4xf32>, tensor<4x1xf32>)
  return
}

// -----

func.func @result(%x: tensor<4x16xf32>, %g: tensor<16xf32>, %b: tensor<16xf32>) {
  // expected-error @below {{'ds.layer_norm' op N3: result is [16, 4], expected [4, 16]}}
  %y, %m, %r = ds.layer_norm %x, %g, %b {eps = 1.0e-5 : f64} : (tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<16x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @types(%x: tensor<4x16xf32>, %g: tensor<16xf32>, %b: tensor<16xf32>) {
  // expected-error @below {{'ds.layer_norm' op N4: element types differ: 'f32' vs 'f64'}}
  %y, %m, %r = ds.layer_norm %x, %g, %b {eps = 1.0e-5 : f64} : (tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<4x16xf32>, tensor<4xf64>, tensor<4xf32>)
  return
}

// -----

func.func @input_grad_scalar(%d: tensor<4x16xf32>, %x: tensor<f32>, %g: tensor<16xf32>, %m: tensor<4xf32>, %r: tensor<4xf32>) {
  // expected-error @below {{'ds.layer_norm_input_grad' op NI1: input has no dimension}}
  %y = ds.layer_norm_input_grad %d, %x, %g, %m, %r : tensor<4x16xf32>, tensor<f32>, tensor<16xf32>, tensor<4xf32>, tensor<4xf32> -> tensor<4x16xf32>
  return
}

// -----

func.func @input_grad_gain(%d: tensor<4x16xf32>, %x: tensor<4x16xf32>, %g: tensor<4xf32>, %m: tensor<4xf32>, %r: tensor<4xf32>) {
  // expected-error @below {{'ds.layer_norm_input_grad' op NI1: gain is [4], expected [16]}}
  %y = ds.layer_norm_input_grad %d, %x, %g, %m, %r : tensor<4x16xf32>, tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32> -> tensor<4x16xf32>
  return
}

// -----

func.func @input_grad_mean(%d: tensor<4x16xf32>, %x: tensor<4x16xf32>, %g: tensor<16xf32>, %m: tensor<16xf32>, %r: tensor<4xf32>) {
  // expected-error @below {{'ds.layer_norm_input_grad' op NI2: mean is [16], expected [4]}}
  %y = ds.layer_norm_input_grad %d, %x, %g, %m, %r : tensor<4x16xf32>, tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<4xf32> -> tensor<4x16xf32>
  return
}

// -----

func.func @input_grad_rstd(%d: tensor<4x16xf32>, %x: tensor<4x16xf32>, %g: tensor<16xf32>, %m: tensor<4xf32>, %r: tensor<16xf32>) {
  // expected-error @below {{'ds.layer_norm_input_grad' op NI2: rstd is [16], expected [4]}}
  %y = ds.layer_norm_input_grad %d, %x, %g, %m, %r : tensor<4x16xf32>, tensor<4x16xf32>, tensor<16xf32>, tensor<4xf32>, tensor<16xf32> -> tensor<4x16xf32>
  return
}

// -----

func.func @input_grad_gradient(%d: tensor<16x4xf32>, %x: tensor<4x16xf32>, %g: tensor<16xf32>, %m: tensor<4xf32>, %r: tensor<4xf32>) {
  // expected-error @below {{'ds.layer_norm_input_grad' op NI3: gradient is [16, 4], expected [4, 16]}}
  %y = ds.layer_norm_input_grad %d, %x, %g, %m, %r : tensor<16x4xf32>, tensor<4x16xf32>, tensor<16xf32>, tensor<4xf32>, tensor<4xf32> -> tensor<4x16xf32>
  return
}

// -----

func.func @input_grad_result(%d: tensor<4x16xf32>, %x: tensor<4x16xf32>, %g: tensor<16xf32>, %m: tensor<4xf32>, %r: tensor<4xf32>) {
  // expected-error @below {{'ds.layer_norm_input_grad' op NI3: result is [4], expected [4, 16]}}
  %y = ds.layer_norm_input_grad %d, %x, %g, %m, %r : tensor<4x16xf32>, tensor<4x16xf32>, tensor<16xf32>, tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @input_grad_residual(%d: tensor<4x16xf32>, %x: tensor<4x16xf32>, %g: tensor<16xf32>, %m: tensor<4xf32>, %r: tensor<4xf32>, %s: tensor<4xf32>) {
  // expected-error @below {{'ds.layer_norm_input_grad' op NI3: residual is [4], expected [4, 16]}}
  %y = ds.layer_norm_input_grad %d, %x, %g, %m, %r residual %s : tensor<4x16xf32>, tensor<4x16xf32>, tensor<16xf32>, tensor<4xf32>, tensor<4xf32> residual tensor<4xf32> -> tensor<4x16xf32>
  return
}

// -----

func.func @input_grad_types(%d: tensor<4x16xf32>, %x: tensor<4x16xf32>, %g: tensor<16xbf16>, %m: tensor<4xf32>, %r: tensor<4xf32>) {
  // expected-error @below {{'ds.layer_norm_input_grad' op NI4: gain is 'bf16', must be f32 or f64}}
  %y = ds.layer_norm_input_grad %d, %x, %g, %m, %r : tensor<4x16xf32>, tensor<4x16xf32>, tensor<16xbf16>, tensor<4xf32>, tensor<4xf32> -> tensor<4x16xf32>
  return
}

// -----

func.func @parameter_grad_gradient(%d: tensor<16x4xf32>, %x: tensor<4x16xf32>, %m: tensor<4xf32>, %r: tensor<4xf32>) {
  // expected-error @below {{'ds.layer_norm_parameter_grad' op NP1: gradient is [16, 4], expected [4, 16]}}
  %y, %z = ds.layer_norm_parameter_grad %d, %x, %m, %r : (tensor<16x4xf32>, tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<16xf32>, tensor<16xf32>)
  return
}

// -----

func.func @parameter_grad_mean(%d: tensor<4x16xf32>, %x: tensor<4x16xf32>, %m: tensor<16xf32>, %r: tensor<4xf32>) {
  // expected-error @below {{'ds.layer_norm_parameter_grad' op NP2: mean is [16], expected [4]}}
  %y, %z = ds.layer_norm_parameter_grad %d, %x, %m, %r : (tensor<4x16xf32>, tensor<4x16xf32>, tensor<16xf32>, tensor<4xf32>) -> (tensor<16xf32>, tensor<16xf32>)
  return
}

// -----

func.func @parameter_grad_rstd(%d: tensor<4x16xf32>, %x: tensor<4x16xf32>, %m: tensor<4xf32>, %r: tensor<16xf32>) {
  // expected-error @below {{'ds.layer_norm_parameter_grad' op NP2: rstd is [16], expected [4]}}
  %y, %z = ds.layer_norm_parameter_grad %d, %x, %m, %r : (tensor<4x16xf32>, tensor<4x16xf32>, tensor<4xf32>, tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
  return
}

// -----

func.func @parameter_grad_scalar(%d: tensor<f32>, %x: tensor<f32>, %m: tensor<f32>, %r: tensor<f32>) {
  // expected-error @below {{'ds.layer_norm_parameter_grad' op NP3: input has no dimension}}
  %y, %z = ds.layer_norm_parameter_grad %d, %x, %m, %r : (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<16xf32>, tensor<16xf32>)
  return
}

// -----

func.func @parameter_grad_gain(%d: tensor<4x16xf32>, %x: tensor<4x16xf32>, %m: tensor<4xf32>, %r: tensor<4xf32>) {
  // expected-error @below {{'ds.layer_norm_parameter_grad' op NP3: dgain is [4], expected [16]}}
  %y, %z = ds.layer_norm_parameter_grad %d, %x, %m, %r : (tensor<4x16xf32>, tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<16xf32>)
  return
}

// -----

func.func @parameter_grad_bias(%d: tensor<4x16xf32>, %x: tensor<4x16xf32>, %m: tensor<4xf32>, %r: tensor<4xf32>) {
  // expected-error @below {{'ds.layer_norm_parameter_grad' op NP3: dbias is [4], expected [16]}}
  %y, %z = ds.layer_norm_parameter_grad %d, %x, %m, %r : (tensor<4x16xf32>, tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<16xf32>, tensor<4xf32>)
  return
}

// -----

func.func @parameter_grad_types(%d: tensor<4x16xf32>, %x: tensor<4x16xf32>, %m: tensor<4xf32>, %r: tensor<4xf32>) {
  // expected-error @below {{'ds.layer_norm_parameter_grad' op NP4: element types differ: 'f32' vs 'f64'}}
  %y, %z = ds.layer_norm_parameter_grad %d, %x, %m, %r : (tensor<4x16xf32>, tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<16xf64>, tensor<16xf32>)
  return
}

// -----

func.func @kept_statistics(%x: tensor<4x16xf16>, %g: tensor<16xf32>, %b: tensor<16xf32>) {
  // expected-error @below {{'ds.layer_norm' op N4: mean is 'f16', must be f32 or f64}}
  %y, %m, %r = ds.layer_norm %x, %g, %b {eps = 1.0e-5 : f64} : (tensor<4x16xf16>, tensor<16xf32>, tensor<16xf32>) -> (tensor<4x16xf16>, tensor<4xf16>, tensor<4xf16>)
  return
}

// -----

func.func @kept_gradients(%x: tensor<4x16xf16>, %m: tensor<4xf32>) {
  // expected-error @below {{'ds.layer_norm_parameter_grad' op NP4: dgain is 'f16', must be f32 or f64}}
  %g, %b = ds.layer_norm_parameter_grad %x, %x, %m, %m : (tensor<4x16xf16>, tensor<4x16xf16>, tensor<4xf32>, tensor<4xf32>) -> (tensor<16xf16>, tensor<16xf16>)
  return
}
