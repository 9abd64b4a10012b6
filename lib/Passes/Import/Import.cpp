//===- Import.cpp - builds the forward programs of a GPT-2 -----------------===//
// Logical shapes, f32, no fusion and no gradient. What a layer computes is said once, in
// Importer::layer; the three programs differ in what follows the last layer.
#include "dsc/Passes/Import.h"
#include "dsc/Dialect/DS/Schedules.h"
#include "dsc/Support/Fault.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Verifier.h"
#include <cmath>

using namespace mlir;
using namespace dsc;

namespace {
class Importer {
public:
  Importer(MLIRContext &context, const Spec &spec, const ImportOptions &options)
      : builder(&context), spec(spec), model(spec.model), options(options),
        f32(builder.getF32Type()) {}

  OwningOpRef<ModuleOp> import();

private:
  // Places and types.
  Location place(StringRef key);
  Location named(const Twine &name, StringRef key) {
    return NameLoc::get(builder.getStringAttr(name), place(key));
  }
  RankedTensorType tensor(ArrayRef<int64_t> shape) const {
    return RankedTensorType::get(shape, f32);
  }
  RankedTensorType ids(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, builder.getI32Type());
  }

  // Symbols.
  void parameter(const Twine &name, ArrayRef<int64_t> shape, ds::Initializer initializer,
                 double stddev = 0);
  void linearParameters(const Twine &prefix, int64_t from, int64_t to, double stddev);
  void normParameters(const Twine &prefix);
  void parameters();
  void hyperparameter(StringRef path, double value);
  void hyperparameters();

  // Programs.
  func::FuncOp program(StringRef name, ArrayRef<std::pair<StringRef, RankedTensorType>> arguments);
  Value read(const Twine &name);
  ds::BlockOp block(const Twine &label, TypeRange results, StringRef key);
  Value norm(Value input, const Twine &name, Value gain, Value bias);
  Value linear(Value input, const Twine &name, Value weight, Value bias);
  Value embedding(Value tokens);
  void declareMaskNumbers();
  void readMaskNumbers();
  Value randomKey(const Twine &path, StringRef key);
  Value dropout(Value input, double p, const Twine &path, StringRef key);
  Value attend(Value qkv, const std::string &name, int64_t index);
  Value keep(Value qkv, const std::string &name, double scale);
  Value layer(Value input, int64_t index);
  /// Final norm and output head inside the current block: the logits.
  Value logits(Value input, Value gain, Value bias, Value head);
  void lossProgram(StringRef name);
  Value logitsBlock(Value hidden);
  void logitsProgram();
  void declareCaches();
  void cachedProgram(StringRef name, int64_t batch, int64_t tokens, bool logits);

  OpBuilder builder;
  const Spec &spec;
  const ModelSpec &model;
  const ImportOptions &options;
  FloatType f32;
  ModuleOp module;
  int64_t length = 0;                // ids a sequence
  llvm::StringMap<Value> readValues; // of the current program
  SmallVector<Value> maskNumbers;    // operands of ds.random_key; none where nothing is dropped
  Value positionIds;                 // of the current program; null: tokens stand in order
  Value cacheRows;                   // of the current program; null: attention keeps nothing
  SmallVector<std::pair<std::string, Value>> kept; // assigned at the end of the program
};
} // namespace

/// "file:line" or "file:line:column" of a key, or of the nearest key above it.
Location Importer::place(StringRef key) {
  for (StringRef path = key; !path.empty();
       path = path.contains('.') ? path.rsplit('.').first : StringRef()) {
    auto found = options.places.find(path.str());
    if (found == options.places.end())
      continue;
    StringRef file = found->second;
    unsigned numbers[2] = {0, 0};
    int count = 0;
    while (count < 2) {
      auto [rest, number] = file.rsplit(':');
      unsigned value;
      if (number.empty() || rest.size() == file.size() || number.getAsInteger(10, value))
        break;
      numbers[1] = numbers[0];
      numbers[0] = value;
      file = rest;
      ++count;
    }
    if (count)
      return FileLineColLoc::get(builder.getContext(), file, numbers[0], numbers[1]);
  }
  return builder.getUnknownLoc();
}

//===-- symbols --===//

