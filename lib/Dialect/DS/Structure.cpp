//===- Structure.cpp - verifiers of Ops/Structure.td ---===//
#include "ShapeChecks.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace mlir;
using namespace dsc;
using namespace dsc::ds;

//===-- variables and hyper-parameters --===//

void VariableOp::build(OpBuilder &builder, OperationState &state, StringRef name,
                       RankedTensorType type, Role role, double start) {
  build(builder, state, builder.getStringAttr(name), type, role,
        start == 0 ? Initializer::Zeros : Initializer::Constant, llvm::APFloat(0.0),
        /*decay=*/false, /*frozen=*/false, /*group=*/-1, llvm::APFloat(start), AxisAttr(),
        AxisAttr(), DenseI64ArrayAttr(), DenseI64ArrayAttr(), /*places=*/1);
}

LogicalResult VariableOp::verify() {
  double stddev = getStddev().convertToDouble();
  bool normal = getInitializer() == Initializer::Normal;
  if (normal ? !(stddev > 0) || !std::isfinite(stddev) : stddev != 0)
    return emitOpError("V1: stddev must be ")
           << (normal ? "positive and finite" : "absent") << " with initializer "
           << stringifyInitializer(getInitializer()) << ", found " << stddev;
  const char *mark = getDecay()        ? "in the decay group"
                     : getFrozen()     ? "frozen"
                     : getGroup() >= 0 ? "in a group"
                                       : nullptr;
  if (mark && getRole() != Role::Parameter)
    return emitOpError("V2: only parameters may be ")
           << mark << ", this is a " << stringifyRole(getRole());
  if (getDecay() && getFrozen())
    return emitOpError("V4: a frozen parameter is in the decay group");
  double value = getValue().convertToDouble();
  if (!std::isfinite(value) || (value != 0 && getInitializer() != Initializer::Constant))
    return emitOpError("V1: value must be finite, and absent with initializer ")
           << stringifyInitializer(getInitializer()) << ", found " << value;
  if (!cast<RankedTensorType>(getType()).hasStaticShape())
    return emitOpError("V3: the shape must be static, found ") << getType();
  if (getPlaces() < 1 || (getPlaces() > 1 && getRole() != Role::Stash))
    return emitOpError("V5: places must be positive, and 1 for a ")
           << stringifyRole(getRole()) << ", found " << getPlaces();
  bool cut = getCut().has_value();
  if (cut != getCutAxis().has_value() || cut != getLogical().has_value())
    return emitOpError("V6: cut_axis, logical and cut come together");
  if (cut) {
    ArrayRef<int64_t> parts = getCutAttr(), shape = getLogicalAttr();
    int64_t whole = 1, product = 1;
    for (int64_t size : shape)
      whole *= size;
    for (int64_t size : parts)
      product *= size;
    if (parts.size() != 3 || llvm::any_of(parts, [](int64_t size) { return size < 1; }) ||
        whole != product)
      return emitOpError("V6: cut must be three positive numbers whose product is that of logical, ")
             << whole;
  }
  return success();
}

LogicalResult HyperparameterOp::verify() {
  if (!getValue().isFinite())
    return emitOpError("H1: the value must be finite, found ") << getValueAttr();
  return success();
}

/// Type of what `symbol` names, or null.
static Type typeOfSymbol(Operation *symbol) {
  if (auto variable = dyn_cast_or_null<VariableOp>(symbol))
    return variable.getType();
  if (isa_and_nonnull<HyperparameterOp>(symbol))
    return RankedTensorType::get({}, Float64Type::get(symbol->getContext()));
  return {};
}

/// Values print under the name of the variable or block they come from.
static void nameAfter(Value value, StringRef name, function_ref<void(Value, StringRef)> setName) {
  std::string text = name.str();
  for (char &c : text)
    if (!llvm::isAlnum(c) && c != '.' && c != '_')
      c = '_';
  if (!text.empty() && !llvm::isDigit(text.front()))
    setName(value, text);
}

