//===- LossScaling.cpp - ds-loss-scaling -----------------------------------===//
// The scale enters where backward starts and leaves where a scalar multiplies gradients anyway, so
// no gradient is ever divided in memory. Its state is assigned before the guard: a skipped step
// moves it and nothing else.
#include "StepProgram.h"
#include "dsc/Passes/Passes.h"
#include "dsc/Support/Fault.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>
#include <optional>

namespace dsc {
#define GEN_PASS_DEF_DSLOSSSCALING
#include "dsc/Passes/Passes.h.inc"
} // namespace dsc

using namespace mlir;
using namespace dsc;

namespace {
enum class Mode { None, Static, Dynamic };

class Scaling {
public:
  Scaling(ModuleOp module, func::FuncOp update, Mode mode, bool consecutive, double initial)
      : module(module), update(update), mode(mode), consecutive(consecutive), initial(initial),
        builder(module.getContext()), scalar(RankedTensorType::get({}, builder.getF64Type())) {}

  LogicalResult run();

  int64_t seeds = 0;

private:
  LogicalResult find();
  FailureOr<Value> hyperparameter(StringRef path);
  LogicalResult readHyperparameters();
  void declare(StringRef name, double value);
  Value read(StringRef name) { return ds::ReadOp::create(builder, guard.getLoc(), scalar, name); }
  /// The scale at the start of a program.
  Value scaleIn(func::FuncOp program);
  void scaleSeeds();
  void unscale();
  void advance();

  ModuleOp module;
  func::FuncOp update;
  Mode mode;
  bool consecutive;
  double initial;
  OpBuilder builder;
  RankedTensorType scalar;
  ds::GuardOp guard;
  ds::ClipFactorOp clip;
  Operation *lastVariable = nullptr;
  Value scale, window, hysteresis, floor, cap, patience;
};
} // namespace

static constexpr StringLiteral scaleName = "loss_scale.scale", goodName = "loss_scale.good",
                               usedName = "loss_scale.used", flooredName = "loss_scale.floored",
                               staticPath = "train.fp16.loss_scale";

LogicalResult Scaling::find() {
  for (auto found : update.getOps<ds::GuardOp>())
    guard = found;
  for (auto found : update.getOps<ds::ClipFactorOp>())
    clip = found;
  if (!guard || !clip)
    return update.emitOpError("S1: no ")
           << (guard ? "ds.clip_factor" : "ds.guard") << ", run ds-insert-optimizer first";
  if (guard.getFloored())
    return guard.emitOpError("S2: the loss is scaled already");
  for (auto variable : module.getOps<ds::VariableOp>())
    lastVariable = variable;
  return success();
}

FailureOr<Value> Scaling::hyperparameter(StringRef path) {
  auto symbol = module.lookupSymbol<ds::HyperparameterOp>(path);
  if (!symbol)
    return update.emitOpError("S3: there is no hyper-parameter '") << path << "'";
  return ds::ReadOp::create(builder, symbol.getLoc(), scalar, path).getResult();
}

LogicalResult Scaling::readHyperparameters() {
  SmallVector<std::pair<Value *, StringRef>> wanted = {
      {&window, "train.fp16.loss_scale_window"},
      {&hysteresis, "train.fp16.hysteresis"},
      {&patience, "train.fp16.max_skips_at_floor"}};
  if (mode == Mode::Static) // a scale that can neither fall nor rise
    wanted.append({{&floor, staticPath}, {&cap, staticPath}});
  else
    wanted.append({{&floor, "train.fp16.min_loss_scale"}, {&cap, "train.fp16.max_loss_scale"}});
  for (auto [value, path] : wanted) {
    FailureOr<Value> found = hyperparameter(path);
    if (failed(found))
      return failure();
    *value = *found;
  }
  return success();
}