void Importer::parameter(const Twine &name, ArrayRef<int64_t> shape, ds::Initializer initializer,
                         double stddev) {
  if (initializer == ds::Initializer::Normal && stddev == 0)
    initializer = ds::Initializer::Zeros;
  // Matrices decay, gains and biases do not; a group may say otherwise. Without training there is
  // none of it.
  int64_t group = options.train ? groupOf(spec.train.groups, name.str()) : -1;
  const ParamGroup *rules = group >= 0 ? &spec.train.groups[group] : nullptr;
  bool frozen = rules && rules->frozen;
  bool decay = !frozen && (DSC_FAULT(1, shape.size() >= 2, true) || (rules && rules->weightDecay));
  ds::VariableOp::create(builder, named(name, "model"), builder.getStringAttr(name), tensor(shape),
                         ds::Role::Parameter, initializer, llvm::APFloat(stddev), decay, frozen,
                         frozen ? -1 : group, /*value=*/llvm::APFloat(0.0), ds::AxisAttr(),
                         ds::AxisAttr(), DenseI64ArrayAttr(), DenseI64ArrayAttr(), /*places=*/1);
}

void Importer::linearParameters(const Twine &prefix, int64_t from, int64_t to, double stddev) {
  std::string name = prefix.str();
  parameter(name + ".weight", {from, to}, ds::Initializer::Normal, stddev);
  parameter(name + ".bias", {to}, ds::Initializer::Zeros);
}

void Importer::normParameters(const Twine &prefix) {
  std::string name = prefix.str();
  parameter(name + ".weight", {model.width}, ds::Initializer::Ones);
  parameter(name + ".bias", {model.width}, ds::Initializer::Zeros);
}

void Importer::parameters() {
  int64_t width = model.width;
  double range = model.initializerRange;
  // GPT-2 scales what is added to the residual stream by the number of additions.
  double residualRange = range / DSC_FAULT(6, std::sqrt(2.0 * model.layers), 1.0);
  parameter("wte.weight", {model.vocabSize, width}, ds::Initializer::Normal, range);
  parameter("wpe.weight", {model.positions, width}, ds::Initializer::Normal, range);
  for (int64_t i = 0; i < model.layers; ++i) {
    std::string prefix = "h." + std::to_string(i);
    normParameters(prefix + ".ln_1");
    linearParameters(prefix + ".attn.c_attn", width, 3 * width, range);
    linearParameters(prefix + ".attn.c_proj", width, width, residualRange);
    normParameters(prefix + ".ln_2");
    linearParameters(prefix + ".mlp.c_fc", width, model.inner, range);
    linearParameters(prefix + ".mlp.c_proj", model.inner, width, residualRange);
  }
  normParameters("ln_f");
  if (!model.tiedHead)
    parameter("lm_head.weight", {model.vocabSize, width}, ds::Initializer::Normal, range);
}

void Importer::hyperparameter(StringRef path, double value) {
  ds::HyperparameterOp::create(builder, place(path), builder.getStringAttr(path),
                               llvm::APFloat(value));
}

