//===- MixedPrecision.cpp - ds-mixed-precision -----------------------------===//
// One walk a program, in order: when an op is met the types of its operands are final, so its
// results can be given theirs. Nothing is rounded that the policy does not name.
#include "dsc/Dialect/DS/DS.h"
#include "dsc/Interfaces/Interfaces.h"
#include "dsc/Passes/Passes.h"
#include "dsc/Passes/PrecisionPolicy.h"
#include "dsc/Plan/Plan.h"
#include "dsc/Support/Fault.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace dsc {
#define GEN_PASS_DEF_DSMIXEDPRECISION
#include "dsc/Passes/Passes.h.inc"
} // namespace dsc

using namespace mlir;
using namespace dsc;

namespace {
class Retyping {
public:
  Retyping(ModuleOp module, Type half) : module(module), half(half) {}

  LogicalResult run() {
    for (auto program : module.getOps<func::FuncOp>()) {
      narrowed.clear();
      widened.clear();
      if (!program.isExternal() && failed(visitBlock(program.getBody().front())))
        return failure();
    }
    for (auto program : module.getOps<func::FuncOp>())
      program.walk([&](ds::AssignOp assign) { assignCopy(assign); });
    return success();
  }

  int64_t retyped = 0, casts = 0;
  llvm::MapVector<StringRef, ds::VariableOp> copies; ///< by name of the parameter

private:
  bool isWide(Value value) {
    auto tensor = dyn_cast<RankedTensorType>(value.getType());
    return tensor && tensor.getElementType().isF32();
  }
  bool isNarrow(Value value) {
    auto tensor = dyn_cast<RankedTensorType>(value.getType());
    return tensor && tensor.getElementType() == half;
  }
  static RankedTensorType withElement(Type type, Type element) {
    return RankedTensorType::get(cast<RankedTensorType>(type).getShape(), element);
  }

  LogicalResult visitBlock(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block))
      if (failed(visit(&op)))
        return failure();
    return success();
  }
  LogicalResult visit(Operation *op);
  bool readsNarrow(Operation *op);
  bool anyReaderWantsHalf(Value value);
  Value narrow(Value value);
  Value widen(Value value);
  Value castAfter(Value value, Type element);
  FailureOr<ds::VariableOp> copyOf(ds::VariableOp parameter);
  void assignCopy(ds::AssignOp assign);

  ModuleOp module;
  Type half;
  llvm::DenseMap<Value, Value> narrowed, widened; ///< of the program at hand
};
} // namespace

/// A cast of `value`, right behind what defines it.
Value Retyping::castAfter(Value value, Type element) {
  OpBuilder builder(module.getContext());
  if (Operation *op = value.getDefiningOp())
    builder.setInsertionPointAfter(op);
  else
    builder.setInsertionPointToStart(value.getParentBlock());
  ++casts;
  return ds::CastOp::create(builder, value.getLoc(), withElement(value.getType(), element), value);
}

FailureOr<ds::VariableOp> Retyping::copyOf(ds::VariableOp parameter) {
  ds::VariableOp &copy = copies[parameter.getSymName()];
  if (copy)
    return copy;
  std::string name = (StringRef(plan::workingCopyPrefix) + parameter.getSymName()).str();
  if (Operation *other = module.lookupSymbol(name)) {
    other->emitOpError("X3: '") << name << "' is the name of a working copy";
    return failure();
  }
  OpBuilder builder(module.getContext());
  Operation *last = parameter;
  for (auto variable : module.getOps<ds::VariableOp>())
    last = variable;
  builder.setInsertionPointAfter(last);
  copy = ds::VariableOp::create(builder, parameter.getLoc(), name,
                                withElement(parameter.getType(), half), ds::Role::WorkingCopy);
  return copy;
}

/// `value` in two bytes: the working copy of a parameter, a cast of anything else. Null after a
/// diagnostic.
Value Retyping::narrow(Value value) {
  Value &known = narrowed[value];
  if (known)
    return known;
  auto read = value.getDefiningOp<ds::ReadOp>();
  auto variable =
      read ? SymbolTable::lookupNearestSymbolFrom<ds::VariableOp>(read, read.getVariableAttr())
           : ds::VariableOp();
  if (!variable || variable.getRole() != ds::Role::Parameter)
    return known = castAfter(value, half);
  FailureOr<ds::VariableOp> copy = copyOf(variable);
  if (failed(copy))
    return Value();
  OpBuilder builder(module.getContext());
  builder.setInsertionPointAfter(read);
  return known = ds::ReadOp::create(builder, read.getLoc(), copy->getType(), copy->getSymName());
}

