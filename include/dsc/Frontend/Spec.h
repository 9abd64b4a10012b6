//===- Spec.h - model.json, read, checked and resolved ---------------------===//
// Every value is legal once a Spec exists; nothing here is "auto" or absent unless the type says
// so.
#ifndef DSC_FRONTEND_SPEC_H
#define DSC_FRONTEND_SPEC_H

#include "dsc/Support/BatchRamp.h"
#include "dsc/Support/JsonValue.h"
#include "dsc/Support/Layout.h"
#include "dsc/Support/Status.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dsc {

enum class ActivationKind { GeluTanh, Gelu, Relu };
enum class OptimizerKind { AdamW, Adam, Sgd, Lion, Lamb, Adafactor };
enum class ScheduleKind {
  Constant,
  Linear,
  Cosine,
  InverseSqrt,
  Wsd,
  WarmupLR,
  WarmupDecayLR,
  WarmupCosineLR
};
enum class DataFormat { Text, Megatron, Uint16, Replay };

/// A Hugging Face GPT-2 configuration.
struct ModelSpec {
  int64_t vocabSize = 50257, positions = 1024, width = 768, layers = 12, heads = 12, inner = 3072;
  ActivationKind activation = ActivationKind::GeluTanh;
  double layerNormEps = 1e-5, initializerRange = 0.02;
  /// Of embeddings, attention probabilities, what is added to the residual stream; training only.
  double embeddingDropout = 0, attentionDropout = 0, residualDropout = 0;
  bool tiedHead = true, scaleAttention = true, scaleByInverseLayer = false;
  /// The configuration as given (keys of Hugging Face), for export.
  JsonValue config;
};

struct DataFile {
  std::string path; ///< relative to the spec's folder, as written
  DataFormat format = DataFormat::Text;
  std::string labels;         ///< replay only; empty: shifted tokens
  std::string separator = {}; ///< text only: what stands between documents; empty: there is one
};

/// What happens to a packed document of more than seq_length tokens.
enum class LongDocuments { Split, Truncate, Drop };

struct DataSpec {
  std::vector<DataFile> train, validation;
  double validationFraction = 0; ///< tail of each training file
  int64_t seqLength = 0;         ///< 0 until known from a replay file
  uint64_t seed = 1234;
  bool packDocuments = false; ///< windows of whole documents that do not see each other
  LongDocuments longDocuments = LongDocuments::Split;
};

/// What activations and operands of products are stored as.
enum class Precision { F32, F16, BF16 };

/// Parameters with rules of their own, by pattern; a parameter belongs to the first that matches.
struct ParamGroup {
  std::string match; ///< of names: `*` stands for any characters, `?` for one
  std::optional<double> lrScale, weightDecay;
  bool frozen = false;
};

enum class LossScaleMode { None, Static, Dynamic };

/// What the backward pass computes again instead of keeping it; Blocks: those of a list, whole.
enum class RecomputeMode { None, Selective, Full, Auto, Blocks };

/// DeepSpeed's loss scaler; see ds.loss_scale_update.
struct LossScaleSpec {
  LossScaleMode mode = LossScaleMode::None;
  double initial = 65536; ///< the scale, where it is static
  double window = 1000, hysteresis = 2, floor = 1, cap = 4294967296.0, maxSkipsAtFloor = 20;
  bool consecutive = false;
};

/// What the loss of a window is the mean over: its counted tokens, or its samples, each the mean
/// over its own counted tokens.
enum class LossReduction { Token, Sample };

/// Which runs give the same bits: Run: the same plan; Layout: whatever the layout, too.
enum class Reproducible { Run, Layout };