void Importer::hyperparameters() {
  const TrainSpec &train = spec.train;
  if (spec.labelSmoothing > 0)
    hyperparameter("objective.label_smoothing", spec.labelSmoothing);
  hyperparameter("train.gradient_clipping", train.gradientClipping);
  if (train.gradientClippingValue > 0)
    hyperparameter("train.gradient_clipping_value", train.gradientClippingValue);
  if (train.scaling.mode != LossScaleMode::None) {
    const LossScaleSpec &scaling = train.scaling;
    if (scaling.mode == LossScaleMode::Static)
      hyperparameter("train.fp16.loss_scale", scaling.initial);
    hyperparameter("train.fp16.loss_scale_window", scaling.window);
    hyperparameter("train.fp16.hysteresis", scaling.hysteresis);
    hyperparameter("train.fp16.min_loss_scale", scaling.floor);
    hyperparameter("train.fp16.max_loss_scale", scaling.cap);
    hyperparameter("train.fp16.max_skips_at_floor", scaling.maxSkipsAtFloor);
  }
  hyperparameter("train.optimizer.params.lr", train.lr);
  if (train.optimizer == OptimizerKind::Sgd) {
    hyperparameter("train.optimizer.params.momentum", train.momentum);
  } else if (train.optimizer == OptimizerKind::Adafactor) {
    hyperparameter("train.optimizer.params.beta2_decay", train.beta2Decay);
    hyperparameter("train.optimizer.params.eps.0", train.eps);
    hyperparameter("train.optimizer.params.eps.1", train.leastRms);
    hyperparameter("train.optimizer.params.d", train.mostRms);
  } else {
    hyperparameter("train.optimizer.params.betas.0", train.beta1);
    hyperparameter("train.optimizer.params.betas.1", train.beta2);
    if (train.optimizer != OptimizerKind::Lion)
      hyperparameter("train.optimizer.params.eps", train.eps);
  }
  if (train.optimizer == OptimizerKind::Lamb) {
    hyperparameter("train.optimizer.params.min_coeff", train.leastTrust);
    hyperparameter("train.optimizer.params.max_coeff", train.mostTrust);
  }
  hyperparameter("train.optimizer.params.weight_decay", train.weightDecay);
  for (auto [index, group] : llvm::enumerate(train.groups)) {
    std::string prefix = "train.param_groups." + std::to_string(index);
    if (group.lrScale)
      hyperparameter(prefix + ".lr_scale", *group.lrScale);
    if (group.weightDecay)
      hyperparameter(prefix + ".weight_decay", *group.weightDecay);
  }
  ds::ScheduleScalars scalars = ds::scalarsOf(scheduleOf(spec));
  const std::pair<StringRef, double> schedule[] = {
      {"train.scheduler.params.warmup_steps", static_cast<double>(train.warmupSteps)},
      {"train.scheduler.params.total_steps", static_cast<double>(train.totalSteps)},
      {"train.scheduler.params.min_lr", train.minLr},
      {"train.scheduler.params.timescale", train.timescale},
      {"train.scheduler.params.decay_steps", static_cast<double>(train.decaySteps)},
      {"train.scheduler.params.warmup_min_lr", train.warmupMinLr},
      {"train.scheduler.params.warmup_max_lr", train.warmupMaxLr},
      {"train.scheduler.params.warmup_min_ratio", train.warmupMinRatio},
      {"train.scheduler.params.cos_min_ratio", train.cosMinRatio}};
  for (auto [path, value] : schedule)
    if (llvm::is_contained(
            {scalars.peak, scalars.floor, scalars.warmup, scalars.total, scalars.extra}, path))
      hyperparameter(path, value);
}

//===-- dropout --===//

static constexpr StringLiteral seedHalves[] = {"train.seed.low", "train.seed.high"};

/// What masks are drawn by: halves of the seed, which f64 holds exactly, the number of the step,
/// and of the micro-batch's first sample in the global batch.
void Importer::declareMaskNumbers() {
  if (model.embeddingDropout == 0 && model.attentionDropout == 0 && model.residualDropout == 0)
    return;
  auto scalar = RankedTensorType::get({}, builder.getF64Type());
  for (auto [name, role] :
       {std::pair("steps", ds::Role::StepState), std::pair("window.sample", ds::Role::Window)})
    ds::VariableOp::create(builder, named(name, "model.attn_pdrop"), name, scalar, role);
  for (int half = 0; half < 2; ++half)
    ds::HyperparameterOp::create(
        builder, place("train.seed"), builder.getStringAttr(seedHalves[half]),
        llvm::APFloat(static_cast<double>(static_cast<uint32_t>(spec.train.seed >> (32 * half)))));
}

void Importer::readMaskNumbers() {
  auto scalar = RankedTensorType::get({}, builder.getF64Type());
  maskNumbers.clear();
  for (StringRef name : {StringRef(seedHalves[0]), StringRef(seedHalves[1]),
                         StringRef("window.sample"), StringRef("steps")})
    if (Operation *symbol = module.lookupSymbol(name))
      maskNumbers.push_back(ds::ReadOp::create(builder, symbol->getLoc(), scalar, name));
}

