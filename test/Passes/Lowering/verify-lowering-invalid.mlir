// RUN: ds-opt %s --split-input-file --ds-verify-lowering --verify-diagnostics

func.func @block(%x: tensor<4xf32>) {
  // expected-error @+1 {{lowering contract: ds.block must be gone, run ds-inline-blocks}}
  %0 = ds.block "h.0" -> tensor<4xf32> {
    ds.yield %x : tensor<4xf32>
  }
  return
}

// -----

// expected-error @+1 {{lowering contract: program 'returns' must report its results with ds.report, but returns 1}}
func.func @returns(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{lowering contract: program 'declared' must be one basic block, found 0}}
func.func private @declared(tensor<4xf32>)

// -----

func.func @foreign() {
  // expected-error @+1 {{lowering contract: 'arith.constant' is not an op of the ds dialect}}
  %0 = arith.constant dense<0.0> : tensor<4xf32>
  return
}

// -----

func.func @scalar() {
  // expected-error @+2 {{lowering contract: 'arith.constant' is not an op of the ds dialect}}
  // expected-error @+1 {{lowering contract: result must be a tensor of static shape, found 'f32'}}
  %0 = arith.constant 0.0 : f32
  return
}
