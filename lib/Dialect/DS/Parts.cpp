//===- Parts.cpp - verifiers, costs and sharding of Ops/Parts.td ---------------===//
#include "ShapeChecks.h"

using namespace mlir;
using namespace dsc;
using namespace dsc::ds;

LogicalResult OnceOp::verify() {
  if (getResult().getType() != getInput().getType())
    return emitOpError("PA1: result is ")
           << getResult().getType() << ", expected " << getInput().getType();
  return success();
}
ShardingRule OnceOp::shardingRule() { return einsum(*this, {".", ""}, {"."}); }

LogicalResult LocalIdsOp::verify() {
  if (getResult().getType() != getIds().getType())
    return emitOpError("PA2: result is ")
           << getResult().getType() << ", expected " << getIds().getType();
  if (int64_t rows = getRows(); rows < 1)
    return emitOpError("PA3: rows is ") << rows << ", must be positive";
  return success();
}
ShardingRule LocalIdsOp::shardingRule() { return einsum(*this, {".", ""}, {"."}); }

LogicalResult PartKeyOp::verify() {
  auto numbers = [&](int64_t count) {
    return RankedTensorType::get({count}, Float64Type::get(getContext()));
  };
  for (auto [what, value, count] :
       {std::tuple<StringRef, Value, int64_t>("key", getKey(), 5), {"result", getResult(), 6}})
    if (value.getType() != numbers(count))
      return emitOpError("PA4: ") << what << " is " << value.getType() << ", expected "
                                  << numbers(count);
  if (int64_t elements = getElements(); elements < 4 || elements % 4)
    return emitOpError("PA5: elements is ") << elements << ", must be a positive multiple of 4";
  return success();
}
ShardingRule PartKeyOp::shardingRule() { return einsum(*this, {"y", ""}, {"z"}, "yz"); }

//===-- loss_parts, join_loss --===//

LogicalResult LossPartsOp::verify() {
  if (shapeOf(getLogits()).empty())
    return emitOpError("PA6: logits have no dimension");
  ArrayRef<int64_t> rows = leading(getLogits()), lse = shapeOf(getLse());
  for (auto [what, value] : {std::pair<StringRef, Value>("labels", getLabels()),
                             {"chosen", getChosen()},
                             {"total", getTotal()}})
    if (value && failed(expectShape(*this, "PA6", what, shapeOf(value), rows)))
      return failure();
  if (lse.empty() || lse.drop_front() != rows)
    return emitOpError("PA6: lse is ") << text(lse) << ", expected [ranks] before " << text(rows);
  int64_t classes = getClasses(), places = lse[0] * shapeOf(getLogits()).back();
  if (classes < 1 || classes > places)
    return emitOpError("PA7: classes is ")
           << classes << ", must be positive and at most " << places;
  return expectElementTypes(*this, "PA8", {getLogits()},
                            {{"lse", getLse()}, {"chosen", getChosen()}, {"total", getTotal()}});
}
// Maximum, difference, exponential, sum; with smoothing the sum of the logits.
int64_t LossPartsOp::flops() { return (getTotal() ? 5 : 4) * elements(getLogits()); }
ShardingRule LossPartsOp::shardingRule() {
  // Leading dimensions of the lse follow its first, so that they have letters, not dots.
  std::string rows = StringRef("abcdefgh").take_front(leading(getLogits()).size()).str();
  std::string logits = rows + "v", lse = "z" + rows;
  SmallVector<StringRef> results = {lse, rows};
  if (getTotal())
    results.push_back(rows);
  return einsum(*this, {logits, rows, ""}, results, "vz");
}

LogicalResult JoinLossOp::verify() {
  if (shapeOf(getParts()).empty())
    return emitOpError("PA9: parts have no dimension");
  ArrayRef<int64_t> rows = shapeOf(getParts()).drop_front();
  for (auto [what, value] : {std::pair<StringRef, Value>("chosen", getChosen()),
                             {"total", getTotal()},
                             {"labels", getLabels()},
                             {"weights", getWeights()},
                             {"losses", getLosses()},
                             {"lse", getLse()}})
    if (value && failed(expectShape(*this, "PA9", what, shapeOf(value), rows)))
      return failure();
  if (bool(getSmoothing()) != bool(getTotal()))
    return emitOpError("PA10: smoothing and total come together");
  if (int64_t classes = getClasses(); classes < 1)
    return emitOpError("PA10: classes is ") << classes << ", must be positive";
  return expectElementTypes(*this, "PA8", {},
                            {{"parts", getParts()},
                             {"chosen", getChosen()},
                             {"total", getTotal()},
                             {"weights", getWeights()},
                             {"losses", getLosses()},
                             {"lse", getLse()}});
}
int64_t JoinLossOp::flops() { return 4 * elements(getParts()); }
ShardingRule JoinLossOp::shardingRule() {
  std::string rows = StringRef("abcdefgh").take_front(shapeOf(getLse()).size()).str();
  std::string parts = "z" + rows;
  SmallVector<StringRef> operands = {parts, rows, rows};
  if (getSmoothing())
    operands.append({"", rows});
  if (getWeights())
    operands.push_back(rows);
  return einsum(*this, operands, {rows, rows}, "z");
}

#define GET_OP_CLASSES
#include "dsc/Dialect/DS/Ops/Parts.cpp.inc"
