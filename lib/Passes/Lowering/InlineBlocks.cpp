//===- InlineBlocks.cpp - ds-inline-blocks ---------------------------------===//
// Moves the ops of each ds.block to where it stood.
#include "dsc/Dialect/DS/DS.h"
#include "dsc/Passes/Passes.h"
#include "dsc/Support/Fault.h"

namespace dsc {
#define GEN_PASS_DEF_DSINLINEBLOCKS
#include "dsc/Passes/Passes.h.inc"
} // namespace dsc

using namespace mlir;
using namespace dsc;

namespace {
struct InlineBlocks : dsc::impl::DsInlineBlocksBase<InlineBlocks> {
  void runOnOperation() override {
    SmallVector<ds::BlockOp> found;
    getOperation().walk([&](ds::BlockOp block) { found.push_back(block); }); // post-order
    for (ds::BlockOp block : found)
      inlineBlock(block);
    blocks += found.size();
  }

  static void inlineBlock(ds::BlockOp block) {
    Block &body = block.getBody().front();
    auto yield = cast<ds::YieldOp>(body.getTerminator());
    for (Operation &op : body.without_terminator())
      if (!op.hasAttr("ds.label"))
        op.setAttr("ds.label", block.getLabelAttr());
    SmallVector<Value> values(yield.getValues());
    if (DSC_FAULT(28, false, true))
      for (size_t i = 1; i < values.size(); ++i)
        if (values[i].getType() == values[i - 1].getType()) {
          std::swap(values[i], values[i - 1]);
          break;
        }
    block->replaceAllUsesWith(values);
    yield.erase();
    block->getBlock()->getOperations().splice(block->getIterator(), body.getOperations());
    block.erase();
  }
};
} // namespace
