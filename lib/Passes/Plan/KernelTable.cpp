//===- KernelTable.cpp - outlining of ops into kernels ---------------------===//
// A kernel's name says what it computes: op, shapes, then what its attributes add. Names are made
// unique by a number; both depend on nothing but the order of ops.
#include "KernelTable.h"
#include "dsc/Dialect/DS/DS.h"
#include "dsc/Support/Fault.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace dsc;
using namespace dsc::plan;

static std::string shapeText(Type type) {
  std::string text;
  for (int64_t size : cast<ShapedType>(type).getShape())
    text += (text.empty() ? "" : "x") + std::to_string(size);
  return text.empty() ? "scalar" : text;
}

/// Rows by columns of a tensor seen as a matrix.
static std::pair<int64_t, int64_t> matrixShape(Value value) {
  auto type = cast<ShapedType>(value.getType());
  int64_t columns = type.getRank() ? type.getShape().back() : 1;
  return {columns ? type.getNumElements() / columns : 0, columns};
}

/// Shapes that tell products apart: rows x inner x columns; anything else is named by its operands'
/// shapes.
static std::string shapesOf(Operation *op) {
  auto product = [](Value left, Value right) {
    auto [rows, inner] = matrixShape(left);
    return std::to_string(rows) + "x" + std::to_string(inner) + "x" +
           std::to_string(matrixShape(right).second);
  };
  if (auto linear = dyn_cast<ds::LinearOp>(op))
    return product(linear.getInput(), linear.getResult());
  if (auto grad = dyn_cast<ds::LinearInputGradOp>(op))
    return product(grad.getGradient(), grad.getResult());
  if (auto grad = dyn_cast<ds::LinearWeightGradOp>(op))
    return product(grad.getInput(), grad.getGradient());
  std::string text;
  Type last;
  unsigned shown = 0;
  SmallVector<Type> types(op->getOperandTypes());
  types.append(op->result_type_begin(), op->result_type_end());
  for (Type type : types)
    if (cast<ShapedType>(type).getRank() && type != last && shown < 2) {
      text += (text.empty() ? "" : "_") + shapeText(type);
      last = type;
      ++shown;
    }
  return text.empty() ? "scalar" : text;
}

static ds::Activation activationOf(NamedAttribute attribute) {
  return ds::Activation(cast<IntegerAttr>(attribute.getValue()).getInt());
}

static std::string wordOf(StringRef word) { return word == "none" ? "" : "_" + word.str(); }

/// Attributes as words: names of flags, values of enums; numbers with their names.
static std::string attributesOf(Operation *op) {
  std::string text;
  if (auto linear = dyn_cast<ds::LinearOp>(op)) {
    text += linear.getBias() ? "_bias" : "";
    text += linear.getResidual() ? "_residual" : "";
    text += linear.getPre() ? "_pre" : "";
  } else if (auto grad = dyn_cast<ds::LinearInputGradOp>(op)) {
    text += grad.getResidual() ? "_residual" : "";
  } else if (auto norm = dyn_cast<ds::LayerNormInputGradOp>(op)) {
    text += norm.getResidual() ? "_residual" : "";
  } else if (auto loss = dyn_cast<ds::CrossEntropyOp>(op)) {
    text += loss.getSmoothing() ? "_smoothing" : "";
    text += loss.getWeights() ? "_weights" : "";
  } else if (auto grad = dyn_cast<ds::CrossEntropyGradOp>(op)) {
    text += grad.getSmoothing() ? "_smoothing" : "";
    text += grad.getWeights() ? "_weights" : "";
  } else if (auto loss = dyn_cast<ds::LossPartsOp>(op)) {
    text += loss.getTotal() ? "_total" : "";
  } else if (auto loss = dyn_cast<ds::JoinLossOp>(op)) {
    text += loss.getSmoothing() ? "_smoothing" : "";
    text += loss.getWeights() ? "_weights" : "";
  }
  for (NamedAttribute attribute : op->getAttrDictionary()) {
    StringRef name = attribute.getName();
    if (name.contains('.')) // about this op's place, not about what it computes
      continue;
    if (isa<UnitAttr>(attribute.getValue()))
      text += "_" + name.str();
    else if (name == "activation" || name == "function")
      text += wordOf(ds::stringifyActivation(activationOf(attribute)));
    else if (name == "schedule")
      text += wordOf(
          ds::stringifySchedule(ds::Schedule(cast<IntegerAttr>(attribute.getValue()).getInt())));
    else if (auto number = dyn_cast<IntegerAttr>(attribute.getValue()))
      text += "_" + name.str() + std::to_string(number.getInt());
  }
  return text;
}

static DictionaryAttr meaningOf(Operation *op) {
  NamedAttrList attributes(op->getAttrDictionary());
  attributes.erase("ds.label");
  attributes.erase(ds::kShareAttr);
  return attributes.getDictionary(op->getContext());
}

StringAttr KernelTable::get(Operation *op, ArrayRef<int64_t> resultArgument) {
  std::string key;
  llvm::raw_string_ostream out(key);
  out << op->getName() << DSC_FAULT(34, meaningOf(op), DictionaryAttr()) << "(";
  llvm::interleaveComma(op->getOperandTypes(), out);
  out << ")->(";
  llvm::interleaveComma(op->getResultTypes(), out);
  out << ")";
  for (int64_t argument : resultArgument)
    out << " " << argument;
  auto [entry, inserted] = byKey.try_emplace(key);
  if (inserted)
    entry->second = create(op, resultArgument);
  return entry->second;
}

StringAttr KernelTable::create(Operation *op, ArrayRef<int64_t> resultArgument) {
  std::string base = op->getName().stripDialect().str() + "_" + shapesOf(op) + attributesOf(op);
  std::string name = base;
  for (unsigned i = 2; !names.insert(name).second; ++i)
    name = base + "_" + std::to_string(i);

  SmallVector<Type> arguments(op->getOperandTypes());
  SmallVector<int64_t> held;
  for (auto [index, operand] : llvm::enumerate(resultArgument)) {
    held.push_back(operand >= 0 ? operand : arguments.size());
    if (operand < 0)
      arguments.push_back(op->getResult(index).getType());
  }
  OpBuilder builder(before);
  auto kernel = KernelOp::create(builder, op->getLoc(), name, held);
  Block *body = builder.createBlock(&kernel.getBody());
  body->addArguments(arguments, SmallVector<Location>(arguments.size(), op->getLoc()));
  IRMapping mapping;
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    mapping.map(operand, body->getArgument(index));
  // An operand that is used twice has two arguments: the mapping alone would merge them.
  Operation *copy = builder.clone(*op, mapping);
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    copy->setOperand(i, body->getArgument(i));
  copy->removeAttr("ds.label");
  copy->removeAttr(ds::kShareAttr);
  return kernel.getSymNameAttr();
}
