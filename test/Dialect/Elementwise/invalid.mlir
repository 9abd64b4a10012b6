// RUN: ds-opt %s --split-input-file --verify-diagnostics

func.func @add(%x: tensor<4xf32>, %y: tensor<5xf32>) {
  // expected-error @below {{requires the same type for all operands and results}}
  %0 = ds.add %x, %y : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @activation(%x: tensor<4xf32>) {
  // expected-error @below {{'ds.activation' op E1: function is none}}
  %0 = ds.activation none %x : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @activation_grad(%x: tensor<4xf32>) {
  // expected-error @below {{'ds.activation_grad' op E1: function is none}}
  %0 = ds.activation_grad none %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @dynamic(%x: tensor<?xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor}}
  %0 = ds.activation relu %x : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @cast_to_itself(%x: tensor<4xf16>) {
  // expected-error @below {{'ds.cast' op E2: element types must be two different ones of f32, f16 and bf16, found 'f16' and 'f16'}}
  %0 = ds.cast %x : (tensor<4xf16>) -> tensor<4xf16>
  return
}

// -----

func.func @cast_of_f64(%x: tensor<4xf64>) {
  // expected-error @below {{'ds.cast' op E2: element types must be two different ones of f32, f16 and bf16, found 'f64' and 'f16'}}
  %0 = ds.cast %x : (tensor<4xf64>) -> tensor<4xf16>
  return
}

// -----

func.func @cast_shape(%x: tensor<4xf32>) {
  // expected-error @below {{'ds.cast' op requires the same shape for all operands and results}}
  %0 = ds.cast %x : (tensor<4xf32>) -> tensor<5xf16>
  return
}
