//===- Pipelines.cpp - the phases of the compiler --------------------------===//
#include "dsc/Passes/Pipelines.h"
#include "dsc/Dialect/DS/DS.h"
#include "dsc/Frontend/Spec.h"
#include "dsc/Passes/Import.h"
#include "dsc/Passes/Passes.h"
#include "dsc/Passes/Recompute.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace dsc;

void dsc::setTrainingOptions(const Spec &spec, TrainingOptions &options) {
  switch (spec.train.optimizer) {
  case OptimizerKind::AdamW:
    options.optimizer = std::string("adamw");
    break;
  case OptimizerKind::Adam:
    options.optimizer = std::string("adam");
    break;
  case OptimizerKind::Sgd:
    options.optimizer = std::string("sgd");
    break;
  case OptimizerKind::Lion:
    options.optimizer = std::string("lion");
    break;
  case OptimizerKind::Lamb:
    options.optimizer = std::string("lamb");
    break;
  case OptimizerKind::Adafactor:
    options.optimizer = std::string("adafactor");
    break;
  }
  options.schedule = ds::stringifySchedule(scheduleOf(spec)).str();
  options.linearWarmup = spec.train.linearWarmup;
  switch (spec.train.scaling.mode) {
  case LossScaleMode::None:
    options.lossScaling = std::string("none");
    break;
  case LossScaleMode::Static:
    options.lossScaling = std::string("static");
    break;
  case LossScaleMode::Dynamic:
    options.lossScaling = std::string("dynamic");
    break;
  }
  options.consecutiveHysteresis = spec.train.scaling.consecutive;
  options.initialLossScale = spec.train.scaling.initial;
  const Layout &layout = spec.parallel.layout;
  options.microBatches = spec.train.batch / (spec.train.microBatch * layout.data);
  options.ranks = layout.ranks() > 1;
  options.fresh = layout.data > 1 && spec.parallel.zeroStage >= 2;
  options.apart = layout.pipeline > 1;
  options.layoutIndependent = spec.train.reproducible == Reproducible::Layout;
  options.decoupled = spec.train.decoupledDecay;
  options.nesterov = spec.train.nesterov;
}

void dsc::buildImportPipeline(OpPassManager &passes) { passes.addPass(createDsVerifyImport()); }

void dsc::buildTrainingPipeline(OpPassManager &passes, const TrainingOptions &options) {
  DsDifferentiateOptions differentiation;
  differentiation.apart = options.layoutIndependent || options.apart;
  passes.addPass(createDsDifferentiate(differentiation));
  DsAccumulateGradientsOptions accumulation;
  accumulation.microBatches = options.microBatches;
  accumulation.tree = options.layoutIndependent;
  accumulation.apart = options.apart;
  accumulation.fresh = options.fresh;
  accumulation.always = options.ranks;
  passes.addPass(createDsAccumulateGradients(accumulation));
  passes.addPass(createDsClipGradients());
  DsInsertOptimizerOptions optimizer;
  optimizer.optimizer = options.optimizer;
  optimizer.decoupled = options.decoupled;
  optimizer.nesterov = options.nesterov;
  optimizer.schedule = options.schedule;
  optimizer.linearWarmup = options.linearWarmup;
  passes.addPass(createDsInsertOptimizer(optimizer));
  DsLossScalingOptions scaling;
  scaling.mode = options.lossScaling;
  scaling.consecutive = options.consecutiveHysteresis;
  scaling.initial = options.initialLossScale;
  passes.addPass(createDsLossScaling(scaling));
  passes.addPass(createDsVerifyTraining());
}

void dsc::setPrecisionOptions(const Spec &spec, PrecisionOptions &options) {
  switch (spec.train.precision) {
  case Precision::F32:
    options.type = std::string("f32");
    break;
  case Precision::F16:
    options.type = std::string("f16");
    break;
  case Precision::BF16:
    options.type = std::string("bf16");
    break;
  }
}

