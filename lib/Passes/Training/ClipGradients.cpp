//===- ClipGradients.cpp - ds-clip-gradients -------------------------------===//
// The norm is a sum over variables by name, so that no layout and no order of layers changes its
// bits.
#include "StepProgram.h"
#include "dsc/Passes/Passes.h"
#include "dsc/Support/Fault.h"

namespace dsc {
#define GEN_PASS_DEF_DSCLIPGRADIENTS
#include "dsc/Passes/Passes.h.inc"
} // namespace dsc

using namespace mlir;
using namespace dsc;

namespace {
struct ClipGradients : dsc::impl::DsClipGradientsBase<ClipGradients> {
  void runOnOperation() override {
    if (func::FuncOp program = findStep(getOperation()))
      if (failed(clip(program)))
        signalPassFailure();
  }

  LogicalResult clip(func::FuncOp program) {
    std::map<std::string, Value> reported = reportedGradients(program);
    if (reported.empty())
      return program.emitOpError("K1: no gradient is reported, run ds-differentiate first");
    if (findReport(program, "grad_norm"))
      return program.emitOpError("K1: 'grad_norm' is reported already");
    static constexpr StringLiteral limitName = "train.gradient_clipping";
    auto limitSymbol = getOperation().lookupSymbol<ds::HyperparameterOp>(limitName);
    if (!limitSymbol)
      return program.emitOpError("K2: there is no hyper-parameter '") << limitName << "'";

    OpBuilder builder(program.getBody().front().getTerminator());
    Location loc = NameLoc::get(builder.getStringAttr("grad_norm"), limitSymbol.getLoc());
    auto scalar = RankedTensorType::get({}, builder.getF64Type());
    SmallVector<Value> sums;
    for (auto &[name, gradient] : reported) {
      int64_t count = cast<RankedTensorType>(gradient.getType()).getNumElements();
      auto blocks = RankedTensorType::get({(count + 1023) / 1024}, builder.getF64Type());
      Location at = NameLoc::get(builder.getStringAttr("grad_norm." + name), limitSymbol.getLoc());
      sums.push_back(ds::SquareSumOp::create(builder, at, blocks, gradient));
    }
    if (DSC_FAULT(13, false, sums.size() > 1))
      sums.pop_back();
    Value norm = ds::GlobalNormOp::create(builder, loc, scalar, sums);
    ds::ReportOp::create(builder, loc, "grad_norm", norm);
    Value limit = ds::ReadOp::create(builder, limitSymbol.getLoc(), scalar, limitName);
    ds::ClipFactorOp::create(builder, limitSymbol.getLoc(), scalar, norm, limit);
    gradients += reported.size();
    return success();
  }
};
} // namespace
