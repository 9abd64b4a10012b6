// RUN: ds-opt %s --split-input-file --verify-diagnostics

func.func @scalar(%x: tensor<f32>, %l: tensor<2x8xi32>) {
  // expected-error @below {{'ds.cross_entropy' op C1: logits have no dimension}}
  %y, %s = ds.cross_entropy %x, %l : (tensor<f32>, tensor<2x8xi32>) -> (tensor<2x8xf32>, tensor<2x8xf32>)
  return
}

// -----

func.func @labels(%x: tensor<2x8x256xf32>, %l: tensor<8x2xi32>) {
  // expected-error @below {{'ds.cross_entropy' op C1: labels is [8, 2], expected [2, 8]}}
  %y, %s = ds.cross_entropy %x, %l : (tensor<2x8x256xf32>, tensor<8x2xi32>) -> (tensor<2x8xf32>, tensor<2x8xf32>)
  return
}

// -----

func.func @losses(%x: tensor<2x8x256xf32>, %l: tensor<2x8xi32>) {
  // expected-error @below {{'ds.cross_entropy' op C1: losses is [2], expected [2, 8]}}
  %y, %s = ds.cross_entropy %x, %l : (tensor<2x8x256xf32>, tensor<2x8xi32>) -> (tensor<2xf32>, tensor<2x8xf32>)
  return
}

// -----

