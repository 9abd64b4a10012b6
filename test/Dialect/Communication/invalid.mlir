// RUN: ds-opt --split-input-file --verify-diagnostics %s

func.func @empty() {
  // expected-error @below {{CO1: there is no input}}
  "ds.all_reduce"() {axis = 1 : i32} : () -> ()
  return
}

// -----

func.func @types(%a: tensor<4xf32>) {
  // expected-error @below {{results have the types of inputs}}
  %0 = "ds.all_reduce"(%a) {axis = 1 : i32} : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @block(%a: tensor<4xf32>) {
  // expected-error @below {{CO2: block must be positive, found 0}}
  %0 = ds.reduce_scatter data %a {block = 0 : i64} : tensor<4xf32>
  return
}

// -----

func.func @gathered(%a: tensor<4xf32>) {
  // expected-error @below {{CO2: block must be positive, found -1}}
  %0 = ds.all_gather data %a {block = -1 : i64} : tensor<4xf32>
  return
}

// -----

func.func @stage(%a: tensor<4xf32>) {
  // expected-error @below {{CO3: stage -1 and channel 0 must not be negative}}
  ds.send %a to -1 channel 0 : tensor<4xf32>
  return
}

// -----

func.func @channel() {
  // expected-error @below {{CO3: stage 0 and channel -2 must not be negative}}
  %0 = ds.receive from 0 channel -2 : tensor<4xf32>
  return
}

// -----

// expected-error @below {{V5: places must be positive, and 1 for a parameter, found 2}}
ds.variable parameter @w : tensor<4xf32> = zeros {places = 2 : i64}

// -----

// expected-error @below {{V6: cut_axis, logical and cut come together}}
ds.variable parameter @w : tensor<4xf32> = zeros {cut = array<i64: 1, 8, 1>}

// -----

// expected-error @below {{V6: cut must be three positive numbers whose product is that of logical, 8}}
ds.variable parameter @w : tensor<4xf32> = zeros {cut_axis = 2 : i32, logical = array<i64: 8>, cut = array<i64: 1, 7, 1>}
