// RUN: ds-opt %s --split-input-file --ds-to-plan --verify-diagnostics

func.func @train(%x: tensor<4xf32>) {
  // expected-error @+1 {{cannot turn 'ds.block' into a kernel launch}}
  %0 = ds.block "h.0" -> tensor<4xf32> {
    ds.yield %x : tensor<4xf32>
  }
  ds.report "y", %0 : tensor<4xf32>
  return
}

// -----

// expected-error @+1 {{program 'declared' must be one basic block}}
func.func private @declared(tensor<4xf32>)