Value Importer::randomKey(const Twine &twine, StringRef key) {
  std::string path = twine.str();
  auto type = RankedTensorType::get({5}, builder.getF64Type());
  return ds::RandomKeyOp::create(builder, named(path, key), type, maskNumbers[0], maskNumbers[1],
                                 maskNumbers[2], maskNumbers[3], path);
}

/// `input`, with a mask over it in training; `path` is the name of Hugging Face's module.
Value Importer::dropout(Value input, double p, const Twine &path, StringRef key) {
  if (p == 0 || maskNumbers.empty())
    return input;
  Value random = randomKey(path, key);
  return ds::DropoutOp::create(builder, named(path, key), input.getType(), input, random,
                               llvm::APFloat(p));
}

//===-- programs --===//

func::FuncOp Importer::program(StringRef name,
                               ArrayRef<std::pair<StringRef, RankedTensorType>> arguments) {
  builder.setInsertionPointToEnd(module.getBody());
  SmallVector<Type> types;
  for (auto [argument, type] : arguments)
    types.push_back(type);
  auto function =
      func::FuncOp::create(builder, place("model"), name, builder.getFunctionType(types, {}));
  Block *entry = function.addEntryBlock();
  static constexpr StringLiteral usual[] = {"tokens", "labels"};
  for (auto [index, argument] : llvm::enumerate(entry->getArguments())) {
    StringAttr given = builder.getStringAttr(arguments[index].first);
    argument.setLoc(NameLoc::get(given));
    if (index >= std::size(usual) || given != usual[index]) // others need to be said
      function.setArgAttr(index, "ds.name", given);
  }
  builder.setInsertionPointToStart(entry);
  readValues.clear();
  maskNumbers.clear();
  kept.clear();
  positionIds = cacheRows = Value();
  return function;
}

/// Reads a parameter, once a program.
Value Importer::read(const Twine &twine) {
  std::string name = twine.str();
  Value &value = readValues[name];
  if (!value) {
    auto variable = module.lookupSymbol<ds::VariableOp>(name);
    value = ds::ReadOp::create(builder, variable.getLoc(), variable.getType(), name);
  }
  return value;
}

/// An empty block; the builder is left inside.
ds::BlockOp Importer::block(const Twine &label, TypeRange results, StringRef key) {
  auto block =
      ds::BlockOp::create(builder, named(label, key), results, builder.getStringAttr(label));
  builder.setInsertionPointToStart(&block.getBody().emplaceBlock());
  return block;
}

Value Importer::norm(Value input, const Twine &name, Value gain, Value bias) {
  auto type = cast<RankedTensorType>(input.getType());
  RankedTensorType statistics = tensor(type.getShape().drop_back());
  return ds::LayerNormOp::create(builder, named(name, "model.layer_norm_epsilon"), type, statistics,
                                 statistics, input, gain, bias, llvm::APFloat(model.layerNormEps))
      .getResult();
}

Value Importer::linear(Value input, const Twine &name, Value weight, Value bias) {
  SmallVector<int64_t> shape(cast<RankedTensorType>(input.getType()).getShape());
  shape.back() = cast<RankedTensorType>(weight.getType()).getShape()[1];
  return ds::LinearOp::create(builder, named(name, "model.n_embd"), tensor(shape), /*pre=*/Type(),
                              input, weight, bias, /*residual=*/Value(), /*transpose_weight=*/false,
                              ds::Activation::None)
      .getResult();
}

Value Importer::embedding(Value tokens) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(tokens.getType()).getShape();
  Value table = read("wte.weight"), positions = read("wpe.weight");
  RankedTensorType type = tensor({shape[0], shape[1], model.width});
  ds::BlockOp embedding = block("embedding", TypeRange(type), "model");
  Value result = ds::EmbeddingOp::create(builder, named("embedding", "model.vocab_size"), type,
                                         tokens, table, positions, positionIds);
  result = dropout(result, model.embeddingDropout, "drop", "model.embd_pdrop");
  ds::YieldOp::create(builder, embedding.getLoc(), result);
  builder.setInsertionPointAfter(embedding);
  return embedding.getResult(0);
}

static ds::Activation activationOf(ActivationKind kind) {
  switch (kind) {
  case ActivationKind::GeluTanh:
    return ds::Activation::GeluTanh;
  case ActivationKind::Gelu:
    return ds::Activation::Gelu;
  case ActivationKind::Relu:
    return ds::Activation::Relu;
  }
  llvm_unreachable("no other activation");
}

