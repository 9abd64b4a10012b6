//===- HuggingFaceLoad.cpp - weights from a folder ----------------------------===//
// First everything is compared by name, shape and type and all differences are collected; then data
// are converted.
#include "HuggingFaceConfig.h"
#include "dsc/Runtime/Checkpoint/HuggingFace.h"
#include "dsc/Support/Json.h"
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

using namespace dsc;
using nlohmann::json;

/// h.N.attn.bias and h.N.attn.masked_bias: the causal mask, kept as a buffer by old versions of
/// transformers.
static bool isMaskBuffer(std::string_view name) {
  return name.starts_with("h.") &&
         (name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias"));
}

static bool isFloating(SafeType type) {
  return type == SafeType::F16 || type == SafeType::BF16 || type == SafeType::F32 ||
         type == SafeType::F64;
}

static std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

static StatusOr<std::shared_ptr<const SafetensorsFile>> openWeights(const std::string &folder) {
  namespace fs = std::filesystem;
  std::string path = joinPath(folder, "model.safetensors");
  std::error_code ignored;
  if (!fs::exists(folder, ignored))
    return inputError("there is no folder '" + folder +
                      "': expected one with config.json and model.safetensors");
  if (!fs::exists(path, ignored)) {
    if (fs::exists(joinPath(folder, "model.safetensors.index.json"), ignored))
      return inputError("'" + folder +
                        "' holds weights in several files, expected one "
                        "model.safetensors: save it again with a larger "
                        "max_shard_size");
    if (fs::exists(joinPath(folder, "pytorch_model.bin"), ignored))
      return inputError("'" + folder +
                        "' holds pytorch_model.bin, expected model.safetensors: "
                        "save it again with safe_serialization=True");
    return inputError("there is no '" + path + "'");
  }
  return SafetensorsFile::open(path);
}

namespace {
/// What of the file goes where.
struct Match {
  WeightSource source;
  std::vector<const SafeTensor *> tensors; ///< one for each buffer
};
} // namespace

static StatusOr<json> readConfig(const std::string &folder, std::string &text) {
  std::string path = joinPath(folder, "config.json");
  StatusOr<std::string> read = readFile(path, size_t{1} << 20);
  if (!read)
    return read.status();
  text = *read;
  StatusOr<nlohmann::ordered_json> parsed = parseStrictJson(text, "'" + path + "'");
  if (!parsed)
    return parsed.status();
  if (!parsed->is_object())
    return inputError("'" + path + "' is no JSON object");
  return json(std::move(*parsed));
}

/// A head in a file whose model shares it with the embedding is left out; says whether it is the
/// same.
static std::string describeTiedHead(const SafetensorsFile &file, const SafeTensor &head,
                                    const SafeTensor *embedding) {
  std::string note = "'" + head.name + "' is ignored: the model's head is tied to wte.weight";
  bool same = embedding && embedding->type == head.type && embedding->shape == head.shape &&
              std::memcmp(file.data(head), file.data(*embedding), head.end - head.begin) == 0;
  return note + (same
                     ? ", which equals it"
                     : ", WHICH DIFFERS from it; set model.tie_word_embeddings to false to use it");
}

static StatusOr<Match> match(const std::string &folder, std::span<const WeightBuffer> buffers,
                             const json *config) {
  StatusOr<std::shared_ptr<const SafetensorsFile>> file = openWeights(folder);
  if (!file)
    return file.status();
  Match result;
  result.source.folder = folder;
  result.source.file = *file;
  StatusOr<json> folderConfig = readConfig(folder, result.source.configText);
  if (!folderConfig)
    return folderConfig.status();
  std::vector<std::string> problems;
  if (config)
    problems = compareConfigs(*folderConfig, *config);

  std::map<std::string_view, const SafeTensor *> found;
  const std::vector<SafeTensor> &tensors = (*file)->header().tensors;
  for (const SafeTensor &tensor : tensors)
    if (auto [at, fresh] = found.emplace(shortName(tensor.name), &tensor); !fresh)
      problems.push_back("'" + std::string(at->first) +
                         "' is there twice, with and without 'transformer.'");

  std::set<std::string_view> wanted;
  for (const WeightBuffer &buffer : buffers) {
    wanted.insert(buffer.name);
    auto at = found.find(buffer.name);
    const SafeTensor *tensor = at == found.end() ? nullptr : at->second;
    result.tensors.push_back(tensor);
    if (!tensor)
      problems.push_back("'" + buffer.name + "' " + shapeText(buffer.shape) + " is missing" +
                         (buffer.name == "lm_head.weight"
                              ? " (the file's head is tied: set model.tie_word_embeddings to true)"
                              : ""));
    else if (tensor->shape != buffer.shape)
      problems.push_back("'" + tensor->name + "' has shape " + shapeText(tensor->shape) +
                         ", expected " + shapeText(buffer.shape));
    else if (!isFloating(tensor->type))
      problems.push_back("'" + tensor->name + "' has type " + safeTypeName(tensor->type) +
                         ", expected F32, F16, BF16 or F64");
  }
  for (const SafeTensor &tensor : tensors) {
    std::string_view name = shortName(tensor.name);
    if (wanted.contains(name))
      continue;
    if (isMaskBuffer(name)) {
      result.source.ignored.push_back(tensor.name);
    } else if (name == "lm_head.weight") {
      auto embedding = found.find("wte.weight");
      result.source.ignored.push_back(tensor.name);
      result.source.notes.push_back(
          describeTiedHead(**file, tensor, embedding == found.end() ? nullptr : embedding->second));
    } else {
      problems.push_back("'" + tensor.name + "' " + shapeText(tensor.shape) +
                         " is not part of the model");
    }
  }
  if (!problems.empty()) {
    std::string text = "the weights in '" + folder + "' do not fit the model, " +
                       std::to_string(problems.size()) +
                       (problems.size() == 1 ? " problem:" : " problems:");
    for (const std::string &problem : problems)
      text += "\n  " + problem;
    return inputError(text);
  }
  std::string masks;
  for (const std::string &name : result.source.ignored)
    if (isMaskBuffer(shortName(name)))
      masks += (masks.empty() ? "" : ", ") + name;
  if (!masks.empty())
    result.source.notes.push_back("mask buffers are ignored: " + masks);
  return result;
}

StatusOr<WeightSource> dsc::checkHuggingFace(const std::string &folder,
                                             std::span<const WeightBuffer> buffers,
                                             const json *config) {
  StatusOr<Match> found = match(folder, buffers, config);
  if (!found)
    return found.status();
  return std::move(found->source);
}

StatusOr<WeightSource> dsc::loadHuggingFace(const std::string &folder,
                                            std::span<const WeightBuffer> buffers,
                                            const json *config) {
  StatusOr<Match> found = match(folder, buffers, config);
  if (!found)
    return found.status();
  for (size_t i = 0; i < buffers.size(); ++i) {
    const SafeTensor &tensor = *found->tensors[i];
    const uint8_t *data = found->source.file->data(tensor);
    if (buffers[i].type == SafeType::F64)
      convertElements(data, tensor.type, 0, tensor.elements(),
                      static_cast<double *>(buffers[i].data));
    else if (buffers[i].type == SafeType::F32)
      convertElements(data, tensor.type, 0, tensor.elements(),
                      static_cast<float *>(buffers[i].data));
    else
      return Status(ErrorCode::Internal,
                    "'" + buffers[i].name + "' is loaded into neither f32 nor f64");
  }
  return std::move(found->source);
}
