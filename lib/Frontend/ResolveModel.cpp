//===- ResolveModel.cpp - `model` and `init` -------------------------------===//
#include "ResolverAccess.h"
#include <filesystem>

using namespace dsc;

/// Memory that no 64-bit machine of today can address: 2^47 bytes.
static constexpr __int128 addressSpace = static_cast<__int128>(1) << 47;

void Resolver::resolveModel() {
  ModelSpec &m = spec.model;
  text("model.model_type");
  vocabulary = integer("model.vocab_size");
  positions = integer("model.n_positions");
  Resolved<int64_t> context = integer("model.n_ctx");
  layers = integer("model.n_layer");
  heads = integer("model.n_head");
  Resolved<int64_t> width = integer("model.n_embd");
  Resolved<int64_t> inner = integer("model.n_inner");
  if (!inner.given)
    infer(inner, "model.n_inner", 4 * width.value, "4 × model.n_embd");
  if (!context.given) {
    context.value = positions.value;
  } else if (!positions.broken && context.value != positions.value) {
    errors
        .error(context.where,
               "'model.n_ctx' and 'model.n_positions' differ: " + shown("n_ctx", context) + " vs " +
                   shown("n_positions", positions))
        .fix("remove 'n_ctx'");
  }
  m.vocabSize = vocabulary.value;
  m.positions = positions.value;
  m.width = width.value;
  m.layers = layers.value;
  m.heads = heads.value;
  m.inner = inner.value;
  Resolved<std::string> activation = text("model.activation_function");
  m.activation = activation.value == "gelu"   ? ActivationKind::Gelu
                 : activation.value == "relu" ? ActivationKind::Relu
                                              : ActivationKind::GeluTanh;
  m.layerNormEps = number("model.layer_norm_epsilon").value;
  m.initializerRange = number("model.initializer_range").value;
  m.scaleAttention = boolean("model.scale_attn_weights").value;
  m.scaleByInverseLayer = boolean("model.scale_attn_by_inverse_layer_idx").value;
  m.tiedHead = boolean("model.tie_word_embeddings").value;
  resolveDropout();

  if (!width.broken && !heads.broken && width.value % heads.value != 0) {
    int64_t below = width.value / heads.value * heads.value;
    Diagnostic &d = errors.error(
        heads.given ? heads.where : width.where,
        "heads do not divide the width: n_embd " + std::to_string(width.value) + " is " +
            std::to_string(heads.value) + " heads × " + std::to_string(width.value / heads.value) +
            " + " + std::to_string(width.value % heads.value));
    d.note(shown("n_embd", width) + ", " + shown("n_head", heads));
    std::string nearest = std::to_string(below + heads.value);
    d.fix("n_embd " + (below > 0 ? std::to_string(below) + " or " : "") + nearest + " goes with " +
          std::to_string(heads.value) + " heads");
  }
  if (!layers.broken && !width.broken && !vocabulary.broken && !positions.broken && !inner.broken)
    checkModelSizes(width);
}

void Resolver::resolveDropout() {
  ModelSpec &m = spec.model;
  const std::pair<const char *, double &> keys[] = {{"model.embd_pdrop", m.embeddingDropout},
                                                    {"model.attn_pdrop", m.attentionDropout},
                                                    {"model.resid_pdrop", m.residualDropout}};
  for (auto [path, value] : keys) {
    Resolved<double> p = number(path);
    if (p.broken)
      continue;
    bool evaluating = options.purpose == Purpose::Evaluate;
    value = evaluating ? 0 : p.value;
    if (evaluating && p.value > 0)
      record(path, 0.0, p.origin + ", not applied in evaluation");
  }
}

void Resolver::checkModelSizes(const Resolved<int64_t> &width) {
  const ModelSpec &m = spec.model;
  __int128 d = m.width, inner = m.inner;
  __int128 block =
      4 * d + (3 * d * d + 3 * d) + (d * d + d) + (d * inner + inner) + (inner * d + d);
  __int128 count =
      d * m.vocabSize * (m.tiedHead ? 1 : 2) + d * m.positions + block * m.layers + 2 * d;
  // f32 weight, gradient and two moments.
  if (count * 16 > addressSpace)
    errors
        .error(width.given ? width.where : layers.where,
               "the model has " + toString(count) + " parameters: training takes " +
                   toString(count * 16) + " bytes, more than can be addressed (2^47)")
        .note("vocab_size " + std::to_string(m.vocabSize) + ", n_positions " +
              std::to_string(m.positions) + ", n_embd " + std::to_string(m.width) + ", n_layer " +
              std::to_string(m.layers) + ", n_inner " + std::to_string(m.inner));
}

void Resolver::exportConfig() {
  const JsonNode *model = root.find("model");
  nlohmann::json config = model ? toJson(*model) : nlohmann::json::object();
  if (!config.contains("model_type"))
    config["model_type"] = "gpt2";
  if (!config.contains("architectures") || config["architectures"].is_null())
    config["architectures"] = {"GPT2LMHeadModel"};
  spec.model.config = config;
  (*spec.resolved)["model"] = std::move(config); // records with defaults are written over it
}

void Resolver::resolveInit() {
  spec.initSeed = seed("init.seed").value;
  Resolved<std::string> from = text("init.from");
  if (!from.given)
    return;
  spec.initFrom = from.value;
  if (!options.needsFiles)
    return;
  std::filesystem::path folder =
      (std::filesystem::path(spec.folder) / from.value).lexically_normal();
  std::error_code code;
  if (!std::filesystem::is_directory(folder, code)) {
    errors.error(from.where, "'init.from': no such folder: " + inQuotes(folder.generic_string()));
    return;
  }
  for (const char *name : {"config.json", "model.safetensors"})
    if (!std::filesystem::is_regular_file(folder / name, code))
      errors.error(from.where,
                   "'init.from': " + inQuotes(folder.generic_string()) + " has no " + name);
}
