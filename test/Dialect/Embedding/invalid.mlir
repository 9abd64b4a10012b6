// RUN: ds-opt %s --split-input-file --verify-diagnostics

func.func @ids(%i: tensor<8xi32>, %t: tensor<256x16xf32>) {
  // expected-error @below {{'ds.embedding' op M1: ids must be [b, t], found [8]}}
  %y = ds.embedding %i, %t : tensor<8xi32>, tensor<256x16xf32> -> tensor<2x8x16xf32>
  return
}

// -----

func.func @result(%i: tensor<2x8xi32>, %t: tensor<256x16xf32>) {
  // expected-error @below {{'ds.embedding' op M1: result is [2, 8, 4], expected [2, 8, 16]}}
  %y = ds.embedding %i, %t : tensor<2x8xi32>, tensor<256x16xf32> -> tensor<2x8x4xf32>
  return
}

// -----

func.func @table(%i: tensor<2x8xi32>, %t: tensor<256xf32>) {
  // expected-error @below {{'ds.embedding' op M2: table must be [rows, d], found [256]}}
  %y = ds.embedding %i, %t : tensor<2x8xi32>, tensor<256xf32> -> tensor<2x8x16xf32>
  return
}

// -----

func.func @positions_width(%i: tensor<2x8xi32>, %t: tensor<256x16xf32>, %p: tensor<32x8xf32>) {
  // expected-error @below {{'ds.embedding' op M2: positions must be [rows, 16], found [32, 8]}}
  %y = ds.embedding %i, %t positions %p : tensor<2x8xi32>, tensor<256x16xf32> positions tensor<32x8xf32> -> tensor<2x8x16xf32>
  return
}

// -----

func.func @positions_rows(%i: tensor<2x8xi32>, %t: tensor<256x16xf32>, %p: tensor<4x16xf32>) {
  // expected-error @below {{'ds.embedding' op M2: sequence longer than positions: 8 vs 4}}
  %y = ds.embedding %i, %t positions %p : tensor<2x8xi32>, tensor<256x16xf32> positions tensor<4x16xf32> -> tensor<2x8x16xf32>
  return
}

// -----

func.func @types(%i: tensor<2x8xi32>, %t: tensor<256x16xf32>, %p: tensor<32x16xf64>) {
  // expected-error @below {{'ds.embedding' op M3: element types differ: 'f32' vs 'f64'}}
  %y = ds.embedding %i, %t positions %p : tensor<2x8xi32>, tensor<256x16xf32> positions tensor<32x16xf64> -> tensor<2x8x16xf32>
  return
}

// -----

func.func @grad_ids(%d: tensor<2x8x16xf32>, %i: tensor<2x4xi32>) {
  // expected-error @below {{'ds.embedding_grad' op M4: ids must be [b, t] and gradient [b, t, d], found [2, 4] and [2, 8, 16]}}
  %y = ds.embedding_grad %d, %i : tensor<2x8x16xf32>, tensor<2x4xi32> -> tensor<256x16xf32>
  return
}

// -----

func.func @grad_result(%d: tensor<2x8x16xf32>, %i: tensor<2x8xi32>) {
  // expected-error @below {{'ds.embedding_grad' op M4: result must be [rows, 16], found [256, 8]}}
  %y = ds.embedding_grad %d, %i : tensor<2x8x16xf32>, tensor<2x8xi32> -> tensor<256x8xf32>
  return
}

// -----

func.func @grad_init(%d: tensor<2x8x16xf32>, %i: tensor<2x8xi32>, %n: tensor<32x16xf32>) {
  // expected-error @below {{'ds.embedding_grad' op M5: init is [32, 16], expected [256, 16]}}
  %y = ds.embedding_grad %d, %i init %n : tensor<2x8x16xf32>, tensor<2x8xi32> init tensor<32x16xf32> -> tensor<256x16xf32>
  return
}

// -----

func.func @grad_types(%d: tensor<2x8x16xf32>, %i: tensor<2x8xi32>) {
  // expected-error @below {{'ds.embedding_grad' op M5: element types differ: 'f32' vs 'f64'}}
  %y = ds.embedding_grad %d, %i : tensor<2x8x16xf32>, tensor<2x8xi32> -> tensor<256x16xf64>
  return
}

// -----

func.func @position_rank(%d: tensor<8x16xf32>) {
  // expected-error @below {{'ds.position_grad' op M6: gradient must be [b, t, d], found [8, 16]}}
  %y = ds.position_grad %d : (tensor<8x16xf32>) -> tensor<32x16xf32>
  return
}

// -----

func.func @position_width(%d: tensor<2x8x16xf32>) {
  // expected-error @below {{'ds.position_grad' op M6: result must be [rows, 16], found [32, 8]}}
  %y = ds.position_grad %d : (tensor<2x8x16xf32>) -> tensor<32x8xf32>
  return
}

// -----

func.func @position_rows(%d: tensor<2x8x16xf32>) {
  // expected-error @below {{'ds.position_grad' op M6: sequence longer than positions: 8 vs 4}}
  %y = ds.position_grad %d : (tensor<2x8x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @position_types(%d: tensor<2x8x16xf32>) {
  // expected-error @below {{'ds.position_grad' op M6: element types differ: 'f32' vs 'f64'}}
  %y = ds.position_grad %d : (tensor<2x8x16xf32>) -> tensor<32x16xf64>
  return
}

// -----

func.func @kept(%d: tensor<2x8x16xf16>, %i: tensor<2x8xi32>) {
  // expected-error @below {{'ds.embedding_grad' op M5: result is 'f16', must be f32 or f64}}
  %y = ds.embedding_grad %d, %i : tensor<2x8x16xf16>, tensor<2x8xi32> -> tensor<256x16xf16>
  return
}

// -----

func.func @kept_positions(%d: tensor<2x8x16xf16>) {
  // expected-error @below {{'ds.position_grad' op M6: result is 'f16', must be f32 or f64}}
  %y = ds.position_grad %d : (tensor<2x8x16xf16>) -> tensor<32x16xf16>
  return
}

// -----

func.func @places_shape(%i: tensor<2x8xi32>, %t: tensor<256x16xf32>, %p: tensor<32x16xf32>, %q: tensor<2x7xi32>) {
  // expected-error @below {{'ds.embedding' op M7: position_ids is [2, 7], expected [2, 8]}}
  %y = ds.embedding %i, %t positions %p at %q : tensor<2x8xi32>, tensor<256x16xf32> positions tensor<32x16xf32> at tensor<2x7xi32> -> tensor<2x8x16xf32>
  return
}

// -----

func.func @places_alone(%i: tensor<2x8xi32>, %t: tensor<256x16xf32>) {
  // expected-error @below {{'ds.embedding' op M7: position_ids without positions}}
  %y = ds.embedding %i, %t at %i : tensor<2x8xi32>, tensor<256x16xf32> at tensor<2x8xi32> -> tensor<2x8x16xf32>
  return
}
