// RUN: not ds-opt %s --ds-tile-head=block-bytes=0 2>&1 | FileCheck %s

// CHECK: option 'block-bytes' must be positive, got 0
func.func @train() {
  return
}
