//===- InsertOptimizer.cpp - ds-insert-optimizer ---------------------------===//
// Everything before the guard only computes; everything after it is an update and its assignments,
// so a step that stops at the guard has changed nothing.
#include "StepProgram.h"
#include "dsc/Dialect/DS/Schedules.h"
#include "dsc/Passes/Passes.h"
#include "llvm/ADT/StringSwitch.h"
#include <optional>

namespace dsc {
#define GEN_PASS_DEF_DSINSERTOPTIMIZER
#include "dsc/Passes/Passes.h.inc"
} // namespace dsc

using namespace mlir;
using namespace dsc;

namespace {
enum class Kind { AdamW, Adam, Sgd };

class Insertion {
public:
  Insertion(ModuleOp module, func::FuncOp program, Kind kind, ds::Schedule schedule,
            bool linearWarmup, bool decoupled, bool nesterov)
      : module(module), program(program), kind(kind), schedule(schedule),
        linearWarmup(linearWarmup), decoupled(decoupled), nesterov(nesterov),
        builder(program.getBody().front().getTerminator()),
        scalar(RankedTensorType::get({}, builder.getF64Type())) {}

  LogicalResult run();

  int64_t parameters = 0, stateBytes = 0;

private:
  LogicalResult findStepValues();
  LogicalResult readHyperparameters();
  FailureOr<Value> hyperparameter(StringRef path);
  Location named(const Twine &name) {
    return NameLoc::get(builder.getStringAttr(name), program.getLoc());
  }
  /// Declares `name` after the variables so far and reads it.
  Value state(const Twine &name, RankedTensorType type, ds::Role role);
  void assign(StringRef name, Value value, Location loc) {
    ds::AssignOp::create(builder, loc, name, value);
  }
  void update(ds::VariableOp parameter, Value weight, Value gradient);

  ModuleOp module;
  func::FuncOp program;
  Kind kind;
  ds::Schedule schedule;
  bool linearWarmup, decoupled, nesterov;
  OpBuilder builder;
  RankedTensorType scalar;
  Operation *lastVariable = nullptr;
  std::map<std::string, Value> gradients;
  llvm::StringMap<Value> weights; // reads of parameters that the forward pass made
  Value loss, count, norm, clip, updates, peak, floor, warmup, total, extra, rate;
  Value beta1, beta2, eps, momentum, decay;
};
} // namespace

