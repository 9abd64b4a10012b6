// What a pipeline demands, each rule on the model of split-stages-pipeline.mlir.
// DEFINE: %{cut} = not ds-opt %S/split-stages-pipeline.mlir --ds-differentiate=apart --ds-accumulate-gradients="micro-batches=3 apart always"
// RUN: %{cut} --ds-clip-gradients --ds-split-stages="layout=1,1,2,1 blocks=2,2" 2>&1 | FileCheck %s --check-prefix=SUM
// RUN: %{cut} --ds-clip-gradients --ds-split-stages="layout=1,1,4,1" 2>&1 | FileCheck %s --check-prefix=FEW
// RUN: %{cut} --ds-clip-gradients --ds-split-stages="layout=1,1,2,1 schedule=chimera" 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: %{cut} --ds-clip-gradients --ds-split-stages="layout=1,1,2,1 interleave=2" 2>&1 | FileCheck %s --check-prefix=PARTS
// RUN: %{cut} --ds-clip-gradients --ds-split-stages="layout=1,1,2,1 schedule=interleaved interleave=2" 2>&1 | FileCheck %s --check-prefix=MULTIPLE
// RUN: %{cut} --ds-split-stages="layout=1,1,2,1" 2>&1 | FileCheck %s --check-prefix=NORM

// SUM: error: 'func.func' op P2: 4 blocks in 2 parts for a model of 3 and 2 parts
// FEW: error: P2: a part of the model has no block; 4 parts need at least as many blocks
// NAME: error: P2: schedule 'chimera' with 1 parts a stage; known are gpipe, 1f1b and zero_bubble with 1, interleaved with more
// PARTS: error: P2: schedule '1f1b' with 2 parts a stage
// MULTIPLE: error: P2: schedule 'interleaved' of 2 stages takes a multiple of as many micro-batches, not 3
// NORM: error: 'func.func' op P4: has no norm, run ds-clip-gradients first
