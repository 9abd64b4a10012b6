//===- PlanDialect.cpp - registration and verifiers of the plan dialect ----===//
#include "dsc/Dialect/Plan/PlanDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace dsc;
using namespace dsc::plan;

#include "dsc/Dialect/Plan/PlanDialect.cpp.inc"
#include "dsc/Dialect/Plan/PlanEnums.cpp.inc"

void PlanDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dsc/Dialect/Plan/PlanOps.cpp.inc"
      >();
}

int64_t dsc::plan::byteSize(ShapedType type) {
  return type.getNumElements() * ((type.getElementTypeBitWidth() + 7) / 8);
}

dsc::Layout dsc::plan::layoutOf(Operation *op) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<ModuleOp>();
  auto sizes = module ? module->getAttrOfType<DenseI64ArrayAttr>(kLayoutAttr) : DenseI64ArrayAttr();
  return sizes && sizes.size() == 4 ? Layout{sizes[0], sizes[1], sizes[2], sizes[3]} : Layout();
}

int64_t dsc::plan::localBytes(BufferOp buffer) {
  auto type = cast<MemRefType>(buffer.getBuffer().getType());
  if (!buffer.getShare())
    return byteSize(type);
  int64_t ranks = layoutOf(buffer).size(Axis(uint32_t(*buffer.getShare())));
  return int64_t(largestShare(type.getNumElements(), shareBlock, ranks)) *
         ((type.getElementTypeBitWidth() + 7) / 8);
}

int64_t dsc::plan::extentOf(BufferOp buffer) {
  int64_t bytes = localBytes(buffer), places = buffer.getPlaces();
  return places > 1 ? int64_t(llvm::alignTo(bytes, 64)) * places : bytes;
}

BufferPlace dsc::plan::locate(Value memref) {
  int64_t offset = 0;
  while (auto view = memref.getDefiningOp<ViewOp>()) {
    offset += view.getByteOffset();
    memref = view.getSource();
  }
  return {memref.getDefiningOp<BufferOp>(), offset};
}

static LogicalResult verifyPlain(Operation *op, Type type, StringRef constraint) {
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref || !memref.hasStaticShape() || !memref.getLayout().isIdentity())
    return op->emitOpError() << constraint << ": expected a plain memref of static shape, found "
                             << type;
  return success();
}

LogicalResult KernelOp::verify() {
  Block &body = getBody().front();
  if (!llvm::hasSingleElement(body))
    return emitOpError() << "K1: body must be one op, found " << body.getOperations().size();
  Operation &op = body.front();
  if (body.getNumArguments() < op.getNumOperands())
    return emitOpError() << "K1: " << op.getNumOperands() << " operands, but only "
                         << body.getNumArguments() << " arguments";
  for (auto [index, operand] : llvm::enumerate(op.getOperands()))
    if (operand != body.getArgument(index))
      return emitOpError() << "K1: operand " << index << " must be argument " << index;
  ArrayRef<int64_t> results = getResults();
  if (results.size() != op.getNumResults())
    return emitOpError() << "K2: " << op.getNumResults() << " results, but 'results' has "
                         << results.size() << " entries";
  SmallVector<unsigned> held(body.getNumArguments(), 0);
  for (auto [index, argument] : llvm::enumerate(results)) {
    if (argument < 0 || argument >= int64_t(body.getNumArguments()))
      return emitOpError() << "K2: result " << index << " is held by argument " << argument
                           << " of " << body.getNumArguments();
    Type type = body.getArgument(argument).getType();
    if (type != op.getResult(index).getType())
      return emitOpError() << "K2: result " << index << " is " << op.getResult(index).getType()
                           << ", but argument " << argument << " is " << type;
    ++held[argument];
  }
  for (unsigned i = op.getNumOperands(); i < held.size(); ++i)
    if (held[i] != 1)
      return emitOpError() << "K3: argument " << i << " holds " << held[i]
                           << " results, expected 1";
  return success();
}

void BufferOp::getAsmResultNames(function_ref<void(Value, StringRef)> setName) {
  // Letters, digits and . - _ $ are what the text form of a name may hold.
  std::string name = getLabel().str();
  for (char &c : name)
    if (!llvm::isAlnum(c) && c != '.' && c != '_')
      c = '_';
  if (name.empty() || llvm::isDigit(name.front()))
    name.insert(name.begin(), '_');
  setName(getBuffer(), name);
}

