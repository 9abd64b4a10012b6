//===- Bufferize.cpp - which bytes hold each value of a program ------------===//
// One forward walk. Values start in buffers of their own; a buffer is given its final name when the
// value is reported, and becomes rows of another one when the value is concatenated. A value that
// is still needed is never written over: every decision looks at the last use of all values that
// share the buffer.
#include "Bufferize.h"
#include "dsc/Interfaces/Interfaces.h"
#include "dsc/Support/Fault.h"
#include <limits>

using namespace mlir;
using namespace dsc;
using namespace dsc::plan;

static constexpr int64_t forever = std::numeric_limits<int64_t>::max();

static MemRefType memrefOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return MemRefType::get(tensor.getShape(), tensor.getElementType());
}

static int64_t bytesOf(Value value) { return byteSize(cast<ShapedType>(value.getType())); }

BufferKind dsc::plan::kindOf(ds::Role role) {
  switch (role) {
  case ds::Role::Parameter:
    return BufferKind::Parameter;
  case ds::Role::OptimizerState:
    return BufferKind::OptimizerState;
  case ds::Role::Counter:
    return BufferKind::Counter;
  case ds::Role::WorkingCopy:
    return BufferKind::WorkingCopy;
  case ds::Role::StepState:
    return BufferKind::StepState;
  case ds::Role::Window:
    return BufferKind::Window;
  case ds::Role::Cache:
    return BufferKind::Cache;
  case ds::Role::Stash:
    return BufferKind::Stash;
  }
  llvm_unreachable("a role without a kind");
}

static int64_t offsetInRoot(Bufferizer::Place place) {
  int64_t offset = place.offset;
  for (auto *buffer = place.buffer; buffer->parent; buffer = buffer->parent)
    offset += buffer->offset;
  return offset;
}

Bufferizer::Buffer *Bufferizer::newBuffer(StringRef label, BufferKind kind, Type type) {
  buffers.push_back({label.str(), kind, memrefOf(type), nullptr, 0, {}, {}});
  return &buffers.back();
}

void Bufferizer::hold(Value value, Place place) {
  places[value] = place;
  place.buffer->root()->values.push_back(value);
}

std::string Bufferizer::freshLabel(Operation *op) {
  std::string label;
  if (auto name = op->getAttrOfType<StringAttr>("ds.label"))
    label = name.getValue().str() + ".";
  label += op->getName().stripDialect();
  unsigned seen = labels[label]++;
  return seen ? label + "." + std::to_string(seen) : label;
}

void Bufferizer::copy(Operation *op, Place from, Place to, MemRefType type) {
  instructions.push_back({Instruction::Copy, op, {{from, type}, {to, type}}, {}});
  ++copies;
}

/// Index of the last op that reads `value`. What is handed out under its own buffer is read for
/// ever.
int64_t Bufferizer::lastUse(Value value) {
  int64_t last = -1;
  for (Operation *user : value.getUsers()) {
    bool kept = isa<ds::ReportOp>(user) &&
                !livesAcrossPrograms(places[value].buffer->root()->kind) &&
                places[value].buffer->root()->kind != BufferKind::Input;
    last = std::max(last, kept ? forever : order[user]);
  }
  return last;
}

bool Bufferizer::deadAfter(Buffer *root, int64_t index) {
  return llvm::all_of(root->values, [&](Value value) { return lastUse(value) <= index; });
}

LogicalResult Bufferizer::run() {
  int64_t index = 0;
  for (Operation &op : func.front()) {
    if (isa<ds::GuardOp>(op) && guard < 0)
      guard = index;
    order[&op] = index++;
  }
  for (BlockArgument argument : func.getArguments()) {
    static constexpr StringRef usual[] = {"tokens", "labels"};
    unsigned number = argument.getArgNumber();
    std::string name = number < 2 ? usual[number].str() : "input" + std::to_string(number);
    if (auto given = func.getArgAttrOfType<StringAttr>(number, "ds.name"))
      name = given.getValue().str();
    hold(argument, {newBuffer(name, BufferKind::Input, argument.getType()), 0});
  }
  for (Operation &op : func.front())
    if (failed(place(&op)))
      return failure();
  return success();
}

