//===- Lowering.td - from ds blocks to kernels on buffers ------------------===//
#ifndef DSC_PASSES_LOWERING
#define DSC_PASSES_LOWERING

include "mlir/Pass/PassBase.td"

def DsInlineBlocks : Pass<"ds-inline-blocks", "::mlir::ModuleOp"> {
  let summary = "Dissolve ds.block regions, keeping their names as labels";
  let description = [{
    The ops of a block move to where it stood, each with the block's name in the attribute `ds.label`, from
    which launches take the text that traces and error messages show. After it no `ds.block` is left.
  }];
  let dependentDialects = ["::dsc::ds::DSDialect"];
  let statistics = [Statistic<"blocks", "blocks", "blocks dissolved">];
}

#endif // DSC_PASSES_LOWERING
