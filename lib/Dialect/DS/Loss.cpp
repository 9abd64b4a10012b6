//===- Loss.cpp - verifiers, gradients and costs of Ops/Loss.td ---===//
#include "ShapeChecks.h"
#include "dsc/Support/Fault.h"

using namespace mlir;
using namespace dsc;
using namespace dsc::ds;

static bool isScalar(Value value) {
  return tensorOf(value).getRank() == 0 && tensorOf(value).getElementType().isF64();
}

/// C1: each of `values` has the leading dimensions of the logits.
static LogicalResult expectRows(Operation *op, Value logits,
                                ArrayRef<std::pair<StringRef, Value>> values) {
  if (shapeOf(logits).empty())
    return op->emitOpError("C1: logits have no dimension");
  for (auto [what, value] : values)
    if (value && failed(expectShape(op, "C1", what, shapeOf(value), leading(logits))))
      return failure();
  return success();
}

//===-- cross_entropy --===//

LogicalResult CrossEntropyOp::verify() {
  if (failed(expectRows(*this, getLogits(),
                        {{"labels", getLabels()},
                         {"losses", getLosses()},
                         {"lse", getLse()},
                         {"weights", getWeights()}})))
    return failure();
  return expectElementTypes(
      *this, "C2", {getLogits()},
      {{"losses", getLosses()}, {"lse", getLse()}, {"weights", getWeights()}});
}

LogicalResult CrossEntropyOp::buildBackward(OpBuilder &builder, ValueRange resultGradients,
                                            SmallVectorImpl<Value> &gradients) {
  if (!resultGradients[0] || !isScalar(resultGradients[0]))
    return emitOpError("C3: the gradient of losses must be a scalar tensor<f64>");
  if (resultGradients[1])
    return emitOpError("C3: lse takes no gradient");
  gradients.push_back(CrossEntropyGradOp::create(
      builder, getLoc(), getLogits().getType(), getLogits(), getLabels(), getLse(),
      resultGradients[0], DSC_FAULT(40, getSmoothing(), Value()),
      DSC_FAULT(95, getWeights(), Value()), /*rank=*/Value(), /*classes=*/IntegerAttr()));
  gradients.resize(getNumOperands()); // nothing but the logits has one
  return success();
}
SmallVector<Value> CrossEntropyOp::savedValues() {
  SmallVector<Value> saved = {getLogits(), getLabels(), getLse()};
  for (Value optional : {getSmoothing(), getWeights()})
    if (optional)
      saved.push_back(optional);
  return saved;
}
// Maximum, difference, exponential, sum; with smoothing the sum of the logits.
int64_t CrossEntropyOp::flops() { return (getSmoothing() ? 5 : 4) * elements(getLogits()); }
ShardingRule CrossEntropyOp::shardingRule() {
  SmallVector<StringRef> operands = {".v", "."};
  if (getSmoothing())
    operands.push_back("");
  if (getWeights())
    operands.push_back(".");
  return einsum(*this, operands, {".", "."}, "v");
}
bool CrossEntropyOp::canCut(unsigned) { return true; }

/// Each rank sums over its classes; what all know together is N + 2 numbers a token.
void CrossEntropyOp::cutLoop(OpBuilder &builder, const LoopPart &part) {
  if (shardingRule().loops[part.loop].name != "v")
    return;
  auto rowType = tensorOf(getLse());
  SmallVector<int64_t> shape = {part.parts};
  llvm::append_range(shape, rowType.getShape());
  auto labels = LocalIdsOp::create(builder, getLoc(), getLabels().getType(), getLabels(),
                                   part.rank(), shapeOf(getLogits()).back());
  auto own = LossPartsOp::create(builder, getLoc(), rowType.clone(shape), rowType,
                                 getSmoothing() ? Type(rowType) : Type(), getLogits(), labels,
                                 part.rank(), part.whole);
  SmallVector<Value> sums = part.reduce(builder, own->getResults());
  auto joined = JoinLossOp::create(builder, getLoc(), rowType, rowType, sums[0], sums[1],
                                   getLabels(), getSmoothing(), getSmoothing() ? sums[2] : Value(),
                                   getWeights(), part.whole);
  (*this)->replaceAllUsesWith(joined->getResults());
  erase();
}

//===-- cross_entropy_grad --===//

