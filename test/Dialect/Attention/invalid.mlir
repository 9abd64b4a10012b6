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