LogicalResult Bufferizer::place(Operation *op) {
  if (isa<func::ReturnOp>(op))
    return success();
  if (auto read = dyn_cast<ds::ReadOp>(op))
    return placeRead(read);
  if (auto assign = dyn_cast<ds::AssignOp>(op))
    placeAssign(assign);
  else if (auto report = dyn_cast<ds::ReportOp>(op))
    placeReport(report);
  else if (auto slice = dyn_cast<ds::SliceRowsOp>(op))
    placeSlice(slice);
  else if (auto concat = dyn_cast<ds::ConcatRowsOp>(op))
    placeConcat(concat);
  else if (isa<ds::GuardOp>(op)) {
    Instruction instruction{Instruction::Guard, op, {}, {}};
    for (Value operand : op->getOperands())
      instruction.operands.push_back({places[operand], memrefOf(operand.getType())});
    instructions.push_back(std::move(instruction));
  } else if (auto send = dyn_cast<ds::SendOp>(op)) {
    instructions.push_back({Instruction::Send, op, {wholeBuffer(op, send.getValue())}, {}});
  } else if (auto receive = dyn_cast<ds::ReceiveOp>(op)) {
    Value value = receive.getValue();
    Buffer *variable = assignedTo(op, value);
    if (!variable)
      variable = newBuffer(freshLabel(op), BufferKind::Activation, value.getType());
    hold(value, {variable, 0});
    instructions.push_back(
        {Instruction::Receive, op, {{places[value], memrefOf(value.getType())}}, {}});
  } else if (isa<InPlaceOpInterface>(op))
    placeCompute(op);
  else
    return op->emitError("cannot turn '") << op->getName() << "' into a kernel launch";
  return success();
}

/// Where `value` lies if that is a buffer of its own; else a copy that is.
Bufferizer::Operand Bufferizer::wholeBuffer(Operation *op, Value value) {
  Place place = places[value];
  Buffer *root = place.buffer->root();
  MemRefType type = memrefOf(value.getType());
  if (offsetInRoot(place) || byteSize(root->type) != bytesOf(value)) {
    Place own{newBuffer(freshLabel(op), BufferKind::Activation, value.getType()), 0};
    copy(op, place, own, type);
    place = own;
  }
  return {place, type};
}

LogicalResult Bufferizer::placeRead(ds::ReadOp op) {
  std::string name = op.getVariable().str();
  Buffer *&buffer = variables[name];
  if (!buffer) {
    Operation *symbol = SymbolTable::lookupNearestSymbolFrom(op, op.getVariableAttr());
    BufferKind kind = BufferKind::Hyperparameter;
    if (auto variable = dyn_cast_or_null<ds::VariableOp>(symbol))
      kind = kindOf(variable.getRole());
    else if (!isa_and_nonnull<ds::HyperparameterOp>(symbol))
      return op.emitError("no variable or hyper-parameter named '") << name << "'";
    buffer = newBuffer(name, kind, op.getType());
    buffer->variable = dyn_cast<ds::VariableOp>(symbol);
  }
  hold(op.getResult(), {buffer, 0});
  return success();
}

/// The assignment of `value` to `variable`, if it is the only one and nothing reads the variable
/// before it.
ds::AssignOp Bufferizer::assignOf(Value value, StringRef variable) {
  ds::AssignOp found;
  for (Operation *user : value.getUsers())
    if (auto assign = dyn_cast<ds::AssignOp>(user); assign && assign.getVariable() == variable) {
      if (found)
        return {};
      found = assign;
    }
  if (!found)
    return {};
  for (Operation *op = value.getDefiningOp()->getNextNode(); op != found; op = op->getNextNode()) {
    auto read = dyn_cast<ds::ReadOp>(op);
    auto assign = dyn_cast<ds::AssignOp>(op);
    if ((read && read.getVariable() == variable) || (assign && assign.getVariable() == variable))
      return {};
  }
  return found;
}

/// True unless the buffer holds a share of its variable and `op` computes more than that.
static bool fitsIn(Bufferizer::Buffer *buffer, Operation *op) {
  ds::VariableOp variable = buffer->variable;
  return !variable || !variable.getShareAttr() ||
         op->getAttrOfType<ds::AxisAttr>(ds::kShareAttr) == variable.getShareAttr();
}

