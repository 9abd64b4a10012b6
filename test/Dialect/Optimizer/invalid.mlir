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

// -----

func.func @factor_sums_rank(%g: tensor<4xf32>) {
  // expected-error @below {{'ds.factor_sums' op O3: gradient is [4], expected two dimensions}}
  %r:2 = ds.factor_sums %g : (tensor<4xf32>) -> (tensor<1x4xf64>, tensor<1x4xf64>)
  return
}

// -----

func.func @factor_sums_rows(%g: tensor<4x8xf32>) {
  // expected-error @below {{'ds.factor_sums' op O4: row sums is [4], expected [1, 4]}}
  %r:2 = ds.factor_sums %g : (tensor<4x8xf32>) -> (tensor<4xf64>, tensor<1x8xf64>)
  return
}

// -----

func.func @factor_sums_groups(%g: tensor<129x8xf32>) {
  // expected-error @below {{'ds.factor_sums' op O4: column sums is [1, 8], expected [2, 8]}}
  %r:2 = ds.factor_sums %g : (tensor<129x8xf32>) -> (tensor<1x129xf64>, tensor<1x8xf64>)
  return
}

// -----

func.func @factor_sums_type(%g: tensor<4x8xf32>) {
  // expected-error @below {{'ds.factor_sums' op O4: sums are 'tensor<1x4xf32>', expected f64}}
  %r:2 = ds.factor_sums %g : (tensor<4x8xf32>) -> (tensor<1x4xf32>, tensor<1x8xf64>)
  return
}

// -----

func.func @factor_moment_sums(%s: tensor<f64>, %x: tensor<2x5xf64>, %m: tensor<4xf32>) {
  // expected-error @below {{'ds.factor_moment' op O5: sums are 'tensor<2x5xf64>', the moment is 'tensor<4xf32>'}}
  %r = ds.factor_moment %x, %m, %s, %s {terms = 3 : i64} : (tensor<2x5xf64>, tensor<4xf32>, tensor<f64>, tensor<f64>) -> tensor<4xf32>
  return
}

// -----

func.func @factor_moment_type(%s: tensor<f64>, %x: tensor<2x4xf64>, %m: tensor<4xf32>) {
  // expected-error @below {{'ds.factor_moment' op O6: new moment is 'tensor<5xf32>', expected 'tensor<4xf32>'}}
  %r = ds.factor_moment %x, %m, %s, %s {terms = 3 : i64} : (tensor<2x4xf64>, tensor<4xf32>, tensor<f64>, tensor<f64>) -> tensor<5xf32>
  return
}

// -----

func.func @factor_moment_terms(%s: tensor<f64>, %x: tensor<2x4xf64>, %m: tensor<4xf32>) {
  // expected-error @below {{'ds.factor_moment' op O7: terms is 0, must be positive}}
  %r = ds.factor_moment %x, %m, %s, %s {terms = 0 : i64} : (tensor<2x4xf64>, tensor<4xf32>, tensor<f64>, tensor<f64>) -> tensor<4xf32>
  return
}

// -----

func.func @factored_direction(%s: tensor<f64>, %g: tensor<2x4xf32>, %r: tensor<2xf32>, %c: tensor<4xf32>) {
  // expected-error @below {{'ds.factored_direction' op O8: direction is 'tensor<4x2xf32>', the gradient is 'tensor<2x4xf32>'}}
  %d = ds.factored_direction %g, %r, %c, %s, %s, %s : (tensor<2x4xf32>, tensor<2xf32>, tensor<4xf32>, tensor<f64>, tensor<f64>, tensor<f64>) -> tensor<4x2xf32>
  return
}

// -----

func.func @factored_direction_row(%s: tensor<f64>, %g: tensor<2x4xf32>, %r: tensor<2xf32>, %c: tensor<4xf32>) {
  // expected-error @below {{'ds.factored_direction' op O9: row is [4], expected [2]}}
  %d = ds.factored_direction %g, %c, %r, %s, %s, %s : (tensor<2x4xf32>, tensor<4xf32>, tensor<2xf32>, tensor<f64>, tensor<f64>, tensor<f64>) -> tensor<2x4xf32>
  return
}

// -----

func.func @factored_direction_column(%s: tensor<f64>, %g: tensor<2x4xf32>, %r: tensor<2xf32>) {
  // expected-error @below {{'ds.factored_direction' op O9: column is [2], expected [4]}}
  %d = ds.factored_direction %g, %r, %r, %s, %s, %s : (tensor<2x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<f64>, tensor<f64>, tensor<f64>) -> tensor<2x4xf32>
  return
}

// -----

func.func @adafactor_direction(%s: tensor<f64>, %g: tensor<4xf32>, %v: tensor<5xf32>) {
  // expected-error @below {{'ds.adafactor_direction' op O10: v is 'tensor<5xf32>', expected 'tensor<4xf32>'}}
  %d:2 = ds.adafactor_direction %g, %v, %s, %s, %s : (tensor<4xf32>, tensor<5xf32>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}
