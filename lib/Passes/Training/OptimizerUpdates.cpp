//===- OptimizerUpdates.cpp - the update of one parameter ------------------===//
// By each optimizer: declares its state, computes the next values, assigns them.
#include "OptimizerInsertion.h"
#include "dsc/Dialect/DS/DS.h"
#include "dsc/Support/Fault.h"

using namespace mlir;
using namespace dsc;

void OptimizerInsertion::updateSgd(StringRef name, Value weight, Value gradient, Group group,
                                   Location loc) {
  auto type = cast<RankedTensorType>(weight.getType());
  std::string slot = ("sgd.velocity." + name).str();
  Value velocity = state(slot, type, ds::Role::OptimizerState);
  auto next =
      ds::SgdUpdateOp::create(builder, loc, type, type, /*newHalf=*/Type(), weight, gradient,
                              velocity, clip, group.rate, momentum, group.decay, nesterov);
  assign(name, next.getNewWeight(), loc);
  assign(slot, next.getNewVelocity(), loc);
}

void OptimizerInsertion::updateAdam(StringRef name, Value weight, Value gradient, Group group,
                                    Location loc) {
  auto type = cast<RankedTensorType>(weight.getType());
  std::string first = ("adam.m." + name).str(), second = ("adam.v." + name).str();
  Value m = state(first, type, ds::Role::OptimizerState);
  Value v = state(second, type, ds::Role::OptimizerState);
  auto next = ds::AdamUpdateOp::create(builder, loc, type, type, type, /*newHalf=*/Type(), weight,
                                       gradient, m, v, clip, group.rate, beta1, beta2, eps, updates,
                                       group.decay, kind == OptimizerKind::AdamW || decoupled);
  assign(name, next.getNewWeight(), loc);
  assign(first, DSC_FAULT(15, next.getNewM(), next.getNewV()), loc);
  assign(second, DSC_FAULT(15, next.getNewV(), next.getNewM()), loc);
}

void OptimizerInsertion::updateLion(StringRef name, Value weight, Value gradient, Group group,
                                    Location loc) {
  auto type = cast<RankedTensorType>(weight.getType());
  std::string slot = ("lion.m." + name).str();
  Value m = state(slot, type, ds::Role::OptimizerState);
  auto next = ds::LionUpdateOp::create(builder, loc, type, type, weight, gradient, m, clip,
                                       group.rate, beta1, beta2, group.decay);
  assign(name, next.getNewWeight(), loc);
  assign(slot, next.getNewM(), loc);
}

/// The norm of a variable over fixed blocks and a fixed tree, as of the gradients.
Value OptimizerInsertion::norm2(Value tensor, Location loc) {
  int64_t count = cast<RankedTensorType>(tensor.getType()).getNumElements();
  auto blocks = RankedTensorType::get({(count + 1023) / 1024}, builder.getF64Type());
  Value sums = ds::SquareSumOp::create(builder, loc, blocks, tensor);
  return ds::GlobalNormOp::create(builder, loc, scalar, sums);
}

void OptimizerInsertion::updateLamb(StringRef name, Value weight, Value gradient, Group group,
                                    Location loc) {
  auto type = cast<RankedTensorType>(weight.getType());
  std::string first = ("lamb.m." + name).str(), second = ("lamb.v." + name).str();
  Value m = state(first, type, ds::Role::OptimizerState);
  Value v = state(second, type, ds::Role::OptimizerState);
  auto next = ds::LambDirectionOp::create(builder, loc, type, type, type, weight, gradient, m, v,
                                          clip, beta1, beta2, eps, updates, group.decay);
  Value ratio = ds::TrustRatioOp::create(builder, loc, scalar, norm2(weight, loc),
                                         norm2(next.getDirection(), loc), leastRatio, mostRatio);
  Value moved = ds::DescendOp::create(builder, loc, type, weight, next.getDirection(), group.rate,
                                      ratio, /*decay=*/Value());
  assign(name, moved, loc);
  assign(first, next.getNewM(), loc);
  assign(second, next.getNewV(), loc);
}

void OptimizerInsertion::updateAdafactor(StringRef name, Value weight, Value gradient, Group group,
                                         Location loc) {
  auto type = cast<RankedTensorType>(weight.getType());
  auto moment = [&](int64_t size) { return RankedTensorType::get({size}, type.getElementType()); };
  auto sums = [&](int64_t groups, int64_t size) {
    return RankedTensorType::get({groups, size}, builder.getF64Type());
  };
  Value direction;
  if (type.getRank() == 2) {
    int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
    std::string rowName = ("adafactor.row." + name).str();
    std::string columnName = ("adafactor.column." + name).str();
    Value row = state(rowName, moment(rows), ds::Role::OptimizerState);
    Value column = state(columnName, moment(columns), ds::Role::OptimizerState);
    auto squares = ds::FactorSumsOp::create(
        builder, loc, sums(1, rows), sums(ds::FactorSumsOp::groupsOf(rows, columns), columns),
        gradient);
    row = ds::FactorMomentOp::create(builder, loc, row.getType(), squares.getRowSums(), row, clip,
                                     toward, columns);
    column = ds::FactorMomentOp::create(builder, loc, column.getType(), squares.getColumnSums(),
                                        column, clip, toward, rows);
    Value mean = ds::MomentMeanOp::create(builder, loc, scalar, row);
    direction =
        ds::FactoredDirectionOp::create(builder, loc, type, gradient, row, column, mean, clip, eps);
    assign(rowName, row, loc);
    assign(columnName, column, loc);
  } else {
    std::string slot = ("adafactor.v." + name).str();
    Value v = state(slot, type, ds::Role::OptimizerState);
    auto next =
        ds::AdafactorDirectionOp::create(builder, loc, type, type, gradient, v, clip, toward, eps);
    direction = next.getDirection();
    assign(slot, next.getNewV(), loc);
  }
  Value factor = ds::AdafactorFactorOp::create(builder, loc, scalar, group.rate, norm2(weight, loc),
                                               norm2(direction, loc), updates, leastRms, mostRms,
                                               type.getNumElements());
  assign(
      name,
      ds::DescendOp::create(builder, loc, type, weight, direction, group.rate, factor, group.decay),
      loc);
}
