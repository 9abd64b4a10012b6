//===- Table.cpp - op name to reference function ---------------------------===//
#include "dsc/Reference/Table.h"
#include "Functions.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace dsc;
using namespace dsc::reference;

namespace {
struct Table {
  template <typename... Ops> void add() {
    ((functions[Ops::getOperationName()] = [](Operation *op,
                                              Evaluation &at) { evaluate(cast<Ops>(op), at); }),
     ...);
  }
  Table() {
    add<ds::AddOp, ds::ActivationOp, ds::ActivationGradOp, ds::CastOp>();
    add<ds::AttentionOp, ds::AttentionGradOp, ds::CachedAttentionOp>();
    add<ds::RandomKeyOp, ds::DropoutOp>();
    add<ds::EmbeddingOp, ds::EmbeddingGradOp, ds::PositionGradOp>();
    add<ds::OnceOp, ds::LocalIdsOp, ds::PartKeyOp, ds::LossPartsOp, ds::JoinLossOp>();
    add<ds::LinearOp, ds::LinearInputGradOp, ds::LinearWeightGradOp, ds::BiasGradOp>();
    add<ds::CrossEntropyOp, ds::CrossEntropyGradOp, ds::LossSeedOp, ds::TokenMeanOp>();
    add<ds::CountOp, ds::LabelWeightsOp>();
    add<ds::SliceRowsOp, ds::ConcatRowsOp>();
    add<ds::LayerNormOp, ds::LayerNormInputGradOp, ds::LayerNormParameterGradOp>();
    add<ds::AdamUpdateOp, ds::SgdUpdateOp, ds::LionUpdateOp, ds::LambDirectionOp, ds::DescendOp>();
    add<ds::ClipValuesOp, ds::ScaleRateOp, ds::TrustRatioOp>();
    add<ds::FactorSumsOp, ds::FactorMomentOp, ds::MomentMeanOp, ds::FactoredDirectionOp>();
    add<ds::AdafactorDirectionOp, ds::UpdatePowerOp, ds::AdafactorFactorOp>();
    add<ds::SquareSumOp, ds::GlobalNormOp, ds::ClipFactorOp, ds::LearningRateOp, ds::IncrementOp>();
    add<ds::ZerosOp, ds::UnscaleOp, ds::LossScaleUpdateOp>();
  }
  llvm::StringMap<ReferenceFunction> functions;
};
} // namespace

ReferenceFunction reference::findReference(StringRef opName) {
  static const Table table;
  return table.functions.lookup(opName);
}

std::vector<int64_t> reference::shapeOf(Type type) {
  return cast<RankedTensorType>(type).getShape().vec();
}

std::string reference::shapeText(const std::vector<int64_t> &shape) {
  std::string text;
  for (int64_t dimension : shape)
    text += (text.empty() ? "" : "x") + std::to_string(dimension);
  return text.empty() ? "scalar" : text;
}

Evaluation::Evaluation(Operation *op) : op(op) {
  for (Value value : op->getResults())
    results.push_back(std::make_shared<Tensor>(Tensor::filled(shapeOf(value.getType()), 0)));
}

Tensor &Evaluation::result(Value value) {
  return *results[cast<OpResult>(value).getResultNumber()];
}

void Evaluation::fail(const Twine &message) {
  if (!hasFailed)
    op->emitOpError(message);
  hasFailed = true;
}
