//===- InsertOptimizer.cpp - ds-insert-optimizer ---------------------------===//
// Everything before the guard only computes; everything after it is an update and its assignments,
// so a step that stops at the guard has changed nothing.
#include "OptimizerInsertion.h"
#include "StepProgram.h"
#include "dsc/Passes/Passes.h"
#include "dsc/Support/Fault.h"
#include "llvm/ADT/StringSwitch.h"
#include <optional>

namespace dsc {
#define GEN_PASS_DEF_DSINSERTOPTIMIZER
#include "dsc/Passes/Passes.h.inc"
} // namespace dsc

using namespace mlir;
using namespace dsc;

LogicalResult OptimizerInsertion::findStepValues() {
  if (module.lookupSymbol("updates"))
    return program.emitOpError("T5: an optimizer has been inserted already");
  ds::ReportOp lossReport = findReport(program, "loss"),
               countReport = findReport(program, "tokens");
  if (!lossReport || !countReport)
    return program.emitOpError("T1: no '") << (lossReport ? "tokens" : "loss") << "' is reported";
  loss = lossReport.getValue();
  count = countReport.getValue();
  gradients = reportedGradients(program);
  bool trained = false;
  for (auto variable : module.getOps<ds::VariableOp>()) {
    lastVariable = variable;
    if (variable.getRole() != ds::Role::Parameter || variable.getFrozen())
      continue;
    trained = true;
    if (!gradients.count(variable.getSymName().str()))
      return program.emitOpError("T1: no gradient of '")
             << variable.getSymName() << "' is reported";
  }
  if (!trained)
    return program.emitOpError("T1: there is no parameter to update");
  auto factors = program.getOps<ds::ClipFactorOp>();
  if (std::distance(factors.begin(), factors.end()) != 1)
    return program.emitOpError("T2: expected one ds.clip_factor, found ")
           << std::distance(factors.begin(), factors.end()) << "; run ds-clip-gradients first";
  clip = (*factors.begin()).getResult();
  norm = (*factors.begin()).getNorm();
  for (auto read : program.getOps<ds::ReadOp>())
    weights.try_emplace(read.getVariable(), read.getResult());
  return success();
}

FailureOr<Value> OptimizerInsertion::hyperparameter(StringRef path) {
  auto symbol = module.lookupSymbol<ds::HyperparameterOp>(path);
  if (!symbol)
    return program.emitOpError("T3: there is no hyper-parameter '") << path << "'";
  return ds::ReadOp::create(builder, symbol.getLoc(), scalar, path).getResult();
}

LogicalResult OptimizerInsertion::readHyperparameters() {
  ds::ScheduleScalars scalars = ds::scalarsOf(schedule);
  SmallVector<std::pair<Value *, StringRef>> wanted = {{&peak, scalars.peak},
                                                       {&floor, scalars.floor},
                                                       {&warmup, scalars.warmup},
                                                       {&total, scalars.total}};
  if (!scalars.extra.empty())
    wanted.push_back({&extra, scalars.extra});
  if (kind == OptimizerKind::Sgd) {
    wanted.push_back({&momentum, "train.optimizer.params.momentum"});
  } else if (kind == OptimizerKind::Adafactor) {
    wanted.push_back({&exponent, "train.optimizer.params.beta2_decay"});
    wanted.push_back({&eps, "train.optimizer.params.eps.0"});
    wanted.push_back({&leastRms, "train.optimizer.params.eps.1"});
    wanted.push_back({&mostRms, "train.optimizer.params.d"});
  } else {
    wanted.push_back({&beta1, "train.optimizer.params.betas.0"});
    wanted.push_back({&beta2, "train.optimizer.params.betas.1"});
    if (kind != OptimizerKind::Lion)
      wanted.push_back({&eps, "train.optimizer.params.eps"});
    if (kind == OptimizerKind::Lamb) {
      wanted.push_back({&leastRatio, "train.optimizer.params.min_coeff"});
      wanted.push_back({&mostRatio, "train.optimizer.params.max_coeff"});
    }
  }
  wanted.push_back({&decay, "train.optimizer.params.weight_decay"});
  for (auto [value, path] : wanted) {
    FailureOr<Value> read = hyperparameter(path);
    if (failed(read))
      return failure();
    *value = *read;
  }
  return success();
}

Value OptimizerInsertion::state(const Twine &twine, RankedTensorType type, ds::Role role) {
  std::string name = twine.str();
  Location loc = named(name);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfter(lastVariable);
    lastVariable = ds::VariableOp::create(builder, loc, name, type, role);
  }
  if (role == ds::Role::OptimizerState)
    stateBytes += type.getNumElements() * type.getElementTypeBitWidth() / 8;
  return ds::ReadOp::create(builder, loc, type, name);
}

/// The hyper-parameter `path`, or null if the module has none.
Value OptimizerInsertion::readIfDeclared(const Twine &twine) {
  std::string path = twine.str();
  auto symbol = module.lookupSymbol<ds::HyperparameterOp>(path);
  return symbol ? ds::ReadOp::create(builder, symbol.getLoc(), scalar, path).getResult() : Value();
}

/// Rate and decay of each group that has a parameter to update; -1 is what no entry matches.
void OptimizerInsertion::findGroups() {
  groups[-1] = {rate, decay};
  for (auto variable : module.getOps<ds::VariableOp>()) {
    int64_t index = variable.getGroup();
    if (variable.getFrozen() || groups.count(index))
      continue;
    std::string prefix = "train.param_groups." + std::to_string(index);
    Group group = groups[-1];
    if (Value scale = readIfDeclared(prefix + ".lr_scale"))
      group.rate = ds::ScaleRateOp::create(builder, named("learning_rate." + Twine(index)), scalar,
                                           rate, DSC_FAULT(16, scale, rate));
    if (Value own = readIfDeclared(prefix + ".weight_decay"))
      group.decay = own;
    groups[index] = group;
  }
}

