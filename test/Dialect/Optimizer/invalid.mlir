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

// -----

func.func @half_shape(%w: tensor<4xf32>, %s: tensor<f64>) {
  // expected-error @below {{'ds.sgd_update' op O2: new half is [5], expected [4]}}
  %r:3 = ds.sgd_update %w, %w, %w, %s, %s, %s : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<5xf16>)
  return
}

// -----

func.func @lion_m(%w: tensor<4xf32>, %m: tensor<5xf32>, %s: tensor<f64>) {
  // expected-error @below {{'ds.lion_update' op O1: m is 'tensor<5xf32>', expected 'tensor<4xf32>'}}
  %r:2 = ds.lion_update %w, %w, %m, %s, %s, %s, %s : (tensor<4xf32>, tensor<4xf32>, tensor<5xf32>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @half_type(%w: tensor<4xf32>, %s: tensor<f64>) {
  // expected-error @below {{'ds.adam_update' op O2: new half is 'tensor<4xf32>', expected f16 or bf16}}
  %r:4 = ds.adam_update %w, %w, %w, %w, %s, %s, %s, %s, %s, %s : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @lamb_direction(%w: tensor<4xf32>, %s: tensor<f64>) {
  // expected-error @below {{'ds.lamb_direction' op O1: direction is 'tensor<5xf32>', expected 'tensor<4xf32>'}}
  %r:3 = ds.lamb_direction %w, %w, %w, %w, %s, %s, %s, %s, %s : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<5xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @descend(%w: tensor<4xf32>, %d: tensor<5xf32>, %s: tensor<f64>) {
  // expected-error @below {{'ds.descend' op O1: direction is 'tensor<5xf32>', expected 'tensor<4xf32>'}}
  %r = ds.descend %w, %d, %s, %s : (tensor<4xf32>, tensor<5xf32>, tensor<f64>, tensor<f64>) -> tensor<4xf32>
  return
}

// -----

func.func @clip_values(%g: tensor<4xf32>, %s: tensor<f64>) {
  // expected-error @below {{'ds.clip_values' op O1: result is 'tensor<5xf32>', expected 'tensor<4xf32>'}}
  %r = ds.clip_values %g, %s, %s : (tensor<4xf32>, tensor<f64>, tensor<f64>) -> tensor<5xf32>
  return
}