func.func @lse(%x: tensor<2x8x256xf32>, %l: tensor<2x8xi32>) {
  // expected-error @below {{'ds.cross_entropy' op C1: lse is [8], expected [2, 8]}}
  %y, %s = ds.cross_entropy %x, %l : (tensor<2x8x256xf32>, tensor<2x8xi32>) -> (tensor<2x8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @types(%x: tensor<2x8x256xf32>, %l: tensor<2x8xi32>) {
  // expected-error @below {{'ds.cross_entropy' op C2: element types differ: 'f32' vs 'f64'}}
  %y, %s = ds.cross_entropy %x, %l : (tensor<2x8x256xf32>, tensor<2x8xi32>) -> (tensor<2x8xf32>, tensor<2x8xf64>)
  return
}

// -----

func.func @grad_labels(%x: tensor<2x8x256xf32>, %l: tensor<8x2xi32>, %s: tensor<2x8xf32>, %seed: tensor<f64>) {
  // expected-error @below {{'ds.cross_entropy_grad' op C1: labels is [8, 2], expected [2, 8]}}
  %y = ds.cross_entropy_grad %x, %l, %s, %seed : (tensor<2x8x256xf32>, tensor<8x2xi32>, tensor<2x8xf32>, tensor<f64>) -> tensor<2x8x256xf32>
  return
}

// -----

func.func @grad_lse(%x: tensor<2x8x256xf32>, %l: tensor<2x8xi32>, %s: tensor<8xf32>, %seed: tensor<f64>) {
  // expected-error @below {{'ds.cross_entropy_grad' op C1: lse is [8], expected [2, 8]}}
  %y = ds.cross_entropy_grad %x, %l, %s, %seed : (tensor<2x8x256xf32>, tensor<2x8xi32>, tensor<8xf32>, tensor<f64>) -> tensor<2x8x256xf32>
  return
}

// -----

func.func @grad_result(%x: tensor<2x8x256xf32>, %l: tensor<2x8xi32>, %s: tensor<2x8xf32>, %seed: tensor<f64>) {
  // expected-error @below {{'ds.cross_entropy_grad' op C4: result is [2, 8], expected [2, 8, 256]}}
  %y = ds.cross_entropy_grad %x, %l, %s, %seed : (tensor<2x8x256xf32>, tensor<2x8xi32>, tensor<2x8xf32>, tensor<f64>) -> tensor<2x8xf32>
  return
}

// -----

func.func @grad_types(%x: tensor<2x8x256xf32>, %l: tensor<2x8xi32>, %s: tensor<2x8xf32>, %seed: tensor<f64>) {
  // expected-error @below {{'ds.cross_entropy_grad' op C4: element types differ: 'f32' vs 'f64'}}
  %y = ds.cross_entropy_grad %x, %l, %s, %seed : (tensor<2x8x256xf32>, tensor<2x8xi32>, tensor<2x8xf32>, tensor<f64>) -> tensor<2x8x256xf64>
  return
}

// -----

func.func @seed(%x: tensor<2x8x256xf32>, %l: tensor<2x8xi32>, %s: tensor<2x8xf32>, %seed: tensor<f32>) {
  // expected-error @below {{operand #3 must be scalar tensor<f64>, but got 'tensor<f32>'}}
  %y = ds.cross_entropy_grad %x, %l, %s, %seed : (tensor<2x8x256xf32>, tensor<2x8xi32>, tensor<2x8xf32>, tensor<f32>) -> tensor<2x8x256xf32>
  return
}

// -----

func.func @count(%l: tensor<i32>) {
  // expected-error @below {{'ds.count' op C5: labels have no dimension}}
  %y = ds.count %l : (tensor<i32>) -> tensor<f64>
  return
}

// -----

func.func @mean(%l: tensor<f32>, %c: tensor<f64>) {
  // expected-error @below {{'ds.token_mean' op C6: losses have no dimension}}
  %y = ds.token_mean %l, %c : (tensor<f32>, tensor<f64>) -> tensor<f64>
  return
}

// -----

func.func @slice_negative(%x: tensor<2x8x16xf32>) {
  // expected-error @below {{'ds.slice_rows' op R1: rows [-1, -1 + 4) lie outside the input's 16}}
  %y = ds.slice_rows %x {start = -1 : i64} : (tensor<2x8x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @slice_end(%x: tensor<2x8x16xf32>) {
  // expected-error @below {{'ds.slice_rows' op R1: rows [13, 13 + 4) lie outside the input's 16}}
  %y = ds.slice_rows %x {start = 13 : i64} : (tensor<2x8x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @slice_far(%x: tensor<2x8x16xf32>) {
  // expected-error @below {{'ds.slice_rows' op R1: rows [9223372036854775807, 9223372036854775807 + 4) lie outside the input's 16}}
  %y = ds.slice_rows %x {start = 9223372036854775807 : i64} : (tensor<2x8x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @slice_rank(%x: tensor<2x8x16xf32>) {
  // expected-error @below {{'ds.slice_rows' op R2: result must have rank 1 or 2, found [1, 4, 16]}}
  %y = ds.slice_rows %x {start = 0 : i64} : (tensor<2x8x16xf32>) -> tensor<1x4x16xf32>
  return
}

// -----

func.func @slice_fewer(%x: tensor<16xf32>) {
  // expected-error @below {{'ds.slice_rows' op R2: input has fewer dimensions than the result: [16] vs [4, 16]}}
  %y = ds.slice_rows %x {start = 0 : i64} : (tensor<16xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @slice_last(%x: tensor<2x8x16xf32>) {
  // expected-error @below {{'ds.slice_rows' op R2: last dimensions differ: 16 vs 8}}
  %y = ds.slice_rows %x {start = 0 : i64} : (tensor<2x8x16xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @slice_types(%x: tensor<2x8x16xf32>) {
  // expected-error @below {{'ds.slice_rows' op R2: element types differ: 'f32' vs 'f64'}}
  %y = ds.slice_rows %x {start = 0 : i64} : (tensor<2x8x16xf32>) -> tensor<4x16xf64>
  return
}

// -----

func.func @concat_none() {
  // expected-error @below {{'ds.concat_rows' op R3: no inputs}}
  %y = ds.concat_rows : () -> tensor<4x16xf32>
  return
}

// -----

func.func @concat_rank(%x0: tensor<2x2x16xf32>) {
  // expected-error @below {{'ds.concat_rows' op R3: inputs must have rank 1 or 2, found [2, 2, 16]}}
  %y = ds.concat_rows %x0 : (tensor<2x2x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @concat_ranks(%x0: tensor<4x16xf32>, %x1: tensor<4xf32>) {
  // expected-error @below {{'ds.concat_rows' op R3: ranks differ: 2 vs 1}}
  %y = ds.concat_rows %x0, %x1 : (tensor<4x16xf32>, tensor<4xf32>) -> tensor<8x16xf32>
  return
}

// -----

func.func @concat_types(%x0: tensor<4x16xf64>) {
  // expected-error @below {{'ds.concat_rows' op R3: element types differ: 'f64' vs 'f32'}}
  %y = ds.concat_rows %x0 : (tensor<4x16xf64>) -> tensor<4x16xf32>
  return
}

// -----

func.func @concat_last(%x0: tensor<4x8xf32>) {
  // expected-error @below {{'ds.concat_rows' op R4: last dimensions differ: [4, 8] vs [4, 16]}}
  %y = ds.concat_rows %x0 : (tensor<4x8xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @concat_rows(%x0: tensor<2x16xf32>, %x1: tensor<3x16xf32>) {
  // expected-error @below {{'ds.concat_rows' op R4: rows of the inputs are 5, the result has 4}}
  %y = ds.concat_rows %x0, %x1 : (tensor<2x16xf32>, tensor<3x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @kept(%x: tensor<2x8x256xf16>, %l: tensor<2x8xi32>) {
  // expected-error @below {{'ds.cross_entropy' op C2: losses is 'f16', must be f32 or f64}}
  %y, %s = ds.cross_entropy %x, %l : (tensor<2x8x256xf16>, tensor<2x8xi32>) -> (tensor<2x8xf16>, tensor<2x8xf16>)
  return
}

// -----

func.func @weights(%x: tensor<2x8x256xf32>, %l: tensor<2x8xi32>, %w: tensor<2xf32>) {
  // expected-error @below {{'ds.cross_entropy' op C1: weights is [2], expected [2, 8]}}
  %y, %s = ds.cross_entropy %x, %l weights %w : (tensor<2x8x256xf32>, tensor<2x8xi32>, tensor<2xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>)
  return
}

// -----

func.func @weights_of_gradient(%x: tensor<2x8x256xf16>, %l: tensor<2x8xi32>, %e: tensor<2x8xf32>, %s: tensor<f64>, %w: tensor<2x8xf16>) {
  // expected-error @below {{'ds.cross_entropy_grad' op C4: weights is 'f16', must be f32 or f64}}
  %y = ds.cross_entropy_grad %x, %l, %e, %s weights %w : (tensor<2x8x256xf16>, tensor<2x8xi32>, tensor<2x8xf32>, tensor<f64>, tensor<2x8xf16>) -> tensor<2x8x256xf16>
  return
}

// -----

func.func @label_weights(%l: tensor<2x8xi32>) {
  // expected-error @below {{'ds.label_weights' op C8: result is [2], expected [2, 8]}}
  %w = ds.label_weights %l : (tensor<2x8xi32>) -> tensor<2xf32>
  return
}

// -----

func.func @label_weights_type(%l: tensor<2x8xi32>) {
  // expected-error @below {{'ds.label_weights' op C8: result is 'f16', must be f32}}
  %w = ds.label_weights %l : (tensor<2x8xi32>) -> tensor<2x8xf16>
  return
}

// -----

func.func @label_weights_of_one(%l: tensor<i32>) {
  // expected-error @below {{'ds.label_weights' op C8: labels have no dimension}}
  %w = ds.label_weights %l : (tensor<i32>) -> tensor<f32>
  return
}