LogicalResult BufferOp::verify() {
  if (failed(verifyPlain(*this, getBuffer().getType(), "B1")))
    return failure();
  if (std::optional<int64_t> offset = getOffset(); offset && (*offset < 0 || *offset % 64))
    return emitOpError() << "B2: offset must be a multiple of 64 and not negative, found "
                         << *offset;
  return success();
}

LogicalResult ViewOp::verify() {
  if (failed(verifyPlain(*this, getSource().getType(), "W1")) ||
      failed(verifyPlain(*this, getView().getType(), "W1")))
    return failure();
  auto view = cast<MemRefType>(getView().getType());
  int64_t have = byteSize(cast<MemRefType>(getSource().getType())), need = byteSize(view);
  int64_t offset = getByteOffset();
  if (offset < 0 || need > have || offset > have - need)
    return emitOpError() << "W1: bytes " << offset << " to " << offset + need << " of a buffer of "
                         << have;
  int64_t size = (view.getElementTypeBitWidth() + 7) / 8;
  if (offset % size)
    return emitOpError() << "W1: offset " << offset << " is no multiple of the element size "
                         << size;
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel = symbols.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  if (!kernel)
    return emitOpError() << "X1: no plan.kernel named '" << getKernel() << "'";
  Block &body = kernel.getBody().front();
  if (body.getNumArguments() != getOperands().size())
    return emitOpError() << "X1: kernel '" << getKernel() << "' takes " << body.getNumArguments()
                         << " operands, found " << getOperands().size();
  for (auto [index, operand] : llvm::enumerate(getOperands())) {
    auto have = cast<ShapedType>(operand.getType());
    auto want = dyn_cast<ShapedType>(body.getArgument(index).getType());
    if (!want || have.getShape() != want.getShape() ||
        have.getElementType() != want.getElementType())
      return emitOpError() << "X1: operand " << index << " of kernel '" << getKernel() << "' is "
                           << body.getArgument(index).getType() << ", found " << have;
  }
  return success();
}

LogicalResult CopyOp::verify() {
  if (failed(verifyPlain(*this, getSource().getType(), "Y1")) ||
      failed(verifyPlain(*this, getTarget().getType(), "Y1")))
    return failure();
  int64_t from = byteSize(cast<MemRefType>(getSource().getType()));
  int64_t to = byteSize(cast<MemRefType>(getTarget().getType()));
  if (from != to)
    return emitOpError() << "Y1: " << from << " bytes to " << to << " bytes";
  return success();
}

LogicalResult CollectiveOp::verify() {
  if (getOperands().empty())
    return emitOpError("N1: there is no buffer");
  bool blocks = getKind() != CollectiveKind::AllReduce;
  if (getBlock() < 0 || blocks != (getBlock() > 0))
    return emitOpError("N1: block must be positive, and absent for all_reduce, found ")
           << getBlock();
  return success();
}

LogicalResult GuardOp::verify() {
  if (getNumOperands() != 3 && getNumOperands() != 5)
    return emitOpError() << "G1: expected three or five operands, found " << getNumOperands();
  for (Value operand : getOperands())
    if (auto type = cast<MemRefType>(operand.getType());
        type.getRank() || !type.getElementType().isF64())
      return emitOpError() << "G1: expected memref<f64>, found " << type;
  return success();
}

LogicalResult ScheduleOp::verify() {
  if (getPrograms().size() != getRepetitions().size())
    return emitOpError() << "S1: " << getPrograms().size() << " programs, "
                         << getRepetitions().size() << " repetitions";
  for (int64_t times : getRepetitions())
    if (times <= 0)
      return emitOpError() << "S1: a repetition must be positive, found " << times;
  return success();
}

LogicalResult ScheduleOp::verifySymbolUses(SymbolTableCollection &symbols) {
  for (auto name : getPrograms().getAsRange<FlatSymbolRefAttr>())
    if (!symbols.lookupNearestSymbolFrom<ProgramOp>(*this, name))
      return emitOpError() << "S2: " << name << " names no plan.program";
  return success();
}

#define GET_OP_CLASSES
#include "dsc/Dialect/Plan/PlanOps.cpp.inc"
