//===- Generators.h - one function for each op that has kernels ------------===//
// Declared here, defined beside the generator, listed in Generators.cpp.
#ifndef DSC_LIB_CODEGEN_GENERATORS_H
#define DSC_LIB_CODEGEN_GENERATORS_H

#include "dsc/Codegen/KernelOpInterface.h"
#include <memory>

namespace dsc {

using GeneratorPointer = std::unique_ptr<KernelGenerator>;

// Matrix products.
GeneratorPointer createLinearGenerator();
GeneratorPointer createLinearInputGradGenerator();
GeneratorPointer createLinearWeightGradGenerator();
GeneratorPointer createBiasGradGenerator();

// Elementwise.
GeneratorPointer createAddGenerator();
GeneratorPointer createActivationGenerator();
GeneratorPointer createActivationGradGenerator();
GeneratorPointer createCastGenerator();

// Token and position tables.
GeneratorPointer createEmbeddingGenerator();
GeneratorPointer createEmbeddingGradGenerator();
GeneratorPointer createPositionGradGenerator();

// Layer normalisation.
GeneratorPointer createLayerNormGenerator();
GeneratorPointer createLayerNormInputGradGenerator();
GeneratorPointer createLayerNormParameterGradGenerator();

// Attention.
GeneratorPointer createAttentionGenerator();
GeneratorPointer createAttentionGradGenerator();
GeneratorPointer createCachedAttentionGenerator();

// What a rank makes of its coordinate.
GeneratorPointer createOnceGenerator();
GeneratorPointer createLocalIdsGenerator();
GeneratorPointer createPartKeyGenerator();
GeneratorPointer createLossPartsGenerator();
GeneratorPointer createJoinLossGenerator();

// Masks.
GeneratorPointer createRandomKeyGenerator();
GeneratorPointer createDropoutGenerator();

// Cross-entropy and its scalars.
GeneratorPointer createCrossEntropyGenerator();
GeneratorPointer createCrossEntropyGradGenerator();
GeneratorPointer createLabelWeightsGenerator();
GeneratorPointer createCountGenerator();
GeneratorPointer createLossSeedGenerator();
GeneratorPointer createTokenMeanGenerator();

// Norms, clipping, schedules, counters.
GeneratorPointer createSquareSumGenerator();
GeneratorPointer createGlobalNormGenerator();
GeneratorPointer createClipFactorGenerator();
GeneratorPointer createLearningRateGenerator();
GeneratorPointer createIncrementGenerator();
GeneratorPointer createScaleRateGenerator();
GeneratorPointer createTrustRatioGenerator();
GeneratorPointer createUpdatePowerGenerator();
GeneratorPointer createAdafactorFactorGenerator();
GeneratorPointer createZerosGenerator();
GeneratorPointer createUnscaleGenerator();
GeneratorPointer createLossScaleUpdateGenerator();

// Updates of variables.
GeneratorPointer createAdamUpdateGenerator();
GeneratorPointer createSgdUpdateGenerator();
GeneratorPointer createLionUpdateGenerator();
GeneratorPointer createLambDirectionGenerator();
GeneratorPointer createDescendGenerator();
GeneratorPointer createClipValuesGenerator();
GeneratorPointer createFactorSumsGenerator();
GeneratorPointer createFactorMomentGenerator();
GeneratorPointer createMomentMeanGenerator();
GeneratorPointer createFactoredDirectionGenerator();
GeneratorPointer createAdafactorDirectionGenerator();

} // namespace dsc

#endif // DSC_LIB_CODEGEN_GENERATORS_H