/// Attention of the packed queries, keys and values of layer `index`.
Value Importer::attend(Value qkv, const std::string &name, int64_t index) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(qkv.getType()).getShape();
  double scale = 1;
  if (model.scaleAttention)
    scale /= std::sqrt(static_cast<double>(DSC_FAULT(2, model.width / model.heads, model.width)));
  if (model.scaleByInverseLayer)
    scale /= static_cast<double>(index + DSC_FAULT(5, 1, 2));
  if (cacheRows)
    return keep(qkv, name, scale);
  double dropped = maskNumbers.empty() ? 0 : model.attentionDropout;
  Value random;
  if (dropped > 0)
    random = randomKey(name + ".attn.attn_dropout", "model.attn_pdrop");
  return ds::AttentionOp::create(
             builder, named(name + ".attn", "model.n_head"),
             tensor({shape[0], shape[1], model.width}), tensor({shape[0], model.heads, shape[1]}),
             qkv, random, positionIds, model.heads, llvm::APFloat(scale), llvm::APFloat(dropped))
      .getResult();
}

static std::string cacheName(const std::string &layer, StringRef part) {
  return "cache." + layer + "." + part.str();
}

/// Attention to all that the caches of a layer hold, after they have been given what is new.
Value Importer::keep(Value qkv, const std::string &name, double scale) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(qkv.getType()).getShape();
  std::string names[] = {cacheName(name, "keys"), cacheName(name, "values")};
  RankedTensorType cache = tensor({spec.generation.batch, length, model.width});
  Location where = named(name + ".attn", "model.n_head");
  auto attention = ds::CachedAttentionOp::create(
      builder, where, tensor({shape[0], shape[1], model.width}), cache, cache, qkv, read(names[0]),
      read(names[1]), positionIds, cacheRows, model.heads, llvm::APFloat(scale));
  kept.push_back({names[0], attention.getNewKeys()});
  kept.push_back({names[1], attention.getNewValues()});
  return attention.getResult();
}

Value Importer::layer(Value input, int64_t index) {
  std::string name = "h." + std::to_string(index);
  SmallVector<Value> weights;
  for (const char *part :
       {"ln_1", "attn.c_attn", "attn.c_proj", "ln_2", "mlp.c_fc", "mlp.c_proj"}) {
    weights.push_back(read(name + "." + part + ".weight"));
    weights.push_back(read(name + "." + part + ".bias"));
  }
  auto type = cast<RankedTensorType>(input.getType());
  SmallVector<Type> results = {type};
  if (cacheRows) {
    for (StringRef part : {"keys", "values"})
      results.push_back(read(cacheName(name, part)).getType());
  }
  ds::BlockOp layer = block(name, results, "model.n_layer");
  size_t before = kept.size();

  Value normed = norm(input, name + ".ln_1", weights[0], weights[1]);
  Value qkv = linear(normed, name + ".attn.c_attn", weights[2], weights[3]);
  Value attended = attend(qkv, name, index);
  Value projected = linear(attended, name + ".attn.c_proj", weights[4], weights[5]);
  projected =
      dropout(projected, model.residualDropout, name + ".attn.resid_dropout", "model.resid_pdrop");
  Value middle = ds::AddOp::create(builder, named(name + ".attn.residual", "model.n_layer"), type,
                                   input, projected);

  normed = norm(middle, name + ".ln_2", weights[6], weights[7]);
  Value inner = linear(normed, name + ".mlp.c_fc", weights[8], weights[9]);
  inner = ds::ActivationOp::create(builder, named(name + ".mlp.act", "model.activation_function"),
                                   inner.getType(), inner, activationOf(model.activation));
  projected = linear(inner, name + ".mlp.c_proj", weights[10], weights[11]);
  projected = dropout(projected, model.residualDropout, name + ".mlp.dropout", "model.resid_pdrop");
  Value result = ds::AddOp::create(builder, named(name + ".mlp.residual", "model.n_layer"), type,
                                   DSC_FAULT(3, middle, input), projected);
  SmallVector<Value> handedOut = {result};
  for (size_t i = before; i < kept.size(); ++i)
    handedOut.push_back(kept[i].second);
  ds::YieldOp::create(builder, layer.getLoc(), handedOut);
  for (size_t i = before; i < kept.size(); ++i)
    kept[i].second = layer.getResult(1 + i - before);
  builder.setInsertionPointAfter(layer);
  return layer.getResult(0);
}