Value Retyping::widen(Value value) {
  Value &known = widened[value];
  if (!known)
    known = castAfter(value, Float32Type::get(module.getContext()));
  return known;
}

/// True if an operand that goes together with the results is in two bytes.
bool Retyping::readsNarrow(Operation *op) {
  return llvm::any_of(op->getOpOperands(), [&](OpOperand &operand) {
    return storageOf(operand) == Storage::Together && isNarrow(operand.get());
  });
}

/// True if a reader of `value`, in its block or outside of it, wants two bytes.
bool Retyping::anyReaderWantsHalf(Value value) {
  for (OpOperand &use : value.getUses()) {
    if (auto yield = dyn_cast<ds::YieldOp>(use.getOwner())) {
      if (anyReaderWantsHalf(yield->getParentOp()->getResult(use.getOperandNumber())))
        return true;
      continue;
    }
    Storage storage = storageOf(use);
    if (storage == Storage::Half || storage == Storage::Together)
      return true;
  }
  return false;
}

LogicalResult Retyping::visit(Operation *op) {
  if (auto block = dyn_cast<ds::BlockOp>(op)) {
    if (failed(visitBlock(block.getBody().front())))
      return failure();
    for (auto [result, value] : llvm::zip_equal(block.getResults(), block.getYield().getValues()))
      result.setType(value.getType());
    return success();
  }
  if (isa<ds::ReportOp, ds::AssignOp, func::ReturnOp>(op)) { // what leaves a program is f32
    for (OpOperand &operand : op->getOpOperands())
      if (isNarrow(operand.get()))
        operand.set(widen(operand.get()));
    return success();
  }
  if (!isa<ShardableOpInterface>(op))
    return success();
  if (!findPrecisionPolicy(op->getName().getStringRef()))
    return op->emitOpError("X2: has no row in the precision policy");

  bool together = readsNarrow(op);
  for (OpOperand &operand : op->getOpOperands()) {
    Storage storage = storageOf(operand);
    bool wantsHalf = storage == Storage::Half || (storage == Storage::Together && together);
    if (wantsHalf && isWide(operand.get())) {
      Value value = narrow(operand.get());
      if (!value)
        return failure();
      operand.set(value);
    } else if (storage == Storage::Wide && isNarrow(operand.get())) {
      operand.set(widen(operand.get()));
    }
  }
  for (OpResult result : op->getResults()) {
    Storage storage = storageOf(result);
    bool isHalf = storage == Storage::Half || (storage == Storage::Together && together) ||
                  (storage == Storage::Wanted && anyReaderWantsHalf(result));
    if (!isHalf || !isWide(result))
      continue;
    result.setType(withElement(result.getType(), half));
    ++retyped;
  }
  return success();
}

/// Where a parameter with a working copy is assigned, the copy is assigned the rounded value.
void Retyping::assignCopy(ds::AssignOp assign) {
  auto found = copies.find(assign.getVariable());
  if (found == copies.end())
    return;
  OpBuilder builder(module.getContext());
  builder.setInsertionPointAfter(assign);
  Value rounded = ds::CastOp::create(
      builder, assign.getLoc(), found->second.getType(),
      DSC_FAULT(22, assign.getValue(), assign.getValue().getDefiningOp()->getOperand(0)));
  ++casts;
  ds::AssignOp::create(builder, assign.getLoc(), found->second.getSymName(), rounded);
}

namespace {
struct MixedPrecision : dsc::impl::DsMixedPrecisionBase<MixedPrecision> {
  using Base::Base;

  void runOnOperation() override {
    Type half = type == "f16"    ? Type(Float16Type::get(&getContext()))
                : type == "bf16" ? Type(BFloat16Type::get(&getContext()))
                                 : Type();
    if (!half) {
      getOperation().emitError("X1: unknown type '") << type << "', expected f16 or bf16";
      return signalPassFailure();
    }
    Retyping retyping(getOperation(), half);
    if (failed(retyping.run()))
      return signalPassFailure();
    retyped += retyping.retyped;
    casts += retyping.casts;
    copies += retyping.copies.size();
  }
};
} // namespace
