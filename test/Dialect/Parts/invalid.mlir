// RUN: ds-opt %s --split-input-file --verify-diagnostics

func.func @once(%x: tensor<4xf32>, %rank: tensor<f64>) {
  // expected-error @below {{'ds.once' op PA1: result is 'tensor<5xf32>', expected 'tensor<4xf32>'}}
  %y = ds.once %x, %rank : (tensor<4xf32>, tensor<f64>) -> tensor<5xf32>
  return
}

// -----

func.func @ids(%x: tensor<4xi32>, %rank: tensor<f64>) {
  // expected-error @below {{'ds.local_ids' op PA2: result is 'tensor<5xi32>', expected 'tensor<4xi32>'}}
  %y = ds.local_ids %x, %rank {rows = 3 : i64} : (tensor<4xi32>, tensor<f64>) -> tensor<5xi32>
  return
}

// -----

func.func @rows(%x: tensor<4xi32>, %rank: tensor<f64>) {
  // expected-error @below {{'ds.local_ids' op PA3: rows is 0, must be positive}}
  %y = ds.local_ids %x, %rank {rows = 0 : i64} : (tensor<4xi32>, tensor<f64>) -> tensor<4xi32>
  return
}

// -----

func.func @key(%key: tensor<6xf64>, %rank: tensor<f64>) {
  // expected-error @below {{'ds.part_key' op PA4: key is 'tensor<6xf64>', expected 'tensor<5xf64>'}}
  %y = ds.part_key %key, %rank {elements = 4 : i64} : (tensor<6xf64>, tensor<f64>) -> tensor<6xf64>
  return
}

// -----

func.func @elements(%key: tensor<5xf64>, %rank: tensor<f64>) {
  // expected-error @below {{'ds.part_key' op PA5: elements is 6, must be a positive multiple of 4}}
  %y = ds.part_key %key, %rank {elements = 6 : i64} : (tensor<5xf64>, tensor<f64>) -> tensor<6xf64>
  return
}

// -----

func.func @chosen(%x: tensor<7x6xf32>, %l: tensor<7xi32>, %rank: tensor<f64>) {
  // expected-error @below {{'ds.loss_parts' op PA6: chosen is [6], expected [7]}}
  %a, %c = ds.loss_parts %x, %l, %rank {classes = 12 : i64} : (tensor<7x6xf32>, tensor<7xi32>, tensor<f64>) -> (tensor<2x7xf32>, tensor<6xf32>)
  return
}

// -----

func.func @lse(%x: tensor<7x6xf32>, %l: tensor<7xi32>, %rank: tensor<f64>) {
  // expected-error @below {{'ds.loss_parts' op PA6: lse is [7], expected [ranks] before [7]}}
  %a, %c = ds.loss_parts %x, %l, %rank {classes = 12 : i64} : (tensor<7x6xf32>, tensor<7xi32>, tensor<f64>) -> (tensor<7xf32>, tensor<7xf32>)
  return
}

// -----

func.func @classes(%x: tensor<7x6xf32>, %l: tensor<7xi32>, %rank: tensor<f64>) {
  // expected-error @below {{'ds.loss_parts' op PA7: classes is 13, must be positive and at most 12}}
  %a, %c = ds.loss_parts %x, %l, %rank {classes = 13 : i64} : (tensor<7x6xf32>, tensor<7xi32>, tensor<f64>) -> (tensor<2x7xf32>, tensor<7xf32>)
  return
}

// -----

func.func @kept(%x: tensor<7x6xf16>, %l: tensor<7xi32>, %rank: tensor<f64>) {
  // expected-error @below {{'ds.loss_parts' op PA8}}
  %a, %c = ds.loss_parts %x, %l, %rank {classes = 12 : i64} : (tensor<7x6xf16>, tensor<7xi32>, tensor<f64>) -> (tensor<2x7xf16>, tensor<7xf16>)
  return
}

// -----

func.func @rows_of_parts(%p: tensor<2x7xf32>, %c: tensor<7xf32>, %l: tensor<6xi32>) {
  // expected-error @below {{'ds.join_loss' op PA9: labels is [6], expected [7]}}
  %a, %b = ds.join_loss %p, %c, %l {classes = 12 : i64} : (tensor<2x7xf32>, tensor<7xf32>, tensor<6xi32>) -> (tensor<7xf32>, tensor<7xf32>)
  return
}

// -----

func.func @no_classes(%p: tensor<2x7xf32>, %c: tensor<7xf32>, %l: tensor<7xi32>) {
  // expected-error @below {{'ds.join_loss' op PA10: classes is 0, must be positive}}
  %a, %b = ds.join_loss %p, %c, %l {classes = 0 : i64} : (tensor<2x7xf32>, tensor<7xf32>, tensor<7xi32>) -> (tensor<7xf32>, tensor<7xf32>)
  return
}

// -----

func.func @part_alone(%x: tensor<7x6xf32>, %l: tensor<7xi32>, %lse: tensor<7xf32>, %s: tensor<f64>) {
  // expected-error @below {{'ds.cross_entropy_grad' op C9: classes come with a rank, found classes alone}}
  %d = ds.cross_entropy_grad %x, %l, %lse, %s {classes = 12 : i64} : (tensor<7x6xf32>, tensor<7xi32>, tensor<7xf32>, tensor<f64>) -> tensor<7x6xf32>
  return
}

// -----

func.func @part_classes(%x: tensor<7x6xf32>, %l: tensor<7xi32>, %lse: tensor<7xf32>, %s: tensor<f64>) {
  // expected-error @below {{'ds.cross_entropy_grad' op C9: classes is 0, must be positive}}
  %d = ds.cross_entropy_grad %x, %l, %lse, %s part %s {classes = 0 : i64} : (tensor<7x6xf32>, tensor<7xi32>, tensor<7xf32>, tensor<f64>, tensor<f64>) -> tensor<7x6xf32>
  return
}
