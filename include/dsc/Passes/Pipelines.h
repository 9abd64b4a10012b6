//===- Pipelines.h - the phases of the compiler, by name -------------------===//
// A table of contents: each phase is a list of passes that ends in the pass that verifies its
// promise. Import itself is importSpec (dsc/Passes/Import.h).
#ifndef DSC_PASSES_PIPELINES_H
#define DSC_PASSES_PIPELINES_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include <string>

namespace dsc {

struct Spec;
struct RecomputeChoice;

/// Options of the training phase, as on a command line: ds-training{optimizer=adamw
/// schedule=cosine}.
struct TrainingOptions : mlir::PassPipelineOptions<TrainingOptions> {
  Option<std::string> optimizer{*this, "optimizer",
                                llvm::cl::desc("adamw, adam, sgd, lion, lamb or adafactor"),
                                llvm::cl::init("adamw")};
  Option<bool> decoupled{*this, "decoupled", llvm::cl::desc("for adam: decay the weight"),
                         llvm::cl::init(true)};
  Option<bool> nesterov{*this, "nesterov", llvm::cl::desc("for sgd: Nesterov's form"),
                        llvm::cl::init(false)};
  Option<int64_t> microBatches{*this, "micro-batches", llvm::cl::desc("micro-batches a window"),
                               llvm::cl::init(int64_t(1))};
  Option<bool> layoutIndependent{*this, "layout-independent",
                                 llvm::cl::desc("add gradients in an order that no layout changes"),
                                 llvm::cl::init(false)};
  Option<bool> ranks{*this, "ranks", llvm::cl::desc("for programs of many ranks"),
                     llvm::cl::init(false)};
  Option<bool> fresh{*this, "fresh", llvm::cl::desc("add whole gradients of micro-batches"),
                     llvm::cl::init(false)};
  Option<bool> apart{*this, "apart", llvm::cl::desc("sum uses of a parameter apart"),
                     llvm::cl::init(false)};
  Option<std::string> lossScaling{*this, "loss-scaling", llvm::cl::desc("none, static or dynamic"),
                                  llvm::cl::init("none")};
  Option<bool> consecutiveHysteresis{*this, "consecutive-hysteresis",
                                     llvm::cl::desc("a good step gives the whole hysteresis back"),
                                     llvm::cl::init(false)};
  Option<double> initialLossScale{*this, "initial-loss-scale", llvm::cl::desc("first scale"),
                                  llvm::cl::init(65536.0)};
  Option<std::string> schedule{*this, "schedule", llvm::cl::desc("of ds.learning_rate"),
                               llvm::cl::init("constant")};
  Option<bool> linearWarmup{*this, "linear-warmup",
                            llvm::cl::desc("for DeepSpeed's schedules: no logarithm"),
                            llvm::cl::init(false)};
};

/// What the spec asks of the training phase.
void setTrainingOptions(const Spec &spec, TrainingOptions &options);

/// ds-import: verifies what importSpec built.
void buildImportPipeline(mlir::OpPassManager &passes);
/// ds-training: forward pass to whole step.
void buildTrainingPipeline(mlir::OpPassManager &passes, const TrainingOptions &options);

/// Options of the precision phase: ds-precision{type=f16}.
struct PrecisionOptions : mlir::PassPipelineOptions<PrecisionOptions> {
  Option<std::string> type{*this, "type", llvm::cl::desc("f16, bf16, or f32: nothing is done"),
                           llvm::cl::init("f32")};
};
/// What the spec asks of the precision phase.
void setPrecisionOptions(const Spec &spec, PrecisionOptions &options);
/// ds-precision: f32 to mixed precision.
void buildPrecisionPipeline(mlir::OpPassManager &passes, const PrecisionOptions &options);

/// Options of the parallel phase: ds-parallel{data=2 zero=1}.
struct ParallelOptions : mlir::PassPipelineOptions<ParallelOptions> {
  Option<int64_t> data{*this, "data", llvm::cl::desc("data-parallel ranks"),
                       llvm::cl::init(int64_t(1))};
  Option<int64_t> tensor{*this, "tensor", llvm::cl::desc("ranks that share a layer"),
                         llvm::cl::init(int64_t(1))};
  Option<int64_t> pipeline{*this, "pipeline", llvm::cl::desc("pipeline stages"),
                           llvm::cl::init(int64_t(1))};
  Option<int64_t> context{*this, "context", llvm::cl::desc("ranks that share a sequence"),
                          llvm::cl::init(int64_t(1))};
  Option<int64_t> zero{*this, "zero", llvm::cl::desc("ZeRO stage"), llvm::cl::init(int64_t(0))};
  Option<int64_t> bucketBytes{*this, "bucket-bytes", llvm::cl::desc("most bytes of a bucket"),
                              llvm::cl::init(int64_t(32) << 20)};
  Option<std::string> schedule{*this, "schedule",
                               llvm::cl::desc("gpipe, 1f1b, interleaved or zero_bubble"),
                               llvm::cl::init("1f1b")};
  Option<int64_t> interleave{*this, "interleave", llvm::cl::desc("parts of the model a stage"),
                             llvm::cl::init(int64_t(1))};
  ListOption<int64_t> blocks{*this, "blocks", llvm::cl::desc("blocks of each part")};
  int64_t ranks() const { return data * tensor * pipeline * context; }
};
/// What the spec asks of the parallel phase.
void setParallelOptions(const Spec &spec, ParallelOptions &options);
/// ds-parallel: one device's programs to those of many ranks; nothing for one rank.
void buildParallelPipeline(mlir::OpPassManager &passes, const ParallelOptions &options);

/// ds-lowering: blocks of ops to straight-line programs of fused ops.
struct LoweringOptions : mlir::PassPipelineOptions<LoweringOptions> {
  Option<int64_t> blockBytes{*this, "block-bytes",
                             llvm::cl::desc("most bytes of logits that may exist at a time"),
                             llvm::cl::init(int64_t(64) << 20)};
  ListOption<std::string> recomputeFull{
      *this, "recompute-full", llvm::cl::desc("blocks that the backward computes again whole")};
  ListOption<std::string> recomputeSelective{
      *this, "recompute-selective",
      llvm::cl::desc("blocks whose attention core the backward computes again")};
  void setRecompute(const RecomputeChoice &choice);
};
void buildLoweringPipeline(mlir::OpPassManager &passes, const LoweringOptions &options);
/// ds-plan: programs to instructions on bytes.
void buildPlanPipeline(mlir::OpPassManager &passes);

/// Makes the phases known to ds-opt: --ds-import, --ds-training, --ds-precision,
/// --ds-lowering, --ds-plan.
void registerPipelines();

} // namespace dsc

#endif // DSC_PASSES_PIPELINES_H
