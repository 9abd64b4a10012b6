// RUN: ds-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{K1: body must be one op, found 2}}
plan.kernel @two results [0] {
^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
  %0 = ds.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = ds.add %0, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
}

// -----

// expected-error @+1 {{K1: operand 0 must be argument 0}}
plan.kernel @swapped results [0] {
^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
  %0 = ds.add %b, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
}

// -----

// expected-error @+1 {{K2: 1 results, but 'results' has 2 entries}}
plan.kernel @many results [0, 1] {
^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
  %0 = ds.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
}

// -----

// expected-error @+1 {{K2: result 0 is held by argument 2 of 2}}
plan.kernel @outside results [2] {
^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
  %0 = ds.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
}

// -----

// expected-error @+1 {{K2: result 0 is 'tensor<f64>', but argument 1 is 'tensor<4xf64>'}}
plan.kernel @type results [1] {
^bb0(%a: tensor<8xi32>, %b: tensor<4xf64>):
  %0 = ds.count %a : (tensor<8xi32>) -> tensor<f64>
}

// -----

// expected-error @+1 {{K3: argument 2 holds 0 results, expected 1}}
plan.kernel @idle results [0] {
^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>):
  %0 = ds.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
}

// -----

plan.program @p {
  // expected-error @+1 {{B2: offset must be a multiple of 64 and not negative, found 32}}
  %0 = plan.buffer "a" activation at 32 : memref<4xf32>
}

// -----

plan.program @p {
  // expected-error @+1 {{B1: expected a plain memref of static shape, found 'memref<?xf32>'}}
  %0 = plan.buffer "a" activation : memref<?xf32>
}

// -----

plan.program @p {
  %0 = plan.buffer "a" activation : memref<4xf32>
  // expected-error @+1 {{W1: bytes 8 to 24 of a buffer of 16}}
  %1 = plan.view %0 at 8 : memref<4xf32> -> memref<4xf32>
}

// -----

plan.program @p {
  %0 = plan.buffer "a" activation : memref<4xf32>
  // expected-error @+1 {{W1: offset 2 is no multiple of the element size 4}}
  %1 = plan.view %0 at 2 : memref<4xf32> -> memref<2xf32>
}

// -----

plan.program @p {
  %0 = plan.buffer "a" activation : memref<4xf32>
  // expected-error @+1 {{X1: no plan.kernel named 'nothing'}}
  plan.launch @nothing(%0) "x" : memref<4xf32>
}

// -----

plan.kernel @add results [0] {
^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
  %0 = ds.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
}
plan.program @p {
  %0 = plan.buffer "a" activation : memref<4xf32>
  %1 = plan.buffer "b" activation : memref<5xf32>
  // expected-error @+1 {{X1: kernel 'add' takes 2 operands, found 1}}
  plan.launch @add(%0) "x" : memref<4xf32>
}

// -----

plan.kernel @add results [0] {
^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
  %0 = ds.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
}
plan.program @p {
  %0 = plan.buffer "a" activation : memref<4xf32>
  %1 = plan.buffer "b" activation : memref<5xf32>
  // expected-error @+1 {{X1: operand 1 of kernel 'add' is 'tensor<4xf32>', found 'memref<5xf32>'}}
  plan.launch @add(%0, %1) "x" : memref<4xf32>, memref<5xf32>
}

// -----

plan.program @p {
  %0 = plan.buffer "a" activation : memref<4xf32>
  %1 = plan.buffer "b" activation : memref<5xf32>
  // expected-error @+1 {{Y1: 16 bytes to 20 bytes}}
  plan.copy %0 to %1 : memref<4xf32> to memref<5xf32>
}

// -----

plan.program @p {
  %0 = plan.buffer "a" output : memref<f64>
  %1 = plan.buffer "b" output : memref<f32>
  // expected-error @+1 {{G1: expected memref<f64>, found 'memref<f32>'}}
  plan.guard %0, %1, %0 : memref<f64>, memref<f32>, memref<f64>
}

// -----

// expected-error @below {{'plan.schedule' op S1: a repetition must be positive, found -1}}
plan.schedule [@train] times [-1]
plan.program @train {
}

// -----

// expected-error @below {{'plan.schedule' op S2: @other names no plan.program}}
plan.schedule [@other] times [1]