void dsc::buildPrecisionPipeline(OpPassManager &passes, const PrecisionOptions &options) {
  if (options.type == "f32")
    return;
  DsMixedPrecisionOptions precision;
  precision.type = options.type;
  passes.addPass(createDsMixedPrecision(precision));
  passes.addPass(createDsVerifyPrecision());
}

void dsc::setParallelOptions(const Spec &spec, ParallelOptions &options) {
  const ParallelSpec &parallel = spec.parallel;
  options.data = parallel.layout.data;
  options.tensor = parallel.layout.tensor;
  options.pipeline = parallel.layout.pipeline;
  options.context = parallel.layout.context;
  options.zero = parallel.zeroStage;
  options.bucketBytes = parallel.bucketBytes;
  switch (parallel.schedule) {
  case PipelineSchedule::GPipe:
    options.schedule = std::string("gpipe");
    break;
  case PipelineSchedule::OneForwardOneBackward:
    options.schedule = std::string("1f1b");
    break;
  case PipelineSchedule::Interleaved:
    options.schedule = std::string("interleaved");
    break;
  case PipelineSchedule::ZeroBubble:
    options.schedule = std::string("zero_bubble");
    break;
  }
  options.interleave = parallel.interleave;
  for (int64_t count : parallel.stages)
    options.blocks.push_back(count);
}

void dsc::buildParallelPipeline(OpPassManager &passes, const ParallelOptions &options) {
  if (options.ranks() < 2)
    return;
  DsPartitionTensorOptions tensor;
  tensor.ranks = options.tensor;
  passes.addPass(createDsPartitionTensor(tensor));
  DsReduceGradientsOptions reduction;
  reduction.ranks = options.data;
  reduction.zero = options.zero;
  reduction.bucketBytes = options.bucketBytes;
  passes.addPass(createDsReduceGradients(reduction));
  DsSplitStagesOptions split;
  split.layout = {options.data, options.tensor, options.pipeline, options.context};
  split.pipelineSchedule = options.schedule;
  split.interleave = options.interleave;
  split.blocks.assign(options.blocks.begin(), options.blocks.end());
  passes.addPass(createDsSplitStages(split));
}

void LoweringOptions::setRecompute(const RecomputeChoice &choice) {
  for (const std::string &label : choice.full)
    recomputeFull.push_back(label);
  for (const std::string &label : choice.selective)
    recomputeSelective.push_back(label);
}

void dsc::buildLoweringPipeline(OpPassManager &passes, const LoweringOptions &options) {
  passes.addPass(createDsFuse());
  DsRecomputeOptions recompute;
  recompute.full.assign(options.recomputeFull.begin(), options.recomputeFull.end());
  recompute.selective.assign(options.recomputeSelective.begin(), options.recomputeSelective.end());
  passes.addPass(createDsRecompute(recompute));
  passes.addPass(createDsInlineBlocks());
  DsTileHeadOptions head;
  head.blockBytes = options.blockBytes;
  passes.addPass(createDsTileHead(head));
  passes.addPass(createDsVerifyLowering());
}

void dsc::buildPlanPipeline(OpPassManager &passes) {
  passes.addPass(createDsToPlan());
  passes.addPass(createPlanAssignMemory());
  passes.addPass(createPlanVerify());
}

void dsc::registerPipelines() {
  PassPipelineRegistration<>("ds-import", "Import phase: verify what was imported",
                             buildImportPipeline);
  PassPipelineRegistration<TrainingOptions>("ds-training", "Training phase: forward to whole step",
                                            buildTrainingPipeline);
  PassPipelineRegistration<PrecisionOptions>(
      "ds-precision", "Precision phase: f32 to mixed precision", buildPrecisionPipeline);
  PassPipelineRegistration<ParallelOptions>(
      "ds-parallel", "Parallel phase: one device to many ranks", buildParallelPipeline);
  PassPipelineRegistration<LoweringOptions>("ds-lowering", "Lowering phase: blocks to fused ops",
                                            buildLoweringPipeline);
  PassPipelineRegistration<>("ds-plan", "Plan phase: ops to instructions on bytes",
                             buildPlanPipeline);
}
