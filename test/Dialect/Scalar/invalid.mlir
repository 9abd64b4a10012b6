// RUN: ds-opt %s --split-input-file --verify-diagnostics

func.func @square_sum(%x: tensor<2x1024xf32>) {
  // expected-error @below {{'ds.square_sum' op Q1: result is 'tensor<1xf64>', expected 'tensor<2xf64>'}}
  %y = ds.square_sum %x : (tensor<2x1024xf32>) -> tensor<1xf64>
  return
}

// -----

func.func @square_sum_type(%x: tensor<2x1024xf32>) {
  // expected-error @below {{'ds.square_sum' op Q1: result is 'tensor<2xf32>', expected 'tensor<2xf64>'}}
  %y = ds.square_sum %x : (tensor<2x1024xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @norm_empty() {
  // expected-error @below {{'ds.global_norm' op Q2: no operands}}
  %y = ds.global_norm : () -> tensor<f64>
  return
}

// -----

func.func @norm_operand(%x: tensor<f64>) {
  // expected-error @below {{'ds.global_norm' op Q2: operands must be one-dimensional f64 tensors, found 'tensor<f64>'}}
  %y = ds.global_norm %x : (tensor<f64>) -> tensor<f64>
  return
}

// -----

func.func @increment(%x: tensor<f32>) {
  // expected-error @below {{operand #0 must be scalar tensor<f64>, but got 'tensor<f32>'}}
  %y = ds.increment %x : (tensor<f32>) -> tensor<f64>
  return
}

// -----

func.func @extra_absent(%s: tensor<f64>) {
  // expected-error @below {{'ds.learning_rate' op Q3: extra is absent for schedule wsd}}
  %y = ds.learning_rate wsd %s, %s, %s, %s, %s
  return
}

// -----

func.func @extra_given(%s: tensor<f64>) {
  // expected-error @below {{'ds.learning_rate' op Q3: extra is given for schedule cosine}}
  %y = ds.learning_rate cosine %s, %s, %s, %s, %s, %s
  return
}

// -----

func.func @linear_warmup(%s: tensor<f64>) {
  // expected-error @below {{'ds.learning_rate' op Q4: linear_warmup is given for schedule linear}}
  %y = ds.learning_rate linear %s, %s, %s, %s, %s {linear_warmup}
  return
}

// -----

func.func @adafactor_factor(%s: tensor<f64>) {
  // expected-error @below {{'ds.adafactor_factor' op Q5: elements is 0, must be positive}}
  %r = ds.adafactor_factor %s, %s, %s, %s, %s, %s {elements = 0 : i64} : (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> tensor<f64>
  return
}