Value Importer::logits(Value input, Value gain, Value bias, Value head) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(input.getType()).getShape();
  Value normed = norm(input, "ln_f", gain, bias);
  return ds::LinearOp::create(builder, named("lm_head", "model.vocab_size"),
                              tensor({shape[0], shape[1], model.vocabSize}), /*pre=*/Type(), normed,
                              head,
                              /*bias=*/Value(), /*residual=*/Value(), /*transpose_weight=*/true,
                              ds::Activation::None)
      .getResult();
}

void Importer::lossProgram(StringRef name) {
  RankedTensorType type = ids({spec.train.microBatch, length});
  SmallVector<std::pair<StringRef, RankedTensorType>> arguments = {{"tokens", type},
                                                                   {"labels", type}};
  if (spec.data.packDocuments)
    arguments.push_back({"position_ids", type});
  func::FuncOp function = program(name, arguments);
  Value tokens = function.getArgument(0), labels = function.getArgument(1);
  if (spec.data.packDocuments)
    positionIds = function.getArgument(2);
  if (DSC_FAULT(7, name == "train", true))
    readMaskNumbers();
  Value hidden = embedding(tokens);
  for (int64_t i = 0; i < model.layers; ++i)
    hidden = layer(hidden, i);

  Value gain = read("ln_f.weight"), bias = read("ln_f.bias");
  Value table = read(model.tiedHead ? "wte.weight" : "lm_head.weight");
  Value smoothing;
  auto scalar = RankedTensorType::get({}, builder.getF64Type());
  if (DSC_FAULT(4, name == "train", true) && spec.labelSmoothing > 0)
    smoothing = ds::ReadOp::create(builder, named("smoothing", "objective.label_smoothing"), scalar,
                                   "objective.label_smoothing");
  RankedTensorType perToken = tensor({spec.train.microBatch, length});
  Value weights, samples;
  if (name == "train" && spec.train.lossReduction == LossReduction::Sample) {
    weights = ds::LabelWeightsOp::create(builder, named("weights", "train.loss_reduction"),
                                         perToken, labels);
    samples = ds::CountOp::create(builder, named("samples", "train.loss_reduction"), scalar, labels,
                                  /*samples=*/true);
  }
  ds::BlockOp head = block("head", TypeRange(perToken), "model");
  Value scores = logits(hidden, gain, bias, table);
  Value losses = ds::CrossEntropyOp::create(builder, named("loss", "objective"), perToken, perToken,
                                            scores, labels, smoothing, weights)
                     .getLosses();
  ds::YieldOp::create(builder, head.getLoc(), losses);
  builder.setInsertionPointAfter(head);

  Location where = named("loss", "objective");
  Value count = ds::CountOp::create(builder, named("count", "objective"), scalar, labels,
                                    /*samples=*/false);
  Value mean =
      ds::TokenMeanOp::create(builder, where, scalar, head.getResult(0), samples ? samples : count);
  ds::ReportOp::create(builder, where, "loss", mean);
  ds::ReportOp::create(builder, where, "tokens", count);
  func::ReturnOp::create(builder, function.getLoc());
}

/// What follows the last layer where logits are handed out.
Value Importer::logitsBlock(Value hidden) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(hidden.getType()).getShape();
  Value gain = read("ln_f.weight"), bias = read("ln_f.bias");
  Value table = read(model.tiedHead ? "wte.weight" : "lm_head.weight");
  RankedTensorType type = tensor({shape[0], shape[1], model.vocabSize});
  ds::BlockOp head = block("head", TypeRange(type), "model");
  Value scores = logits(hidden, gain, bias, table);
  ds::YieldOp::create(builder, head.getLoc(), scores);
  builder.setInsertionPointAfter(head);
  return head.getResult(0);
}

