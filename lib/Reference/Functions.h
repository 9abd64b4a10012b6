//===- Functions.h - the reference of each op, declared --------------------===//
// One overload an op, defined in the file of its family.
#ifndef DSC_LIB_REFERENCE_FUNCTIONS_H
#define DSC_LIB_REFERENCE_FUNCTIONS_H

#include "dsc/Dialect/DS/DS.h"
#include "dsc/Reference/Table.h"

namespace dsc::reference {

void evaluate(ds::AddOp op, Evaluation &at);
void evaluate(ds::ActivationOp op, Evaluation &at);
void evaluate(ds::ActivationGradOp op, Evaluation &at);
void evaluate(ds::CastOp op, Evaluation &at);

void evaluate(ds::AttentionOp op, Evaluation &at);
void evaluate(ds::AttentionGradOp op, Evaluation &at);
void evaluate(ds::CachedAttentionOp op, Evaluation &at);

void evaluate(ds::RandomKeyOp op, Evaluation &at);
void evaluate(ds::DropoutOp op, Evaluation &at);

void evaluate(ds::OnceOp op, Evaluation &at);
void evaluate(ds::LocalIdsOp op, Evaluation &at);
void evaluate(ds::PartKeyOp op, Evaluation &at);
void evaluate(ds::LossPartsOp op, Evaluation &at);
void evaluate(ds::JoinLossOp op, Evaluation &at);

void evaluate(ds::EmbeddingOp op, Evaluation &at);
void evaluate(ds::EmbeddingGradOp op, Evaluation &at);
void evaluate(ds::PositionGradOp op, Evaluation &at);

void evaluate(ds::LinearOp op, Evaluation &at);
void evaluate(ds::LinearInputGradOp op, Evaluation &at);
void evaluate(ds::LinearWeightGradOp op, Evaluation &at);
void evaluate(ds::BiasGradOp op, Evaluation &at);

void evaluate(ds::CrossEntropyOp op, Evaluation &at);
void evaluate(ds::CrossEntropyGradOp op, Evaluation &at);
void evaluate(ds::LabelWeightsOp op, Evaluation &at);
void evaluate(ds::CountOp op, Evaluation &at);
void evaluate(ds::LossSeedOp op, Evaluation &at);
void evaluate(ds::TokenMeanOp op, Evaluation &at);
void evaluate(ds::SliceRowsOp op, Evaluation &at);
void evaluate(ds::ConcatRowsOp op, Evaluation &at);

void evaluate(ds::LayerNormOp op, Evaluation &at);
void evaluate(ds::LayerNormInputGradOp op, Evaluation &at);
void evaluate(ds::LayerNormParameterGradOp op, Evaluation &at);

void evaluate(ds::AdamUpdateOp op, Evaluation &at);
void evaluate(ds::SgdUpdateOp op, Evaluation &at);
void evaluate(ds::LionUpdateOp op, Evaluation &at);
void evaluate(ds::LambDirectionOp op, Evaluation &at);
void evaluate(ds::DescendOp op, Evaluation &at);
void evaluate(ds::ClipValuesOp op, Evaluation &at);
void evaluate(ds::FactorSumsOp op, Evaluation &at);
void evaluate(ds::FactorMomentOp op, Evaluation &at);
void evaluate(ds::MomentMeanOp op, Evaluation &at);
void evaluate(ds::FactoredDirectionOp op, Evaluation &at);
void evaluate(ds::AdafactorDirectionOp op, Evaluation &at);

void evaluate(ds::SquareSumOp op, Evaluation &at);
void evaluate(ds::GlobalNormOp op, Evaluation &at);
void evaluate(ds::ClipFactorOp op, Evaluation &at);
void evaluate(ds::LearningRateOp op, Evaluation &at);
void evaluate(ds::IncrementOp op, Evaluation &at);
void evaluate(ds::ScaleRateOp op, Evaluation &at);
void evaluate(ds::TrustRatioOp op, Evaluation &at);
void evaluate(ds::UpdatePowerOp op, Evaluation &at);
void evaluate(ds::AdafactorFactorOp op, Evaluation &at);
void evaluate(ds::ZerosOp op, Evaluation &at);
void evaluate(ds::UnscaleOp op, Evaluation &at);
void evaluate(ds::LossScaleUpdateOp op, Evaluation &at);

/// Value and derivative of an activation function at `x`; `none` is the identity.
double activate(ds::Activation function, double x);
double activateDerivative(ds::Activation function, double x);

/// Neighbours are added pairwise until one is left; an odd one moves up as it is.
double treeSum(std::vector<double> sums);

/// Classes of `classes` that the rank with this coordinate has, where each has `columns` places.
int64_t ownClasses(double rank, int64_t columns, int64_t classes);

/// What a mask multiplies element `element` of sample `sample` (of the micro-batch) by: 1 / (1 - p)
/// or 0. A key of six numbers is that of a part.
double dropoutFactor(const Tensor &key, double p, int64_t sample, int64_t element);

} // namespace dsc::reference

#endif // DSC_LIB_REFERENCE_FUNCTIONS_H
