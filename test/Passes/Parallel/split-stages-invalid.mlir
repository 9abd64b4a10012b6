// RUN: ds-opt --verify-diagnostics --ds-split-stages='layout=2,1,1,1' %s

// expected-error @below {{P1: there is no ds.schedule, run ds-accumulate-gradients{always} first}}
module {
  func.func @train() {
    return
  }
}
