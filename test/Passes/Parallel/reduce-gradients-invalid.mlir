// RUN: ds-opt --split-input-file --verify-diagnostics --ds-reduce-gradients='ranks=2 zero=1' %s

// expected-error @below {{R1: there is no @train.window or no @train.micro, run ds-accumulate-gradients{always} first}}
module {
  func.func @train() {
    return
  }
}

// -----

module {
  ds.variable window @window.count : tensor<f64> = zeros
  ds.variable window @"grad:w" : tensor<64x48xf32> = zeros
  func.func @train.window(%labels: tensor<4x8xi32>) {
    %0 = ds.count %labels : (tensor<4x8xi32>) -> tensor<f64>
    ds.assign @window.count, %0 : tensor<f64>
    return
  }
  func.func @train.micro(%g: tensor<64x48xf32>) {
    %0 = ds.add %g, %g : (tensor<64x48xf32>, tensor<64x48xf32>) -> tensor<64x48xf32>
    ds.assign @"grad:w", %0 : tensor<64x48xf32>
    return
  }
  func.func @train() {
    %0 = ds.read @"grad:w" : tensor<64x48xf32>
    // expected-error @below {{R2: cannot be shared out over the data-parallel ranks: it is not element-wise}}
    %rows, %columns = ds.factor_sums %0 : (tensor<64x48xf32>) -> (tensor<1x64xf64>, tensor<1x48xf64>)
    return
  }
}