/// C9.
static LogicalResult verifyClasses(CrossEntropyGradOp op) {
  std::optional<int64_t> classes = op.getClasses();
  if (bool(op.getRank()) != bool(classes))
    return op.emitOpError("C9: classes come with a rank, found ")
           << (classes ? "classes" : "a rank") << " alone";
  if (classes && *classes < 1)
    return op.emitOpError("C9: classes is ") << *classes << ", must be positive";
  return success();
}

LogicalResult CrossEntropyGradOp::verify() {
  if (failed(verifyClasses(*this)) ||
      failed(expectRows(*this, getLogits(),
                        {{"labels", getLabels()}, {"lse", getLse()}, {"weights", getWeights()}})) ||
      failed(expectShape(*this, "C4", "result", shapeOf(getResult()), shapeOf(getLogits()))))
    return failure();
  return expectElementTypes(*this, "C4", {getLogits(), getResult()},
                            {{"lse", getLse()}, {"weights", getWeights()}});
}
void CrossEntropyGradOp::cutLoop(OpBuilder &builder, const LoopPart &part) {
  if (shardingRule().loops[part.loop].name != "v")
    return;
  getLabelsMutable().assign(LocalIdsOp::create(builder, getLoc(), getLabels().getType(),
                                               getLabels(), part.rank(),
                                               shapeOf(getLogits()).back()));
  getRankMutable().assign(part.rank());
  setClasses(part.whole);
}
// Difference, exponential, difference, product.
int64_t CrossEntropyGradOp::flops() { return 4 * elements(getLogits()); }
int64_t CrossEntropyGradOp::inPlaceOperand(unsigned) { return 0; }
ShardingRule CrossEntropyGradOp::shardingRule() {
  SmallVector<StringRef> operands = {".v", ".", ".", ""};
  if (getSmoothing())
    operands.push_back("");
  if (getWeights())
    operands.push_back(".");
  if (getRank())
    operands.push_back("");
  return einsum(*this, operands, {".v"});
}

//===-- label_weights, count, loss_seed, token_mean --===//

LogicalResult LabelWeightsOp::verify() {
  if (shapeOf(getLabels()).empty())
    return emitOpError("C8: labels have no dimension");
  if (!tensorOf(getResult()).getElementType().isF32())
    return emitOpError("C8: result is ")
           << tensorOf(getResult()).getElementType() << ", must be f32";
  return expectShape(*this, "C8", "result", shapeOf(getResult()), shapeOf(getLabels()));
}
ShardingRule LabelWeightsOp::shardingRule() { return einsum(*this, {".t"}, {".t"}, "t"); }

LogicalResult CountOp::verify() {
  if (shapeOf(getLabels()).empty())
    return emitOpError("C5: labels have no dimension");
  return success();
}
ShardingRule CountOp::shardingRule() {
  return getSamples() ? einsum(*this, {".t"}, {""}, "t") : einsum(*this, {"."}, {""});
}

ShardingRule LossSeedOp::shardingRule() { return scalarRule(*this); }

LogicalResult TokenMeanOp::verify() {
  if (shapeOf(getLosses()).empty())
    return emitOpError("C6: losses have no dimension");
  return success();
}
LogicalResult TokenMeanOp::buildBackward(OpBuilder &builder, ValueRange resultGradients,
                                         SmallVectorImpl<Value> &gradients) {
  if (resultGradients[0])
    return emitOpError("C7: the mean of losses is the objective, nothing may be computed from it");
  gradients.push_back(LossSeedOp::create(builder, getLoc(), getCount().getType(), getCount(),
                                         DSC_FAULT(41, Value(), getCount())));
  gradients.push_back(Value()); // count
  return success();
}
bool TokenMeanOp::isObjective() { return true; }
SmallVector<Value> TokenMeanOp::savedValues() { return {getCount()}; }
int64_t TokenMeanOp::flops() { return elements(getLosses()) + 1; }
ShardingRule TokenMeanOp::shardingRule() { return einsum(*this, {".", ""}, {""}); }

//===-- slice_rows, concat_rows --===//

/// Rows of a tensor of which `kept` last dimensions (0 or 1) stay.
static int64_t foldedRows(Value value, size_t kept) {
  int64_t count = 1;
  for (int64_t size : shapeOf(value).drop_back(kept))
    count *= size;
  return count;
}

/// One loop for each dimension of a tensor, starting with `letter`; a last dimension that is kept
/// is "d".
static std::string dimensionsFrom(char letter, size_t rank, bool keepsLast) {
  std::string notation;
  for (size_t i = 0; i < rank; ++i)
    notation += i + 1 == rank && keepsLast ? 'd' : static_cast<char>(letter + i);
  return notation;
}