bool Bufferizer::canOverwrite(Operation *op, unsigned result, int64_t operand) {
  Value value = op->getOperand(operand);
  Place place = places[value];
  Buffer *root = place.buffer->root();
  if (!fitsIn(root, op) || offsetInRoot(place) || byteSize(root->type) != bytesOf(value) ||
      bytesOf(op->getResult(result)) != bytesOf(value) ||
      DSC_FAULT(30, !deadAfter(root, order[op]), false))
    return false;
  for (auto [index, other] : llvm::enumerate(op->getOperands()))
    if (int64_t(index) != operand && places[other].buffer->root() == root)
      return false;
  if (root->kind == BufferKind::Activation)
    return true;
  if (root->kind == BufferKind::StepState || root->kind == BufferKind::Window ||
      root->kind == BufferKind::Cache || root->kind == BufferKind::Stash)
    return endsIn(op->getResult(result), root->label);
  return movesWithUpdates(root->kind) && guard >= 0 && guard < order[op] &&
         endsIn(op->getResult(result), root->label);
}

/// The buffer of the variable that `assign` writes; made here if the program does not read it.
Bufferizer::Buffer *Bufferizer::bufferOf(ds::AssignOp assign) {
  Buffer *&buffer = variables[assign.getVariable().str()];
  if (!buffer) {
    auto variable = cast<ds::VariableOp>(
        SymbolTable::lookupNearestSymbolFrom(assign, assign.getVariableAttr()));
    buffer = newBuffer(assign.getVariable(), kindOf(variable.getRole()), variable.getType());
    buffer->variable = variable;
  }
  return buffer;
}

/// The result of the only reader of `value`, if that must work in place on it; else null.
static Value continuedIn(Value value) {
  if (!value.hasOneUse())
    return {};
  OpOperand &use = *value.use_begin();
  auto next = dyn_cast<InPlaceOpInterface>(use.getOwner());
  if (!next)
    return {};
  for (auto [index, candidate] : llvm::enumerate(next->getResults()))
    if (next.mustAlias(index) && next.inPlaceOperand(index) == use.getOperandNumber())
      return candidate;
  return {};
}

/// The buffer of a variable that `result` of `op` is assigned to and may be computed in, as nobody
/// reads the old value any more: after the guard, or at any time if the variable belongs to the
/// step. Null if there is none.
Bufferizer::Buffer *Bufferizer::assignedTo(Operation *op, Value result) {
  bool guarded = guard >= 0 && guard < order[op];
  if (Value next = continuedIn(result)) // summed or gathered in place, say
    return assignedTo(op, next);
  for (Operation *user : result.getUsers()) {
    auto assign = dyn_cast<ds::AssignOp>(user);
    if (!assign || !assignOf(result, assign.getVariable()))
      continue;
    Buffer *buffer = bufferOf(assign);
    if (!fitsIn(buffer, op) ||
        (!guarded && buffer->kind != BufferKind::Window && buffer->kind != BufferKind::Stash))
      continue;
    bool reads = llvm::any_of(
        op->getOperands(), [&](Value operand) { return places[operand].buffer->root() == buffer; });
    if (!reads && deadAfter(buffer, order[op]))
      return buffer;
  }
  return nullptr;
}

/// True if `value` is assigned to `variable`, or only added onto by ops that work in place until
/// it is.
bool Bufferizer::endsIn(Value value, StringRef variable) {
  while (!assignOf(value, variable)) {
    value = continuedIn(value);
    if (!value)
      return false;
  }
  return true;
}

