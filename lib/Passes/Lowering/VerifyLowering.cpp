//===- VerifyLowering.cpp - ds-verify-lowering -----------------------------===//
#include "dsc/Dialect/DS/DS.h"
#include "dsc/Passes/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace dsc {
#define GEN_PASS_DEF_DSVERIFYLOWERING
#include "dsc/Passes/Passes.h.inc"
} // namespace dsc

using namespace mlir;
using namespace dsc;

namespace {
struct VerifyLowering : dsc::impl::DsVerifyLoweringBase<VerifyLowering> {
  void runOnOperation() override {
    bool failed = false;
    for (auto func : getOperation().getOps<func::FuncOp>())
      failed |= verify(func).failed();
    if (failed)
      signalPassFailure();
  }

  LogicalResult verify(func::FuncOp func) {
    if (func.isDeclaration() || !func.getBody().hasOneBlock())
      return func.emitError("lowering contract: program '")
             << func.getName() << "' must be one basic block, found "
             << func.getBody().getBlocks().size();
    if (func.getNumResults())
      return func.emitError("lowering contract: program '")
             << func.getName() << "' must report its results with ds.report, but returns "
             << func.getNumResults();
    bool bad = false;
    for (Operation &op : func.front()) {
      ops += isa<InPlaceOpInterface>(op);
      if (isa<ds::BlockOp>(op)) {
        op.emitError("lowering contract: ds.block must be gone, run ds-inline-blocks");
        bad = true;
      } else if (!isa<func::ReturnOp>(op) && op.getName().getDialectNamespace() != "ds") {
        op.emitError("lowering contract: '") << op.getName() << "' is not an op of the ds dialect";
        bad = true;
      }
      for (Type type : op.getResultTypes())
        if (auto tensor = dyn_cast<RankedTensorType>(type); !tensor || !tensor.hasStaticShape()) {
          op.emitError("lowering contract: result must be a tensor of static shape, found ")
              << type;
          bad = true;
        }
    }
    return failure(bad);
  }
};
} // namespace
