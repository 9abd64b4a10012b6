//===- Embedding.cpp - verifiers, gradients and costs of Ops/Embedding.td ---===//
#include "ShapeChecks.h"
#include "dsc/Support/Fault.h"

using namespace mlir;
using namespace dsc;
using namespace dsc::ds;

/// Rows of a rank that has `rows` of a table.
static Value localIds(OpBuilder &builder, Location loc, Value ids, int64_t rows,
                      const LoopPart &part) {
  return LocalIdsOp::create(builder, loc, ids.getType(), ids, part.rank(), rows);
}

//===-- embedding --===//

LogicalResult EmbeddingOp::verify() {
  ArrayRef<int64_t> ids = shapeOf(getIds()), table = shapeOf(getTable());
  if (ids.size() != 2)
    return emitOpError("M1: ids must be [b, t], found ") << text(ids);
  if (table.size() != 2)
    return emitOpError("M2: table must be [rows, d], found ") << text(table);
  if (failed(expectShape(*this, "M1", "result", shapeOf(getResult()), {ids[0], ids[1], table[1]})))
    return failure();
  if (getPositions()) {
    ArrayRef<int64_t> positions = shapeOf(getPositions());
    if (positions.size() != 2 || positions[1] != table[1])
      return emitOpError("M2: positions must be [rows, ")
             << table[1] << "], found " << text(positions);
    if (positions[0] < ids[1])
      return emitOpError("M2: sequence longer than positions: ")
             << ids[1] << " vs " << positions[0];
  }
  if (getPositionIds()) {
    if (!getPositions())
      return emitOpError("M7: position_ids without positions");
    if (failed(expectShape(*this, "M7", "position_ids", shapeOf(getPositionIds()), ids)))
      return failure();
  }
  return expectElementTypes(*this, "M3", {getTable(), getPositions(), getResult()});
}

LogicalResult EmbeddingOp::buildBackward(OpBuilder &builder, ValueRange resultGradients,
                                         SmallVectorImpl<Value> &gradients) {
  gradients.push_back(Value()); // ids
  gradients.push_back(EmbeddingGradOp::create(builder, getLoc(), getTable().getType(),
                                              resultGradients[0], getIds(), /*init=*/Value()));
  if (getPositionIds()) // rows are looked up in both tables
    gradients.push_back(EmbeddingGradOp::create(builder, getLoc(), getPositions().getType(),
                                                resultGradients[0], getPositionIds(),
                                                /*init=*/Value()));
  else if (getPositions())
    gradients.push_back(PositionGradOp::create(
        builder, getLoc(), getPositions().getType(),
        DSC_FAULT(
            43, resultGradients[0],
            AddOp::create(builder, getLoc(), resultGradients[0], resultGradients[0]).getResult())));
  gradients.resize(getNumOperands()); // position_ids take none
  return success();
}
SmallVector<Value> EmbeddingOp::savedValues() {
  SmallVector<Value> saved = {getIds()};
  if (getPositionIds())
    saved.push_back(getPositionIds());
  return saved;
}
int64_t EmbeddingOp::flops() { return getPositions() ? elements(getResult()) : 0; }
// Not the tables but the rows looked up.
int64_t EmbeddingOp::bytesRead() {
  return bytesOfValues({getIds()}) + (getPositionIds() ? bytesOfValues({getPositionIds()}) : 0) +
         (getPositions() ? 2 : 1) * bytesOfValues({getResult()});
}
ShardingRule EmbeddingOp::shardingRule() {
  SmallVector<StringRef> operands = {"bt", "vd"};
  // Rows past the sequence belong to no loop of the result: a longer table is needed whole.
  bool exact =
      getPositions() && !getPositionIds() && shapeOf(getPositions())[0] == shapeOf(getIds())[1];
  if (getPositions())
    operands.push_back(exact ? "td" : "pd");
  if (getPositionIds())
    operands.push_back("bt");
  return einsum(*this, operands, {"btd"}, "p");
}
/// A part of the vocabulary finds its own tokens; what is added to all counts once.
void EmbeddingOp::cutLoop(OpBuilder &builder, const LoopPart &part) {
  if (shardingRule().loops[part.loop].name != "v")
    return;
  getIdsMutable().assign(localIds(builder, getLoc(), getIds(), shapeOf(getTable())[0], part));
  if (getPositions())
    getPositionsMutable().assign(OnceOp::create(
        builder, getLoc(), getPositions().getType(), getPositions(), part.rank()));
}

//===-- embedding_grad --===//

LogicalResult EmbeddingGradOp::verify() {
  ArrayRef<int64_t> ids = shapeOf(getIds()), gradient = shapeOf(getGradient()),
                    result = shapeOf(getResult());
  if (ids.size() != 2 || gradient.size() != 3 || gradient.drop_back() != ids)
    return emitOpError("M4: ids must be [b, t] and gradient [b, t, d], found ")
           << text(ids) << " and " << text(gradient);
  if (result.size() != 2 || result[1] != gradient[2])
    return emitOpError("M4: result must be [rows, ") << gradient[2] << "], found " << text(result);
  if (getInit() && failed(expectShape(*this, "M5", "init", shapeOf(getInit()), result)))
    return failure();
  return expectElementTypes(*this, "M5", {getGradient()},
                            {{"init", getInit()}, {"result", getResult()}});
}
int64_t EmbeddingGradOp::flops() { return elements(getGradient()); }
int64_t EmbeddingGradOp::inPlaceOperand(unsigned) { return getInit() ? 2 : -1; }
bool EmbeddingGradOp::mustAlias(unsigned) { return bool(getInit()); }
bool EmbeddingGradOp::accumulateOnto(unsigned, Value init) {
  if (getInit())
    return false;
  getInitMutable().assign(init);
  return true;
}
ShardingRule EmbeddingGradOp::shardingRule() {
  SmallVector<StringRef> operands = {"btd", "bt"};
  if (getInit())
    operands.push_back("vd");
  return einsum(*this, operands, {"vd"});
}
void EmbeddingGradOp::cutLoop(OpBuilder &builder, const LoopPart &part) {
  if (shardingRule().loops[part.loop].name == "v")
    getIdsMutable().assign(localIds(builder, getLoc(), getIds(), shapeOf(getResult())[0], part));
}

//===-- position_grad --===//

LogicalResult PositionGradOp::verify() {
  ArrayRef<int64_t> gradient = shapeOf(getGradient()), result = shapeOf(getResult());
  if (gradient.size() != 3)
    return emitOpError("M6: gradient must be [b, t, d], found ") << text(gradient);
  if (result.size() != 2 || result[1] != gradient[2])
    return emitOpError("M6: result must be [rows, ") << gradient[2] << "], found " << text(result);
  if (result[0] < gradient[1])
    return emitOpError("M6: sequence longer than positions: ")
           << gradient[1] << " vs " << result[0];
  return expectElementTypes(*this, "M6", {getGradient()}, {{"result", getResult()}});
}
int64_t PositionGradOp::flops() { return elements(getGradient()); }
ShardingRule PositionGradOp::shardingRule() {
  bool exact = shapeOf(getResult())[0] == shapeOf(getGradient())[1];
  return einsum(*this, {"btd"}, {exact ? "td" : "pd"}, exact ? "" : "tp");
}

#define GET_OP_CLASSES
#include "dsc/Dialect/DS/Ops/Embedding.cpp.inc"