void ReadOp::getAsmResultNames(function_ref<void(Value, StringRef)> setName) {
  nameAfter(getResult(), getVariable(), setName);
}

void BlockOp::getAsmResultNames(function_ref<void(Value, StringRef)> setName) {
  if (getNumResults())
    nameAfter(getResult(0), getLabel(), setName);
}

LogicalResult ReadOp::verifySymbolUses(SymbolTableCollection &symbols) {
  Type expected = typeOfSymbol(symbols.lookupNearestSymbolFrom(*this, getVariableAttr()));
  if (!expected)
    return emitOpError("U1: ") << getVariableAttr() << " names no variable or hyper-parameter";
  if (getResult().getType() != expected)
    return emitOpError("U2: the result is ")
           << getResult().getType() << ", " << getVariableAttr() << " is " << expected;
  return success();
}

LogicalResult AssignOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto variable =
      dyn_cast_or_null<VariableOp>(symbols.lookupNearestSymbolFrom(*this, getVariableAttr()));
  if (!variable)
    return emitOpError("U3: ") << getVariableAttr() << " names no variable";
  if (getValue().getType() != variable.getType())
    return emitOpError("U4: the value is ")
           << getValue().getType() << ", " << getVariableAttr() << " is " << variable.getType();
  return success();
}

//===-- blocks --===//

YieldOp BlockOp::getYield() { return cast<YieldOp>(getBody().front().getTerminator()); }

LogicalResult BlockOp::verifyRegions() {
  auto yield = dyn_cast<YieldOp>(getBody().front().getTerminator());
  if (!yield)
    return emitOpError("B1: the body must end with ds.yield");
  if (yield.getValues().size() != getResults().size())
    return emitOpError("B1: ") << yield.getValues().size() << " values yielded for "
                               << getResults().size() << " results";
  for (auto [index, value, result] : llvm::enumerate(yield.getValues(), getResults()))
    if (value.getType() != result.getType())
      return emitOpError("B1: value ")
             << index << " is " << value.getType() << ", the result is " << result.getType();
  if (getLabel().empty())
    return emitOpError("B2: the label is empty");
  if ((*this)->getParentOfType<BlockOp>())
    return emitOpError("B3: blocks do not nest");
  return success();
}

//===-- reports and the guard --===//

LogicalResult ReportOp::verify() {
  if (getName().empty())
    return emitOpError("P1: the name is empty");
  if ((*this)->getParentOfType<BlockOp>())
    return emitOpError("P2: a report stands outside blocks");
  return success();
}

LogicalResult GuardOp::verify() {
  for (Operation &before : *(*this)->getBlock()) {
    if (&before == getOperation())
      return success();
    auto assign = dyn_cast<AssignOp>(before);
    if (!assign)
      continue;
    auto variable =
        SymbolTable::lookupNearestSymbolFrom<VariableOp>(assign, assign.getVariableAttr());
    if (variable && movesWithUpdates(variable.getRole()))
      return emitOpError("G1: ") << assign.getVariableAttr() << " is assigned before the guard";
  }
  return success();
}

//===-- the schedule --===//

LogicalResult ScheduleOp::verify() {
  if (getPrograms().size() != getRepetitions().size())
    return emitOpError("S1: ") << getPrograms().size() << " programs, " << getRepetitions().size()
                               << " repetitions";
  for (int64_t times : getRepetitions())
    if (times <= 0)
      return emitOpError("S1: a repetition must be positive, found ") << times;
  return success();
}

LogicalResult ScheduleOp::verifySymbolUses(SymbolTableCollection &symbols) {
  for (auto name : getPrograms().getAsRange<FlatSymbolRefAttr>()) {
    Operation *symbol = symbols.lookupNearestSymbolFrom(*this, name);
    if (!symbol || !symbol->getNumRegions())
      return emitOpError("S2: ") << name << " names no program";
  }
  return success();
}

#define GET_OP_CLASSES
#include "dsc/Dialect/DS/Ops/Structure.cpp.inc"
