//===- Import.td - what holds once a spec has become ds IR -----------------===//
#ifndef DSC_PASSES_IMPORT
#define DSC_PASSES_IMPORT

include "mlir/Pass/PassBase.td"

def DsVerifyImport : Pass<"ds-verify-import", "::mlir::ModuleOp"> {
  let summary = "Check what the import phase promises";
  let description = [{
    Ends the import phase. Changes nothing; fails unless

    - I1: every program is named `train`, `evaluate`, `logits`, `prefill` or `decode`, takes ids and returns nothing;
    - I2: nothing is assigned but caches, by `@prefill` and `@decode`, and nothing guarded: programs only compute;
    - I3: every tensor op is part of a forward pass: it knows its backward, counts labels, or names what masks
      are drawn by; those of `@prefill` and `@decode` need no backward;
    - I4: `@train` and `@evaluate` report `loss` and `tokens`, `@logits` and `@decode` report `logits`;
    - I5: every variable is a parameter, which every program but `@prefill` reads, or belongs to the step or the
      window, or is a cache.

    Before: any module. After: the same module, of which the training phase may take all this for granted.

    ```mlir
    func.func @train(%tokens: tensor<2x8xi32>, %labels: tensor<2x8xi32>) {
      ...
      ds.report "loss", %loss : tensor<f64>
      ds.report "tokens", %count : tensor<f64>
      return
    }
    ```
  }];
  let statistics = [Statistic<"programs", "programs", "programs checked">];
}

#endif // DSC_PASSES_IMPORT