LogicalResult SliceRowsOp::verify() {
  ArrayRef<int64_t> input = shapeOf(getInput()), result = shapeOf(getResult());
  if (result.empty() || result.size() > 2)
    return emitOpError("R2: result must have rank 1 or 2, found ") << text(result);
  if (input.size() < result.size())
    return emitOpError("R2: input has fewer dimensions than the result: ")
           << text(input) << " vs " << text(result);
  if (result.size() == 2 && input.back() != result.back())
    return emitOpError("R2: last dimensions differ: ") << input.back() << " vs " << result.back();
  if (tensorOf(getInput()).getElementType() != tensorOf(getResult()).getElementType())
    return emitOpError("R2: element types differ: ")
           << tensorOf(getInput()).getElementType() << " vs "
           << tensorOf(getResult()).getElementType();
  int64_t available = foldedRows(getInput(), result.size() - 1), start = getStart();
  if (start < 0 || start > available || result[0] > available - start)
    return emitOpError("R1: rows [") << start << ", " << start << " + " << result[0]
                                     << ") lie outside the input's " << available;
  return success();
}
OpFoldResult SliceRowsOp::fold(FoldAdaptor) {
  return getInput().getType() == getResult().getType() ? getInput() : Value();
}
int64_t SliceRowsOp::bytesRead() { return 0; }
int64_t SliceRowsOp::bytesWritten() { return 0; }
ShardingRule SliceRowsOp::shardingRule() {
  bool keepsLast = tensorOf(getResult()).getRank() == 2;
  std::string input = dimensionsFrom('p', tensorOf(getInput()).getRank(), keepsLast);
  return einsum(*this, {input}, {keepsLast ? "id" : "i"}, "ipqrstuvw");
}

LogicalResult ConcatRowsOp::verify() {
  if (getInputs().empty())
    return emitOpError("R3: no inputs");
  int64_t rank = tensorOf(getInputs()[0]).getRank(), total = 0;
  if (rank != 1 && rank != 2)
    return emitOpError("R3: inputs must have rank 1 or 2, found ") << text(shapeOf(getInputs()[0]));
  for (Value input : getInputs()) {
    if (tensorOf(input).getRank() != rank)
      return emitOpError("R3: ranks differ: ") << rank << " vs " << tensorOf(input).getRank();
    if (tensorOf(input).getElementType() != tensorOf(getResult()).getElementType())
      return emitOpError("R3: element types differ: ") << tensorOf(input).getElementType() << " vs "
                                                       << tensorOf(getResult()).getElementType();
    if (rank == 2 && (tensorOf(getResult()).getRank() < 2 ||
                      shapeOf(input).back() != shapeOf(getResult()).back()))
      return emitOpError("R4: last dimensions differ: ")
             << text(shapeOf(input)) << " vs " << text(shapeOf(getResult()));
    total += shapeOf(input)[0];
  }
  if (total != foldedRows(getResult(), rank - 1))
    return emitOpError("R4: rows of the inputs are ")
           << total << ", the result has " << foldedRows(getResult(), rank - 1);
  return success();
}
OpFoldResult ConcatRowsOp::fold(FoldAdaptor) {
  bool same = getInputs().size() == 1 && getInputs()[0].getType() == getResult().getType();
  return same ? getInputs()[0] : Value();
}
int64_t ConcatRowsOp::bytesRead() { return 0; }
int64_t ConcatRowsOp::bytesWritten() { return 0; }
ShardingRule ConcatRowsOp::shardingRule() {
  bool keepsLast = tensorOf(getInputs()[0]).getRank() == 2;
  SmallVector<std::string> notation;
  std::string generic = "stuvwxyz";
  for (size_t i = 0, n = getInputs().size(); i < n; ++i) {
    // Letters run out only in notation: runs of rows get characters past the alphabet, all generic.
    char letter = static_cast<char>(0x80 + i % 0x70);
    generic += letter;
    notation.push_back(keepsLast ? std::string{letter, 'd'} : std::string{letter});
  }
  SmallVector<StringRef> operands(notation.begin(), notation.end());
  return einsum(*this, operands, {dimensionsFrom('s', tensorOf(getResult()).getRank(), keepsLast)},
                generic);
}

#define GET_OP_CLASSES
#include "dsc/Dialect/DS/Ops/Loss.cpp.inc"
