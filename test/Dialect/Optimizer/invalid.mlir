// RUN: ds-opt %s --split-input-file --verify-diagnostics

func.func @gradient(%w: tensor<4xf32>, %g: tensor<5xf32>, %m: tensor<4xf32>, %v: tensor<4xf32>, %s: tensor<f64>) {
  // expected-error @below {{'ds.adam_update' op O1: gradient is 'tensor<5xf32>', expected 'tensor<4xf32>'}}
  %r:3 = ds.adam_update %w, %g, %m, %v, %s, %s, %s, %s, %s, %s : (tensor<4xf32>, tensor<5xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @m(%w: tensor<4xf32>, %g: tensor<4xf32>, %m: tensor<5xf32>, %v: tensor<4xf32>, %s: tensor<f64>) {
  // expected-error @below {{'ds.adam_update' op O1: m is 'tensor<5xf32>', expected 'tensor<4xf32>'}}
  %r:3 = ds.adam_update %w, %g, %m, %v, %s, %s, %s, %s, %s, %s : (tensor<4xf32>, tensor<4xf32>, tensor<5xf32>, tensor<4xf32>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @v(%w: tensor<4xf32>, %g: tensor<4xf32>, %m: tensor<4xf32>, %v: tensor<5xf32>, %s: tensor<f64>) {
  // expected-error @below {{'ds.adam_update' op O1: v is 'tensor<5xf32>', expected 'tensor<4xf32>'}}
  %r:3 = ds.adam_update %w, %g, %m, %v, %s, %s, %s, %s, %s, %s : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<5xf32>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @new_weight(%w: tensor<4xf32>, %g: tensor<4xf32>, %m: tensor<4xf32>, %v: tensor<4xf32>, %s: tensor<f64>) {
  // expected-error @below {{'ds.adam_update' op O1: new weight is 'tensor<5xf32>', expected 'tensor<4xf32>'}}
  %r:3 = ds.adam_update %w, %g, %m, %v, %s, %s, %s, %s, %s, %s : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<5xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @new_m(%w: tensor<4xf32>, %g: tensor<4xf32>, %m: tensor<4xf32>, %v: tensor<4xf32>, %s: tensor<f64>) {
  // expected-error @below {{'ds.adam_update' op O1: new m is 'tensor<5xf32>', expected 'tensor<4xf32>'}}
  %r:3 = ds.adam_update %w, %g, %m, %v, %s, %s, %s, %s, %s, %s : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<4xf32>, tensor<5xf32>, tensor<4xf32>)
  return
}

// -----

func.func @new_v(%w: tensor<4xf32>, %g: tensor<4xf32>, %m: tensor<4xf32>, %v: tensor<4xf32>, %s: tensor<f64>) {
  // expected-error @below {{'ds.adam_update' op O1: new v is 'tensor<5xf32>', expected 'tensor<4xf32>'}}
  %r:3 = ds.adam_update %w, %g, %m, %v, %s, %s, %s, %s, %s, %s : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<5xf32>)
  return
}

// -----

func.func @sgd_gradient(%w: tensor<4xf32>, %g: tensor<5xf32>, %u: tensor<4xf32>, %s: tensor<f64>) {
  // expected-error @below {{'ds.sgd_update' op O1: gradient is 'tensor<5xf32>', expected 'tensor<4xf32>'}}
  %r:2 = ds.sgd_update %w, %g, %u, %s, %s, %s : (tensor<4xf32>, tensor<5xf32>, tensor<4xf32>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @velocity(%w: tensor<4xf32>, %g: tensor<4xf32>, %u: tensor<5xf32>, %s: tensor<f64>) {
  // expected-error @below {{'ds.sgd_update' op O1: velocity is 'tensor<5xf32>', expected 'tensor<4xf32>'}}
  %r:2 = ds.sgd_update %w, %g, %u, %s, %s, %s : (tensor<4xf32>, tensor<4xf32>, tensor<5xf32>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @sgd_new_weight(%w: tensor<4xf32>, %g: tensor<4xf32>, %u: tensor<4xf32>, %s: tensor<f64>) {
  // expected-error @below {{'ds.sgd_update' op O1: new weight is 'tensor<5xf32>', expected 'tensor<4xf32>'}}
  %r:2 = ds.sgd_update %w, %g, %u, %s, %s, %s : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<5xf32>, tensor<4xf32>)
  return
}

// -----

func.func @new_velocity(%w: tensor<4xf32>, %g: tensor<4xf32>, %u: tensor<4xf32>, %s: tensor<f64>) {
  // expected-error @below {{'ds.sgd_update' op O1: new velocity is 'tensor<5xf32>', expected 'tensor<4xf32>'}}
  %r:2 = ds.sgd_update %w, %g, %u, %s, %s, %s : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<4xf32>, tensor<5xf32>)
  return
}
