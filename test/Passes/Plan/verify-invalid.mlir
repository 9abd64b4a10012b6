// RUN: ds-opt %s --split-input-file --plan-verify --verify-diagnostics

// expected-error @+1 {{plan contract P1: 'func.func' must be gone}}
func.func @train() {
  return
}

// -----

plan.program @p {
  // expected-error @+1 {{plan contract P1: 'arith.constant' is no instruction}}
  %0 = arith.constant 0 : i64
}

// -----

plan.program @p {
  // expected-error @+1 {{plan contract P2: buffer 'a' has no offset, run plan-assign-memory}}
  %a = plan.buffer "a" input : memref<16xf32>
}

// -----

plan.program @p {
  %a = plan.buffer "a" input at 0 : memref<32xf32>
  // expected-error @+1 {{plan contract P2: buffer 'b' at 64 overlaps 'a', which is alive at the same time and ends at 128}}
  %b = plan.buffer "b" output at 64 : memref<32xf32>
  plan.copy %a to %b : memref<32xf32> to memref<32xf32>
}

// -----

plan.program @p {
  %a = plan.buffer "w" parameter at 0 : memref<16xf32>
}
plan.program @q {
  // expected-error @+1 {{plan contract P3: buffer 'w' is 'memref<16xf32>' at 64, but 'memref<16xf32>' at 0 in another program}}
  %a = plan.buffer "w" parameter at 64 : memref<16xf32>
}

// -----

plan.program @p {
  %a = plan.buffer "a" activation at 0 : memref<16xf32>
  %b = plan.buffer "b" output at 64 : memref<16xf32>
  // expected-error @+1 {{plan contract P5: buffer 'a' is read before it is written}}
  plan.copy %a to %b : memref<16xf32> to memref<16xf32>
}

// -----

plan.program @p {
  %w = plan.buffer "w" parameter at 0 : memref<f64>
  %x = plan.buffer "x" input at 64 : memref<f64>
  // expected-error @+1 {{plan contract P6: variable 'w' is written before the guard}}
  plan.copy %x to %w : memref<f64> to memref<f64>
  plan.guard %x, %x, %x : memref<f64>, memref<f64>, memref<f64>
}

// -----

plan.program @p {
  %r = plan.buffer "rate" hyperparameter at 0 : memref<f64>
  %x = plan.buffer "x" input at 64 : memref<f64>
  // expected-error @+1 {{plan contract P6: hyperparameter 'rate' is written}}
  plan.copy %x to %r : memref<f64> to memref<f64>
}

// -----

plan.kernel @add results [2] {
^bb0(%a: tensor<16xf32>, %b: tensor<16xf32>, %c: tensor<16xf32>):
  %0 = ds.add %a, %b : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
}
plan.program @p {
  %x = plan.buffer "x" input at 0 : memref<16xf32>
  %y = plan.buffer "y" output at 64 : memref<20xf32>
  %all = plan.view %y at 0 : memref<20xf32> -> memref<16xf32>
  %tail = plan.view %y at 16 : memref<20xf32> -> memref<16xf32>
  plan.launch @add(%x, %x, %all) "first" : memref<16xf32>, memref<16xf32>, memref<16xf32>
  // expected-error @+1 {{plan contract P7: operand 2 is written but shares bytes of 'y' with operand 1}}
  plan.launch @add(%x, %all, %tail) "second" : memref<16xf32>, memref<16xf32>, memref<16xf32>
}