LogicalResult Insertion::findStepValues() {
  if (module.lookupSymbol("updates"))
    return program.emitOpError("T5: an optimizer has been inserted already");
  ds::ReportOp lossReport = findReport(program, "loss"),
               countReport = findReport(program, "tokens");
  if (!lossReport || !countReport)
    return program.emitOpError("T1: no '") << (lossReport ? "tokens" : "loss") << "' is reported";
  loss = lossReport.getValue();
  count = countReport.getValue();
  gradients = reportedGradients(program);
  for (auto variable : module.getOps<ds::VariableOp>()) {
    lastVariable = variable;
    if (variable.getRole() == ds::Role::Parameter && !gradients.count(variable.getSymName().str()))
      return program.emitOpError("T1: no gradient of '")
             << variable.getSymName() << "' is reported";
  }
  if (!lastVariable)
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

FailureOr<Value> Insertion::hyperparameter(StringRef path) {
  auto symbol = module.lookupSymbol<ds::HyperparameterOp>(path);
  if (!symbol)
    return program.emitOpError("T3: there is no hyper-parameter '") << path << "'";
  return ds::ReadOp::create(builder, symbol.getLoc(), scalar, path).getResult();
}

LogicalResult Insertion::readHyperparameters() {
  ds::ScheduleScalars scalars = ds::scalarsOf(schedule);
  SmallVector<std::pair<Value *, StringRef>> wanted = {{&peak, scalars.peak},
                                                       {&floor, scalars.floor},
                                                       {&warmup, scalars.warmup},
                                                       {&total, scalars.total}};
  if (!scalars.extra.empty())
    wanted.push_back({&extra, scalars.extra});
  if (kind == Kind::Sgd) {
    wanted.push_back({&momentum, "train.optimizer.params.momentum"});
  } else {
    wanted.push_back({&beta1, "train.optimizer.params.betas.0"});
    wanted.push_back({&beta2, "train.optimizer.params.betas.1"});
    wanted.push_back({&eps, "train.optimizer.params.eps"});
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

Value Insertion::state(const Twine &twine, RankedTensorType type, ds::Role role) {
  std::string name = twine.str();
  Location loc = named(name);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfter(lastVariable);
    lastVariable = ds::VariableOp::create(builder, loc, builder.getStringAttr(name), type, role,
                                          ds::Initializer::Zeros, llvm::APFloat(0.0),
                                          /*decay=*/false);
  }
  if (role == ds::Role::OptimizerState)
    stateBytes += type.getNumElements() * type.getElementTypeBitWidth() / 8;
  return ds::ReadOp::create(builder, loc, type, name);
}

void Insertion::update(ds::VariableOp parameter, Value weight, Value gradient) {
  std::string name = parameter.getSymName().str();
  auto type = cast<RankedTensorType>(parameter.getType());
  Location loc = named("update." + name);
  Value decayHere = parameter.getDecay() ? decay : Value();
  if (kind == Kind::Sgd) {
    std::string slot = "sgd.velocity." + name;
    Value velocity = state(slot, type, ds::Role::OptimizerState);
    auto next = ds::SgdUpdateOp::create(builder, loc, type, type, weight, gradient, velocity, clip,
                                        rate, momentum, decayHere, nesterov);
    assign(name, next.getNewWeight(), loc);
    assign(slot, next.getNewVelocity(), loc);
  } else {
    std::string first = "adam.m." + name, second = "adam.v." + name;
    Value m = state(first, type, ds::Role::OptimizerState);
    Value v = state(second, type, ds::Role::OptimizerState);
    auto next = ds::AdamUpdateOp::create(builder, loc, type, type, type, weight, gradient, m, v,
                                         clip, rate, beta1, beta2, eps, updates, decayHere,
                                         kind == Kind::AdamW || decoupled);
    assign(name, next.getNewWeight(), loc);
    assign(first, next.getNewM(), loc);
    assign(second, next.getNewV(), loc);
  }
  ++parameters;
}

LogicalResult Insertion::run() {
  if (failed(findStepValues()) || failed(readHyperparameters()))
    return failure();
  SmallVector<ds::VariableOp> toUpdate;
  for (auto variable : module.getOps<ds::VariableOp>())
    if (variable.getRole() == ds::Role::Parameter)
      toUpdate.push_back(variable);

  updates = state("updates", scalar, ds::Role::Counter);
  Location rateLoc = named("learning_rate");
  rate = ds::LearningRateOp::create(builder, rateLoc, scalar, updates, peak, floor, warmup, total,
                                    extra, schedule, linearWarmup);
  ds::ReportOp::create(builder, rateLoc, "learning_rate", rate);
  ds::GuardOp::create(builder, named("guard"), count, loss, norm);
  for (ds::VariableOp parameter : toUpdate) {
    StringRef name = parameter.getSymName();
    Value weight = weights.lookup(name), gradient = gradients[name.str()];
    if (!weight || gradient.getType() != parameter.getType())
      return program.emitOpError("T1: the gradient of '")
             << name << "' is " << gradient.getType() << ", the parameter is "
             << parameter.getType();
    update(parameter, weight, gradient);
  }
  Location counterLoc = named("updates");
  assign("updates", ds::IncrementOp::create(builder, counterLoc, scalar, updates), counterLoc);
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
    auto kind = llvm::StringSwitch<std::optional<Kind>>(optimizer)
                    .Case("adamw", Kind::AdamW)
                    .Case("adam", Kind::Adam)
                    .Case("sgd", Kind::Sgd)
                    .Default(std::nullopt);
    std::optional<ds::Schedule> shape = ds::symbolizeSchedule(schedule);
    if (!kind || !shape) {
      getOperation().emitError("T4: unknown ")
          << (kind ? "schedule '" + schedule : "optimizer '" + optimizer) << "', expected "
          << (kind ? scheduleNames() : std::string("adamw, adam or sgd"));
      return signalPassFailure();
    }
    func::FuncOp program = findStep(getOperation());
    if (!program)
      return;
    Insertion insertion(getOperation(), program, *kind, *shape,
                        linearWarmup && ds::isDeepSpeedSchedule(*shape), decoupled, nesterov);
    if (failed(insertion.run()))
      return signalPassFailure();
    parametersUpdated += insertion.parameters;
    stateBytes += insertion.stateBytes;
  }
};
} // namespace
