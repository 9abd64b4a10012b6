//===- Generators.cpp - which generator writes the kernels of which op -----===//
#include "Generators.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace dsc;

const KernelGenerator *dsc::findGenerator(llvm::StringRef opName) {
  static const llvm::StringMap<std::unique_ptr<KernelGenerator>> generators = [] {
    llvm::StringMap<std::unique_ptr<KernelGenerator>> map;
    map["ds.linear"] = createLinearGenerator();
    map["ds.linear_input_grad"] = createLinearInputGradGenerator();
    map["ds.linear_weight_grad"] = createLinearWeightGradGenerator();
    map["ds.bias_grad"] = createBiasGradGenerator();
    map["ds.add"] = createAddGenerator();
    map["ds.activation"] = createActivationGenerator();
    map["ds.activation_grad"] = createActivationGradGenerator();
    map["ds.cast"] = createCastGenerator();
    map["ds.embedding"] = createEmbeddingGenerator();
    map["ds.embedding_grad"] = createEmbeddingGradGenerator();
    map["ds.position_grad"] = createPositionGradGenerator();
    map["ds.layer_norm"] = createLayerNormGenerator();
    map["ds.layer_norm_input_grad"] = createLayerNormInputGradGenerator();
    map["ds.layer_norm_parameter_grad"] = createLayerNormParameterGradGenerator();
    map["ds.attention"] = createAttentionGenerator();
    map["ds.attention_grad"] = createAttentionGradGenerator();
    map["ds.cached_attention"] = createCachedAttentionGenerator();
    map["ds.random_key"] = createRandomKeyGenerator();
    map["ds.dropout"] = createDropoutGenerator();
    map["ds.cross_entropy"] = createCrossEntropyGenerator();
    map["ds.cross_entropy_grad"] = createCrossEntropyGradGenerator();
    map["ds.label_weights"] = createLabelWeightsGenerator();
    map["ds.count"] = createCountGenerator();
    map["ds.loss_seed"] = createLossSeedGenerator();
    map["ds.token_mean"] = createTokenMeanGenerator();
    map["ds.once"] = createOnceGenerator();
    map["ds.local_ids"] = createLocalIdsGenerator();
    map["ds.part_key"] = createPartKeyGenerator();
    map["ds.loss_parts"] = createLossPartsGenerator();
    map["ds.join_loss"] = createJoinLossGenerator();
    map["ds.square_sum"] = createSquareSumGenerator();
    map["ds.global_norm"] = createGlobalNormGenerator();
    map["ds.clip_factor"] = createClipFactorGenerator();
    map["ds.learning_rate"] = createLearningRateGenerator();
    map["ds.increment"] = createIncrementGenerator();
    map["ds.zeros"] = createZerosGenerator();
    map["ds.unscale"] = createUnscaleGenerator();
    map["ds.loss_scale_update"] = createLossScaleUpdateGenerator();
    map["ds.adam_update"] = createAdamUpdateGenerator();
    map["ds.scale_rate"] = createScaleRateGenerator();
    map["ds.trust_ratio"] = createTrustRatioGenerator();
    map["ds.sgd_update"] = createSgdUpdateGenerator();
    map["ds.lion_update"] = createLionUpdateGenerator();
    map["ds.lamb_direction"] = createLambDirectionGenerator();
    map["ds.descend"] = createDescendGenerator();
    map["ds.clip_values"] = createClipValuesGenerator();
    map["ds.factor_sums"] = createFactorSumsGenerator();
    map["ds.factor_moment"] = createFactorMomentGenerator();
    map["ds.moment_mean"] = createMomentMeanGenerator();
    map["ds.factored_direction"] = createFactoredDirectionGenerator();
    map["ds.adafactor_direction"] = createAdafactorDirectionGenerator();
    map["ds.update_power"] = createUpdatePowerGenerator();
    map["ds.adafactor_factor"] = createAdafactorFactorGenerator();
    return map;
  }();
  auto found = generators.find(opName);
  return found == generators.end() ? nullptr : found->second.get();
}

MemRefType dsc::kernelMemory(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  Type element = tensor.getElementType();
  if (element.isBF16())
    element = IntegerType::get(type.getContext(), 16);
  return MemRefType::get(tensor.getShape(), element);
}

FailureOr<func::FuncOp> dsc::generateKernel(ModuleOp module, StringRef name, Operation *op,
                                            ArrayRef<int64_t> resultArgument,
                                            const Target &target) {
  const KernelGenerator *generator = findGenerator(op->getName().getStringRef());
  if (!generator)
    return op->emitOpError("has no kernel generator"), failure();
  MLIRContext *context = module.getContext();
  context->loadDialect<arith::ArithDialect, func::FuncDialect, math::MathDialect,
                       memref::MemRefDialect, scf::SCFDialect, vector::VectorDialect>();

  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  SmallVector<Type> inputs;
  for (Type type : op->getOperandTypes())
    inputs.push_back(kernelMemory(type));
  for (auto [result, argument] : llvm::zip_equal(op->getResults(), resultArgument))
    if (argument >= static_cast<int64_t>(inputs.size()))
      inputs.push_back(kernelMemory(result.getType()));
  Type index = builder.getIndexType();
  Type workspace = MemRefType::get({ShapedType::kDynamic}, builder.getI8Type());
  inputs.append({index, index, workspace});
  auto kernel = func::FuncOp::create(builder, op->getLoc(), name,
                                     builder.getFunctionType(inputs, TypeRange{}));
  generator->generate(op, resultArgument, kernel, target);
  return kernel;
}
