// RUN: ds-opt %s --split-input-file --verify-diagnostics

func.func @rank(%q: tensor<8x48xf32>) {
  // expected-error @below {{'ds.attention' op A1: qkv must be [b, t, 3 d], found [8, 48]}}
  %y, %l = ds.attention %q {heads = 4 : i64, scale = 0.5 : f64} : (tensor<8x48xf32>) -> (tensor<2x8x16xf32>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @thirds(%q: tensor<2x8x47xf32>) {
  // expected-error @below {{'ds.attention' op A1: qkv must be [b, t, 3 d], found [2, 8, 47]}}
  %y, %l = ds.attention %q {heads = 4 : i64, scale = 0.5 : f64} : (tensor<2x8x47xf32>) -> (tensor<2x8x16xf32>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @heads(%q: tensor<2x8x48xf32>) {
  // expected-error @below {{'ds.attention' op A1: heads must be positive and divide the width: 5 heads, width 16}}
  %y, %l = ds.attention %q {heads = 5 : i64, scale = 0.5 : f64} : (tensor<2x8x48xf32>) -> (tensor<2x8x16xf32>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @no_heads(%q: tensor<2x8x48xf32>) {
  // expected-error @below {{'ds.attention' op A1: heads must be positive and divide the width: 0 heads, width 16}}
  %y, %l = ds.attention %q {heads = 0 : i64, scale = 0.5 : f64} : (tensor<2x8x48xf32>) -> (tensor<2x8x16xf32>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @result(%q: tensor<2x8x48xf32>) {
  // expected-error @below {{'ds.attention' op A2: result is [2, 8, 48], expected [2, 8, 16]}}
  %y, %l = ds.attention %q {heads = 4 : i64, scale = 0.5 : f64} : (tensor<2x8x48xf32>) -> (tensor<2x8x48xf32>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @lse(%q: tensor<2x8x48xf32>) {
  // expected-error @below {{'ds.attention' op A2: lse is [2, 8, 4], expected [2, 4, 8]}}
  %y, %l = ds.attention %q {heads = 4 : i64, scale = 0.5 : f64} : (tensor<2x8x48xf32>) -> (tensor<2x8x16xf32>, tensor<2x8x4xf32>)
  return
}

// -----

func.func @scale(%q: tensor<2x8x48xf32>) {
  // expected-error @below {{'ds.attention' op A3: scale must be positive, found -5.000000e-01}}
  %y, %l = ds.attention %q {heads = 4 : i64, scale = -0.5 : f64} : (tensor<2x8x48xf32>) -> (tensor<2x8x16xf32>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @types(%q: tensor<2x8x48xf32>) {
  // expected-error @below {{'ds.attention' op A4: element types differ: 'f32' vs 'f64'}}
  %y, %l = ds.attention %q {heads = 4 : i64, scale = 0.5 : f64} : (tensor<2x8x48xf32>) -> (tensor<2x8x16xf32>, tensor<2x4x8xf64>)
  return
}

// -----

func.func @grad_rank(%d: tensor<2x8x16xf32>, %q: tensor<8x48xf32>, %o: tensor<2x8x16xf32>, %l: tensor<2x4x8xf32>) {
  // expected-error @below {{'ds.attention_grad' op A1: qkv must be [b, t, 3 d], found [8, 48]}}
  %y = ds.attention_grad %d, %q, %o, %l {heads = 4 : i64, scale = 0.5 : f64} : (tensor<2x8x16xf32>, tensor<8x48xf32>, tensor<2x8x16xf32>, tensor<2x4x8xf32>) -> tensor<2x8x48xf32>
  return
}

// -----

func.func @grad_heads(%d: tensor<2x8x16xf32>, %q: tensor<2x8x48xf32>, %o: tensor<2x8x16xf32>, %l: tensor<2x4x8xf32>) {
  // expected-error @below {{'ds.attention_grad' op A1: heads must be positive and divide the width: 3 heads, width 16}}
  %y = ds.attention_grad %d, %q, %o, %l {heads = 3 : i64, scale = 0.5 : f64} : (tensor<2x8x16xf32>, tensor<2x8x48xf32>, tensor<2x8x16xf32>, tensor<2x4x8xf32>) -> tensor<2x8x48xf32>
  return
}

// -----

func.func @grad_gradient(%d: tensor<2x8x48xf32>, %q: tensor<2x8x48xf32>, %o: tensor<2x8x16xf32>, %l: tensor<2x4x8xf32>) {
  // expected-error @below {{'ds.attention_grad' op A2: gradient is [2, 8, 48], expected [2, 8, 16]}}
  %y = ds.attention_grad %d, %q, %o, %l {heads = 4 : i64, scale = 0.5 : f64} : (tensor<2x8x48xf32>, tensor<2x8x48xf32>, tensor<2x8x16xf32>, tensor<2x4x8xf32>) -> tensor<2x8x48xf32>
  return
}

// -----

func.func @grad_output(%d: tensor<2x8x16xf32>, %q: tensor<2x8x48xf32>, %o: tensor<2x8x48xf32>, %l: tensor<2x4x8xf32>) {
  // expected-error @below {{'ds.attention_grad' op A2: output is [2, 8, 48], expected [2, 8, 16]}}
  %y = ds.attention_grad %d, %q, %o, %l {heads = 4 : i64, scale = 0.5 : f64} : (tensor<2x8x16xf32>, tensor<2x8x48xf32>, tensor<2x8x48xf32>, tensor<2x4x8xf32>) -> tensor<2x8x48xf32>
  return
}

// -----

func.func @grad_lse(%d: tensor<2x8x16xf32>, %q: tensor<2x8x48xf32>, %o: tensor<2x8x16xf32>, %l: tensor<2x8x4xf32>) {
  // expected-error @below {{'ds.attention_grad' op A2: lse is [2, 8, 4], expected [2, 4, 8]}}
  %y = ds.attention_grad %d, %q, %o, %l {heads = 4 : i64, scale = 0.5 : f64} : (tensor<2x8x16xf32>, tensor<2x8x48xf32>, tensor<2x8x16xf32>, tensor<2x8x4xf32>) -> tensor<2x8x48xf32>
  return
}

// -----

func.func @grad_scale(%d: tensor<2x8x16xf32>, %q: tensor<2x8x48xf32>, %o: tensor<2x8x16xf32>, %l: tensor<2x4x8xf32>) {
  // expected-error @below {{'ds.attention_grad' op A3: scale must be positive, found 0.000000e+00}}
  %y = ds.attention_grad %d, %q, %o, %l {heads = 4 : i64, scale = 0.0 : f64} : (tensor<2x8x16xf32>, tensor<2x8x48xf32>, tensor<2x8x16xf32>, tensor<2x4x8xf32>) -> tensor<2x8x48xf32>
  return
}

// -----

func.func @grad_types(%d: tensor<2x8x16xf32>, %q: tensor<2x8x48xf32>, %o: tensor<2x8x16xf32>, %l: tensor<2x4x8xf64>) {
  // expected-error @below {{'ds.attention_grad' op A4: element types differ: 'f32' vs 'f64'}}
  %y = ds.attention_grad %d, %q, %o, %l {heads = 4 : i64, scale = 0.5 : f64} : (tensor<2x8x16xf32>, tensor<2x8x48xf32>, tensor<2x8x16xf32>, tensor<2x4x8xf64>) -> tensor<2x8x48xf32>
  return
}

// -----

func.func @grad_result(%d: tensor<2x8x16xf32>, %q: tensor<2x8x48xf32>, %o: tensor<2x8x16xf32>, %l: tensor<2x4x8xf32>) {
  // expected-error @below {{'ds.attention_grad' op A5: result is 'tensor<2x8x16xf32>', expected 'tensor<2x8x48xf32>'}}
  %y = ds.attention_grad %d, %q, %o, %l {heads = 4 : i64, scale = 0.5 : f64} : (tensor<2x8x16xf32>, tensor<2x8x48xf32>, tensor<2x8x16xf32>, tensor<2x4x8xf32>) -> tensor<2x8x16xf32>
  return
}

// -----

func.func @kept(%q: tensor<2x8x48xbf16>) {
  // expected-error @below {{'ds.attention' op A4: lse is 'bf16', must be f32 or f64}}
  %y, %l = ds.attention %q {heads = 4 : i64, scale = 0.5 : f64} : (tensor<2x8x48xbf16>) -> (tensor<2x8x16xbf16>, tensor<2x4x8xbf16>)
  return
}

// -----

func.func @no_key(%x: tensor<2x8x48xf32>) {
  // expected-error @below {{'ds.attention' op A6: key is absent with dropout 1.000000e-01}}
  %y, %lse = ds.attention %x {heads = 4 : i64, scale = 0.5 : f64, dropout = 0.1 : f64} : (tensor<2x8x48xf32>) -> (tensor<2x8x16xf32>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @needless_key(%x: tensor<2x8x48xf32>, %k: tensor<5xf64>) {
  // expected-error @below {{'ds.attention' op A6: key is given with dropout 0.000000e+00}}
  %y, %lse = ds.attention %x, %k {heads = 4 : i64, scale = 0.5 : f64} : (tensor<2x8x48xf32>, tensor<5xf64>) -> (tensor<2x8x16xf32>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @dropout_range(%x: tensor<2x8x48xf32>, %k: tensor<5xf64>) {
  // expected-error @below {{'ds.attention' op A6: dropout must lie in [0, 1], found -1.000000e+00}}
  %y, %lse = ds.attention %x, %k {heads = 4 : i64, scale = 0.5 : f64, dropout = -1.0 : f64} : (tensor<2x8x48xf32>, tensor<5xf64>) -> (tensor<2x8x16xf32>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @packed_shape(%x: tensor<2x8x48xf32>, %p: tensor<2x7xi32>) {
  // expected-error @below {{'ds.attention' op A7: position_ids is [2, 7], expected [2, 8]}}
  %y, %lse = ds.attention %x within %p {heads = 4 : i64, scale = 0.5 : f64} : (tensor<2x8x48xf32>) within tensor<2x7xi32> -> (tensor<2x8x16xf32>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @grad_packed_shape(%d: tensor<2x8x16xf32>, %x: tensor<2x8x48xf32>, %l: tensor<2x4x8xf32>, %p: tensor<8xi32>) {
  // expected-error @below {{'ds.attention_grad' op A7: position_ids is [8], expected [2, 8]}}
  %y = ds.attention_grad %d, %x, %d, %l within %p {heads = 4 : i64, scale = 0.5 : f64} : (tensor<2x8x16xf32>, tensor<2x8x48xf32>, tensor<2x8x16xf32>, tensor<2x4x8xf32>) within tensor<8xi32> -> tensor<2x8x48xf32>
  return
}

// -----

func.func @cached_thirds(%x: tensor<2x1x47xf32>, %k: tensor<4x8x16xf32>, %v: tensor<4x8x16xf32>, %p: tensor<2x1xi32>, %r: tensor<2xi32>) {
  // expected-error @below {{'ds.cached_attention' op A1: qkv must be [b, t, 3 d], found [2, 1, 47]}}
  %y, %nk, %nv = ds.cached_attention %x, %k, %v, %p, %r {heads = 4 : i64, scale = 0.5 : f64} : (tensor<2x1x47xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<2x1xi32>, tensor<2xi32>) -> (tensor<2x1x16xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>)
  return
}

// -----

func.func @cached_width(%x: tensor<2x1x48xf32>, %k: tensor<4x8x15xf32>, %v: tensor<4x8x15xf32>, %p: tensor<2x1xi32>, %r: tensor<2xi32>) {
  // expected-error @below {{'ds.cached_attention' op A8: keys must be [rows, length, 16] with at least 2 rows, found [4, 8, 15]}}
  %y, %nk, %nv = ds.cached_attention %x, %k, %v, %p, %r {heads = 4 : i64, scale = 0.5 : f64} : (tensor<2x1x48xf32>, tensor<4x8x15xf32>, tensor<4x8x15xf32>, tensor<2x1xi32>, tensor<2xi32>) -> (tensor<2x1x16xf32>, tensor<4x8x15xf32>, tensor<4x8x15xf32>)
  return
}

// -----

func.func @cached_rows(%x: tensor<2x1x48xf32>, %k: tensor<1x8x16xf32>, %v: tensor<1x8x16xf32>, %p: tensor<2x1xi32>, %r: tensor<2xi32>) {
  // expected-error @below {{'ds.cached_attention' op A8: keys must be [rows, length, 16] with at least 2 rows, found [1, 8, 16]}}
  %y, %nk, %nv = ds.cached_attention %x, %k, %v, %p, %r {heads = 4 : i64, scale = 0.5 : f64} : (tensor<2x1x48xf32>, tensor<1x8x16xf32>, tensor<1x8x16xf32>, tensor<2x1xi32>, tensor<2xi32>) -> (tensor<2x1x16xf32>, tensor<1x8x16xf32>, tensor<1x8x16xf32>)
  return
}

// -----

func.func @cached_values(%x: tensor<2x1x48xf32>, %k: tensor<4x8x16xf32>, %v: tensor<4x7x16xf32>, %p: tensor<2x1xi32>, %r: tensor<2xi32>) {
  // expected-error @below {{'ds.cached_attention' op A8: values is [4, 7, 16], expected [4, 8, 16]}}
  %y, %nk, %nv = ds.cached_attention %x, %k, %v, %p, %r {heads = 4 : i64, scale = 0.5 : f64} : (tensor<2x1x48xf32>, tensor<4x8x16xf32>, tensor<4x7x16xf32>, tensor<2x1xi32>, tensor<2xi32>) -> (tensor<2x1x16xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>)
  return
}

// -----

func.func @cached_new_keys(%x: tensor<2x1x48xf32>, %k: tensor<4x8x16xf32>, %v: tensor<4x8x16xf32>, %p: tensor<2x1xi32>, %r: tensor<2xi32>) {
  // expected-error @below {{'ds.cached_attention' op A8: new_keys is [4, 7, 16], expected [4, 8, 16]}}
  %y, %nk, %nv = ds.cached_attention %x, %k, %v, %p, %r {heads = 4 : i64, scale = 0.5 : f64} : (tensor<2x1x48xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<2x1xi32>, tensor<2xi32>) -> (tensor<2x1x16xf32>, tensor<4x7x16xf32>, tensor<4x8x16xf32>)
  return
}

// -----

func.func @cached_result(%x: tensor<2x1x48xf32>, %k: tensor<4x8x16xf32>, %v: tensor<4x8x16xf32>, %p: tensor<2x1xi32>, %r: tensor<2xi32>) {
  // expected-error @below {{'ds.cached_attention' op A9: result is [2, 1, 48], expected [2, 1, 16]}}
  %y, %nk, %nv = ds.cached_attention %x, %k, %v, %p, %r {heads = 4 : i64, scale = 0.5 : f64} : (tensor<2x1x48xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<2x1xi32>, tensor<2xi32>) -> (tensor<2x1x48xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>)
  return
}

// -----

func.func @cached_positions(%x: tensor<2x1x48xf32>, %k: tensor<4x8x16xf32>, %v: tensor<4x8x16xf32>, %p: tensor<2x2xi32>, %r: tensor<2xi32>) {
  // expected-error @below {{'ds.cached_attention' op A9: position_ids is [2, 2], expected [2, 1]}}
  %y, %nk, %nv = ds.cached_attention %x, %k, %v, %p, %r {heads = 4 : i64, scale = 0.5 : f64} : (tensor<2x1x48xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<2x2xi32>, tensor<2xi32>) -> (tensor<2x1x16xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>)
  return
}

// -----

func.func @cached_places(%x: tensor<2x1x48xf32>, %k: tensor<4x8x16xf32>, %v: tensor<4x8x16xf32>, %p: tensor<2x1xi32>, %r: tensor<4xi32>) {
  // expected-error @below {{'ds.cached_attention' op A9: rows is [4], expected [2]}}
  %y, %nk, %nv = ds.cached_attention %x, %k, %v, %p, %r {heads = 4 : i64, scale = 0.5 : f64} : (tensor<2x1x48xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<2x1xi32>, tensor<4xi32>) -> (tensor<2x1x16xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>)
  return
}

// -----

func.func @cached_kept(%x: tensor<2x1x48xf32>, %k: tensor<4x8x16xf16>, %v: tensor<4x8x16xf16>, %p: tensor<2x1xi32>, %r: tensor<2xi32>) {
  // expected-error @below {{'ds.cached_attention' op A4: keys is 'f16', must be f32 or f64}}
  %y, %nk, %nv = ds.cached_attention %x, %k, %v, %p, %r {heads = 4 : i64, scale = 0.5 : f64} : (tensor<2x1x48xf32>, tensor<4x8x16xf16>, tensor<4x8x16xf16>, tensor<2x1xi32>, tensor<2xi32>) -> (tensor<2x1x16xf32>, tensor<4x8x16xf16>, tensor<4x8x16xf16>)
  return
}

// -----

func.func @cached_scale(%x: tensor<2x1x48xf32>, %k: tensor<4x8x16xf32>, %v: tensor<4x8x16xf32>, %p: tensor<2x1xi32>, %r: tensor<2xi32>) {
  // expected-error @below {{'ds.cached_attention' op A3: scale must be positive, found 0.000000e+00}}
  %y, %nk, %nv = ds.cached_attention %x, %k, %v, %p, %r {heads = 4 : i64, scale = 0.0 : f64} : (tensor<2x1x48xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<2x1xi32>, tensor<2xi32>) -> (tensor<2x1x16xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>)
  return
}
