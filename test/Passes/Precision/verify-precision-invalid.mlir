// RUN: ds-opt %s --split-input-file --verify-diagnostics --ds-verify-precision

func.func @two_types(%x: tensor<4xf32>) {
  %0 = ds.cast %x : (tensor<4xf32>) -> tensor<4xf16>
  // expected-error @below {{'ds.cast' op Y1: holds 'bf16', others hold 'f16'}}
  %1 = ds.cast %x : (tensor<4xf32>) -> tensor<4xbf16>
  return
}

// -----

func.func @wide_operand(%x: tensor<4x4xf32>, %w: tensor<4x4xf16>) {
  // expected-error @below {{'ds.linear' op Y2: operand 0 is 'f32', the policy says two bytes}}
  %y = ds.linear %x, %w : tensor<4x4xf32>, tensor<4x4xf16> -> tensor<4x4xf16>
  return
}

// -----

func.func @narrow_logits(%x: tensor<4x8xf16>, %l: tensor<4xi32>) {
  // expected-error @below {{'ds.cross_entropy' op Y2: operand 0 is 'f16', the policy says f32}}
  %y, %s = ds.cross_entropy %x, %l : (tensor<4x8xf16>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @wide_result(%x: tensor<4x4xf16>) {
  // expected-error @below {{'ds.linear_input_grad' op Y2: result 0 is 'f32', the policy says two bytes}}
  %y = ds.linear_input_grad %x, %x : tensor<4x4xf16>, tensor<4x4xf16> -> tensor<4x4xf32>
  return
}

// -----

// expected-error @below {{'ds.variable' op Y3: a working copy is named half.<parameter>}}
ds.variable working_copy @w16 : tensor<4x4xf16> = zeros

// -----

// expected-error @below {{'ds.variable' op Y3: 'w' is no parameter}}
ds.variable working_copy @half.w : tensor<4x4xf16> = zeros

// -----

ds.variable parameter @w : tensor<4x5xf32> = zeros
// expected-error @below {{'ds.variable' op Y3: is 'tensor<4x4xf16>', the parameter is 'tensor<4x5xf32>'}}
ds.variable working_copy @half.w : tensor<4x4xf16> = zeros

// -----

ds.variable parameter @w : tensor<4x4xf32> = zeros
ds.variable working_copy @half.w : tensor<4x4xf16> = zeros
// expected-error @below {{'func.func' op Y4: assigns 'w' 1 times and 'half.w' 0 times}}
func.func @train(%next: tensor<4x4xf32>) {
  ds.assign @w, %next : tensor<4x4xf32>
  return
}