void Importer::logitsProgram() {
  func::FuncOp function = program("logits", {{"tokens", ids({1, length})}});
  Value hidden = embedding(function.getArgument(0));
  for (int64_t i = 0; i < model.layers; ++i)
    hidden = layer(hidden, i);
  ds::ReportOp::create(builder, named("logits", "model"), "logits", logitsBlock(hidden));
  func::ReturnOp::create(builder, function.getLoc());
}

//===-- generation --===//

void Importer::declareCaches() {
  RankedTensorType type = tensor({spec.generation.batch, length, model.width});
  for (int64_t i = 0; i < model.layers; ++i)
    for (StringRef part : {"keys", "values"}) {
      std::string name = cacheName("h." + std::to_string(i), part);
      ds::VariableOp::create(builder, named(name, "generation.batch"), name, type, ds::Role::Cache);
    }
}

/// Takes new tokens of some rows of the caches: several of one without logits, or one of each.
void Importer::cachedProgram(StringRef name, int64_t batch, int64_t tokens, bool logits) {
  RankedTensorType type = ids({batch, tokens});
  func::FuncOp function =
      program(name, {{"tokens", type}, {"position_ids", type}, {"rows", ids({batch})}});
  positionIds = function.getArgument(1);
  cacheRows = function.getArgument(2);
  Value hidden = embedding(function.getArgument(0));
  for (int64_t i = 0; i < model.layers; ++i)
    hidden = layer(hidden, i);
  if (logits)
    ds::ReportOp::create(builder, named("logits", "model"), "logits", logitsBlock(hidden));
  for (auto &[variable, value] : kept)
    ds::AssignOp::create(builder, value.getLoc(), variable, value);
  func::ReturnOp::create(builder, function.getLoc());
}

ds::Schedule dsc::scheduleOf(const Spec &spec) {
  switch (spec.train.schedule) {
  case ScheduleKind::Constant:
    return ds::Schedule::Constant;
  case ScheduleKind::Linear:
    return ds::Schedule::Linear;
  case ScheduleKind::Cosine:
    return ds::Schedule::Cosine;
  case ScheduleKind::InverseSqrt:
    return ds::Schedule::InverseSqrt;
  case ScheduleKind::Wsd:
    return ds::Schedule::Wsd;
  case ScheduleKind::WarmupLR:
    return ds::Schedule::WarmupLR;
  case ScheduleKind::WarmupDecayLR:
    return ds::Schedule::WarmupDecayLR;
  case ScheduleKind::WarmupCosineLR:
    return ds::Schedule::WarmupCosineLR;
  }
  llvm_unreachable("no other schedule");
}

OwningOpRef<ModuleOp> Importer::import() {
  length = spec.data.seqLength;
  if (length == 0 && !options.train && !options.evaluate)
    length = model.positions;
  if (length <= 0 || length > model.positions) {
    emitError(place("data.seq_length"), "'data.seq_length' must lie between 1 and the ")
        << model.positions << " positions of the model, found " << length;
    return {};
  }
  if (model.heads <= 0 || model.width % model.heads != 0) {
    emitError(place("model.n_head"), "'model.n_head' must divide 'model.n_embd': ")
        << model.heads << " heads, width " << model.width;
    return {};
  }
  OwningOpRef<ModuleOp> result = ModuleOp::create(place("model"));
  module = *result;
  builder.setInsertionPointToEnd(module.getBody());
  parameters();
  bool generates = options.generate && spec.generation.batch > 0;
  if (generates)
    declareCaches();
  if (options.train) {
    declareMaskNumbers();
    hyperparameters();
  }
  if (options.train)
    lossProgram("train");
  if (options.evaluate)
    lossProgram("evaluate");
  if (options.logits)
    logitsProgram();
  if (generates) {
    cachedProgram("prefill", 1, length, /*logits=*/false);
    cachedProgram("decode", spec.generation.batch, 1, /*logits=*/true);
  }
  if (failed(verify(module)))
    return {};
  return result;
}

OwningOpRef<ModuleOp> dsc::importSpec(MLIRContext &context, const Spec &spec,
                                      const ImportOptions &options) {
  context.loadDialect<ds::DSDialect, func::FuncDialect>();
  return Importer(context, spec, options).import();
}