void Bufferizer::placeCompute(Operation *op) {
  auto sharing = cast<InPlaceOpInterface>(op);
  bool collective = isa<ds::AllReduceOp, ds::ReduceScatterOp, ds::AllGatherOp>(op);
  Instruction launch{collective ? Instruction::Collective : Instruction::Launch, op, {}, {}};
  SmallVector<Place> operandPlaces;
  for (Value operand : op->getOperands())
    operandPlaces.push_back(places[operand]);
  llvm::SmallDenseSet<int64_t> taken;
  SmallVector<Place> resultPlaces;
  for (auto [index, result] : llvm::enumerate(op->getResults())) {
    int64_t operand = sharing.inPlaceOperand(index);
    if (operand >= 0 && taken.insert(operand).second && canOverwrite(op, index, operand)) {
      ++inPlace;
    } else if (operand >= 0 && sharing.mustAlias(index)) {
      Place work{newBuffer(freshLabel(op), BufferKind::Activation, result.getType()), 0};
      copy(op, operandPlaces[operand], work, memrefOf(result.getType()));
      operandPlaces[operand] = work;
    } else {
      operand = -1;
    }
    launch.resultArgument.push_back(operand);
    Buffer *variable = sharing.inPlaceOperand(index) < 0 ? assignedTo(op, result) : nullptr;
    if (operand >= 0)
      resultPlaces.push_back(operandPlaces[operand]);
    else if (variable)
      resultPlaces.push_back({variable, 0});
    else
      resultPlaces.push_back(
          {newBuffer(freshLabel(op), BufferKind::Activation, result.getType()), 0});
  }
  for (auto [place, operand] : llvm::zip(operandPlaces, op->getOperands()))
    launch.operands.push_back({place, memrefOf(operand.getType())});
  for (auto [index, result] : llvm::enumerate(op->getResults())) {
    if (launch.resultArgument[index] < 0)
      launch.operands.push_back({resultPlaces[index], memrefOf(result.getType())});
    hold(result, resultPlaces[index]);
  }
  instructions.push_back(std::move(launch));
}

void Bufferizer::placeSlice(ds::SliceRowsOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  int64_t rowBytes = type.getRank() ? bytesOf(op.getResult()) / type.getNumElements() : 0;
  if (type.getRank() > 1)
    rowBytes *= type.getShape().back();
  Place source = places[op.getInput()];
  int64_t start = DSC_FAULT(31, int64_t(op.getStart()), int64_t(0));
  hold(op.getResult(), {source.buffer, source.offset + start * rowBytes});
}

void Bufferizer::placeConcat(ds::ConcatRowsOp op) {
  Buffer *whole = newBuffer(freshLabel(op), BufferKind::Activation, op.getType());
  int64_t offset = 0;
  for (Value input : op.getInputs()) {
    Place place = places[input];
    Buffer *root = place.buffer->root();
    bool ownsBuffer =
        !offsetInRoot(place) && byteSize(root->type) == bytesOf(input) && root != whole;
    if (root->kind == BufferKind::Activation && ownsBuffer) {
      root->parent = whole;
      root->offset = offset;
      whole->values.append(root->values);
      root->values.clear();
    } else {
      copy(op, place, {whole, offset}, memrefOf(input.getType()));
    }
    offset += bytesOf(input);
  }
  hold(op.getResult(), {whole, 0});
}

void Bufferizer::placeReport(ds::ReportOp op) {
  std::string name = op.getName().str();
  BufferKind kind =
      StringRef(name).starts_with("grad:") ? BufferKind::Gradient : BufferKind::Output;
  Place place = places[op.getValue()];
  Buffer *root = place.buffer->root();
  if (livesAcrossPrograms(root->kind) && root->label == name) // a sum under its own name
    return;
  if (root->kind == BufferKind::Activation && !offsetInRoot(place) &&
      byteSize(root->type) == bytesOf(op.getValue())) {
    root->label = name;
    root->kind = kind;
    root->type = memrefOf(op.getValue().getType());
    return;
  }
  copy(op, place, {newBuffer(name, kind, op.getValue().getType()), 0},
       memrefOf(op.getValue().getType()));
}

/// Moves values of `variable` that are read after `index` out of the way of a write there.
void Bufferizer::keepOldValues(Buffer *variable, int64_t index, Operation *writer) {
  SmallVector<Value> old, rest;
  for (Value value : variable->values)
    (lastUse(value) > index ? old : rest).push_back(value);
  if (old.empty())
    return;
  Buffer *kept = newBuffer(freshLabel(writer), BufferKind::Activation, old.front().getType());
  kept->type = variable->type;
  copy(writer, {variable, 0}, {kept, 0}, variable->type);
  for (Value value : old)
    places[value].buffer = kept;
  kept->values = std::move(old);
  variable->values = std::move(rest);
}

void Bufferizer::placeAssign(ds::AssignOp op) {
  Place place = places[op.getValue()];
  Buffer *buffer = bufferOf(op);
  if (place.buffer->root() == buffer) // computed in place, or its own old value
    return;
  keepOldValues(buffer, order[op], op);
  copy(op, place, {buffer, 0}, memrefOf(op.getValue().getType()));
}