void Scaling::declare(StringRef name, double value) {
  OpBuilder::InsertionGuard insertion(builder);
  builder.setInsertionPointAfter(lastVariable);
  Location loc = NameLoc::get(builder.getStringAttr(name), guard.getLoc());
  lastVariable = ds::VariableOp::create(builder, loc, name, scalar, ds::Role::StepState, value);
}

Value Scaling::scaleIn(func::FuncOp program) {
  OpBuilder::InsertionGuard insertion(builder);
  builder.setInsertionPointToStart(&program.getBody().front());
  return read(mode == Mode::Static ? staticPath : scaleName);
}

void Scaling::scaleSeeds() {
  for (auto program : module.getOps<func::FuncOp>()) {
    Value here;
    program.walk([&](ds::LossSeedOp seed) {
      if (!here)
        here = program == update ? scale : scaleIn(program);
      seed.getScaleMutable().assign(here);
      ++seeds;
    });
  }
}

/// The norm as a scalar, and the factor that the optimizer applies to each gradient.
void Scaling::unscale() {
  Value norm = clip.getNorm();
  builder.setInsertionPointAfterValue(norm);
  auto plain = ds::UnscaleOp::create(builder, norm.getLoc(), scalar, norm, scale);
  if (DSC_FAULT(20, true, false))
    norm.replaceAllUsesExcept(plain, plain);
  builder.setInsertionPointAfter(clip);
  auto factor = ds::UnscaleOp::create(builder, clip.getLoc(), scalar, clip.getResult(), scale);
  if (DSC_FAULT(19, true, false))
    clip.getResult().replaceAllUsesExcept(factor, factor);
}

void Scaling::advance() {
  builder.setInsertionPoint(guard);
  Location loc = NameLoc::get(builder.getStringAttr("loss_scale"), guard.getLoc());
  ds::ReportOp::create(builder, loc, "loss_scale", scale);
  Value now[] = {scale, read(DSC_FAULT(21, goodName, usedName)), read(usedName), read(flooredName)};
  auto next = ds::LossScaleUpdateOp::create(
      builder, loc, scalar, scalar, scalar, scalar, guard.getCount(), guard.getLoss(),
      guard.getNorm(), now[0], now[1], now[2], now[3], window, hysteresis, floor, cap, consecutive);
  StringRef names[] = {scaleName, goodName, usedName, flooredName};
  for (auto [name, value] : llvm::zip_equal(names, next->getResults()))
    ds::AssignOp::create(builder, loc, name, value);
  guard.getFlooredMutable().assign(next.getNewFloored());
  guard.getPatienceMutable().assign(patience);
}

LogicalResult Scaling::run() {
  if (failed(find()))
    return failure();
  builder.setInsertionPointToStart(&update.getBody().front());
  if (failed(readHyperparameters()))
    return failure();
  declare(scaleName, initial);
  for (StringRef name : {goodName, usedName, flooredName})
    declare(name, 0);
  scale = mode == Mode::Static ? floor : read(scaleName);
  scaleSeeds();
  unscale();
  advance();
  return success();
}

namespace {
struct LossScaling : dsc::impl::DsLossScalingBase<LossScaling> {
  using Base::Base;

  void runOnOperation() override {
    auto chosen = llvm::StringSwitch<std::optional<Mode>>(mode)
                      .Case("none", Mode::None)
                      .Case("static", Mode::Static)
                      .Case("dynamic", Mode::Dynamic)
                      .Default(std::nullopt);
    if (!chosen || !(initial > 0) || !std::isfinite(initial)) {
      getOperation().emitError("S4: expected mode none, static or dynamic and a positive initial "
                               "scale, found '")
          << mode << "' and " << double(initial);
      return signalPassFailure();
    }
    func::FuncOp program = findStep(getOperation());
    if (!program || *chosen == Mode::None)
      return;
    Scaling scaling(getOperation(), program, *chosen, consecutive, initial);
    if (failed(scaling.run()))
      return signalPassFailure();
    seeds += scaling.seeds;
  }
};
} // namespace
