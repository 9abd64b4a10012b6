// RUN: ds-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect

// expected-error @below {{'ds.variable' op V1: stddev must be positive and finite with initializer normal, found 0.000000e+00}}
ds.variable parameter @w : tensor<4xf32> = normal

// -----

// expected-error @below {{'ds.variable' op V1: stddev must be absent with initializer ones, found 1.000000e+00}}
ds.variable parameter @w : tensor<4xf32> = ones {stddev = 1.0 : f64}

// -----

// expected-error @below {{'ds.variable' op V2: only parameters may be in the decay group, this is a counter}}
ds.variable counter @w : tensor<4xf32> = zeros {decay}

// -----

// expected-error @below {{'ds.variable' op V3: the shape must be static, found 'tensor<?xf32>'}}
ds.variable parameter @w : tensor<?xf32> = zeros

// -----

// expected-error @below {{'ds.hyperparameter' op H1: the value must be finite, found 0x7FF0000000000000 : f64}}
ds.hyperparameter @lr = 0x7FF0000000000000

// -----

func.func @f() {
  // expected-error @below {{'ds.read' op U1: @w names no variable or hyper-parameter}}
  %w = ds.read @w : tensor<4xf32>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'ds.read' op U1: @f names no variable or hyper-parameter}}
  %w = ds.read @f : tensor<4xf32>
  return
}

// -----

ds.variable parameter @w : tensor<4xf32> = zeros
func.func @f() {
  // expected-error @below {{'ds.read' op U2: the result is 'tensor<5xf32>', @w is 'tensor<4xf32>'}}
  %w = ds.read @w : tensor<5xf32>
  return
}

// -----

ds.hyperparameter @lr = 0.0
func.func @f() {
  // expected-error @below {{'ds.read' op U2: the result is 'tensor<f32>', @lr is 'tensor<f64>'}}
  %w = ds.read @lr : tensor<f32>
  return
}

// -----

ds.hyperparameter @lr = 0.0
func.func @f(%x: tensor<f64>) {
  // expected-error @below {{'ds.assign' op U3: @lr names no variable}}
  ds.assign @lr, %x : tensor<f64>
  return
}

// -----

ds.variable parameter @w : tensor<4xf32> = zeros
func.func @f(%x: tensor<5xf32>) {
  // expected-error @below {{'ds.assign' op U4: the value is 'tensor<5xf32>', @w is 'tensor<4xf32>'}}
  ds.assign @w, %x : tensor<5xf32>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'ds.block' op B1: the body must end with ds.yield}}
  "ds.block"() <{label = "h.0"}> ({
    "foreign.return"() : () -> ()
  }) : () -> ()
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{'ds.block' op B1: 0 values yielded for 1 results}}
  %y = ds.block "h.0" -> tensor<4xf32> {
    ds.yield
  }
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{'ds.block' op B1: value 0 is 'tensor<4xf32>', the result is 'tensor<5xf32>'}}
  %y = ds.block "h.0" -> tensor<5xf32> {
    ds.yield %x : tensor<4xf32>
  }
  return
}

// -----

func.func @f() {
  // expected-error @below {{'ds.block' op B2: the label is empty}}
  ds.block "" {
    ds.yield
  }
  return
}

// -----

func.func @f() {
  ds.block "outer" {
    // expected-error @below {{'ds.block' op B3: blocks do not nest}}
    ds.block "inner" {
      ds.yield
    }
    ds.yield
  }
  return
}

// -----

func.func @f(%x: tensor<f64>) {
  // expected-error @below {{'ds.report' op P1: the name is empty}}
  ds.report "", %x : tensor<f64>
  return
}

// -----

func.func @f(%x: tensor<f64>) {
  ds.block "h.0" {
    // expected-error @below {{'ds.report' op P2: a report stands outside blocks}}
    ds.report "loss", %x : tensor<f64>
    ds.yield
  }
  return
}

// -----

ds.variable counter @n : tensor<f64> = zeros
func.func @f(%x: tensor<f64>) {
  ds.assign @n, %x : tensor<f64>
  // expected-error @below {{'ds.guard' op G1: @n is assigned before the guard}}
  ds.guard %x, %x, %x
  return
}

// -----

// expected-error @below {{'ds.variable' op V2: only parameters may be frozen, this is a optimizer_state}}
ds.variable optimizer_state @m : tensor<4xf32> = zeros {frozen}

// -----

// expected-error @below {{'ds.variable' op V2: only parameters may be in a group, this is a counter}}
ds.variable counter @n : tensor<f64> = zeros {group = 1 : si64}

// -----

// expected-error @below {{'ds.variable' op V4: a frozen parameter is in the decay group}}
ds.variable parameter @w : tensor<4x4xf32> = zeros {decay, frozen}

// -----

// expected-error @below {{'ds.variable' op V1: value must be finite, and absent with initializer zeros, found 2}}
ds.variable step_state @s : tensor<f64> = zeros {value = 2.0 : f64}

// -----

// expected-error @below {{'ds.schedule' op S1: 1 programs, 2 repetitions}}
ds.schedule [@f] times [1, 2]
func.func @f() {
  return
}

// -----

// expected-error @below {{'ds.schedule' op S1: a repetition must be positive, found 0}}
ds.schedule [@f] times [0]
func.func @f() {
  return
}

// -----

// expected-error @below {{'ds.schedule' op S2: @g names no program}}
ds.schedule [@g] times [1]
ds.hyperparameter @g = 1.0