struct TrainSpec {
  int64_t batch = 1;      ///< train_batch_size, sequences an update
  int64_t microBatch = 1; ///< train_micro_batch_size_per_gpu: sequences at a time; times the ranks
                          ///< of the data axis it divides `batch`
  BatchRampSettings ramp; ///< of `batch` over the first steps
  LossReduction lossReduction = LossReduction::Token;
  double gradientClipping = 0, gradientClippingValue = 0; ///< by global norm, by value; 0: none
  Precision precision = Precision::F32;
  OptimizerKind optimizer = OptimizerKind::AdamW;
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weightDecay = 0, momentum = 0;
  double leastTrust = 0.01, mostTrust = 10; ///< limits of LAMB's trust ratio
  /// Of Adafactor, whose other epsilon is `eps`: exponent of the moments' decay, least root mean
  /// square of a variable, greatest of a direction.
  double beta2Decay = -0.8, leastRms = 1e-3, mostRms = 1;
  bool decoupledDecay = true, nesterov = false;
  std::vector<ParamGroup> groups;
  LossScaleSpec scaling;
  Reproducible reproducible = Reproducible::Run;
  RecomputeMode recompute = RecomputeMode::None;
  std::vector<int64_t> recomputeBlocks; ///< of mode Blocks: ascending, each below `layers`
  int64_t memoryBudget = 0;             ///< of mode Auto, bytes
  ScheduleKind schedule = ScheduleKind::Constant;
  double minLr = 0;
  int64_t warmupSteps = 0, totalSteps = 0;
  double timescale = 0;                       ///< of inverse_sqrt, updates
  int64_t decaySteps = 0;                     ///< of wsd
  bool linearWarmup = false;                  ///< of DeepSpeed's schedules; else logarithmic
  double warmupMinLr = 0, warmupMaxLr = 0;    ///< of WarmupLR and WarmupDecayLR
  double warmupMinRatio = 0, cosMinRatio = 0; ///< of WarmupCosineLR
  int64_t steps = 0; ///< 0: as many as `epochs` give, known when the data is read
  int64_t epochs = 0;
  uint64_t seed = 1234;
};

/// In which order a stage works; see docs/Layouts.md.
enum class PipelineSchedule { GPipe, OneForwardOneBackward, Interleaved, ZeroBubble };

/// What gradients travel between ranks as.
enum class GradientCompression { None, Half, OneBit };

struct ParallelSpec {
  Layout layout;
  bool sequenceParallel = false; ///< of the ranks of the tensor axis
  PipelineSchedule schedule = PipelineSchedule::OneForwardOneBackward;
  int64_t interleave = 1; ///< parts of the model a rank has; above 1 with Interleaved alone
  /// Blocks of each part, in the order of the model: `pipeline` x `interleave` numbers from 1 on
  /// that add up to all blocks. Part v is on stage v mod `pipeline`; the first also has the
  /// embedding, the last the head.
  std::vector<int64_t> stages;
  int64_t bucketBytes = int64_t{1} << 25; ///< of gradients exchanged at a time; 0: one variable
  int64_t zeroStage = 0;                  ///< 0 to 3
  GradientCompression compression = GradientCompression::None;
  int64_t localSgd = 0;            ///< steps between averages of weights; 0: gradients are added
  std::vector<double> deviceSpeed; ///< of each rank of the data axis; empty: all alike
};

struct EvaluationSpec {
  int64_t every = 0;    ///< steps; 0: only at the end, if there is validation data
  int64_t batches = 0;  ///< 0: all
  int64_t patience = 0; ///< evaluations without a fallen loss that end the run; 0: none do
  double minDelta = 0;  ///< nats a token
};

struct GenerationSpec {
  int64_t batch = 0; ///< texts continued at once, each with a row of caches; 0: no caches
};

struct Spec {
  std::string path;   ///< of the file, as given
  std::string folder; ///< of the file; paths inside are relative to it
  ModelSpec model;
  std::optional<std::string> initFrom; ///< folder of config.json + model.safetensors
  uint64_t initSeed = 1234;
  DataSpec data;
  double labelSmoothing = 0; ///< share of the target that all classes have; training only
  TrainSpec train;
  ParallelSpec parallel;
  EvaluationSpec evaluation;
  GenerationSpec generation;
  std::string checkpointDir; ///< empty: no final weights are kept
  std::string logDir;
  int64_t logEvery = 10;
  /// Micro-batches of a full window that each rank of the data axis has.
  int64_t microBatches() const { return train.batch / (train.microBatch * parallel.layout.data); }
  /// The whole spec with every default filled in, under its canonical names: what the plan's
  /// manifest holds.
  JsonValue resolved;
};

/// Hugging Face names of the parameters, without the `transformer.` prefix, in order.
std::vector<std::string> parameterNames(const ModelSpec &model);
/// Index of the first group that `name` belongs to, or -1.
int64_t groupOf(const std::vector<ParamGroup> &groups, std::string_view name);

} // namespace dsc

#endif // DSC_FRONTEND_SPEC_H