void OptimizerInsertion::update(ds::VariableOp parameter, Value weight, Value gradient) {
  std::string name = parameter.getSymName().str();
  Location loc = named("update." + name);
  Group group = groups[parameter.getGroup()];
  if (DSC_FAULT(14, !parameter.getDecay(), parameter.getDecay()))
    group.decay = Value();
  if (valueLimit)
    gradient =
        ds::ClipValuesOp::create(builder, loc, gradient.getType(), gradient, clip, valueLimit);
  switch (kind) {
  case OptimizerKind::Sgd:
    updateSgd(name, weight, gradient, group, loc);
    break;
  case OptimizerKind::AdamW:
  case OptimizerKind::Adam:
    updateAdam(name, weight, gradient, group, loc);
    break;
  case OptimizerKind::Lion:
    updateLion(name, weight, gradient, group, loc);
    break;
  case OptimizerKind::Lamb:
    updateLamb(name, weight, gradient, group, loc);
    break;
  case OptimizerKind::Adafactor:
    updateAdafactor(name, weight, gradient, group, loc);
    break;
  }
  ++parameters;
}

/// What masks are drawn by moves with every step, so it stands before the guard.
void OptimizerInsertion::advanceSteps() {
  auto steps = module.lookupSymbol<ds::VariableOp>("steps");
  if (!steps)
    return;
  Value now = weights.lookup("steps");
  if (!now)
    now = ds::ReadOp::create(builder, steps.getLoc(), scalar, "steps");
  assign("steps",
         ds::IncrementOp::create(builder, steps.getLoc(), scalar, now, Value(),
                                 llvm::APFloat(DSC_FAULT(18, 1.0, 0.0))),
         steps.getLoc());
}

LogicalResult OptimizerInsertion::run() {
  if (failed(findStepValues()) || failed(readHyperparameters()))
    return failure();
  SmallVector<ds::VariableOp> toUpdate;
  for (auto variable : module.getOps<ds::VariableOp>())
    if (variable.getRole() == ds::Role::Parameter && !variable.getFrozen())
      toUpdate.push_back(variable);

  updates = state("updates", scalar, ds::Role::Counter);
  advanceSteps();
  Location rateLoc = named("learning_rate");
  rate = ds::LearningRateOp::create(builder, rateLoc, scalar, updates, peak, floor, warmup, total,
                                    extra, schedule, linearWarmup);
  ds::ReportOp::create(builder, rateLoc, "learning_rate", rate);
  if (kind == OptimizerKind::Adafactor)
    toward = ds::UpdatePowerOp::create(builder, named("moments"), scalar, updates, exponent);
  findGroups();
  valueLimit = readIfDeclared("train.gradient_clipping_value");
  ds::GuardOp::create(builder, named("guard"), count, loss, norm, Value(), Value());
  for (ds::VariableOp parameter : toUpdate) {
    StringRef name = parameter.getSymName();
    Value weight = weights.lookup(name), gradient = gradients[name.str()];
    if (!weight) // the forward pass is in another program
      weight = ds::ReadOp::create(builder, parameter.getLoc(), parameter.getType(), name);
    if (gradient.getType() != parameter.getType())
      return program.emitOpError("T1: the gradient of '")
             << name << "' is " << gradient.getType() << ", the parameter is "
             << parameter.getType();
    update(parameter, weight, gradient);
  }
  Location counterLoc = named("updates");
  assign("updates",
         ds::IncrementOp::create(builder, counterLoc, scalar, updates, Value(),
                                 llvm::APFloat(DSC_FAULT(17, 1.0, 2.0))),
         counterLoc);
  return success();
}

/// "constant, linear, ... or warmup_cosine_lr"
static std::string scheduleNames() {
  std::string names;
  for (uint32_t i = 0, last = ds::getMaxEnumValForSchedule(); i <= last; ++i)
    names += (i == 0      ? ""
              : i == last ? " or "
                          : ", ") +
             ds::stringifySchedule(static_cast<ds::Schedule>(i)).str();
  return names;
}

namespace {
struct InsertOptimizer : dsc::impl::DsInsertOptimizerBase<InsertOptimizer> {
  using Base::Base;

  void runOnOperation() override {
    auto kind = llvm::StringSwitch<std::optional<OptimizerKind>>(optimizer)
                    .Case("adamw", OptimizerKind::AdamW)
                    .Case("adam", OptimizerKind::Adam)
                    .Case("sgd", OptimizerKind::Sgd)
                    .Case("lion", OptimizerKind::Lion)
                    .Case("lamb", OptimizerKind::Lamb)
                    .Case("adafactor", OptimizerKind::Adafactor)
                    .Default(std::nullopt);
    std::optional<ds::Schedule> shape = ds::symbolizeSchedule(schedule);
    if (!kind || !shape) {
      getOperation().emitError("T4: unknown ")
          << (kind ? "schedule '" + schedule : "optimizer '" + optimizer) << "', expected "
          << (kind ? scheduleNames() : std::string("adamw, adam, sgd, lion, lamb or adafactor"));
      return signalPassFailure();
    }
    func::FuncOp program = findStep(getOperation());
    if (!program)
      return;
    OptimizerInsertion insertion(getOperation(), program, *kind, *shape,
                                 linearWarmup && ds::isDeepSpeedSchedule(*shape), decoupled,
                                 nesterov);
    if (failed(insertion.run()))
      return signalPassFailure();
    parametersUpdated += insertion.parameters;
    stateBytes += insertion.stateBytes;
  }
};
} // namespace
