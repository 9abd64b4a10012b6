// RUN: ds-opt %s --split-input-file --verify-diagnostics

func.func @key_type(%s: tensor<f64>) {
  // expected-error @below {{'ds.random_key' op X1: result is 'tensor<4xf64>', expected 'tensor<5xf64>'}}
  %k = ds.random_key %s, %s, %s, %s {path = "drop"} : (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> tensor<4xf64>
  return
}

// -----

func.func @no_path(%s: tensor<f64>) {
  // expected-error @below {{'ds.random_key' op X2: the path is empty}}
  %k = ds.random_key %s, %s, %s, %s {path = ""} : (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> tensor<5xf64>
  return
}

// -----

func.func @key(%x: tensor<2x8xf32>, %k: tensor<5xf32>) {
  // expected-error @below {{'ds.dropout' op X3: key is 'tensor<5xf32>', expected 'tensor<5xf64>'}}
  %y = ds.dropout %x, %k {p = 0.1 : f64} : (tensor<2x8xf32>, tensor<5xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @result(%x: tensor<2x8xf32>, %k: tensor<5xf64>) {
  // expected-error @below {{'ds.dropout' op X4: result is 'tensor<8x2xf32>', expected 'tensor<2x8xf32>'}}
  %y = ds.dropout %x, %k {p = 0.1 : f64} : (tensor<2x8xf32>, tensor<5xf64>) -> tensor<8x2xf32>
  return
}

// -----

func.func @scalar(%x: tensor<f32>, %k: tensor<5xf64>) {
  // expected-error @below {{'ds.dropout' op X4: input has no dimension}}
  %y = ds.dropout %x, %k {p = 0.1 : f64} : (tensor<f32>, tensor<5xf64>) -> tensor<f32>
  return
}

// -----

func.func @p(%x: tensor<2x8xf32>, %k: tensor<5xf64>) {
  // expected-error @below {{'ds.dropout' op X5: p must lie in [0, 1], found 1.5}}
  %y = ds.dropout %x, %k {p = 1.5 : f64} : (tensor<2x8xf32>, tensor<5xf64>) -> tensor<2x8xf32>
  return
}
